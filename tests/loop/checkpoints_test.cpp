// Scans that keep every k-th state against scans that keep all: values, gradients, memory.
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <damo/damo.hpp>
#include "support/devices.hpp"

namespace damo {
namespace {

using ::testing::HasSubstr;

class ScanCheckpoints : public testing::OnEachDevice {
 protected:
  Options on() const { return {.device = device()}; }
  Array waves(const Shape& shape, double pace) const {
    std::vector<double> values(static_cast<std::size_t>(shape.size()));
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = 0.7 * std::sin(pace * static_cast<double>(i + 1));
    return Array::from(values, shape, device());
  }
};

TEST_P(ScanCheckpoints, GiveTheStatesOfScanAndItsGradients) {
  for (const bool backwards : {false, true}) {
    for (const std::int64_t every : {1, 3, 4, 12, 50}) {
      SCOPED_TRACE("every " + std::to_string(every) + (backwards ? " backwards" : ""));
      const Variable xs = input({float64, {12 - (every == 4 ? 2 : 0), 3}}, "xs"), h0 = vector("h0", float64), w = matrix("w", float64);
      const ScanArguments arguments{.sequences = {xs}, .initial = {h0}, .go_backwards = backwards};
      const auto step = [&](const Variable& x, const Variable& h) { return tanh(dot(h, w) + x); };
      const Variable all = scan(arguments, step), kept = scan_checkpoints(arguments, every, step);
      const Variable last = subtensor(all, {-1}), saved = subtensor(kept, {-1});
      const std::vector<Variable> by{xs, h0, w};
      std::vector<Variable> outputs{all, kept};
      for (const Variable& cost : {sum(last * last), sum(saved * saved)}) {
        for (const Variable& slope : grad(cost, by)) outputs.push_back(slope);
      }
      const std::int64_t steps = xs.dims()[0];
      const Results made = function(by, outputs, {.disable = {"push_out_of_loops"}, .device = device()}).call(std::vector{waves({steps, 3}, 1.1), waves({3}, 2.3), waves({3, 3}, 0.9)});
      const double slack = device().is_host() ? 0 : 1e-14;  // a library may add up a product of a loop within a loop in another order
      const std::vector<double> states = Array(made[0]).to_doubles(), rows = Array(made[1]).to_doubles();
      ASSERT_EQ(made[1].shape(), (Shape{(steps + every - 1) / every, 3}));
      for (std::int64_t row = 0; row < made[1].shape()[0]; ++row) {
        const std::int64_t at = std::min((row + 1) * every, steps) - 1;
        for (std::int64_t i = 0; i < 3; ++i) EXPECT_NEAR(rows[static_cast<std::size_t>(3 * row + i)], states[static_cast<std::size_t>(3 * at + i)], slack);
      }
      for (std::size_t k = 0; k < 3; ++k) {
        const std::vector<double> want = Array(made[2 + k]).to_doubles(), have = Array(made[5 + k]).to_doubles();
        for (std::size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(have[i], want[i], k < 2 ? slack : 1e-14) << "input " << k;
      }
    }
  }
}

TEST_P(ScanCheckpoints, TakeMemoryForTwiceTheRootOfTheSteps) {
  const std::int64_t steps = 400, size = 20'000;
  const Variable h0 = input({float32, {size}}, "h0"), w = input({float32, {size}}, "w");
  const ScanArguments arguments{.initial = {h0}, .steps = steps};
  const auto step = [&](const Variable& h) { return tanh(h * w + 0.1); };
  const Array begin = Array::full({size}, 0.5, float32, device()), factor = Array::full({size}, 0.9, float32, device());
  const auto peak = [&](const Variable& states) {
    const Function f = function({h0, w}, {grad(sum(subtensor(states, {-1})), h0)}, on());
    const std::size_t before = device().memory().in_use_bytes;
    device().reset_peak();
    f(begin, factor);
    device().synchronize();
    return static_cast<double>(device().memory().peak_bytes - before) / (4.0 * static_cast<double>(size));
  };
  EXPECT_GT(peak(scan(arguments, step)), 390);
  EXPECT_LT(peak(scan_checkpoints(arguments, 20, step)), 80);
}

TEST_P(ScanCheckpoints, RefuseWhatTheyCannotKeep) {
  const Variable xs = matrix("xs", float64), h0 = vector("h0", float64);
  const auto step = [](const Variable& h) { return 0.5 * h; };
  const auto message = [&](const ScanArguments& arguments, std::int64_t every, const auto& body) -> std::string {
    try {
      scan_checkpoints(arguments, every, body);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(message({.initial = {h0}, .steps = 4}, 0, step), HasSubstr("scan: a state is to be saved every 0 steps"));
  EXPECT_THAT(message({.initial = {h0}, .steps = 4, .truncate_gradient = 2}, 2, step), HasSubstr("checkpoints do not go with truncate_gradient"));
  EXPECT_THAT(message({.steps = 4}, 2, [&] { return h0; }), HasSubstr("checkpoints are of outputs with initial values, and there are none"));
  EXPECT_THAT(message({.sequences = {xs}, .initial = {h0}}, 2, [](const Variable& x, const Variable& h) { return x + h; }), HasSubstr("the number of steps is not known when the graph is built"));
  EXPECT_THAT(message({.initial = {Initial(xs, {-1, -2})}, .steps = 4}, 2, [](const Variable& a, const Variable& b) { return a + b; }), HasSubstr("checkpoints are of outputs with the one tap -1"));
  EXPECT_THAT(message({.initial = {h0}, .steps = 4}, 2, [](const Variable& h) { return ScanStep({h}, gt(sum(h), 1.0)); }), HasSubstr("checkpoints do not go with a condition to end"));
}

DAMO_ON_EACH_DEVICE(ScanCheckpoints);

}  // namespace
}  // namespace damo
