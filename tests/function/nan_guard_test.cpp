// Options::nan_guard, on each device: what it finds, what it names, what stays as it was.
#include <damo/damo.hpp>

#include <limits>

#include <gmock/gmock.h>

#include "support/devices.hpp"

namespace damo {
namespace {

using damo::testing::error_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr float kInf = std::numeric_limits<float>::infinity();

class NanGuardOnEachDevice : public damo::testing::OnEachDevice {};

TEST_P(NanGuardOnEachDevice, NamesTheExpressionInsideAFusedKernel) {
  const auto x = matrix("x"), y = matrix("y");
  const Variable h = log(x - 1.0);
  const int line = __LINE__ - 1;
  const Variable z = tanh(y) * exp(h * 2.0) + y;
  const Function f = function({x, y}, {z, sum(y)}, {.device = device(), .name = "model", .nan_guard = true});
  const Array good = array({2, 3, 4, 5}, {2, 2}), bad = array({2, 3, 0.5, 5}, {2, 2});
  const Results results = f(good, good);
  ASSERT_EQ(results.size(), 2u) << "the guard's own result is not among them";
  EXPECT_EQ(results[0].to_vector<float>(), Array(function({x, y}, {z}, {.device = device()})(good, good)).to_vector<float>());
  const std::string text = error_of([&] { f(bad, good); });
  EXPECT_THAT(text, HasSubstr("log gave nan at (1, 0); 1 of 4 values are not finite, of finite operands"));
  EXPECT_THAT(text, HasSubstr("sub float32 (2, 2) from -0.5 to 4"));
  EXPECT_THAT(text, HasSubstr("nan_guard_test.cpp:" + std::to_string(line)));
  EXPECT_THROW(f(bad, good), NotFiniteError);
  EXPECT_EQ(f(good, good)[1].item().as_double(), 14) << "the next call is like any other";
}

TEST_P(NanGuardOnEachDevice, SeesInfinitiesAndWhatWasNotFiniteBefore) {
  const auto x = vector("x");
  const Shared w = shared("w", array({1, 1}));
  const Function f = function({x}, {exp(x) * w}, {.device = device(), .nan_guard = true});
  EXPECT_THAT(error_of([&] { f(array({0, 1000})); }), HasSubstr("exp gave inf at (1,); 1 of 2 values are not finite"));
  EXPECT_THAT(error_of([&] { f(array({kInf, 0})); }), HasSubstr("input x is inf at (0,); 1 of 2 values are not finite"));
  w.set(array({1, kInf}));
  EXPECT_THAT(error_of([&] { f(array({0, 0})); }), HasSubstr("shared variable w is inf at (1,)"));
  EXPECT_THAT(error_of([&] { f(array({0, 1}), array({0})); }), HasSubstr("the function takes 1 input")) << "other errors stay what they are";
}

TEST_P(NanGuardOnEachDevice, LeavesSharedVariablesAsTheyWere) {
  const auto x = vector("x");
  const Shared w = shared("w", array({1, 2})), count = shared("count", Array::scalar(0.0f, device()));
  const Function step = function({x}, {}, {.device = device(), .updates = {{w, w + sqrt(x)}, {count, count + 1.0}}, .nan_guard = true});
  step(array({4, 9}));
  EXPECT_THAT(w.array().to_vector<float>(), ElementsAre(3, 5));
  EXPECT_THAT(error_of([&] { step(array({4, -9})); }), HasSubstr("sqrt gave nan at (1,)"));
  EXPECT_THAT(w.array().to_vector<float>(), ElementsAre(3, 5));
  EXPECT_EQ(count.array().item().as_double(), 1);
  step(array({1, 1}));
  EXPECT_THAT(w.array().to_vector<float>(), ElementsAre(4, 6));
}

TEST_P(NanGuardOnEachDevice, LooksAtFloatsAlone) {
  const auto x = vector("x");
  const Function f = function({x}, {isnan(x), where(isnan(x), 0.0, x)}, {.device = device(), .nan_guard = true}), none = function({x}, {gt(x, 0.0)}, {.device = device(), .nan_guard = true});
  EXPECT_THAT(f.call<2>(array({std::numeric_limits<float>::quiet_NaN(), 1}))[1].to_vector<float>(), ElementsAre(0, 1)) << "what does not come to a result is not seen";
  EXPECT_EQ(none(array({1})).size(), 1u);
  EXPECT_EQ(f.part({1})(array({0, 2})).size(), 1u);
  EXPECT_THAT(error_of([&] { f.part({2}); }), HasSubstr("part: there is no result 2: the function has 2"));
}

TEST(ErrorsOfRuns, NameTheNodesOperandsWithTheirStridesOnCpu) {
  const auto x = matrix("x");
  const Variable y = observe(transpose(x) * 1.0, [](const Array&) { throw GraphError("refused"); });
  const int line = __LINE__ - 1;
  const Function f = function({x}, {y}, {.rewrite = false, .device = Device("cpu")});
  const std::string text = error_of([&] { f(Array::zeros({2, 3}, float32, Device("cpu"))); });
  EXPECT_THAT(text, HasSubstr("refused\n  input 0 float32 (3, 2)"));
  EXPECT_THAT(text, HasSubstr("observe built at "));
  EXPECT_THAT(text, HasSubstr("nan_guard_test.cpp:" + std::to_string(line)));
  EXPECT_THAT(text, Not(HasSubstr("strides"))) << "a kernel's result is in C order";
}

DAMO_ON_EACH_DEVICE(NanGuardOnEachDevice);

}  // namespace
}  // namespace damo
