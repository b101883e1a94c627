// apply_rules: which nodes rules are asked about, how often, and what may stand in a node's place.
#include <damo/rewrite.hpp>

#include <gmock/gmock.h>

#include <damo/log.hpp>
#include "support/errors.hpp"
#include "support/test_ops.hpp"

namespace damo {
namespace {

using damo::testing::error_of;
using damo::testing::OpaqueOp;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class RuleTest : public ::testing::Test {
 protected:
  FunctionGraph graph(const Variable& output) const {
    const Variable inputs[] = {x_}, outputs[] = {output};
    return FunctionGraph(inputs, outputs);
  }
  /// The names of the ops from the output up to x.
  static std::vector<std::string> chain(const FunctionGraph& graph) {
    std::vector<std::string> names;
    for (ValueId value = graph.outputs()[0]; graph.owner(value) != NodeId::kNone; value = graph.inputs(graph.owner(value))[0]) names.push_back(graph.op(graph.owner(value)).name());
    return names;
  }
  Rule becomes(std::string name, const OpHandle<OpaqueOp>& from, const OpHandle<OpaqueOp>& to) const {
    return {.name = std::move(name), .ops = {from}, .rewrite = [to](Site& site) { return to(site.operand(site.input(0))); }};
  }
  /// op(op(x)) is x.
  Rule drops_pairs(const OpHandle<OpaqueOp>& op) const {
    return {.name = "drop_pair", .ops = {op}, .rewrite = [op](Site& site) { return site.made_by(site.input(0), *op) ? site.operand(site.input_of(site.input(0))) : Variable(); }};
  }
  const OpHandle<OpaqueOp> f_ = make_op<OpaqueOp>("f"), g_ = make_op<OpaqueOp>("g"), h_ = make_op<OpaqueOp>("h");
  const Variable x_ = vector("x");
};

TEST_F(RuleTest, ReplacesANodeAndKeepsItsLine) {
  const Variable made = f_(x_);
  const Rule rules[] = {becomes("f_to_g", f_, g_)};
  const FunctionGraph after = apply_rules(graph(h_(made)), rules);
  EXPECT_THAT(chain(after), ElementsAre("h", "g"));
  EXPECT_EQ(to_string(after.where(after.toposort()[0])), to_string(made.where()));
}

TEST_F(RuleTest, AsksAboutNewNodesAndAboutReadersOfWhatChanged) {
  const Rule rules[] = {becomes("f_to_g", f_, g_), drops_pairs(g_)};
  EXPECT_THAT(chain(apply_rules(graph(h_(g_(f_(x_)))), rules)), ElementsAre("h")) << "the reader of f";
  EXPECT_THAT(chain(apply_rules(graph(h_(f_(g_(x_)))), rules)), ElementsAre("h")) << "the node that f became";
}

TEST_F(RuleTest, LetsTheFirstRuleThatAppliesWin) {
  const Rule rules[] = {becomes("f_to_g", f_, g_), becomes("f_to_h", f_, h_)};
  std::vector<RuleReport> reports;
  EXPECT_THAT(chain(apply_rules(graph(f_(x_)), rules, {}, &reports)), ElementsAre("g"));
  EXPECT_EQ(reports[0].applied, 1);
  EXPECT_EQ(reports[1].asked, 0);
}

TEST_F(RuleTest, AsksOnlyWhereAnInputIsMadeByAnOpThatTheRuleReads) {
  Rule rule = drops_pairs(f_);
  rule.reads = [this](const Op& op) { return &op == &*f_; };
  const Rule rules[] = {rule, becomes("h_to_f", h_, f_)};
  std::vector<RuleReport> reports;
  EXPECT_THAT(chain(apply_rules(graph(f_(g_(f_(f_(x_))))), rules, {}, &reports)), ElementsAre("f", "g"));
  EXPECT_EQ(reports[0].asked, 1) << "of three: one reads x, one g";
  EXPECT_THAT(chain(apply_rules(graph(g_(f_(h_(x_)))), rules)), ElementsAre("g")) << "h became f";
}

TEST_F(RuleTest, LeavesOutWhatIsDisabled) {
  const Rule rules[] = {becomes("f_to_g", f_, g_), becomes("f_to_h", f_, h_)};
  const std::string disabled[] = {"f_to_g"};
  EXPECT_THAT(chain(apply_rules(graph(f_(x_)), rules, disabled)), ElementsAre("h"));
  const Pass passes[] = {{.name = "rules", .rules = {rules[0]}}};
  EXPECT_THAT(chain(run_passes(graph(f_(x_)), passes, nullptr, disabled)), ElementsAre("f"));
  const std::string whole[] = {"rules"};
  EXPECT_THAT(chain(run_passes(graph(f_(x_)), passes, nullptr, whole)), ElementsAre("f"));
}

TEST_F(RuleTest, CountsReadersThatAreStillNeeded) {
  const Variable shared = f_(x_);
  const Variable inputs[] = {x_}, outputs[] = {g_(shared), h_(h_(shared))};
  int readings = 0;
  Rule look{.name = "look", .ops = {g_}, .rewrite = [&](Site& site) { return readings = site.readings(site.input(0)), Variable(); }};
  const Rule alone[] = {look}, both[] = {drops_pairs(h_), {.name = "drop_f", .ops = {h_}, .rewrite = [&](Site& site) { return site.operand(site.input(0)); }}, look};
  apply_rules(FunctionGraph(inputs, outputs), alone);
  EXPECT_EQ(readings, 2);
  apply_rules(FunctionGraph(inputs, outputs), both);
  EXPECT_EQ(readings, 2) << "h(h(f)) became f, which is an output now";
}

TEST_F(RuleTest, AsksALongChainOnceANode) {
  Variable y = x_;
  constexpr int kNodes = 20000;
  for (int i = 0; i < kNodes; ++i) y = i % 2 == 0 ? f_(y) : g_(y);
  const Rule rules[] = {becomes("g_to_h", g_, h_)};
  std::vector<RuleReport> reports;
  EXPECT_EQ(apply_rules(graph(y), rules, {}, &reports).node_count(), kNodes);
  EXPECT_EQ(reports[0].asked, kNodes / 2);
  EXPECT_EQ(reports[0].applied, kNodes / 2);
}

TEST_F(RuleTest, EndsWithAWarningWhereRulesGoRoundInCircles) {
  const Rule rules[] = {becomes("f_to_g", f_, g_), becomes("g_to_f", g_, f_)};
  std::vector<std::string> lines;
  set_log_sink([&](LogLevel, std::string_view line) { lines.emplace_back(line); });
  EXPECT_EQ(apply_rules(graph(f_(x_)), rules).node_count(), 1);
  set_log_sink({});
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_THAT(lines[0], HasSubstr("rewrite rules made a graph of 1 nodes too large, f_to_g applied "));
}

TEST_F(RuleTest, MergesWhatRulesMadeEqual) {
  const Variable inputs[] = {x_}, outputs[] = {f_(x_), g_(x_)};
  const Rule rules[] = {becomes("f_to_g", f_, g_)};
  EXPECT_EQ(apply_rules(FunctionGraph(inputs, outputs), rules).node_count(), 1);
}

TEST_F(RuleTest, RefusesAnotherTypeAndStrangeVariables) {
  const Rule retypes[] = {{.name = "retype", .ops = {f_}, .rewrite = [this](Site&) { return f_(vector("y", int32)); }}};
  EXPECT_THAT(error_of([&] { apply_rules(graph(f_(x_)), retypes); }), HasSubstr("rule retype: a float32 (?,) cannot be replaced by a int32 (?,)"));
  const Rule strange[] = {{.name = "strange", .ops = {f_}, .rewrite = [this](Site&) { return g_(vector("y")); }}};
  EXPECT_THAT(error_of([&] { apply_rules(graph(f_(x_)), strange); }), HasSubstr("a rule built on a Variable that is no operand of its site"));
}

}  // namespace
}  // namespace damo
