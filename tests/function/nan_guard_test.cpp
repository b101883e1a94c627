// Options::nan_guard, on each device: what it finds, what it names, what stays as it was.
#include <damo/damo.hpp>

#include <algorithm>
#include <limits>

#include <gmock/gmock.h>

#include "support/devices.hpp"

namespace damo {
namespace {

using damo::testing::error_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr float kInfiniteValue = std::numeric_limits<float>::infinity();

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

TEST_P(NanGuardOnEachDevice, NamesTheOpWithinTheStepOfALoop) {
  const auto x = matrix("x");
  const auto told = [&](const Variable& y, const Array& values) {
    const Function f = function({x}, {y}, {.device = device(), .nan_guard = true});
    return error_of<NotFiniteError>([&] { f(values); });
  };
  const auto zeros = symbolic::zeros({2});
  const int line = __LINE__ + 1;
  const Variable sums = scan({.sequences = {x}, .initial = {zeros}}, [](const Variable& row, const Variable& sum) { return sum + log(row); });
  const std::string text = told(sums, array({1, 2, 1, -1, 1, 1}).reshape({3, 2}));
  EXPECT_THAT(text, HasSubstr("log gave nan at (1,); 1 of 2 values are not finite, of finite operands, in step 1 of scan\n"));
  EXPECT_THAT(text, HasSubstr(" float32 (2,) from -1 to 1"));
  EXPECT_THAT(text, HasSubstr("nan_guard_test.cpp:" + std::to_string(line)));
  const Array ones = Array::ones({5, 2}, float32, device());
  // Earlier states, of which only the last one is asked for, and steps that end early.
  const auto grown = scan({.initial = {Initial(subtensor(x, {{0, 3}}), {-1, -3})}, .steps = StepCount(9)}, [](const Variable& one, const Variable& three) { return 1e10 * (one + three); });
  EXPECT_THAT(told(subtensor(grown[0], {-1}), ones), HasSubstr("mul gave inf at (0,); 2 of 2 values are not finite, of finite operands, in step 3 of scan\n"));
  const auto until = scan({.initial = {subtensor(x, {0})}, .steps = StepCount(50)}, [](const Variable& h) { return ScanStep({h * 1e10}, gt(sum(h), 1e35)); });
  EXPECT_THAT(told(until[0], ones), HasSubstr("mul gave inf at (0,); 2 of 2 values are not finite, of finite operands, in step 3 of scan\n"));
  // The loop that goes back: a sum of terms, sequences from their last row on.
  const Variable w = scalar("w");
  const auto roots = scan({.sequences = {x}, .initial = {zeros}}, [&](const Variable& row, const Variable& h) { return h + w * sqrt(row); });
  const Function by = function({x, w}, {grad(sum(tanh(subtensor(roots[0], {-1}))), x)}, {.device = device(), .nan_guard = true});
  EXPECT_THAT(error_of<NotFiniteError>([&] { by(array({1, 2, 0, 1}).reshape({2, 2}), Array::scalar(1.0f, device())); }), HasSubstr("true_div gave inf at "));
}

TEST_P(NanGuardOnEachDevice, NamesTheOpWithinTheBranchThatWasTaken) {
  const auto x = vector("x");
  const auto nested = ifelse(gt(sum(x), 0.0), ifelse(gt(sum(x), 100.0), sqr(x), log(x - 2.0)), sqrt(x));
  const Function f = function({x}, {nested * 2.0}, {.device = device(), .nan_guard = true});
  EXPECT_THAT(error_of<NotFiniteError>([&] { f(array({3, 1})); }), HasSubstr("log gave nan at (1,); 1 of 2 values are not finite, of finite operands, in a branch of ifelse"));
  EXPECT_THAT(error_of<NotFiniteError>([&] { f(array({-3, 1})); }), HasSubstr("sqrt gave nan at (0,); 1 of 2 values are not finite, of finite operands, in a branch of ifelse\n"));
  const auto loop = scan({.initial = {x}, .steps = StepCount(4)}, [](const Variable& h) { return ifelse(gt(sum(h), 3.0), log(-h), h + 1.0); });
  const Function g = function({x}, {loop[0]}, {.device = device(), .nan_guard = true});
  EXPECT_THAT(error_of<NotFiniteError>([&] { g(array({0, 0})); }), HasSubstr("log gave nan at (0,); 2 of 2 values are not finite, of finite operands, in a branch of ifelse, in step 2 of scan\n"));
}

TEST_P(NanGuardOnEachDevice, SeesInfinitiesAndWhatWasNotFiniteBefore) {
  const auto x = vector("x");
  const Shared w = shared("w", array({1, 1}));
  const Function f = function({x}, {exp(x) * w}, {.device = device(), .nan_guard = true});
  EXPECT_THAT(error_of([&] { f(array({0, 1000})); }), HasSubstr("exp gave inf at (1,); 1 of 2 values are not finite"));
  EXPECT_THAT(error_of([&] { f(array({kInfiniteValue, 0})); }), HasSubstr("input x is inf at (0,); 1 of 2 values are not finite"));
  w.set(array({1, kInfiniteValue}));
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

TEST_P(NanGuardOnEachDevice, SeesEveryElementHoweverResultsLie) {
  const Variable x = matrix("x");
  const Index every_second(std::nullopt, std::nullopt, 2), backwards(std::nullopt, std::nullopt, -2);
  const std::vector<Variable> views = {transpose(x), subtensor(x, {Index(), every_second}), subtensor(x, {backwards, Index(4, 0, -1)}), broadcast_to(expand_dims(x, 0), {3, -1, -1})};
  std::vector<float> places(42);
  for (std::size_t i = 0; i < places.size(); ++i) places[i] = static_cast<float>(i);
  for (const Variable& view : views) {
    const Function plain = function({x}, {view}, {.device = device()}), guarded = function({x}, {view}, {.device = device(), .nan_guard = true});
    const std::vector<float> seen = Array(plain(array(places, {6, 7}))).to_vector<float>();
    for (std::size_t i = 0; i < places.size(); ++i) {
      std::vector<float> values(42, 1);
      values[i] = kInfiniteValue;
      const bool is_seen = std::find(seen.begin(), seen.end(), places[i]) != seen.end();
      bool threw = false;
      try {
        guarded(array(values, {6, 7}));
      } catch (const NotFiniteError&) {
        threw = true;
      }
      EXPECT_EQ(threw, is_seen) << "element " << i << " of " << to_string(view.type());
    }
  }
}

TEST_P(NanGuardOnEachDevice, SeesTheLastElementOfManyLargeResultsOfAnyFloat) {
  for (const DType dtype : {bfloat16, float64}) {
    const Variable x = vector("x", dtype);
    std::vector<Variable> results;
    for (int i = 0; i < 140; ++i) results.push_back(subtensor(x, {Index(i, i + 2)}));  // more than the kernel takes at once
    results.push_back(x * 1.0);
    results.push_back(subtensor(x, {Index(0, 0)}));
    const Function f = function(std::vector<Variable>{x}, results, {.device = device(), .nan_guard = true});
    const Array good = astype(Array::ones({8193}, float32, device()), dtype);
    EXPECT_EQ(f(good).size(), 142u);
    for (const std::int64_t place : {140, 141, 8192}) {
      const Array bad = good.copy();
      bad.slice({{place, place + 1}}).copy_from(Array::full({1}, place % 2 == 0 ? -kInfiniteValue : std::numeric_limits<float>::quiet_NaN(), dtype, device()));
      EXPECT_THROW(f(bad), NotFiniteError) << name(dtype) << " at " << place;
    }
  }
}

TEST_P(NanGuardOnEachDevice, LeavesFusionAsItIs) {
  const Shared w = shared("w", Array::ones({64}, float32, device())), m = shared("m", Array::zeros({64}, float32, device())), step = shared("step", Array::scalar(0.0f, device()));
  const Variable g = vector("g"), t = step + 1.0, moment = 0.9 * m + 0.1 * g;
  const std::vector<Assignment> updates = {{step, t}, {m, moment}, {w, w - moment * t}};
  const Function plain = function({g}, {}, {.device = device(), .updates = updates}), guarded = function({g}, {}, {.device = device(), .updates = updates, .nan_guard = true});
  EXPECT_EQ(guarded.graph().node_count(), plain.graph().node_count()) << "kernels look at what they store";
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
