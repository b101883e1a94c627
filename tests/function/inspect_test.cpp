// Values looked at while a Function runs, on each device.
#include <damo/damo.hpp>

#include <gmock/gmock.h>

#include "support/devices.hpp"

namespace damo {
namespace {

using damo::testing::error_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class InspectOnEachDevice : public damo::testing::OnEachDevice {};

TEST_P(InspectOnEachDevice, PrintsWhatIsAskedForAtEachCall) {
  const auto x = matrix("x");
  const Variable h = print(x * 2.0, "h", {"shape", "strides", "min", "max", "mean", "finite"});
  const Function f = function({x}, {h + 1.0, grad(sum(sqr(h)), x)}, {.device = device()});
  ::testing::internal::CaptureStdout();
  const auto [value, slope] = f.call<2>(range({2, 3}));
  f(array({1, std::numeric_limits<float>::quiet_NaN()}, {1, 2}));
  const std::string text = ::testing::internal::GetCapturedStdout();
  EXPECT_EQ(text, "h float32: shape (2, 3), strides (3, 1), min 0, max 10, mean 5, 6 of 6 finite\n"
                  "h float32: shape (1, 2), strides (2, 1), min nan, max nan, mean nan, 1 of 2 finite\n");
  EXPECT_THAT(value.to_vector<float>(), ElementsAre(1, 3, 5, 7, 9, 11));
  EXPECT_THAT(slope.to_vector<float>(), ElementsAre(0, 8, 16, 24, 32, 40)) << "an identity for gradients";
}

TEST_P(InspectOnEachDevice, ShowsTheValueAndLeavesInputsAlone) {
  const auto x = vector("x");
  const Variable seen = print(x, "x", {"value"});
  const Function f = function({x}, {seen * 1.0, print(x, "x", {"value"})}, {.device = device()});
  ::testing::internal::CaptureStdout();
  const Array a = array({1.5, -2});
  const auto results = f.call<2>(a);
  EXPECT_EQ(::testing::internal::GetCapturedStdout(), "x float32: " + to_string(a) + "\n") << "equal prints are one";
  EXPECT_THAT(results[1].to_vector<float>(), ElementsAre(1.5, -2));
  EXPECT_THAT(a.to_vector<float>(), ElementsAre(1.5, -2));
}

TEST_P(InspectOnEachDevice, CallsBackWithValues) {
  const auto x = vector("x");
  std::vector<std::vector<float>> seen;
  const Variable h = observe(exp(x), [&](const Array& value) { seen.push_back(value.to_vector<float>()); });
  const Function f = function({x}, {sum(h)}, {.device = device()}), unneeded = function({x}, {x + 1.0}, {.device = device()});
  f(array({0, 0}));
  unneeded(array({0}));
  f(array({0}));
  EXPECT_THAT(seen, ElementsAre(ElementsAre(1, 1), ElementsAre(1)));
  const Function stops = function({x}, {observe(x, [](const Array&) { throw GraphError("seen enough"); })}, {.device = device()});
  EXPECT_THAT(error_of([&] { stops(array({1})); }), HasSubstr("seen enough"));
  EXPECT_THAT(error_of([&] { print(x, "x", {"shape", "median"}); }), HasSubstr("print: there is no 'median' to print"));
  EXPECT_THAT(error_of([&] { observe(x, nullptr); }), HasSubstr("observe: there is no function to call"));
}

DAMO_ON_EACH_DEVICE(InspectOnEachDevice);

}  // namespace
}  // namespace damo
