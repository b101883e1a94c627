// The kernels that graphs with reshapes between rows become. Their values: tests/function/refined_spaces_test.cpp.
#include "ops/rewrites/refine_spaces.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <damo/kernel_op.hpp>
#include <damo/ops/reduce.hpp>
#include <damo/ops/scan.hpp>
#include <damo/ops/shape.hpp>
#include "ops/rewrites/fusion.hpp"
#include "support/graphs.hpp"

namespace damo {
namespace {

using damo::testing::nodes_text;
using Variables = std::vector<Variable>;

std::string text(const Variables& inputs, const Variables& outputs) { return nodes_text(fuse_elementwise(refine_spaces(FunctionGraph(inputs, outputs)), {})); }
int kernels(const Variables& inputs, const Variables& outputs) {
  const FunctionGraph graph = fuse_elementwise(refine_spaces(FunctionGraph(inputs, outputs)), {});
  int count = 0;
  for (NodeId node : graph.nodes()) count += dynamic_cast<const KernelOp*>(&graph.op(node)) != nullptr || graph.op(node).name() == "fused";
  return count;
}

const Variable x = input({float32, {3, 6, 20}}, "x"), w = input({float32, {6, 1}}, "w");

Variable centered(const Variable& rows) { return rows - mean(rows, -1, keepdims); }

TEST(RefineSpaces, PutsAReshapeBehindTheKernel) {
  const Variable y = reshape(centered(reshape(x, {3, 2, 60})), {3, 6, 20}) * w;
  EXPECT_EQ(text({x, w}, {y}), "take_apart contiguous reshape take_apart fused(mean mul sub) contiguous reshape");
}

TEST(RefineSpaces, GoesThroughSeveralReshapesAndBack) {
  const Variable pairs = reshape(centered(reshape(x, {3, 2, 60})), {3, 6, 10, 2}), y = reshape(pairs * 2.0, {3, 120}) - 1.0;
  EXPECT_EQ(kernels({x}, {y}), 1) << text({x}, {y});
}

TEST(RefineSpaces, TakesReductionsOfWhatTheSpaceReads) {
  const Variable y = reshape(centered(reshape(x, {3, 2, 60})), {3, 6, 20}) * x;
  const FunctionGraph graph = refine_spaces(FunctionGraph(Variables{x}, Variables{y, sum(x, {0, 2})}));
  std::vector<std::uint32_t> sums;
  for (NodeId node : graph.nodes()) {
    if (graph.op(node).name() == "sum") sums.push_back(*dynamic_cast<const KernelOp&>(graph.op(node)).reduced_axes());
  }
  EXPECT_THAT(sums, ::testing::ElementsAre(0b1001u)) << "of (3, 2, 3, 20)";
}

TEST(RefineSpaces, LeavesWhatOneSpaceDoesNotHold) {
  const Variable oblique = input({float32, {6, 4}}, "oblique");
  EXPECT_EQ(kernels({oblique}, {reshape(centered(oblique), {4, 6}) * 2.0}), 2) << "axes that end elsewhere";
  EXPECT_EQ(kernels({x}, {reshape(cumsum(x, 2), {18, 20}) * 2.0}), 2) << "a scan has its axis";
  const Variable open = input({float32, {3, kUnknown, 20}}, "open");
  EXPECT_EQ(text({open}, {reshape(centered(open), {-1, 20}) * 2.0}), "fused(mean sub) contiguous reshape mul") << "an extent within that is not known";
}

TEST(RefineSpaces, ReadsAViewThatAReshapeWouldCopy) {
  const Variable v = input({float32, {kUnknown, 4, 2, 16}}, "v"), scale = input({float32, {4 * 16}}, "scale");
  const Variable patches = reshape(dimshuffle(v, {0, 2, 1, 3}), {-1, 2, 4 * 16});
  EXPECT_EQ(text({v, scale}, {exp(patches) * scale}), "take_apart dimshuffle fused(exp mul) contiguous reshape");
  EXPECT_EQ(text({v, scale}, {centered(patches) * scale}), "take_apart dimshuffle fused(mean mul sub) contiguous reshape");
}

/// As a picture of which each row is there twice, or heads of keys that several of queries share.
TEST(RefineSpaces, ReadsWhatIsRepeatedWhereItLies) {
  EXPECT_EQ(text({x}, {exp(repeat(x, 2, 1)) * 2.0}), "dimshuffle broadcast_to fused(exp mul) contiguous reshape");
  EXPECT_EQ(text({x}, {centered(repeat(x, 2, 1))}), "dimshuffle broadcast_to contiguous flatten fused(mean sub)") << "rows would be read element by element";
  EXPECT_EQ(text({x}, {repeat(x, 2, 1)}), "dimshuffle broadcast_to contiguous flatten") << "nothing but a copy";
}

/// The call finds out whether it is 12 rows: no view may take 12 for granted.
TEST(RefineSpaces, LeavesExtentsToACallThatOnlySomeValuesSay) {
  const Variable open = input({float32, {kUnknown, 4}}, "open"), known = input({float32, {6, 2, 16}}, "known"), rows = input({float32, {kUnknown, 32}}, "rows");
  EXPECT_EQ(text({open, known}, {open + repeat(sum(known, 2), 2, 1)}), "sum dimshuffle dimshuffle broadcast_to contiguous flatten add");
  EXPECT_EQ(text({known, rows}, {exp(rows) * reshape(dimshuffle(known, {1, 0, 2}), {6, 32})}), "dimshuffle contiguous reshape exp mul");
}

TEST(RefineSpaces, LeavesCopiesThatAreWanted) {
  const Variable v = input({float32, {5, 4, 2, 16}}, "v");
  const auto patches = [&](std::vector<int> order) { return reshape(dimshuffle(v, order), {2, -1}); };
  const Variable heads = patches({2, 0, 1, 3});
  EXPECT_EQ(text({v}, {exp(heads), heads}), "dimshuffle contiguous reshape exp") << "the copy is a result";
  EXPECT_EQ(text({v}, {centered(patches({2, 3, 0, 1}))}), "dimshuffle contiguous reshape fused(mean sub)") << "rows would be read element by element";
  EXPECT_EQ(text({v}, {exp(reshape(dimshuffle(v, {0, kNewAxis, 1, 2, 3}), {5, -1}))}), "dimshuffle contiguous reshape exp") << "nothing is copied";
  const Variable oblique = input({float32, {2, 9}}, "oblique");
  EXPECT_EQ(text({oblique}, {exp(reshape(dimshuffle(oblique, {1, 0}), {6, 3}))}), "dimshuffle contiguous reshape exp") << "axes that end elsewhere";
}

TEST(RefineSpaces, LeavesGraphsWithoutReductionsToTheRules) {
  EXPECT_EQ(text({x}, {reshape(x * 2.0, {18, 20}) + 1.0}), "mul contiguous reshape add");
}

}  // namespace
}  // namespace damo
