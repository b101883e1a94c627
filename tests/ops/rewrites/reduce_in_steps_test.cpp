// Which reductions become two. Their values: tests/function/batches_of_rows_test.cpp.
#include "ops/rewrites/reduce_in_steps.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <damo/kernel_op.hpp>
#include <damo/ops/cast.hpp>
#include <damo/ops/reduce.hpp>
#include <damo/ops/shape.hpp>
#include "ops/rewrites/fusion.hpp"
#include "support/graphs.hpp"

namespace damo {
namespace {

using damo::testing::nodes_text;
using Variables = std::vector<Variable>;

/// The axes that reductions go over, in order.
std::vector<std::uint32_t> axes_of(const Variables& inputs, const Variables& outputs) {
  const FunctionGraph graph = reduce_in_steps(FunctionGraph(inputs, outputs));
  std::vector<std::uint32_t> axes;
  for (NodeId node : graph.toposort()) {
    const auto* op = dynamic_cast<const KernelOp*>(&graph.op(node));
    if (op && op->reduced_axes()) axes.push_back(*op->reduced_axes());
  }
  std::sort(axes.begin(), axes.end());
  return axes;
}
Variable centered(const Variable& of, const Axes& axes) { return of - mean(of, axes, keepdims); }

using Found = std::vector<std::uint32_t>;

class ReduceInSteps : public ::testing::Test {
 protected:
  const Variable x = input({float32, {16, 6, 4, 20}}, "x"), y = input({float32, {16, 6, 4, 20}}, "y");
};

TEST_F(ReduceInSteps, JoinsRowsFirstWhereTheyAreAmongWhatIsReduced) {
  const Variable rows = centered(x, {2, 3});
  EXPECT_EQ(axes_of({x, y}, {rows, sum(rows * y, {0, 2, 3})}), (Found{0b0001, 0b1100, 0b1100}));
  EXPECT_EQ(axes_of({x}, {sum(x, {3}), max(x)}), (Found{0b0111, 0b1000, 0b1000})) << "rows that nothing is made of again";
}

TEST_F(ReduceInSteps, JoinsAcrossRowsFirstWhereAPartOfThemIsReduced) {
  const Variable rows = centered(x, {1, 2, 3});
  EXPECT_EQ(axes_of({x, y}, {rows, sum(rows * y, {0, 3})}), (Found{0b0001, 0b1000, 0b1110}));
  const Variable narrow = input({float32, {7, 6, 20}}, "narrow"), of = centered(narrow, {1, 2});
  EXPECT_EQ(axes_of({narrow}, {of, sum(sqr(of), {0, 2})}), (Found{0b101, 0b110})) << "seven rows are no gain";
}

TEST_F(ReduceInSteps, DividesWhatReadsAReductionThatWasDivided) {
  const Variable total = sum(x, {0, 3}, keepdims);
  EXPECT_EQ(axes_of({x}, {centered(x, {3}), max(total, {1, 2})}), (Found{0b0001, 0b0110, 0b1000, 0b1000}));
}

TEST_F(ReduceInSteps, TakesAnotherReductionForTheFirstStepWhereRowsAreOfTwoKinds) {
  const Variable matrix = input({float32, {60, 40}}, "matrix");
  EXPECT_EQ(axes_of({matrix}, {centered(matrix, {1}) + centered(matrix, {0}) + mean(matrix)}), (Found{0b01, 0b01, 0b10}));
  EXPECT_EQ(axes_of({x}, {centered(x, {3}) + centered(x, {2, 3}) + mean(x)}), (Found{0b0100, 0b0111, 0b1000})) << "the first that is there";
  const Variable half = input({bfloat16, {60, 40}}, "half");
  EXPECT_EQ(axes_of({half}, {centered(half, {1}) + centered(half, {0}) + mean(half)}), (Found{0b01, 0b10, 0b11})) << "a mean would be rounded to 16 bits";
}

TEST_F(ReduceInSteps, IsOneKernelThen) {
  const Variable rows = centered(x, {2, 3});
  const FunctionGraph graph = fuse_elementwise(reduce_in_steps(FunctionGraph(Variables{x, y}, Variables{rows, sum(rows * y, {0, 2, 3})})), {});
  EXPECT_THAT(nodes_text(graph), ::testing::HasSubstr("fused(mean mul sub sum) sum"));
}

TEST_F(ReduceInSteps, LeavesWhatOneStepDoesBetter) {
  EXPECT_EQ(axes_of({x}, {sum(x, {0, 3})}), (Found{0b1001})) << "alone";
  EXPECT_EQ(axes_of({x}, {centered(x, {2, 3}), sum(x, {0, 1})}), (Found{0b0011, 0b1100})) << "across rows alone";
  EXPECT_EQ(axes_of({x}, {centered(x, {3}) + centered(x, {2}), max(x)}), (Found{0b0100, 0b1000, 0b1111})) << "rows of two kinds";
  EXPECT_EQ(axes_of({x}, {centered(x, {3}), prod(x), argmax(x, {})}), (Found{0b1000, 0b1111, 0b1111})) << "other joins";
}

TEST_F(ReduceInSteps, DividesWhatChoosesOfSixteenBits) {
  const Variable half = input({bfloat16, {16, 6, 20}}, "half");
  EXPECT_EQ(axes_of({half}, {centered(half, {2}), max(half)}), (Found{0b011, 0b100, 0b100}));
}

}  // namespace
}  // namespace damo
