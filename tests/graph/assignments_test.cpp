// substitute(): what is replaced, what is built anew and what stays the user's.
#include <damo/print.hpp>
#include <damo/rewrite.hpp>

#include <gmock/gmock.h>

#include "support/test_ops.hpp"

namespace damo {
namespace {

using damo::testing::OpaqueOp;

const auto f = make_op<OpaqueOp>("f");
const auto g = make_op<OpaqueOp>("g");

std::string print(const Variable& variable) { return debugprint(std::span(&variable, 1), {.source_lines = false}); }

TEST(Substitute, ReplacesAVariableWhereverItIsRead) {
  const Variable x = vector("x"), y = vector("y"), out = f(g(x), x);
  const Variable other = g(y);
  const std::vector<Assignment> givens{{x, other}};
  const Variable replaced = substitute(std::span(&out, 1), givens)[0];
  EXPECT_EQ(print(replaced), print(f(g(other), other)));
  EXPECT_EQ(print(out), print(f(g(x), x))) << "the user's graph stays";
}

TEST(Substitute, ReplacesAllAtOnce) {
  const Variable x = vector("x"), y = vector("y"), out = f(x, y);
  const std::vector<Assignment> givens{{x, y}, {y, g(x)}};
  EXPECT_EQ(print(substitute(std::span(&out, 1), givens)[0]), print(f(y, g(x))));
}

TEST(Substitute, ReplacesComputedVariablesAndOutputsThemselves) {
  const Variable x = vector("x"), inner = g(x), out = f(inner, x);
  const std::vector<Assignment> givens{{inner, x}};
  EXPECT_EQ(print(substitute(std::span(&out, 1), givens)[0]), print(f(x, x)));
  EXPECT_TRUE(substitute(std::span(&inner, 1), givens)[0].is_same(x));
}

TEST(Substitute, KeepsNodesThatDoNotDependOnWhatIsReplaced) {
  const Variable x = vector("x"), y = vector("y"), apart = g(y), out = f(x, apart);
  const std::vector<Assignment> givens{{x, g(x)}};
  const Variable replaced = substitute(std::span(&out, 1), givens)[0];
  EXPECT_TRUE(replaced.owner().input(1).is_same(apart));
}

TEST(Substitute, InfersTypesAnew) {
  const Variable x = vector("x"), out = g(x);
  const std::vector<Assignment> givens{{x, input({float32, {5}}, "five")}};
  EXPECT_EQ(substitute(std::span(&out, 1), givens)[0].dims(), Shape{5});
}

TEST(Substitute, WalksAChainOfAMillionNodes) {
  const Variable x = vector("x"), y = vector("y");
  Variable out = x;
  for (int i = 0; i < 1'000'000; ++i) out = g(out);
  const std::vector<Assignment> givens{{x, y}};
  const Variable replaced = substitute(std::span(&out, 1), givens)[0];
  EXPECT_FALSE(replaced.is_same(out));
}

}  // namespace
}  // namespace damo
