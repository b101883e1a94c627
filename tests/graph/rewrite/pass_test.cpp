#include <damo/rewrite.hpp>

#include <algorithm>

#include <gmock/gmock.h>

#include <damo/log.hpp>

#include "graph/base/environment.hpp"
#include "graph/base/pass_names.hpp"
#include "support/devices.hpp"
#include "support/scratch_directory.hpp"
#include "support/test_ops.hpp"

namespace damo {
namespace {

using damo::testing::Environment;
using damo::testing::error_of;
using damo::testing::OpaqueOp;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class PassTest : public ::testing::Test {
 protected:
  FunctionGraph graph() const {
    const Variable inputs[] = {x_}, outputs[] = {g_(f_(x_))};
    return FunctionGraph(inputs, outputs);
  }
  Pass note(std::string name) {
    return {name, [this, name](FunctionGraph graph) { ran_.push_back(name); return graph; }};
  }
  const OpHandle<OpaqueOp> f_ = make_op<OpaqueOp>("f"), g_ = make_op<OpaqueOp>("g");
  const Variable x_ = vector("x");
  std::vector<std::string> ran_;
};

TEST_F(PassTest, RunsInOrderAndReports) {
  const Pass passes[] = {note("first"), {"drop_g", [](FunctionGraph graph) {
    const NodeId g = graph.owner(graph.outputs()[0]);
    graph.replace(graph.outputs()[0], graph.inputs(g)[0]);
    graph.prune();
    return graph;
  }}, note("last")};
  std::vector<PassReport> reports;
  EXPECT_EQ(run_passes(graph(), passes, &reports).node_count(), 1);
  EXPECT_THAT(ran_, ElementsAre("first", "last"));
  ASSERT_EQ(reports.size(), 3u);
  EXPECT_EQ(reports[1].name, "drop_g");
  EXPECT_EQ(reports[1].nodes_before, 2);
  EXPECT_EQ(reports[1].nodes_after, 1);
  EXPECT_GE(reports[1].milliseconds, 0);
}

TEST_F(PassTest, IsSwitchedOffByName) {
  const Environment off("DAMO_DISABLE", "second,third");
  const Pass passes[] = {note("first"), note("second"), note("third"), note("thir")};
  std::vector<PassReport> reports;
  run_passes(graph(), passes, &reports);
  EXPECT_THAT(ran_, ElementsAre("first", "thir"));
  EXPECT_FALSE(reports[1].ran);
}

TEST_F(PassTest, TellsADisabledNameThatIsNoPassOnceWithTheNearest) {
  const Environment off("DAMO_DISABLE", "fuse_elementwis,merge-duplicate,secnod,constant_folding,merge_duplicates");
  const Pass passes[] = {note("second")};
  std::vector<std::string> lines;
  set_log_sink([&](LogLevel, std::string_view line) { lines.emplace_back(line); });
  for (int round = 0; round < 2; ++round) run_passes(graph(), passes);
  set_log_sink({});
  std::string there = "', which is no pass or rule of this function; the passes are ";
  for (const std::string_view name : kPassNames) there += std::string(name) + ", ";
  there += "second";
  EXPECT_THAT(lines, ElementsAre("DAMO_DISABLE or Options::disable names 'fuse_elementwis" + there + "; the nearest is fuse_elementwise",
                                 "DAMO_DISABLE or Options::disable names 'merge-duplicate" + there + "; the nearest is merge_duplicates",
                                 "DAMO_DISABLE or Options::disable names 'secnod" + there + "; the nearest is second", "DAMO_DISABLE or Options::disable names 'constant_folding" + there));
}

TEST(PassNames, AreThoseThatTheTableOfTheEnvironmentGives) {
  std::vector<std::string> names;
  for (const std::string_view name : kPassNames) names.emplace_back(name);
  std::sort(names.begin(), names.end());
  std::string values = "names: `";
  for (const std::string& name : names) values += (name == names.front() ? "" : ",") + name;
  const auto variables = environment_variables();
  const auto row = std::find_if(variables.begin(), variables.end(), [](const EnvironmentVariable& variable) { return variable.name == std::string_view("DAMO_DISABLE"); });
  ASSERT_NE(row, variables.end());
  EXPECT_EQ(row->values, values + "`");
}

TEST_F(PassTest, NamesAPassThatMakesACycle) {
  const Pass passes[] = {{"knot", [](FunctionGraph graph) {
    graph.set_input(graph.toposort().front(), 0, graph.outputs()[0]);
    return graph;
  }}};
  const std::string text = error_of([&] { run_passes(graph(), passes); });
  EXPECT_THAT(text, HasSubstr("the graph has a cycle through f at "));
  EXPECT_THAT(text, HasSubstr("in pass knot"));
}

TEST_F(PassTest, NamesAPassThatChangesAnOutputsType) {
  const Pass passes[] = {{"retype", [](FunctionGraph graph) {
    FunctionGraph other;
    other.add_input(graph.type(graph.inputs()[0]));
    other.add_output(other.add_input({int32, {kUnknown}}));
    return other;
  }}};
  EXPECT_THAT(error_of([&] { run_passes(graph(), passes); }), HasSubstr("the number of inputs or outputs changed\n  in pass retype"));
  const Pass wrong[] = {{"retype", [](FunctionGraph) {
    FunctionGraph other;
    other.add_output(other.add_input({int32, {kUnknown}}));
    return other;
  }}};
  EXPECT_THAT(error_of([&] { run_passes(graph(), wrong); }), HasSubstr("an input or output of float32 (?,) became int32 (?,)"));
}

TEST_F(PassTest, MayMakeTypesMorePrecise) {
  const Pass passes[] = {{"refine", [&](FunctionGraph) {
    const Variable x = input({float32, {3}}, "x");
    const Variable inputs[] = {x}, outputs[] = {f_(x)};
    return FunctionGraph(inputs, outputs);
  }}};
  EXPECT_EQ(run_passes(graph(), passes).node_count(), 1);
}

}  // namespace
}  // namespace damo
