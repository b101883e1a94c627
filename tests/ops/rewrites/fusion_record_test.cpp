// What the fuser writes down of kernels that lie side by side (FusionRecord).
#include "ops/rewrites/fusion_record.hpp"

#include <gtest/gtest.h>

#include <damo/ops/math.hpp>
#include <damo/ops/reduce.hpp>
#include <damo/ops/scan.hpp>
#include "ops/rewrites/fusion.hpp"

namespace damo {
namespace {

/// All reasons of the fused graph, by its edges.
std::vector<Apart> reasons(const Variable& output, const std::vector<Variable>& inputs, const FusionLimits& limits = {}) {
  FusionRecord record;
  const FunctionGraph graph = fuse_elementwise(FunctionGraph(inputs, std::vector{output}), limits, &record);
  std::vector<Apart> found;
  for (NodeId node : graph.toposort()) {
    for (ValueId input : graph.inputs(node)) {
      const Apart why = graph.owner(input) == NodeId::kNone ? Apart::kNone : record.between(graph.owner(input), node);
      if (why != Apart::kNone) found.push_back(why);
    }
  }
  return found;
}

using Reasons = std::vector<Apart>;

TEST(FusionRecord, KeepsTheFirstReasonThatIsMoreThanACycle) {
  FusionRecord record;
  const auto a = static_cast<NodeId>(3), b = static_cast<NodeId>(4);
  EXPECT_EQ(record.between(a, b), Apart::kNone);
  record.note(a, b, Apart::kCycle);
  record.note(a, b, Apart::kCost);
  record.note(a, b, Apart::kInputs);
  EXPECT_EQ(record.between(a, b), Apart::kCost);
  EXPECT_EQ(record.between(b, a), Apart::kNone);
}

TEST(FusionRecord, FollowsTheNumbersOfACompactedGraph) {
  FusionRecord record;
  const auto node = [](int number) { return static_cast<NodeId>(number); };
  record.note(node(5), node(9), Apart::kAxes);
  record.note(node(5), node(7), Apart::kScan);
  record.renumber(std::vector{node(2), node(5), node(9)});
  EXPECT_EQ(record.between(node(1), node(2)), Apart::kAxes);
  EXPECT_EQ(record.between(node(5), node(9)), Apart::kNone);
  EXPECT_EQ(record.between(node(5), node(7)), Apart::kNone) << "node 7 is gone";
}

TEST(FusionRecord, HasNothingOfOneKernel) {
  const Variable x = matrix("x");
  EXPECT_EQ(reasons(exp(x) / sum(exp(x), 1, true), {x}), Reasons());
}

TEST(FusionRecord, TellsEachLimit) {
  const Variable x = vector("x"), y = vector("y"), z = vector("z");
  EXPECT_EQ(reasons(exp(exp(x)), {x}, {.cost = 20}), Reasons{Apart::kCost});
  EXPECT_EQ(reasons(exp(x + y) + z, {x, y, z}, {.inputs = 2}), Reasons{Apart::kInputs});
  EXPECT_EQ(reasons(exp(x + y) * tanh(x + y), {x, y}, {.registers = 3}).front(), Apart::kRegisters);
}

TEST(FusionRecord, TellsOfShapesAndOtherReaders) {
  const Variable row = input({float32, {1, 64}}), full = input({float32, {64, 64}});
  EXPECT_EQ(reasons(tanh(tanh(row)) + full, {row, full}), Reasons{Apart::kShape});
  const Variable shared = tanh(row);
  EXPECT_EQ(reasons((shared + full) * (shared - full), {row, full}), Reasons{Apart::kReaders});
}

TEST(FusionRecord, TellsOfReductionsOverOtherAxesAndOfScans) {
  const Variable x = matrix("x");
  EXPECT_EQ(reasons(sum(exp(sum(x, 0, true)) * x, 1), {x}), Reasons{Apart::kAxes});
  EXPECT_EQ(reasons(cumsum(cumsum(x, 1), 1), {x}), Reasons{Apart::kScan});
}

TEST(FusionRecord, SaysOfALongRowOfSeveralArraysThatItWouldBeOneBlocksWork) {
  const Variable x = input({float32, {1 << 20}}), y = input({float32, {1 << 20}}), z = x * y;
  EXPECT_EQ(reasons(z / sum(z, 0, true), {x, y}), (Reasons{Apart::kOneRow, Apart::kOneRow})) << "of the product and of its sum";
  EXPECT_EQ(reasons(x / sum(x, 0, true), {x}), Reasons{}) << "a kernel each pass reads what one alone would";
}

}  // namespace
}  // namespace damo
