#include "runtime/kernel/name_expression.hpp"

#include <gtest/gtest.h>

namespace damo {
namespace {

TEST(NameExpression, HoldsTheNameOfAKernel) {
  const struct {
    const char *expression, *name;
    bool has_cast;
  } cases[] = {
      {"scale", "scale", false},
      {" space::scale ", "space::scale", false},
      {"scale<float, 3>", "scale<float, 3>", false},
      {"scale < A<int> >", "scale < A<int> >", false},
      {"scale<(3 > 2)>", "scale<(3 > 2)>", false},
      {"&scale<float>", "scale<float>", true},
      {"(void (*)(float*, A<int>))scale", "scale", true},
      {"(void(*)(void(*)(int)))a::scale<float>", "a::scale<float>", true},
      {"static_cast<void (*)(float*)>(scale)", "scale", true},
      {"(void (*)(float*))(scale<(1 > 0)>)", "scale<(1 > 0)>", true},
      {"scale)", "", true},
      {"(void (*)(float*))", "", true},
      {"", "", false},
  };
  for (const auto& [expression, name, cast] : cases) {
    EXPECT_EQ(name_in(expression), name) << expression;
    EXPECT_EQ(has_cast(expression), cast) << expression;
  }
}

TEST(NameExpression, ChoosesAmongKernelsOfOneName) {
  EXPECT_EQ(with_cast("space::k", "float const*, int"), "(void (*)(float const*, int))space::k");
  EXPECT_EQ(with_cast("(anonymous namespace)::k", "(anonymous namespace)::P*"), "(void (*)(P*))k");
  EXPECT_EQ(name_in(with_cast("k<float>", "")), "k<float>");
}

}  // namespace
}  // namespace damo
