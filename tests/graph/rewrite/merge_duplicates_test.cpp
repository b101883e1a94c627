#include <damo/rewrite.hpp>

#include <gmock/gmock.h>

#include "support/test_ops.hpp"

namespace damo {
namespace {

using damo::testing::OpaqueOp;

FunctionGraph merged(const std::vector<Variable>& inputs, const std::vector<Variable>& outputs) {
  FunctionGraph graph = merge_duplicates(FunctionGraph(inputs, outputs));
  graph.verify();
  return graph;
}

class MergeDuplicates : public ::testing::Test {
 protected:
  OpHandle<OpaqueOp> op(const std::string& name, Props props = {}, int outputs = 1) const {
    return make_op<OpaqueOp>(name, outputs, std::move(props));
  }
  const Variable x_ = vector("x"), y_ = vector("y");
};

TEST_F(MergeDuplicates, JoinsEqualOpsOnTheSameInputs) {
  const FunctionGraph graph = merged({x_, y_}, {op("f")(x_, y_), op("f")(x_, y_), op("f")(y_, x_)});
  EXPECT_EQ(graph.node_count(), 2);
  EXPECT_EQ(graph.outputs()[0], graph.outputs()[1]);
  EXPECT_NE(graph.outputs()[0], graph.outputs()[2]);
}

TEST_F(MergeDuplicates, JoinsWholeTrees) {
  const auto tree = [&] { return op("h")(op("f")(x_), op("g")(op("f")(x_), y_)); };
  EXPECT_EQ(merged({x_, y_}, {tree(), tree(), tree()}).node_count(), 3);
}

TEST_F(MergeDuplicates, KeepsDifferentPropsApart) {
  const auto with = [&](PropValue value) { return op("f", {{"p", value}})(x_); };
  EXPECT_EQ(merged({x_}, {with(std::int64_t{1}), with(std::int64_t{2}), with(1.0), with(true)}).node_count(), 4);
  EXPECT_EQ(merged({x_}, {with(0.0), with(-0.0)}).node_count(), 2);
}

TEST_F(MergeDuplicates, JoinsAllOutputsOfANode) {
  const auto a = op("two", {}, 2).outputs({x_}), b = op("two", {}, 2).outputs({x_});
  const FunctionGraph graph = merged({x_}, {a[0], b[1], b[0]});
  EXPECT_EQ(graph.node_count(), 1);
  EXPECT_EQ(graph.outputs()[0], graph.outputs()[2]);
  EXPECT_NE(graph.outputs()[0], graph.outputs()[1]);
}

TEST_F(MergeDuplicates, JoinsEqualConstants) {
  EXPECT_EQ(merged({x_}, {op("f")(x_, constant(1.5f)), op("f")(x_, constant(1.5f))}).node_count(), 1);
  EXPECT_EQ(merged({x_}, {op("f")(x_, constant(1.5f)), op("f")(x_, constant(1.5))}).node_count(), 2) << "dtypes differ";
  EXPECT_EQ(merged({x_}, {op("f")(x_, constant(0.0f)), op("f")(x_, constant(-0.0f))}).node_count(), 2) << "1 / x tells them apart";
}

TEST_F(MergeDuplicates, GivesEqualConstantsAsOutputs) {
  const FunctionGraph graph = merged({}, {constant(2.0f), constant(2.0f)});
  EXPECT_EQ(graph.outputs()[0], graph.outputs()[1]);
}

TEST_F(MergeDuplicates, IsLinear) {
  std::vector<Variable> outputs;
  for (std::int64_t i = 0; i < 20'000; ++i) outputs.push_back(op("f", {{"p", i % 10'000}})(x_));
  EXPECT_EQ(merged({x_}, outputs).node_count(), 10'000);
}

}  // namespace
}  // namespace damo
