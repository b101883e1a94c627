// Which sorts and argsorts become one node. Their values: tests/function/sort_test.cpp.
#include "ops/rewrites/join_sorts.hpp"

#include <gtest/gtest.h>

#include <damo/gradient.hpp>
#include <damo/ops/reduce.hpp>
#include <damo/ops/sort.hpp>
#include "ops/rewrites/simplify.hpp"
#include "support/graphs.hpp"

namespace damo {
namespace {

using damo::testing::nodes_text;
using Variables = std::vector<Variable>;

std::string joined(const Variables& inputs, const Variables& outputs) {
  const FunctionGraph graph = join_sorts(merge_duplicates(FunctionGraph(inputs, outputs)));
  graph.verify();
  return nodes_text(graph);
}

TEST(JoinSorts, AreOneNodeOfOneValueAndDirection) {
  const Variable x = input({float32, {4, 6}}, "x"), y = input({float32, {4, 6}}, "y");
  EXPECT_EQ(joined({x}, {sort(x), argsort(x)}), "contiguous sort");
  EXPECT_EQ(joined({x}, {sort(x, -1, true), argsort(x, -1, true)}), "contiguous sort");
  EXPECT_EQ(joined({x}, {sort(x), argsort(x, -1, true)}), "contiguous argsort sort");
  EXPECT_EQ(joined({x, y}, {sort(x), argsort(y)}), "contiguous argsort contiguous sort");
}

TEST(JoinSorts, LeaveWhatIsReadAlone) {
  const Variable x = input({float32, {6}}, "x");
  EXPECT_EQ(joined({x}, {sort(x)}), "contiguous sort");
  EXPECT_EQ(joined({x}, {argsort(x)}), "contiguous argsort");
  EXPECT_EQ(joined({x}, {sort(x), topk(x, 2).positions}), "contiguous topk sort") << "topk may select";
}

TEST(JoinSorts, SortOnceForAGradient) {
  const Variable x = input({float32, {6}}, "x"), sorted = sort(x);
  const FunctionGraph graph = join_sorts(apply_rules(FunctionGraph(Variables{x}, Variables{sorted, grad(sum(sorted * sorted), x)}), simplification_rules(false)));
  const std::string text = nodes_text(graph);
  EXPECT_EQ(text.find("argsort"), text.npos) << text;
  EXPECT_NE(text.find("put_back"), text.npos) << text;
}

}  // namespace
}  // namespace damo
