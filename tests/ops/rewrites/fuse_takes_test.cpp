// fuse_takes: which takes their readers' kernels find, and which must stay.
#include "ops/rewrites/fuse_takes.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <damo/array.hpp>
#include <damo/device.hpp>
#include <damo/graph.hpp>
#include <damo/ops/create.hpp>
#include <damo/ops/indexing.hpp>
#include <damo/ops/linalg.hpp>
#include <damo/ops/math.hpp>
#include <damo/ops/reduce.hpp>
#include <damo/ops/scan.hpp>
#include <damo/ops/shape.hpp>
#include <damo/rewrite.hpp>
#include <damo/shared.hpp>

#include "ops/fused_op.hpp"
#include "ops/rewrites/fusion.hpp"
#include "ops/rewrites/unfuse.hpp"

namespace damo {
namespace {

class FuseTakes : public ::testing::Test {
 protected:
  /// How many inputs of kernels are taken; takes that stay are in stayed_.
  int taken(const std::vector<Variable>& outputs, FusionLimits limits = {}) {
    graph_ = FunctionGraph(inputs_, outputs, true);
    graph_ = fuse_takes(fuse_elementwise(merge_duplicates(std::move(graph_)), limits), limits);
    graph_.verify();
    return count(graph_);
  }
  int count(const FunctionGraph& graph) {
    int takes = 0;
    stayed_ = 0;
    for (NodeId node : graph.nodes()) {
      if (const auto* fused = dynamic_cast<const FusedOp*>(&graph.op(node))) takes += static_cast<int>(fused->takes().size());
      stayed_ += dynamic_cast<const TakeOp*>(&graph.op(node)) ? 1 : 0;
    }
    return takes;
  }
  Variable variable(TensorType type, const char* name) {
    inputs_.push_back(input(std::move(type), name));
    return inputs_.back();
  }
  Variable table(Shape dims = {50, 96}, DType dtype = float32) { return variable({dtype, std::move(dims)}, "table"); }
  Variable ids(Shape dims = {33}) { return variable({int32, std::move(dims)}, "ids"); }

  std::vector<Variable> inputs_;
  FunctionGraph graph_;
  int stayed_ = 0;
};

TEST_F(FuseTakes, GivesKernelsTheTableAndThePositions) {
  EXPECT_EQ(taken({take(table(), ids(), 0) * 2}), 1);
  EXPECT_EQ(stayed_, 0);
  const NodeId kernel = graph_.owner(graph_.outputs()[0]);
  ASSERT_EQ(graph_.inputs(kernel).size(), 2u);
  EXPECT_EQ(graph_.type(graph_.inputs(kernel)[0]).dims, (Shape{50, 96}));
  EXPECT_EQ(graph_.type(graph_.inputs(kernel)[1]), (TensorType{int64, {33}}));
}

TEST_F(FuseTakes, TakesReadersOfRows) {
  const Variable x = take(table(), ids(), 0);
  EXPECT_EQ(taken({x - mean(x, 1, keepdims)}), 1);
  EXPECT_EQ(taken({sum(x, 1)}), 1);
  EXPECT_EQ(taken({sum(take(table({50, 6, 96}), ids({4}), 1) * 2, 2)}), 1);
}

TEST_F(FuseTakes, TakesSumsOverPositions) {
  const Variable x = take(table(), ids(), 0), bags = take(table(), ids({9, 4}), 0);
  EXPECT_EQ(taken({sum(x, 0)}), 1);
  EXPECT_EQ(taken({mean(bags, 1)}), 1);
  EXPECT_EQ(taken({max(bags * 2, 1), sum(bags, 1)}), 1);
  EXPECT_EQ(taken({sum(take(table({50, 6, 96}), ids({4}), 0), {0, 1})}), 1);
  EXPECT_EQ(taken({sum(take(table({50, 6, 96}), ids({4}), 0), 1)}), 1);
  EXPECT_EQ(taken({sum(bags, 1), sum(bags, 0)}), 0);  // each of which may want a copy
  EXPECT_EQ(stayed_, 1);
}

TEST_F(FuseTakes, LeavesWhatGoesAlongPositions) {
  const Variable x = take(table(), ids(), 0);
  EXPECT_EQ(taken({sum(take(table(), ids({9, 4}), 0), {1, 2})}), 0);
  EXPECT_EQ(taken({sum(x)}), 0);
  EXPECT_EQ(taken({cumsum(x, 1)}), 0);
  EXPECT_EQ(taken({take(table(), ids(), 1) * 2}), 0);
  EXPECT_EQ(stayed_, 1);
}

TEST_F(FuseTakes, LeavesShortSlices) {
  EXPECT_EQ(taken({take(table({50, 15}), ids(), 0) * 2}), 0);
  EXPECT_EQ(taken({take(table({50, 16}), ids(), 0) * 2}), 1);
  EXPECT_EQ(taken({take(table({50, 16}, float64), ids(), 0) * 2}), 1);
  EXPECT_EQ(taken({take(table({50, 31}, bfloat16), ids(), 0) * 2}), 0);
  EXPECT_EQ(taken({take(table({50, 4, 4}), ids(), 0) * 2}), 1);  // side by side
  EXPECT_EQ(taken({take(table({50, kUnknown}), ids(), 0) * 2}), 1);
  EXPECT_EQ(taken({take(table({50, 1}), ids(), 0) * 2}), 0);
  EXPECT_EQ(taken({take(table({50}), ids(), 0) * 2}), 0);
}

TEST_F(FuseTakes, LeavesWhatIsCopiedAllTheSame) {
  const Variable x = take(table(), ids(), 0);
  EXPECT_EQ(taken({x}), 0);
  EXPECT_EQ(taken({x * 2, x}), 0);
  EXPECT_EQ(taken({x * 2, matmul(x, variable({float32, {96, 4}}, "w"))}), 0);
  EXPECT_EQ(taken({transpose(x) * 2}), 0);
}

TEST_F(FuseTakes, FindsATableForSeveralKernelsUnlessItIsATemporary) {
  const auto read_twice = [&](const Variable& x) { return matmul(x * 2, variable({float32, {x.dims()[1], x.dims()[1]}}, "w")) + x; };
  EXPECT_EQ(taken({read_twice(take(table(), ids(), 0))}), 2);
  EXPECT_EQ(stayed_, 0);
  EXPECT_EQ(taken({read_twice(take(shared("table", Array::zeros({50, 96}, float32, Device("null"))), ids(), 0))}), 2);
  EXPECT_EQ(taken({read_twice(take(table({50, 31}), ids(), 0))}), 0);  // some kernel may want a copy
  EXPECT_EQ(taken({read_twice(take(table({50, kUnknown}), ids(), 0))}), 0);
  EXPECT_EQ(taken({read_twice(take(exp(table()), ids(), 0))}), 0);
  EXPECT_EQ(stayed_, 1);
  EXPECT_EQ(taken({take(exp(table()), ids(), 0) * 2}), 1);
}

TEST_F(FuseTakes, HeedsTheLimitOfInputs) {
  const Variable x = take(table(), ids(), 0);
  EXPECT_EQ(taken({x * 2}, {.inputs = 2}), 1);
  EXPECT_EQ(taken({x * 2}, {.inputs = 1}), 0);
}

TEST_F(FuseTakes, IsUndoneByUnfuse) {
  const Variable x = take(table(), ids(), 0);
  ASSERT_EQ(taken({x - mean(x, 1, keepdims)}), 1);
  const FunctionGraph apart = unfuse(graph_);
  apart.verify();
  EXPECT_EQ(count(apart), 0);
  EXPECT_EQ(stayed_, 1);
}

TEST_F(FuseTakes, MayNotBeWrittenOver) {
  const Variable t = table({33, 96});
  ASSERT_EQ(taken({take(t, ids(), 0) + t}), 1);
  const NodeId kernel = graph_.owner(graph_.outputs()[0]);
  const Op& op = graph_.op(kernel);
  const auto inputs = graph_.inputs(kernel);
  ASSERT_EQ(inputs.size(), 3u);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(op.may_run_in_place(0, i), i < 2 && !static_cast<const FusedOp&>(op).take(i)) << i;
}

}  // namespace
}  // namespace damo
