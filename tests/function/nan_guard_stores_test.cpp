// Options::nan_guard throws exactly when a floating result or new value is not finite as it is stored, whichever kernel stores it: each case is held against the same Function
// without the guard, whose results are looked at on the host, with one bad element after another.
#include <damo/damo.hpp>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>

#include <gmock/gmock.h>

#include "runtime/backend.hpp"
#include "support/devices.hpp"

namespace damo {
namespace {

using ::testing::ElementsAre;

constexpr double kInf = std::numeric_limits<double>::infinity(), kNan = std::numeric_limits<double>::quiet_NaN();

bool is_finite(const Array& array) {
  if (!is_floating(array.dtype())) return true;
  const std::vector<double> values = array.to_doubles();
  return std::all_of(values.begin(), values.end(), [](double x) { return std::isfinite(x); });
}

class NanGuardOfStoresOnEachDevice : public damo::testing::OnEachDevice {
 protected:
  /// Throws as it must for x of ones of that shape with one element each of these values at each of these places, and before and behind that not.
  void hold(const std::string& what, const Variable& x, const std::vector<Variable>& results, const Shape& shape, std::vector<std::int64_t> places, const std::vector<double>& values = {kNan, -kInf}) {
    const Function plain = function(std::vector{x}, results, {.device = device()}), guarded = function(std::vector{x}, results, {.device = device(), .nan_guard = true});
    const Array good = astype(Array::ones(shape, float32, device()), x.dtype());
    EXPECT_EQ(guarded.call(std::vector{good}).size(), results.size()) << what;
    std::size_t seen = 0;
    for (const double value : values) {
      for (const std::int64_t place : places) {
        const Array bad = good.copy(), flat = bad.view(bad.dtype(), {shape.size()}, {1}, 0);
        flat.slice({{place, place + 1}}).copy_from(Array::full({1}, value, x.dtype(), device()));
        const Results expected = plain.call(std::vector{bad});
        const bool is_bad = !std::all_of(expected.begin(), expected.end(), is_finite);
        bool threw = false;
        try {
          const Results results_of_guarded = guarded.call(std::vector{bad});
          for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_EQ(results_of_guarded[i].to_doubles(), expected[i].to_doubles()) << what;
        } catch (const NotFiniteError&) {
          threw = true;
        }
        EXPECT_EQ(threw, is_bad) << what << ": " << value << " at " << place;
        seen += is_bad ? 1 : 0;
      }
    }
    EXPECT_NO_THROW(guarded.call(std::vector{good})) << what;
    seen_ += seen;
  }
  void hold(const std::string& what, const Variable& x, const Variable& result, const Shape& shape, const std::vector<std::int64_t>& places, const std::vector<double>& values = {kNan, -kInf}) {
    hold(what, x, std::vector{result}, shape, places, values);
  }
  std::size_t seen_ = 0;  // calls that had to throw
};

TEST_P(NanGuardOfStoresOnEachDevice, LooksAtValuesAsTheyAreRounded) {
  const std::int64_t size = 1031;
  const std::vector<std::int64_t> places{0, 517, 1023, size - 1};  // the last ones are what vectors leave
  for (const DType dtype : {float8_e4m3, float8_e5m2, float16, bfloat16, float32, float64}) {
    const Variable x = vector("x", float64);
    const double greatest = dtype == float8_e4m3 ? 448 : dtype == float8_e5m2 ? 57344 : dtype == float16 ? 65504 : dtype == bfloat16 ? 0x1.fep127 : dtype == float32 ? 0x1.fffffep127 : 0x1.fffffffffffffp1023;
    const double half_a_unit = dtype == float8_e4m3 ? 16 : dtype == float8_e5m2 ? 4096 : dtype == float16 ? 16 : dtype == bfloat16 ? 0x1p119 : dtype == float32 ? 0x1p103 : 0;
    hold(std::string(name(dtype)), x, cast(x * 1.0, dtype), {size}, places, {greatest, -greatest, greatest + half_a_unit * 0.99, greatest + half_a_unit * 1.01, kInf, kNan});
    hold(std::string(name(dtype)) + " alone", x, cast(x, dtype), {size}, {size - 1}, {greatest, greatest + half_a_unit * 1.01, -kNan});
  }
  EXPECT_GE(seen_, 70u);
}

TEST_P(NanGuardOfStoresOnEachDevice, LooksAtHalvesThatOverflowInAFusedKernel) {
  for (const DType dtype : {float16, bfloat16, float8_e4m3}) {
    const Variable x = vector("x", dtype);
    if (is_float8(dtype)) hold("float8", x, cast(cast(x, float32) * 300.0, dtype), {77}, {0, 76}, {1, 1.25, 2, 448});
    else hold(std::string(name(dtype)), x, x * x + x, {77}, {0, 76}, {240, 256, 1e19, 3e38});
  }
}

TEST_P(NanGuardOfStoresOnEachDevice, LooksAtReductionsRowsAndScans) {
  const Variable x = matrix("x"), mean_of_rows = mean(x, 1, true), centred = x - mean_of_rows, wide = matrix("x", float16);
  const Shape small{33, 70}, long_rows{3, 70000}, many{600, 200}, tall{5000, 9};
  for (const Shape& shape : {small, long_rows, many, tall}) {
    const std::vector<std::int64_t> places{0, shape.size() / 2 + 7, shape.size() - 1};
    const std::string text = to_string(shape);
    hold("sum of all " + text, x, sum(x), shape, places);
    hold("sums of rows " + text, x, sum(x * x, 1), shape, places, {kNan, 3e38});
    hold("sums of columns " + text, x, sum(x * x, 0), shape, places, {kNan, 3e38});
    hold("softmax " + text, x, softmax(x), shape, places, {kNan, -kInf, kInf});
    hold("norm " + text, x, centred / sqrt(mean(centred * centred, 1, true) + 1e-5), shape, places);
    hold("greatest and its place " + text, x, {max(x, 1), argmax(x, 1)}, shape, places, {kNan, -kInf, kInf});
    hold("elements beside sums of columns " + text, x, {exp(x), sum(exp(x), 0), sum(exp(x) * x, 1)}, shape, places, {kNan, 1000});
    hold("prefix sums " + text, x, cumsum(x, 1), shape, places);
    hold("prefix sums of columns, backwards " + text, x, cumsum(x, 0, {.reverse = true}), shape, places);
    hold("prefix sums of all " + text, x, cumsum(x), shape, places);
    if (!(shape == long_rows)) hold("halves " + text, wide, {sum(wide, 1), softmax(wide)}, shape, places, {kNan, 60000});
  }
  EXPECT_GE(seen_, 200u);
}

TEST_P(NanGuardOfStoresOnEachDevice, LooksAtWhatIsStoredAlone) {
  const Variable x = matrix("x"), logarithm = log(x);
  // log(-1) is stored for the product; nothing of it comes to a result.
  const Variable kept = where(isnan(dot(logarithm, logarithm)), 0.0, dot(logarithm, logarithm));
  const std::vector<std::int64_t> places{0, 5, 80};
  hold("what a product reads", x, {kept, sum(x, 1)}, {9, 9}, places, {-1, 1e30, 3.3e38});
  hold("one result of several", x, {isnan(logarithm), where(isnan(logarithm), 1.0, x), x * 2.0}, {9, 9}, places, {-1, 3e38});
  hold("a product", x, dot(x, x), {9, 9}, places, {1e18, 1e30, kNan});
  hold("a product that starts with a sum", x, dot(x, x) + exp(x), {9, 9}, places, {50, 1e30});
  hold("an input", x, {x, transpose(x) + 1.0}, {9, 9}, places, {kNan, 1});
}

TEST_P(NanGuardOfStoresOnEachDevice, LooksAtResultsHoweverTheyLie) {
  const Variable x = matrix("x"), y = exp(x);
  const Index every_second(std::nullopt, std::nullopt, 2);
  const std::vector<std::int64_t> places{0, 1, 64 * 37 / 2, 64 * 37 - 2, 64 * 37 - 1};
  const std::vector<double> values{kNan, kInf, 1000};
  hold("transposed before", x, exp(transpose(x)) + 1.0, {64, 37}, places, values);
  hold("two orders", x, transpose(x) + reshape(x, {37, 64}), {64, 37}, places, values);
  hold("transposed behind", x, transpose(y), {64, 37}, places, values);
  hold("reshaped", x, {reshape(transpose(y), {-1}), sum(y)}, {64, 37}, places, values);
  hold("a part", x, {subtensor(y, {Index(), every_second})}, {64, 37}, places, values);
  hold("a part and the whole", x, {subtensor(y, {Index(3, 5)}), expand_dims(y, 1)}, {64, 37}, places, values);
  hold("broadcast", x, {broadcast_to(expand_dims(y, 0), {3, -1, -1}), y}, {64, 37}, places, values);
  hold("twice", x, {y, y, transpose(y)}, {64, 37}, places, values);
  hold("a row beside all", x, {y + subtensor(x, {Index(0)}), exp(subtensor(x, {Index(), Index(1, 2)}))}, {64, 37}, places, values);
  hold("joined", x, concatenate({y, x * 2.0}, 0), {64, 37}, places, values);
  hold("nothing", x, subtensor(y, {Index(0, 0)}), {64, 37}, places, values);
}

TEST_P(NanGuardOfStoresOnEachDevice, LooksAtLongKernels) {
  const Variable x = vector("x");
  Variable chain = x;
  for (int i = 0; i < 60; ++i) chain = sin(chain) + 0.01 * static_cast<double>(i) * x;
  hold("a chain in segments", x, {chain, cast(chain, float16), chain * x}, {3001}, {0, 1500, 3000}, {kNan, 3e38, 1e30});
}

TEST_P(NanGuardOfStoresOnEachDevice, LooksAtLoops) {
  const Variable x = vector("x");
  const auto states = scan({.initial = {x}, .steps = 9}, [](const Variable& h) { return h * h; })[0];
  hold("all states", x, states, {300}, {0, 150, 299}, {kNan, 1e5, 1});
  hold("the last state", x, subtensor(states, {Index(-1)}), {300}, {0, 150, 299}, {kNan, 1e5, 1});
  hold("of a kernel behind it", x, 1.0 / (1.0 + states), {300}, {0, 299}, {kNan, 1e5, 1});
}

TEST_P(NanGuardOfStoresOnEachDevice, LooksAtEachMemberOfJoinedKernels) {
  constexpr int kTensors = 9;
  std::vector<Variable> inputs;
  std::vector<Assignment> updates;
  std::vector<Shared> weights, moments;
  for (int i = 0; i < kTensors; ++i) {
    const Shape shape{i == 4 ? 1 : 100 + 731 * i};
    const Variable g = inputs.emplace_back(input({float32, shape}, "g"));
    const Shared& w = weights.emplace_back(shared("w", Array::ones(shape, float32, device())));
    const Shared& m = moments.emplace_back(shared("m", Array::zeros(shape, float32, device())));
    const Variable moment = 0.5 * m + g * g;
    updates.push_back({m, moment});
    updates.push_back({w, w - 0.1 * g / sqrt(moment + 1.0)});
  }
  const Function step = function(inputs, {}, {.device = device(), .updates = updates, .nan_guard = true});
  EXPECT_EQ(step.graph().node_count(), 1) << "one launch looks as it stores";
  std::vector<Array> good;
  for (const Variable& g : inputs) good.push_back(Array::ones(g.dims(), float32, device()));
  step.call(good);
  const auto values = [&] {
    std::vector<double> all;
    for (const auto* states : {&weights, &moments}) {
      for (const Shared& state : *states) {
        const std::vector<double> own = state.array().to_doubles();
        all.insert(all.end(), own.begin(), own.end());
      }
    }
    return all;
  };
  for (int i = 0; i < kTensors; ++i) {
    const std::vector<double> before = values();
    std::vector<Array> bad = good;
    bad[static_cast<std::size_t>(i)] = good[static_cast<std::size_t>(i)].copy();
    const std::int64_t last = bad[static_cast<std::size_t>(i)].size() - 1;
    bad[static_cast<std::size_t>(i)].slice({{last, last + 1}}).copy_from(Array::full({1}, 1e30, float32, device()));
    EXPECT_THROW(step.call(bad), NotFiniteError) << i;
    EXPECT_EQ(values(), before) << "none of the variables has changed";
    step.call(good);
    EXPECT_NE(values(), before);
  }
}

TEST_P(NanGuardOfStoresOnEachDevice, StepsAsWithoutTheGuard) {
  const Variable x = matrix("x");
  const auto make = [&](bool guards, std::vector<Shared>& states) {
    states.reserve(4);
    const Shared& w = states.emplace_back(shared("w", range({4, 4}) * 0.01f)), &b = states.emplace_back(shared("b", range({4}))), &count = states.emplace_back(shared("count", Array::scalar(0.0f, device())));
    const Shared& copy = states.emplace_back(shared("copy", range({4})));
    const Variable y = tanh(dot(x, w) + b), cost = mean(y * y);
    const std::vector<Variable> gradients = grad(cost, std::vector<Variable>{w, b});
    Options options{.device = device(), .updates = {{w, w - 0.1 * gradients[0]}, {b, b - 0.1 * gradients[1]}, {count, count + 1.0}, {copy, b}}};
    options.nan_guard = guards;
    return function({x}, {cost, w * 2.0}, options);
  };
  std::vector<Shared> with, without;
  const Function guarded = make(true, with), plain = make(false, without);
  std::vector<Array> held;  // old values that somebody holds are not written over
  std::vector<std::vector<double>> known;
  for (int call = 0; call < 12; ++call) {
    const Array good = range({2 + call % 3, 4}) * 0.1f, bad = good.copy();
    bad.slice({{0, 1}, {1, 2}}).copy_from(Array::full({1, 1}, kNan, float32, device()));
    EXPECT_EQ(guarded(good)[0].to_doubles(), plain(good)[0].to_doubles());
    if (call % 4 == 3) EXPECT_THROW(guarded(bad), NotFiniteError);
    for (std::size_t i = 0; i < with.size(); ++i) EXPECT_EQ(with[i].array().to_doubles(), without[i].array().to_doubles()) << "variable " << i << " behind call " << call;
    if (call % 3 == 0) {
      held.push_back(with[0].array());
      known.push_back(held.back().to_doubles());
    }
    if (call == 6) with[1].set(range({4})), without[1].set(range({4}));
  }
  for (std::size_t i = 0; i < held.size(); ++i) EXPECT_EQ(held[i].to_doubles(), known[i]);
}

/// The thunks of such calls are left out: old and new values swap their buffers, so two sets of addresses alternate. What a loop keeps for its steps may become other memory
/// between calls of other shapes.
TEST_P(NanGuardOfStoresOnEachDevice, RepeatsCallsOfFunctionsThatUpdate) {
  std::atomic<int>& least = device().backend().least_replayed;
  const int before = least.exchange(1);
  const Variable x = matrix("x");
  const auto make = [&](bool guards, std::vector<Shared>& states) {
    const Shared& w = states.emplace_back(shared("w", range({8, 8}) * 0.001f));
    const Variable last = subtensor(scan({.initial = {expand_dims(x, 0)}, .steps = 7}, [&](const Variable& h) { return tanh(dot(h, w) + h); })[0], {Index(-1)});
    const Variable cost = mean(last * last);
    Options options{.device = device(), .updates = {{w, w - 0.1 * grad(cost, std::vector<Variable>{w})[0]}}};
    options.nan_guard = guards;
    return function({x}, {cost, reshape(last, {-1})}, options);
  };
  std::vector<Shared> with, without;
  const Function guarded = make(true, with), plain = make(false, without);
  const std::uint64_t replays = device().backend().replays;
  for (int call = 0; call < 60; ++call) {
    const std::int64_t rows = call < 12 || (call > 20 && call < 40) ? 3 : call < 16 ? 500
                                                                                    : 3 + call % 2;
    const Array good = range({rows, 8}) * (0.3f / static_cast<float>(rows * 8)), bad = good.copy();
    const Results made = guarded(good), expected = plain(good);
    EXPECT_EQ(made[0].to_doubles(), expected[0].to_doubles()) << "call " << call;
    EXPECT_EQ(made[1].to_doubles(), expected[1].to_doubles()) << "call " << call;
    EXPECT_EQ(with[0].array().to_doubles(), without[0].array().to_doubles()) << "call " << call;
    bad.slice({{0, 1}, {7, 8}}).copy_from(Array::full({1, 1}, kNan, float32, device()));
    if (call == 10 || call == 30) EXPECT_THROW(guarded(bad), NotFiniteError);
  }
  EXPECT_GT(device().backend().replays, replays + 20);
  least = before;
}

TEST_P(NanGuardOfStoresOnEachDevice, LeavesDonatedInputsToTheCaller) {
  const Variable x = vector("x");
  const Function f = function({x}, {sqrt(x)}, {.device = device(), .donate = {x}, .nan_guard = true});
  Array bad = array({4, -1});
  EXPECT_THROW(f(std::move(bad)), NotFiniteError) << "the graph is run once more, of the same values";
  EXPECT_THAT(Array(f(array({4, 9}))).to_vector<float>(), ElementsAre(2, 3));
}

TEST_P(NanGuardOfStoresOnEachDevice, LooksInPartsAtTheirOwnResults) {
  const Variable x = vector("x");
  for (const bool fuse : {true, false}) {
    const Function f = function({x}, {log(x), x * 2.0}, {.fuse = fuse, .device = device(), .nan_guard = true}), part = f.part({1});
    EXPECT_THROW(f(array({-1})), NotFiniteError);
    EXPECT_THAT(Array(part(array({-1}))).to_vector<float>(), ElementsAre(-2));
    EXPECT_THROW(part(array({static_cast<float>(kInf)})), NotFiniteError);
    EXPECT_THROW(f.copy()(array({-1})), NotFiniteError);
  }
}

DAMO_ON_EACH_DEVICE(NanGuardOfStoresOnEachDevice);

}  // namespace
}  // namespace damo
