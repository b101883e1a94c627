// Graphs that are computed while they are built.
#include <damo/damo.hpp>

#include <gmock/gmock.h>

#include "support/devices.hpp"

namespace damo {
namespace {

using damo::testing::error_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class TestValuesOnEachDevice : public damo::testing::OnEachDevice {};

TEST_P(TestValuesOnEachDevice, AreComputedAsTheGraphIsBuilt) {
  const auto x = matrix("x"), w = matrix("w"), other = vector("other");
  const Shared b = shared("b", array({10, 20}));
  TestValues test(device());
  test.set(x, array({1, 2, 3, 4}, {2, 2}));
  test.set(w, array({1, 0, 0, -1}, {2, 2}));
  const Variable h = dot(x, w) + b, y = relu(h * 2.0);
  EXPECT_THAT(test.of(h).to_vector<float>(), ElementsAre(11, 18, 13, 16));
  EXPECT_THAT(test.of(y).to_vector<float>(), ElementsAre(22, 36, 26, 32));
  EXPECT_THAT(test.of(subtensor(transpose(y), {0})).to_vector<float>(), ElementsAre(22, 26)) << "views too";
  EXPECT_THAT(test.of(grad(sum(y), x)).to_vector<float>(), ElementsAre(2, -2, 2, -2)) << "gradients too";
  EXPECT_THAT(test.of(recompute(h, {x})).to_vector<float>(), ElementsAre(11, 18, 13, 16));
  EXPECT_THAT(test.of(nonzero(gt(h, 15.0))[1]).to_vector<std::int64_t>(), ElementsAre(1, 1));
  const Variable unknown = h + other;
  EXPECT_FALSE(test.has(unknown));
  EXPECT_THAT(error_of([&] { test.of(unknown); }), HasSubstr("test value: add float32 (?, 2) has none"));
}

TEST_P(TestValuesOnEachDevice, ShowWhatIsWrongAtTheLineThatMadeIt) {
  const auto x = matrix("x"), w = matrix("w");
  std::string text;
  {
    TestValues test(device());
    test.set(x, range({2, 3}));
    test.set(w, range({2, 3}));
    text = error_of([&] { dot(x, w); });
    EXPECT_THAT(text, HasSubstr("test_values_test.cpp:" + std::to_string(__LINE__ - 1)));
    EXPECT_THAT(error_of([&] { x + transpose(w); }), HasSubstr("cannot broadcast"));
    {
      TestValues inner(device());
      EXPECT_FALSE(inner.has(x * 2.0));
    }
    EXPECT_TRUE(test.has(x * 2.0)) << "the outer one is asked again";
  }
  EXPECT_THAT(text, HasSubstr("(2, 3)"));
  EXPECT_EQ(dot(x, w).rank(), 2) << "nobody is asked any more";
}

TEST_P(TestValuesOnEachDevice, RefuseWhatDoesNotFit) {
  const auto x = matrix("x");
  TestValues test(device());
  EXPECT_THAT(error_of([&] { test.set(x * 2.0, range({2, 2})); }), HasSubstr("test value: mul float32 (?, ?) is no input"));
  EXPECT_THAT(error_of([&] { test.set(x, range({2})); }), HasSubstr("test value: that of x float32 (?, ?) cannot be float32 (2,)"));
  EXPECT_THAT(error_of([&] { test.set(x, Array::zeros({2, 2}, float64, device())); }), HasSubstr("cannot be float64 (2, 2)"));
  EXPECT_THAT(error_of([&] { test.set(x, Array()); }), HasSubstr("is an empty Array"));
  EXPECT_THAT(error_of([&] { test.of(Variable()); }), HasSubstr("an empty Variable has none"));
}

DAMO_ON_EACH_DEVICE(TestValuesOnEachDevice);

}  // namespace
}  // namespace damo
