// Loops against the same loops in plain C++ and float64.
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <numeric>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <damo/damo.hpp>
#include "support/devices.hpp"

namespace damo {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::error_of;
using Values = std::vector<double>;

Array doubles(const Values& values, const Shape& shape, Device device) { return Array::from(values, shape, device); }

Values some(std::size_t count, unsigned seed, double scale = 1) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> draw(-scale, scale);
  Values values(count);
  for (double& value : values) value = draw(random);
  return values;
}

void expect_near(const Array& have, const Values& want, double error = 1e-12) {
  const Values values = have.to_doubles();
  ASSERT_EQ(values.size(), want.size());
  for (std::size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(values[i], want[i], error * std::max(1.0, std::abs(want[i]))) << "element " << i;
}

class Scan : public testing::OnEachDevice {
 protected:
  Options on() const { return {.device = device()}; }
  Options plain() const { return {.fuse = false, .rewrite = false, .device = device()}; }
};

TEST_P(Scan, AddsUpTheRowsOfASequence) {
  const Variable xs = matrix("xs", float64), h0 = vector("h0", float64);
  const ScanOutputs states = scan({.sequences = {xs}, .initial = {h0}}, [](const Variable& x, const Variable& h) { return 0.5 * h + x; });
  const Values rows = some(15, 1), begin = some(3, 2);
  Values want;
  Values state = begin;
  for (int t = 0; t < 5; ++t) {
    for (std::size_t j = 0; j < 3; ++j) want.push_back(state[j] = 0.5 * state[j] + rows[static_cast<std::size_t>(t) * 3 + j]);
  }
  for (const Options& options : {on(), plain()}) {
    const Function f = function({xs, h0}, {states}, options);
    const Array made = f(doubles(rows, {5, 3}, device()), doubles(begin, {3}, device()));
    EXPECT_EQ(made.shape(), (Shape{5, 3}));
    expect_near(made, want);
    for (int call = 0; call < 6; ++call) {  // on a GPU the later ones are replayed, whatever their arrays are
      const double factor = 1 << call;
      Values scaled = rows, start = begin, expected = want;
      for (Values* values : {&scaled, &start, &expected}) {
        for (double& value : *values) value *= factor;
      }
      expect_near(f(doubles(scaled, {5, 3}, device()), doubles(start, {3}, device())), expected);
    }
  }
}

TEST_P(Scan, StopsWithinTheRowsThatThereAre) {
  const Variable steps = scalar("steps", int64), xs = vector("xs", float64);
  const ScanOutputs made = scan({.sequences = {xs}, .initial = {constant(1.0)}, .steps = steps}, [](const Variable& x, const Variable& h) { return h * x; });
  const Variable last = subtensor(made[0], {-1});
  const Function f = function({steps, xs}, {last, grad(last, xs)}, on());
  const auto run = [&](std::int64_t count) { return f.call<2>(Array::from(std::vector{count}, Shape(), device()), doubles({2, 3, 5, 7}, {4}, device())); };
  expect_near(run(3)[0], {30});
  expect_near(run(3)[1], {15, 10, 6, 0});
  expect_near(run(4)[1], {105, 70, 42, 30});
  EXPECT_THAT(error_of<ShapeError>([&] { run(5); }), HasSubstr("sequence 0 has 4 rows for 5 steps"));
}

TEST_P(Scan, GivesOneValueTwiceAndWhatItWasGiven) {
  const Variable xs = matrix("xs", float64), h = vector("h", float64);
  const ScanOutputs made = scan({.sequences = {xs}, .initial = {h, {}, {}, {}}}, [&](const Variable& x, const Variable& a) { return std::vector{a + x, a + x, x, h}; });
  const Results all = function({xs, h}, {made[0], made[1], made[2], made[3]}, on())(doubles({1, 2, 3, 4}, {2, 2}, device()), doubles({10, 20}, {2}, device()));
  expect_near(all[0], {11, 22, 14, 26});
  expect_near(all[1], {11, 22, 14, 26});
  expect_near(all[2], {1, 2, 3, 4});
  expect_near(all[3], {10, 20, 10, 20});
}

TEST_P(Scan, ReadsTwoEarlierValues) {
  const Variable begin = vector("begin", int64);
  const ScanOutputs numbers = scan({.initial = {{begin, {-1, -2}}}, .steps = 10}, [](const Variable& one, const Variable& two) { return one + two; });
  EXPECT_EQ(numbers[0].dims(), (Shape{10}));
  const Array made = function({begin}, {numbers}, on())(Array::from(std::vector<std::int64_t>{0, 1}, device()));
  EXPECT_THAT(made.to_vector<std::int64_t>(), ElementsAre(1, 2, 3, 5, 8, 13, 21, 34, 55, 89));
}

TEST_P(Scan, TakesTapsInTheOrderInWhichTheyAreNamed) {
  const Variable begin = vector("begin", float64);
  const ScanOutputs made = scan({.initial = {{begin, {-3, -1}}}, .steps = 4}, [](const Variable& three, const Variable& one) { return 10.0 * three + one; });
  // h: 1 2 3, then 10 * 1 + 3, 10 * 2 + 13, 10 * 3 + 33, 10 * 13 + 63
  expect_near(function({begin}, {made}, on())(doubles({1, 2, 3}, {3}, device())), {13, 33, 63, 193});
}

TEST_P(Scan, ReadsNeighbouringRows) {
  const Variable xs = vector("xs", float64), ys = vector("ys", float64);
  const ScanOutputs made = scan({.sequences = {{xs, {-1, 0, 1}}, {ys, {0}}}, .steps = 4}, [](auto before, auto now, auto next, auto y) { return before - 2.0 * now + next + 100.0 * y; });
  const Array result = function({xs, ys}, {made}, on())(doubles({1, 4, 9, 16, 25, 40}, {6}, device()), doubles({0, 1, 2, 3, 4}, {5}, device()));
  expect_near(result, {2, 102, 202, 306});
  const ScanOutputs all = scan({.sequences = {{xs, {-1, 1}}}}, [](auto before, auto next) { return next - before; });
  expect_near(function({xs}, {all}, on())(doubles({1, 4, 9, 16, 25, 40}, {6}, device())), {8, 12, 16, 24});
  const ScanOutputs later = scan({.sequences = {{xs, {2}}}}, [](auto x) { return x + 0.0; });
  expect_near(function({xs}, {later}, on())(doubles({1, 4, 9}, {3}, device())), {9});
}

TEST_P(Scan, GoesBackwards) {
  const Variable xs = vector("xs", float64);
  const ScanOutputs made = scan({.sequences = {{xs, {0, 1}}}, .initial = {constant(0.0)}, .go_backwards = true}, [](auto x, auto next, auto h) { return 2.0 * h + x + 10.0 * next; });
  // rows (2, 3), (1, 2), (0, 1) of 1 2 3 4
  expect_near(function({xs}, {made}, on())(doubles({1, 2, 3, 4}, {4}, device())), {43, 86 + 32, 236 + 21});
}

TEST_P(Scan, GivesSeveralOutputsOfWhichSomeAreNotReadAgain) {
  const Variable xs = vector("xs", float64), a0 = scalar("a0", float64), b0 = scalar("b0", float64);
  const ScanOutputs made = scan({.sequences = {xs}, .initial = {a0, {}, b0}}, [](const Variable& x, const Variable& a, const Variable& b) {
    return std::vector{a + b, x * a, b - x};
  });
  const Values rows{0.5, -1, 2};
  double a = 1, b = 3;
  Values as, products, bs;
  for (double x : rows) {
    products.push_back(x * a);
    const double sum = a + b;
    b -= x;
    a = sum;
    as.push_back(a);
    bs.push_back(b);
  }
  const Function f = function({xs, a0, b0}, {made[0], made[1], made[2]}, on());
  const auto [first, second, third] = f.call<3>(doubles(rows, {3}, device()), doubles({1}, {}, device()), doubles({3}, {}, device()));
  expect_near(first, as);
  expect_near(second, products);
  expect_near(third, bs);
}

TEST_P(Scan, AsManyStepsAsThereAreNumbersEndByTheirConditionOrAreRefused) {
  const std::int64_t greatest = std::numeric_limits<std::int64_t>::max();
  const Variable steps = scalar("steps", int64), x = scalar("x", float64);
  const Array one = doubles({1}, {}, device()), most = Array::from(std::vector{greatest}, Shape(), device());
  const auto twice = [](const Variable& a) { return 2.0 * a; };
  const auto is_small = [](const Variable& a) { return a < 100.0; };
  const Variable reached = while_loop({x}, is_small, twice, greatest)[0];
  EXPECT_EQ(Array(function({x}, {reached}, on())(one)).to_doubles(), std::vector{128.0});
  EXPECT_THAT(error_of<ShapeError>([&] { function({x, steps}, {scan({.initial = {x}, .steps = steps}, twice)}, on())(one, most); }), HasSubstr("more than 2^63 bytes"));
  EXPECT_THAT(error_of<ShapeError>([&] { function({x}, {scan({.initial = {x}, .steps = greatest}, twice)}, on())(one); }), HasSubstr("more than any memory holds"));
}

TEST_P(Scan, MakesAsManyStepsAsAVariableSays) {
  const Variable steps = scalar("steps", int64), h0 = vector("h0", float64);
  const ScanOutputs made = scan({.initial = {h0}, .steps = steps}, [](const Variable& h) { return 2.0 * h; });
  const Function f = function({steps, h0}, {made, subtensor(made[0], {-1})}, on());
  const auto run = [&](std::int64_t count) { return f.call<2>(Array::from(std::vector{count}, Shape(), device()), doubles({1, 3}, {2}, device())); };
  expect_near(run(3)[0], {2, 6, 4, 12, 8, 24});
  expect_near(run(5)[1], {32, 96});
  EXPECT_THAT(error_of<ShapeError>([&] { run(-2); }), HasSubstr("scan: the number of steps is -2"));
  EXPECT_THAT(error_of<ShapeError>([&] { run(0); }), HasSubstr("position -1 is not on axis 0, whose extent is 0"));
  EXPECT_EQ(Array(function({steps, h0}, {made}, on())(Array::from(std::vector<std::int64_t>{0}, Shape(), device()), doubles({1, 3}, {2}, device()))).shape(), (Shape{0, 2}));
}

TEST_P(Scan, OfNoRowsGivesNoRows) {
  const Variable xs = matrix("xs", float64), h0 = vector("h0", float64);
  const ScanOutputs made = scan({.sequences = {xs}, .initial = {h0}}, [](const Variable& x, const Variable& h) { return h + x; });
  const Array none = Array::zeros({0, 2}, float64, device());
  EXPECT_EQ(Array(function({xs, h0}, {made}, on())(none, doubles({1, 2}, {2}, device()))).shape(), (Shape{0, 2}));
  const Variable cost = sum(made[0]) + sum(h0 * h0);
  expect_near(function({xs, h0}, {grad(cost, h0)}, on())(none, doubles({1, 2}, {2}, device())), {2, 4});
  EXPECT_THAT(error_of<ShapeError>([&] { function({xs, h0}, {subtensor(made[0], {-1})}, on())(none, doubles({1, 2}, {2}, device())); }), HasSubstr("position -1 is not on axis 0"));
}

TEST_P(Scan, ItsStepMayNameOutputsInBraces) {
  const Variable a0 = scalar("a", float64), b0 = scalar("b", float64);
  const ScanOutputs made = scan({.initial = {a0, b0}, .steps = 3}, [](const Variable& a, const Variable& b) { return ScanStep({b, a + b}); });
  const auto [first, second] = function({a0, b0}, {made[0], made[1]}, on()).call<2>(doubles({1}, {}, device()), doubles({2}, {}, device()));
  expect_near(first, {2, 3, 5});
  expect_near(second, {3, 5, 8});
}

TEST_P(Scan, EndsWhenItsConditionHolds) {
  const Variable x = scalar("x", float64);
  const ScanOutputs made = scan({.initial = {x}, .steps = 50}, [](const Variable& v) { return ScanStep({v * 2.0}, v * 2.0 > 100.0); });
  const Function f = function({x}, {made, subtensor(made[0], {-1}), grad(subtensor(made[0], {-1}), x)}, on());
  const auto [all, last, slope] = f.call<3>(doubles({3}, {}, device()));
  expect_near(all, {6, 12, 24, 48, 96, 192});
  expect_near(last, {192});
  expect_near(slope, {64});
  const auto [many, tiny, power] = f.call<3>(doubles({1e-30}, {}, device()));  // the limit ends it
  EXPECT_EQ(many.shape(), (Shape{50}));
  expect_near(power, {std::ldexp(1.0, 50)});
  const Function lasts = function({x}, {subtensor(made[0], {{-3, {}}})}, on());
  expect_near(lasts(doubles({3}, {}, device())), {48, 96, 192});
}

TEST_P(Scan, CapturesWhatTheStepUses) {
  const Shared w = shared("w", doubles({2, 0, 0, 3}, {2, 2}, device()));
  const Variable xs = matrix("xs", float64), bias = vector("bias", float64);
  const Variable twice = 2.0 * bias;
  const ScanOutputs made = scan({.sequences = {xs}}, [&](const Variable& x) { return dot(x, w) + twice + exp(bias); });
  const Function f = function({xs, bias}, {made}, {.device = device(), .updates = {{w, w + 1.0}}});
  const Values b{0.25, -1};
  expect_near(f(doubles({1, 2, 3, 4}, {2, 2}, device()), doubles(b, {2}, device())), {2 + 0.5 + std::exp(0.25), 6 - 2 + std::exp(-1), 6 + 0.5 + std::exp(0.25), 12 - 2 + std::exp(-1)});
  expect_near(f(doubles({1, 0, 0, 1}, {2, 2}, device()), doubles({0, 0}, {2}, device())), {4, 2, 2, 5});
}

struct Dtype {
  DType dtype;
  double error;
};

TEST_P(Scan, KeepsTheDtype) {
  for (const auto& [dtype, error] : {Dtype{float16, 5e-3}, Dtype{bfloat16, 4e-2}, Dtype{float32, 1e-6}, Dtype{float64, 1e-14}}) {
    const Variable x = vector("x", float64);
    const ScanOutputs made = scan({.initial = {cast(x, dtype)}, .steps = 4}, [](const Variable& h) { return 0.5 * h + 1.0; });
    EXPECT_EQ(made[0].dtype(), dtype);
    const Variable cost = sum(cast(subtensor(made[0], {-1}), float64));
    const auto [last, slope] = function({x}, {subtensor(made[0], {-1}), grad(cost, x)}, on()).call<2>(doubles({2, 4}, {2}, device()));
    expect_near(last, {2, 2 + 2.0 / 16}, error);
    expect_near(slope, {1.0 / 16, 1.0 / 16}, error);
  }
}

TEST_P(Scan, KeepsOnlyTheRowsThatAreRead) {
  constexpr std::int64_t kSteps = 1000, kSize = 4096;
  const Variable h0 = input({float32, {kSize}}, "h0");
  const ScanOutputs made = scan({.initial = {h0}, .steps = kSteps}, [](const Variable& h) { return 0.5 * h + 1.0; });
  const Function whole = function({h0}, {made}, on()), last = function({h0}, {subtensor(made[0], {-1})}, on()), three = function({h0}, {sum(subtensor(made[0], {{-3, {}}}), 0)}, on());
  EXPECT_GE(whole.plan({{kSize}}).peak(), kSteps * kSize * 4);
  EXPECT_LT(last.plan({{kSize}}).peak(), 8 * kSize * 4);
  EXPECT_LT(three.plan({{kSize}}).peak(), 12 * kSize * 4);
  for (const auto& [f, want] : {std::pair(last, 2.0), std::pair(three, 6.0)}) {
    const Array begin = Array::zeros({kSize}, float32, device());
    f(begin);
    device().reset_peak();
    const std::size_t before = device().memory().in_use_bytes;
    const Array made = f(begin);
    EXPECT_LT(device().memory().peak_bytes - before, 16 * kSize * 4);
    EXPECT_EQ(made.to_doubles()[7], want);
  }
}

TEST_P(Scan, DrawsOtherNumbersAtEachStep) {
  RandomStream random(7, device());
  const Variable outside = random.normal({3}, 0, 1, float64);
  const ScanOutputs made = scan({.steps = 4}, [&] { return std::vector{random.normal({3}, 0, 1, float64), outside + 0.0, random.uniform({3}, 0, 1, float64)}; });
  const Function f = function({}, {made[0], made[1], made[2], random.normal({3}, 0, 1, float64)}, on());
  const auto first = f.call<4>(), second = f.call<4>();
  std::vector<double> all;
  for (const auto* call : {&first, &second}) {
    for (int i : {0, 3}) {
      const Values values = (*call)[static_cast<std::size_t>(i)].to_doubles();
      all.insert(all.end(), values.begin(), values.end());
    }
  }
  ASSERT_EQ(all.size(), 30u);
  std::sort(all.begin(), all.end());
  EXPECT_EQ(std::adjacent_find(all.begin(), all.end()), all.end()) << "a number was drawn twice";
  const Values same = first[1].to_doubles();
  for (std::size_t i = 3; i < 12; ++i) EXPECT_EQ(same[i], same[i - 3]);
  RandomStream again(7, device());
  const Variable again_outside = again.normal({3}, 0, 1, float64);
  const ScanOutputs remade = scan({.steps = 4}, [&] { return std::vector{again.normal({3}, 0, 1, float64), again_outside + 0.0, again.uniform({3}, 0, 1, float64)}; });
  EXPECT_EQ(function({}, {remade[0], remade[2]}, plain())()[0].to_doubles(), first[0].to_doubles());
}

TEST_P(Scan, HoldsAnotherScan) {
  const Variable xs = matrix("xs", float64);
  // sum over rows of (running sum of the row's elements, squared and added up)
  const ScanOutputs made = scan({.sequences = {xs}, .initial = {constant(0.0)}}, [](const Variable& row, const Variable& total) {
    return total + sum(scan({.sequences = {row}, .initial = {constant(0.0)}}, [&](const Variable& x, const Variable& h) { return h + x * x; })[0]);
  });
  const Variable cost = subtensor(made[0], {-1});
  const Values rows{1, 2, 3, 4, 5, 6};
  const auto [value, slope] = function({xs}, {cost, grad(cost, xs)}, on()).call<2>(doubles(rows, {2, 3}, device()));
  expect_near(value, {1 + 5 + 14 + 16 + 41 + 77});
  expect_near(slope, {6, 8, 6, 24, 20, 12});
}

TEST_P(Scan, MapsReducesAndLoopsWhile) {
  const Variable xs = matrix("xs", float64), x = scalar("x", float64);
  const Values rows{3, 4, 6, 8};
  const ScanOutputs norms = map({xs}, [](const Variable& row) { return sqrt(sum(row * row)); });
  expect_near(function({xs}, {norms}, on())(doubles(rows, {2, 2}, device())), {5, 10});
  const ScanOutputs product = reduce({xs}, {constant(1.0)}, [](const Variable& row, const Variable& p) { return p * sum(row); });
  EXPECT_EQ(product[0].rank(), 0);
  expect_near(function({xs}, {product}, on())(doubles(rows, {2, 2}, device())), {98});
  expect_near(function({xs}, {product}, on())(Array::zeros({0, 2}, float64, device())), {1});
  // Newton's square root, until it stands
  const ScanOutputs root = while_loop({x * 0.5 + 0.5, x}, [](const Variable& r, const Variable& a) { return abs(r * r - a) > 1e-12 * a; },
                                      [](const Variable& r, const Variable& a) { return std::vector{0.5 * (r + a / r), a}; }, 60);
  const Function f = function({x}, {root[0], grad(root[0], x)}, on());
  const auto [two, slope] = f.call<2>(doubles({2}, {}, device()));
  expect_near(two, {std::sqrt(2.0)});
  expect_near(slope, {0.5 / std::sqrt(2.0)}, 1e-6);
  const auto [one, slope_of_one] = f.call<2>(doubles({1}, {}, device()));  // true of the initial value: no step
  expect_near(one, {1});
  expect_near(slope_of_one, {0.5});
  const ScanOutputs endless = while_loop({x}, [](const Variable& v) { return v > 0.0; }, [](const Variable& v) { return v + 1.0; }, 20);
  EXPECT_THAT(error_of<GraphError>([&] { function({x}, {endless}, on())(doubles({2}, {}, device())); }),
              ::testing::AllOf(HasSubstr("while_loop: the condition still holds after 20 steps, the limit"), HasSubstr("raise the limit")));
}

TEST_P(Scan, SizesItsRowsByTheFirstStepWhereOnlyDataTells) {
  const Variable steps = scalar("steps", int64), x = vector("x", float64);
  const ScanOutputs made = scan({.sequences = {x}, .steps = 2}, [&](const Variable& row) { return map({x}, [&](const Variable& v) { return v * row; })[0] + scan({.initial = {row}, .steps = steps}, [](const Variable& v) { return v + 1.0; })[0]; });
  const Array result = function({steps, x}, {made}, on())(Array::from(std::vector<std::int64_t>{3}, Shape(), device()), doubles({1, 2, 3}, {3}, device()));
  expect_near(result, {1 + 2, 2 + 3, 3 + 4, 2 + 3, 4 + 4, 6 + 5});
}

TEST(ScanErrors, NameWhatIsWrongWhenTheGraphIsBuilt) {
  const Variable x = matrix("x"), h = vector("h"), number = scalar("number");
  const auto same = [](const Variable& a, const Variable& b) { return a + b; };
  EXPECT_THAT(error_of<GraphError>([&] { scan({}, [] { return constant(1.0f); }); }), ::testing::AllOf(HasSubstr("scan has neither sequences nor a number of steps"), HasSubstr("scan_test.cpp")));
  EXPECT_THAT(error_of<GraphError>([&] { scan({.sequences = {x}}, same); }), HasSubstr("scan: the step takes 2 arguments, it is given 1"));
  EXPECT_THAT(error_of<GraphError>([&] { scan({.sequences = {x}, .initial = {h, h}}, [](auto a, auto, auto) { return a; }); }), HasSubstr("the step gives 1 output, 2 have initial values"));
  EXPECT_THAT(error_of<ShapeError>([&] { scan({.sequences = {number}}, [](auto a) { return a; }); }), HasSubstr("sequence 0 has no rows"));
  EXPECT_THAT(error_of<OptionError>([&] { scan({.initial = {{h, {0}}}, .steps = 2}, [](auto a) { return a; }); }), HasSubstr("output 0 has the taps {0}"));
  EXPECT_THAT(error_of<OptionError>([&] { scan({.initial = {{h, {-1, -1}}}, .steps = 2}, [](auto a, auto) { return a; }); }), HasSubstr("each once"));
  EXPECT_THAT(error_of<OptionError>([&] { scan({.initial = {h}, .steps = -1}, [](auto a) { return a; }); }), HasSubstr("the number of steps is -1"));
  EXPECT_THAT(error_of<TypeError>([&] { scan({.initial = {h}, .steps = number}, [](auto a) { return a; }); }), HasSubstr("the number of steps is no integer"));
  EXPECT_THAT(error_of<TypeError>([&] { scan({.initial = {h}, .steps = 2}, [](auto a) { return cast(a, float64); }); }),
              ::testing::AllOf(HasSubstr("output 0 begins as float32 (?,), the step gives float64 (?,)"), HasSubstr("cast the initial value: cast(x, float64)"), HasSubstr("scan_test.cpp")));
  EXPECT_THAT(error_of<ShapeError>([&] { scan({.sequences = {x}, .initial = {number}}, same); }), HasSubstr("output 0 begins as float32 (), the step gives float32 (?,)"));
  EXPECT_THAT(error_of<TypeError>([&] { scan({.initial = {h}, .steps = 2}, [](auto a) { return ScanStep({a}, sum(a)); }); }), HasSubstr("the condition to end is no bool"));
  EXPECT_THAT(error_of<ShapeError>([&] { scan({.initial = {h}, .steps = 2}, [](auto a) { return ScanStep({a}, a > 0.0); }); }), HasSubstr("the condition to end must be 0-d"));
  EXPECT_THAT(error_of<ShapeError>([&] { scan({.sequences = {input({float32, {3, 2}}), input({float32, {4, 2}})}}, same); }), HasSubstr("sequence 1 has 4 rows for 3 steps"));
  EXPECT_THAT(error_of<ShapeError>([&] { scan({.sequences = {input({float32, {3, 2}})}, .steps = 4}, [](auto a) { return a; }); }), HasSubstr("sequence 0 has 3 rows for 4 steps"));
  EXPECT_THAT(error_of<ShapeError>([&] { scan({.initial = {{input({float32, {3, 2}}), {-1, -2}}}, .steps = 4}, same); }), HasSubstr("has 3 rows for taps that reach back 2"));
  EXPECT_THAT(error_of<GraphError>([&] { const Variable all = scan({.initial = {h, h}, .steps = 4}, [](auto a, auto b) { return std::vector{a, b}; }); }), HasSubstr("the loop has 2 outputs, not one"));
  EXPECT_THAT(error_of<OptionError>([&] { while_loop({h}, [](auto a) { return sum(a) > 0.0; }, [](auto a) { return a; }, 0); }), HasSubstr("while_loop: the limit is 0"));
}

TEST_P(Scan, RefusesAtTheCallWhatOnlyTheCallShows) {
  const Variable xs = matrix("xs", float64), ys = matrix("ys", float64), h = vector("h", float64);
  const Function two = function({xs, ys}, {scan({.sequences = {xs, ys}}, [](auto a, auto b) { return a + b; })}, on());
  EXPECT_THAT(error_of<ShapeError>([&] { two(Array::zeros({3, 2}, float64, device()), Array::zeros({4, 2}, float64, device())); }),
              ::testing::AllOf(HasSubstr("sequence 1 has 4 rows for 3 steps"), HasSubstr("scan_test.cpp")));
  const Function grows = function({xs, h}, {scan({.initial = {h}, .steps = 2}, [&](auto a) { return dot(a, xs); })}, on());
  EXPECT_THAT(error_of<ShapeError>([&] { grows(Array::zeros({3, 2}, float64, device()), Array::zeros({3}, float64, device())); }), HasSubstr("the step gives output 0 the shape (2,), it began with (3,)"));
  const Function deep = function({xs}, {scan({.initial = {{xs, {-1, -3}}}, .steps = 2}, [&](auto a, auto b) { return a + b; })}, on());
  EXPECT_THAT(error_of<ShapeError>([&] { deep(Array::zeros({2, 2}, float64, device())); }), HasSubstr("has 2 rows for taps that reach back 3"));
}

DAMO_ON_EACH_DEVICE(Scan);

}  // namespace
}  // namespace damo
