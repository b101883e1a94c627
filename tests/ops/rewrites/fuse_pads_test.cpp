// fuse_pads and the rules of pad_fills: which pads their readers' kernels read amid a frame, and which must stay.
#include "ops/rewrites/fuse_pads.hpp"

#include <cstdint>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <damo/graph.hpp>
#include <damo/ops/create.hpp>
#include <damo/ops/linalg.hpp>
#include <damo/ops/math.hpp>
#include <damo/ops/reduce.hpp>
#include <damo/ops/shape.hpp>
#include <damo/ops/subtensor.hpp>
#include <damo/rewrite.hpp>

#include "ops/fused_op.hpp"
#include "ops/pad_op.hpp"
#include "ops/rewrites/fusion.hpp"
#include "ops/rewrites/match.hpp"
#include "ops/rewrites/unfuse.hpp"
#include "ops/subtensor_op.hpp"

namespace damo {
namespace {

class FusePads : public ::testing::Test {
 protected:
  /// How many inputs of kernels are framed; pads that stay are in stayed_, what is set into a tensor in written_.
  int framed(const std::vector<Variable>& outputs, FusionLimits limits = {}) {
    const Variable inputs[] = {x_, y_, value_};
    graph_ = pad_fills(FunctionGraph(inputs, outputs, true), {});
    graph_ = fuse_pads(fuse_elementwise(merge_duplicates(std::move(graph_)), limits), limits);
    graph_.verify();
    return count(graph_);
  }
  int count(const FunctionGraph& graph) {
    int frames = 0;
    stayed_ = written_ = 0;
    for (NodeId node : graph.nodes()) {
      if (const auto* fused = dynamic_cast<const FusedOp*>(&graph.op(node))) frames += static_cast<int>(fused->frames().size());
      stayed_ += dynamic_cast<const PadOp*>(&graph.op(node)) ? 1 : 0;
      written_ += dynamic_cast<const WriteSubtensorOp*>(&graph.op(node)) ? 1 : 0;
    }
    return frames;
  }
  Variable amid(const Variable& x, const Operand& value = 0) { return pad(x, {{1, 2}, {0, 3}}, value); }

  const Variable x_ = input({float32, {6, 9}}, "x"), y_ = input({float32, {6, 9}}, "y"), value_ = input({float32, {}}, "value");
  FunctionGraph graph_;
  int stayed_ = 0, written_ = 0;
};

TEST_F(FusePads, GivesKernelsWhatIsPadded) {
  EXPECT_EQ(framed({exp(amid(x_))}), 1);
  EXPECT_EQ(stayed_, 0);
  const NodeId kernel = graph_.owner(graph_.outputs()[0]);
  ASSERT_EQ(graph_.inputs(kernel).size(), 1u);
  EXPECT_EQ(graph_.type(graph_.inputs(kernel)[0]).dims, (Shape{6, 9}));
  EXPECT_EQ(graph_.type(graph_.outputs()[0]).dims, (Shape{9, 12}));
  EXPECT_EQ(framed({exp(amid(x_)) - amid(y_, 2) * amid(x_, 3)}), 3);
}

TEST_F(FusePads, LeavesWhatIsNoKernelsOrSeveral) {
  EXPECT_EQ(framed({amid(x_)}), 0);
  EXPECT_EQ(framed({exp(amid(x_)), amid(x_)}), 0);
  EXPECT_EQ(framed({sum(exp(amid(x_)), 1)}), 0);
  EXPECT_EQ(framed({matmul(amid(x_), transpose(amid(y_)))}), 0);
  EXPECT_EQ(stayed_, 2);
  EXPECT_EQ(framed({exp(amid(x_, value_))}), 0);
  EXPECT_EQ(framed({exp(amid(transpose(reshape(x_, {9, 6})), 1))}), 0);
  EXPECT_EQ(framed({exp(amid(x_)) + transpose(reshape(pad(reshape(y_, {54}), {{0, 54}}), {12, 9}))}), 0);
  EXPECT_EQ(framed({exp(amid(x_)) + amid(y_)}, {.inputs = 5}), 0);
  EXPECT_EQ(framed({exp(amid(x_)) + amid(y_)}, {.inputs = 6}), 2);
}

TEST_F(FusePads, SeesWhatIsSetIntoAFill) {
  const std::vector<Index> part{{1, 7}, {0, 9}};
  EXPECT_EQ(framed({exp(set_subtensor(symbolic::zeros({9, 12}, float32), part, x_))}), 1);
  EXPECT_EQ(written_, 0);
  EXPECT_EQ(framed({set_subtensor(zeros_like(x_), {{}, {2, 5}}, subtensor(x_, {{}, {0, 3}}))}), 0);
  EXPECT_EQ(stayed_, 1);
  EXPECT_EQ(written_, 0);
  framed({set_subtensor(x_, {{}, {2, 5}}, subtensor(y_, {{}, {0, 3}}))});
  EXPECT_EQ(written_, 1);
  framed({inc_subtensor(zeros_like(x_), {{}, {2, 5}}, subtensor(y_, {{}, {0, 3}}))});
  EXPECT_EQ(written_, 1);
  framed({set_subtensor(zeros_like(x_), {{}, {1, 9, 3}}, subtensor(y_, {{}, {0, 3}}))});
  EXPECT_EQ(written_, 1);
}

TEST_F(FusePads, SeesUnknownExtentsThatAreTheSame) {
  const Variable x = input({float32, {kUnknown, 9}}), y = input({float32, {kUnknown, 5}}), z = input({float32, {kUnknown, 9}});
  const auto written = [&](const Variable& output) {
    const Variable inputs[] = {x, y, z}, outputs[] = {output};
    count(pad_fills(FunctionGraph(inputs, outputs, true), {}));
    return written_;
  };
  const std::vector<Index> part{{}, {2, 7}};
  const Variable of_x = subtensor(x, part);
  EXPECT_EQ(written(set_subtensor(zeros_like(x), part, exp(of_x))), 0);
  EXPECT_EQ(written(set_subtensor(zeros_like(x), part, of_x * y)), 0);  // which its operands' op says
  EXPECT_EQ(written(set_subtensor(zeros_like(x), part, y)), 1);
  EXPECT_EQ(written(set_subtensor(zeros_like(z), part, exp(of_x))), 1);
  EXPECT_EQ(written(set_subtensor(zeros_like(x + z), part, exp(of_x))), 1);  // nothing else says that x and z are alike
  EXPECT_EQ(written(set_subtensor(zeros_like(x), {{1, {}}}, subtensor(x, {{1, {}}}))), 1);
}

TEST_F(FusePads, LiftsWhatKeepsTheNumber) {
  EXPECT_EQ(framed({amid(maximum(x_, 0))}), 1);
  EXPECT_EQ(framed({amid(x_ * y_)}), 2);
  EXPECT_EQ(framed({amid(-x_)}), 1);
  EXPECT_EQ(graph_.inputs(graph_.owner(graph_.outputs()[0])).size(), 1u);
  const auto& fused = static_cast<const FusedOp&>(graph_.op(graph_.owner(graph_.outputs()[0])));
  EXPECT_TRUE(std::signbit(fused.frames()[0].value.as_double()));
  EXPECT_EQ(framed({amid(maximum(x_, -0.0))}), 0) << "which zero is the device's";
  EXPECT_EQ(framed({amid(x_ + 1)}), 0);
  EXPECT_EQ(framed({amid(x_ + 1, 1)}), 0);
  EXPECT_EQ(framed({amid(x_ * value_)}), 0) << "0 times infinity";
  EXPECT_EQ(framed({amid(exp(x_) * exp(y_))}), 0) << "two values in memory for one";
  EXPECT_EQ(framed({amid(exp(x_) * y_)}), 2);
  const Variable shared = x_ * 2;
  EXPECT_EQ(framed({amid(shared), shared}), 0);
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  const Variable n = input({int64, {4}}, "n"), outputs[] = {pad(minimum(n, kMost - 1), {{1, 0}}, kMost)}, inputs[] = {n};
  EXPECT_EQ(count(fuse_pads(fuse_elementwise(pad_fills(FunctionGraph(inputs, outputs), {}), {}), {})), 0) << "two numbers that are one double";
}

TEST_F(FusePads, IsTakenApart) {
  EXPECT_EQ(framed({exp(amid(x_, 2)) * amid(y_)}), 2);
  EXPECT_EQ(count(unfuse(graph_)), 0);
  EXPECT_EQ(stayed_, 2);
}

}  // namespace
}  // namespace damo
