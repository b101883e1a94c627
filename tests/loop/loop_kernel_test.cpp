// Loops that run as one kernel against the same loops step by step, and against plain C++ and float64.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <damo/damo.hpp>
#include "support/devices.hpp"

namespace damo {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class LoopKernel : public testing::OnEachDevice {
 protected:
  Options on() const { return {.device = device()}; }
  Options stepwise() const { return {.disable = {"fuse_loops"}, .device = device()}; }
};

std::vector<double> drawn(std::mt19937& random, std::int64_t count) {
  std::uniform_real_distribution<double> draw(-1, 1);
  std::vector<double> values(static_cast<std::size_t>(count));
  for (double& value : values) value = draw(random);
  return values;
}

bool is_one_kernel(const Function& f) { return f.explain().find("one_kernel") != std::string::npos; }

TEST_P(LoopKernel, GivesWhatThousandStepsOfTanhGive) {
  const Variable h0 = vector("h0", float32);
  const ScanOutputs states = scan({.initial = {h0}, .steps = 1000}, [](const Variable& h) { return tanh(1.01 * h + 0.1); });
  const Variable last = subtensor(states[0], {-1});
  const Function f = function({h0}, {last, grad(sum(last), h0)}, on());
  EXPECT_TRUE(is_one_kernel(f)) << f.explain();
  std::vector<float> begin(1500);
  for (std::size_t i = 0; i < begin.size(); ++i) begin[i] = static_cast<float>(i) / 750 - 1;
  const auto [state, slope] = f.call<2>(Array::from(begin, device()));
  const std::vector<double> values = state.to_doubles(), slopes = slope.to_doubles();
  for (std::size_t i = 0; i < begin.size(); i += 37) {
    double h = begin[i], derivative = 1;
    for (int t = 0; t < 1000; ++t) {
      h = std::tanh(1.01 * h + 0.1);
      derivative *= 1.01 * (1 - h * h);
    }
    EXPECT_NEAR(values[i], h, 1e-6);
    EXPECT_NEAR(slopes[i], derivative, 1e-6);
  }
}

TEST_P(LoopKernel, IsOneLaunchThatExplainNames) {
  const Variable xs = matrix("xs", float32), h0 = vector("h0", float32);
  const ScanOutputs states = scan({.sequences = {xs}, .initial = {h0}}, [](const Variable& x, const Variable& h) { return 0.5 * h + x; });
  const Variable last = subtensor(states[0], {-1});
  const Function f = function({xs, h0}, {last}, on()), steps = function({xs, h0}, {last}, stepwise());
  const Array rows = Array::zeros({40, 9}, float32, device()), begin = Array::zeros({9}, float32, device());
  for (const Function* function : {&f, &steps}) {
    (*function)(rows, begin);
    ASSERT_EQ(function->kernels().size(), 1u) << function->explain();
    EXPECT_THAT(function->explain(), HasSubstr("kernel " + function->kernels()[0].name));
  }
  EXPECT_THAT(f.kernels()[0].name, HasSubstr("damo_loop_"));
  EXPECT_THAT(steps.kernels()[0].name, Not(HasSubstr("loop_")));
}

TEST_P(LoopKernel, ReadsForTheGradientWhatTheStepsGaveToAState) {
  const Variable h0 = vector("h0", float32);
  const ScanOutputs states = scan({.initial = {h0}, .steps = 3}, [](const Variable& h) { return tanh(1.01 * h + 0.1); });
  const Function f = function({h0}, {grad(sum(subtensor(states[0], {-1})), h0)}, on());
  f(Array::zeros({9}, float32, device()));
  const std::vector<KernelInfo> kernels = f.kernels();
  EXPECT_EQ(std::count_if(kernels.begin(), kernels.end(), [](const auto& kernel) { return kernel.name.find("tanh") != std::string::npos; }), 1) << f.explain();
}

TEST_P(LoopKernel, LeavesStepsThatReadOtherElementsAsTheyAre) {
  const Variable h0 = vector("h0", float32);
  const ScanOutputs mean = scan({.initial = {h0}, .steps = 3}, [](const Variable& h) { return h - 0.5 * sum(h); });
  EXPECT_FALSE(is_one_kernel(function({h0}, {mean[0]}, on())));
  const ScanOutputs ends = scan({.initial = {h0}, .steps = 3}, [](const Variable& h) { return ScanStep({0.5 * h}, any(h < 0.1)); });
  EXPECT_FALSE(is_one_kernel(function({h0}, {ends[0]}, on())));
}

TEST_P(LoopKernel, RunsStepByStepWhereOneStateIsSmallerThanAnother) {
  const Variable a0 = vector("a0", float64), b0 = vector("b0", float64);
  const auto both = [&](const Options& options) {
    const ScanOutputs made = scan({.initial = {a0, broadcast_to(b0, {1})}, .steps = 4}, [](const Variable& a, const Variable& b) { return std::vector{0.5 * a + b, 0.25 * b}; });
    return function({a0, b0}, {made[0], made[1]}, options)(Array::from(std::vector{1.0, 2.0, 3.0}, device()), Array::from(std::vector{8.0}, device()));
  };
  const Results have = both(on()), want = both(stepwise());
  for (std::size_t i = 0; i < 2; ++i) EXPECT_EQ(have[i].to_doubles(), want[i].to_doubles());
}

TEST_P(LoopKernel, TakesEachCallsShapesAndItsNumberOfSteps) {
  const Variable xs = tensor3("xs", float64), bias = vector("bias", float64), h0 = matrix("h0", float64), steps = scalar("steps", int64);
  const ScanOutputs made = scan({.sequences = {xs}, .initial = {h0}, .steps = steps}, [&](const Variable& x, const Variable& h) { return 0.5 * h + x * bias; });
  const Function f = function({xs, bias, h0, steps}, {made[0]}, on());
  EXPECT_TRUE(is_one_kernel(f));
  std::mt19937 random(3);
  for (const auto& [count, rows, columns] : {std::tuple{0, 2, 3}, {1, 2, 3}, {7, 5, 1}, {3, 1, 1}, {5, 0, 4}, {2, 40, 70}}) {
    const std::vector<double> x = drawn(random, 7 * rows * columns), b = drawn(random, columns), h = drawn(random, rows * columns);
    const Array states = f(Array::from(x, {7, rows, columns}, device()), Array::from(b, {columns}, device()), Array::from(h, {rows, columns}, device()),
                           Array::from(std::vector<std::int64_t>{count}, Shape(), device()));
    ASSERT_EQ(states.shape(), (Shape{count, rows, columns}));
    std::vector<double> state = h, want;
    for (int t = 0; t < count; ++t) {
      for (int i = 0; i < rows * columns; ++i) {
        state[static_cast<std::size_t>(i)] = 0.5 * state[static_cast<std::size_t>(i)] + x[static_cast<std::size_t>(t * rows * columns + i)] * b[static_cast<std::size_t>(i % columns)];
        want.push_back(state[static_cast<std::size_t>(i)]);
      }
    }
    const std::vector<double> have = states.to_doubles();
    for (std::size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(have[i], want[i], 1e-14);
  }
}

/// A loop over random elementwise expressions on what the step is given: taps, several states, sums by their gradients.
class RandomStep {
 public:
  RandomStep(unsigned seed, DType dtype) : random_(seed), dtype_(dtype) {}

  std::vector<Variable> outputs(const Variable& xs, const Variable& ys, const Variable& a0, const Variable& b0, const Variable& w) {
    const bool has_sequences = pick(4) > 0;
    const std::vector<int> taps = pick(2) == 0 ? std::vector{-1} : pick(2) == 0 ? std::vector{-1, -2} : std::vector{-3, -1};
    const Variable begin = taps.size() == 1 ? subtensor(a0, {0}) : subtensor(a0, {Index(0, -*std::min_element(taps.begin(), taps.end()))});
    ScanArguments arguments;
    if (has_sequences) arguments.sequences = {{xs, pick(2) == 0 ? std::vector{0} : std::vector{0, 1}}, {ys}};
    arguments.steps = pick(5);
    arguments.initial = {{begin, taps}, {b0}, {}};
    arguments.go_backwards = pick(2) == 0;
    if (pick(3) == 0) arguments.truncate_gradient = 2;
    const ScanOutputs made = scan(arguments, [&](std::span<const Variable> given) {
      std::vector<Variable> values(given.begin(), given.end());
      values.push_back(w);
      for (int i = 0; i < 6; ++i) values.push_back(applied(values));
      return ScanStep({spread(values.back(), given), spread(applied(values), given), spread(applied(values), given)});
    });
    std::vector<Variable> all{made[0], pick(2) == 0 ? subtensor(made[1], {{-1, {}}}) : made[1], made[2]};
    if (!is_floating(dtype_)) return all;
    const Variable cost = sum(cast(made[0], float64)) + sum(cast(made[1], float64)) + sum(cast(made[2], float64));
    for (const Variable& by : {xs, a0, b0, w}) all.push_back(grad(cost, by, Disconnected::kZero));
    return all;
  }

 private:
  int pick(int count) { return std::uniform_int_distribution<int>(0, count - 1)(random_); }
  /// Of the shape that states have: all arguments' together.
  Variable spread(const Variable& value, std::span<const Variable> given) const {
    const Variable state = given[given.size() - 1];
    return cast(where(eq(state, state), value, cast(state, dtype_)), dtype_);
  }
  Variable applied(const std::vector<Variable>& values) {
    const Variable &x = values[static_cast<std::size_t>(pick(static_cast<int>(values.size())))], &y = values[static_cast<std::size_t>(pick(static_cast<int>(values.size())))];
    const bool is_real = is_floating(dtype_);
    switch (pick(6)) {
      case 0: return x + y;
      case 1: return x - y;
      case 2: return is_real ? x * y : maximum(x, y);
      case 3: return is_real ? tanh(x) : minimum(x, y);
      case 4: return where(x < y, x, y);
      default: return is_real ? cast(0.5 * x, dtype_) : neg(x);
    }
  }
  std::mt19937 random_;
  DType dtype_;
};

bool same_bits(const Array& a, const Array& b) {
  if (!(a.shape() == b.shape()) || a.dtype() != b.dtype()) return false;
  const Array x = a.to(Device("cpu")).contiguous(), y = b.to(Device("cpu")).contiguous();
  return x.size() == 0 || std::memcmp(x.data(), y.data(), static_cast<std::size_t>(x.size()) * itemsize(x.dtype())) == 0;
}

TEST_P(LoopKernel, HasTheValuesOfTheStepsOneByOne) {
  int fused = 0;
  const DType dtypes[] = {float32, float64, float16, int32, int64};
  for (unsigned seed = 0; seed < 6; ++seed) {
    const DType dtype = dtypes[seed % 5];
    const Variable xs = tensor3("xs", dtype), ys = matrix("ys", dtype), a0 = tensor3("a0", dtype), b0 = matrix("b0", dtype), w = vector("w", dtype);
    const std::vector<Variable> outputs = RandomStep(seed, dtype).outputs(xs, ys, a0, b0, w);
    const auto make = [&](Options options) {
      options.allow_unused_inputs = true;
      const std::vector<Variable> inputs{xs, ys, a0, b0, w};
      return function(inputs, outputs, options);
    };
    const Function one = make(on()), steps = make(stepwise());
    fused += is_one_kernel(one) ? 1 : 0;
    std::mt19937 random(seed);
    const auto array = [&](const Shape& shape) {
      std::vector<double> values = drawn(random, shape.size());
      if (!is_floating(dtype)) {
        for (double& value : values) value = std::round(10 * value);
      }
      return damo::astype(Array::from(values, shape, device()), dtype);
    };
    const std::int64_t n = seed % 3 == 0 ? 5000 : 7;
    for (const bool is_view : {false, true}) {  // rows that lie apart, and begin off any alignment
      const std::int64_t more = is_view ? 3 : 0;
      std::vector<Array> given{array({6, 2, n + more}), array({6, n + more}), array({3, 2, n + more}), array({2, n + more}), array({n + more})};
      for (Array& value : given) {
        std::vector<Slice> slices(static_cast<std::size_t>(value.rank()) - 1);
        slices.push_back(Slice{more / 3, more / 3 + n, 1});
        if (is_view) value = value.slice(slices);
      }
      const Results have = one(given[0], given[1], given[2], given[3], given[4]), want = steps(given[0], given[1], given[2], given[3], given[4]);
      for (std::size_t i = 0; i < outputs.size(); ++i) {
        if (GetParam() == "cpu") {
          EXPECT_TRUE(same_bits(have[i], want[i])) << "seed " << seed << ", output " << i << "\n" << have[i] << want[i] << one.explain();
        }
        const std::vector<double> x = have[i].to_doubles(), y = want[i].to_doubles();
        ASSERT_EQ(x.size(), y.size());
        const double error = itemsize(dtype) == 2 ? 2e-2 : dtype == float32 ? 1e-4 : 1e-11;
        for (std::size_t k = 0; k < x.size(); ++k) ASSERT_NEAR(x[k], y[k], error * std::max(1.0, std::abs(y[k]))) << "seed " << seed << ", output " << i;
      }
    }
  }
  EXPECT_GE(fused, 4);
}

DAMO_ON_EACH_DEVICE(LoopKernel);

}  // namespace
}  // namespace damo
