// Gradients of parts of a tensor: side by side where they are all of it, added up amid zeros where not. Values: tests/function/shape_test.cpp, tests/function/verify_grad_test.cpp.
#include "ops/joined_parts.hpp"

#include <gmock/gmock.h>

#include <damo/gradient.hpp>
#include <damo/graph.hpp>
#include <damo/ops/math.hpp>
#include <damo/ops/shape.hpp>
#include <damo/ops/subtensor.hpp>
#include "support/graphs.hpp"

namespace damo {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

/// The nodes of the gradient by x, (6, 4), of these parts' gradients.
std::string nodes_by_x(const Variable& x, const std::vector<Variable>& parts) {
  std::vector<Variable> gradients, inputs{x};
  for (const Variable& part : parts) inputs.push_back(gradients.emplace_back(input(part.type(), "g")));
  return damo::testing::nodes_text(FunctionGraph(inputs, std::vector{lop(parts, gradients, std::span(&x, 1)).front()}, true));
}
Variable six_rows() { return input({float32, {6, 4}}, "x"); }

TEST(JoinedParts, OfAllOfATensorStandSideBySide) {
  const Variable x = six_rows();
  EXPECT_EQ(nodes_by_x(x, split(x, {1, 2, 3}, 0)), "concatenate");
  EXPECT_EQ(nodes_by_x(x, {subtensor(x, {{3, 6}}), subtensor(x, {{0, 3}})}), "concatenate") << "in any order";
  const std::string positions = nodes_by_x(x, {subtensor(x, {{}, 0}), subtensor(x, {{}, -1}), subtensor(x, {{}, 1}), subtensor(x, {{}, 2})});
  EXPECT_THAT(positions, HasSubstr("concatenate"));
  EXPECT_THAT(positions, Not(HasSubstr("set_subtensor")));
}

TEST(JoinedParts, AreAddedWhereTheyOverlapOrLeaveSomethingOut) {
  const Variable x = six_rows(), unknown = input({float32, {kUnknown, 4}}, "x");
  const auto adds = [&](const Variable& of, const std::vector<Variable>& parts) { return nodes_by_x(of, parts).find("add") != std::string::npos; };
  EXPECT_TRUE(adds(x, {subtensor(x, {{0, 4}}), subtensor(x, {{3, 6}})}));
  EXPECT_TRUE(adds(x, {subtensor(x, {{0, 2}}), subtensor(x, {{3, 6}})}));
  EXPECT_TRUE(adds(x, {subtensor(x, {{0, 6, 2}}), subtensor(x, {{1, 6, 2}})})) << "steps";
  EXPECT_TRUE(adds(x, {subtensor(x, {{0, 3}}), subtensor(x, {{}, {0, 2}})})) << "two axes";
  EXPECT_TRUE(adds(x, {subtensor(x, {{0, 3}, {0, 2}}), subtensor(x, {{3, 6}, {0, 2}})}));
  EXPECT_TRUE(adds(x, {subtensor(x, {{0, 3}}), subtensor(x, {{3, 6}}), x})) << "and x itself";
  EXPECT_TRUE(adds(unknown, {subtensor(unknown, {{0, 3}}), subtensor(unknown, {{3, 6}})})) << "a call may bring more rows";
}

}  // namespace
}  // namespace damo
