// Draws in graphs and at once: the same bits on every device, fused or not, whatever the layout; gradients, states and errors. What
// the distributions are is in tests/function/distributions_test.cpp.
#include <algorithm>
#include <cmath>
#include <limits>
#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <damo/damo.hpp>
#include "support/devices.hpp"

namespace damo {
namespace {

using testing::error_of;
using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using Values = std::vector<double>;
using Words = std::vector<std::uint64_t>;

class Random : public testing::OnEachDevice {
 protected:
  Options options(bool fuse = true) const { return {.fuse = fuse, .device = device()}; }
  RandomStream stream(std::uint64_t seed = 7) const { return RandomStream(seed, device()); }
  RandomGenerator generator(std::uint64_t seed = 7) const { return RandomGenerator(seed, device()); }
};

/// Kernels of generated nodes.
int kernels_of(const Function& f) {
  int count = 0;
  for (NodeId node : f.graph().nodes()) count += f.graph().op(node).inner_graph() != nullptr || dynamic_cast<const KernelOp*>(&f.graph().op(node)) != nullptr;
  return count;
}

struct Draw {
  const char* name;
  std::function<Variable(const RandomStream&, const DrawShape&)> graph;
  std::function<Array(RandomGenerator&, const Shape&)> eager;
};

#define DRAW(call) {#call, [](const RandomStream& r, const DrawShape& s) { return r.call; }, [](RandomGenerator& r, const Shape& s) { return r.call; }}
const Draw kDraws[] = {DRAW(bits(s)),
                       DRAW(uniform(s, 0, 1, float64)),
                       DRAW(uniform(s, 0, 1, float16)),
                       DRAW(uniform(s, -2.5, 1e3)),
                       DRAW(normal(s, 3, 0.1)),
                       DRAW(normal(s, 0, 1, float64)),
                       DRAW(normal(s, 3, 0.1, bfloat16)),
                       DRAW(gumbel(s)),
                       DRAW(truncated_normal(s, 5, 9, 1, 2)),
                       DRAW(gamma(s, 0.3, 4)),
                       DRAW(poisson(s, 3.5)),
                       DRAW(poisson(s, 1234.5)),
                       DRAW(bernoulli(s, 0.3)),
                       DRAW(randint(s, 0, 200, uint8)),
                       DRAW(randint(s, -9223372036854775807ll - 1, 9223372036854775807ll))};
#undef DRAW

TEST_P(Random, GivesPhiloxOfTheReference) {
  // Random123's kat_vectors: counter, key -> four words, of which the draws have the first and third of a block's pairs.
  struct Case {
    std::uint64_t key, draw, block, low, high;
  };
  const Case cases[] = {{0, 0, 0, 0xe169c58d6627e8d5u, 0x9b00dbd8bc57ac4cu},
                        {~0ull, ~0ull, ~0ull, 0x41c83b0e408f276du, 0x6d5451fda20bc7c6u},
                        {0x299f31d0a4093822u, 0x0370734413198a2eu, 0x85a308d3243f6a88u, 0x94fdccebd16cfe09u, 0x24126ea15001e420u}};
  const Elementwise low{{.name = "philox_low", .code = "double(x0)", .integer_code = "T(u64(philox(x0, x1, x2).b) << 32 | philox(x0, x1, x2).a)"}};
  const Elementwise high{{.name = "philox_high", .code = "double(x0)", .integer_code = "T(u64(philox(x0, x1, x2).d) << 32 | philox(x0, x1, x2).c)"}};
  const Variable key = vector("key", uint64), draw = vector("draw", uint64), block = vector("block", uint64);
  const Function f = function({key, draw, block}, {low(key, draw, block), high(key, draw, block)}, options());
  Words keys, draws, blocks, lows, highs;
  for (const Case& one : cases) keys.push_back(one.key), draws.push_back(one.draw), blocks.push_back(one.block), lows.push_back(one.low), highs.push_back(one.high);
  const auto [a, b] = f.call<2>(Array::from(keys, device()), Array::from(draws, device()), Array::from(blocks, device()));
  EXPECT_EQ(a.to_vector<std::uint64_t>(), lows);
  EXPECT_EQ(b.to_vector<std::uint64_t>(), highs);
}

TEST_P(Random, TakesTheWordsOfABlockForNeighbours) {
  RandomGenerator random(0, 0, device());  // key 0, draw 0: the reference's first block
  EXPECT_THAT(random.bits({4}).to_vector<std::uint32_t>(), ElementsAre(0x6627e8d5u, 0xe169c58du, 0xbc57ac4cu, 0x9b00dbd8u));
  RandomGenerator again(0, 0, device());
  EXPECT_THAT(again.bits({2}, uint64).to_vector<std::uint64_t>(), ElementsAre(0xe169c58d6627e8d5u, 0x9b00dbd8bc57ac4cu));
}

TEST_P(Random, DrawsInAGraphFusedOrNotWhatAGeneratorDraws) {
  RandomGenerator eager = generator();
  std::vector<Values> expected;
  for (int call = 0; call < 2; ++call) {
    for (const Draw& draw : kDraws) expected.push_back(draw.eager(eager, {3, 37}).to_doubles());
  }
  const std::size_t count = expected.size() / 2;
  for (bool fuse : {true, false}) {
    RandomStream random = stream();
    std::vector<Variable> drawn;
    for (const Draw& draw : kDraws) drawn.push_back(draw.graph(random, {3, 37}));
    const Function f = function({}, drawn, options(fuse));
    for (int call = 0; call < 2; ++call) {
      const Results results = f();
      for (std::size_t i = 0; i < count; ++i) EXPECT_EQ(results[i].to_doubles(), expected[static_cast<std::size_t>(call) * count + i]) << kDraws[i].name;
    }
  }
  for (std::size_t i = 0; i < count; ++i) EXPECT_NE(expected[i], expected[count + i]) << kDraws[i].name;
}

/// Draws lie nowhere in memory, so rows of them can't be asked for ahead.
TEST_P(Random, RowsOfDrawsAreReduced) {
  const Array x = generator(5).normal({6, 700});
  for (bool stores : {false, true}) {
    RandomStream random = stream();
    const Variable rows = matrix("x"), drawn = random.uniform({6, 700}), shifted = rows - mean(rows * drawn, 1, true);
    std::vector<Variable> outputs{stores ? shifted * drawn : softmax(rows + drawn)};
    const Values values = x.to_doubles(), found = function({rows}, outputs, options(true))(x)[0].to_doubles(), noise = generator().uniform({6, 700}).to_doubles();
    for (std::size_t row = 0; row < 6; ++row) {
      double sum = 0, products = 0;
      for (std::size_t k = row * 700; k < (row + 1) * 700; ++k) sum += std::exp(values[k] + noise[k]), products += values[k] * noise[k] / 700;
      for (std::size_t k = row * 700; k < (row + 1) * 700; ++k) ASSERT_NEAR(found[k], stores ? (values[k] - products) * noise[k] : std::exp(values[k] + noise[k]) / sum, 1e-6) << row << " " << k;
    }
  }
}

TEST_P(Random, DrawsTheBitsOfTheCpu) {
  if (!DAMO_HAS_CPU) GTEST_SKIP() << "needs the CPU back end";
  RandomGenerator random = generator(3), on_cpu(3, cpu());
  for (const Draw& draw : kDraws) EXPECT_EQ(draw.eager(random, {5, 1001}).to_doubles(), draw.eager(on_cpu, {5, 1001}).to_doubles()) << draw.name;
}

TEST_P(Random, DrawsTheSameWhateverTheOtherArraysLayout) {
  const Array values = Array::ones({40, 24}, float32, device());
  const Array layouts[] = {values, Array::ones({24, 40}, float32, device()).transpose(), Array::ones({40, 48}, float32, device()).slice({{}, Slice{0, 48, 2}}),
                           Array::ones({1, 24}, float32, device()).broadcast_to({40, 24}), Array::ones({40, 1}, float32, device()).broadcast_to({40, 24}),
                           Array::ones({40, 25}, float32, device()).slice({{}, Slice{1, 25}})};
  RandomStream random = stream();
  const Variable x = matrix("x"), zero = 0 * x;
  const Function f = function({x}, {zero + random.uniform(x), zero + random.normal(x), random.randint(x, 0, 9) + cast(zero, int64)}, {.device = device(), .updates = {{random.state(), random.state()}}});
  RandomGenerator eager = generator();
  const Values u = eager.uniform({40, 24}).to_doubles(), z = eager.normal({40, 24}).to_doubles(), n = eager.randint({40, 24}, 0, 9).to_doubles();
  for (const Array& layout : layouts) {
    const Results results = f(layout);
    EXPECT_EQ(results[0].to_doubles(), u) << to_string(layout.strides());
    EXPECT_EQ(results[1].to_doubles(), z) << to_string(layout.strides());
    EXPECT_EQ(results[2].to_doubles(), n) << to_string(layout.strides());
  }
}

TEST_P(Random, CountsElementsOfItsOwnShapeWhereItStretches) {
  RandomStream random = stream();
  const Variable x = tensor3("x");
  const Function f = function({x}, {maximum(random.uniform({5, 1, 6}), x)}, options());
  const Array found = f(Array::zeros({5, 3, 6}, float32, device()));
  const Array expected = generator().uniform({5, 1, 6}).broadcast_to({5, 3, 6});
  EXPECT_EQ(found.to_doubles(), expected.to_doubles());
}

TEST_P(Random, ReducesDrawsThatAreInNoMemory) {
  for (const Shape& shape : {Shape{7, 300}, Shape{3, 20000}}) {
    const Array drawn = generator().randint(shape, 0, 1000);
    for (int axis : {0, 1}) {
      RandomStream random = stream();
      const Function f = function({}, {sum(random.randint(shape, 0, 1000), axis)}, options());
      EXPECT_EQ(Array(f()).to_doubles(), sum(drawn, axis).to_doubles()) << to_string(shape) << " " << axis;
      EXPECT_LE(kernels_of(f), 3);  // and the state's
    }
  }
}

TEST_P(Random, SubtractsARowsDrawFromEachOfItsElements) {
  RandomStream random = stream();
  const Variable x = matrix("x");
  const Function f = function({x}, {max(maximum(x, random.uniform({9, 1})), 1), max(random.uniform(x), 1, keepdims)}, options());
  const auto [row, all] = f.call<2>(Array::full({9, 200}, -1.0, float32, device()));
  RandomGenerator eager = generator();
  EXPECT_EQ(row.to_doubles(), eager.uniform({9, 1}).to_doubles());
  EXPECT_EQ(all.to_doubles(), max(eager.uniform({9, 200}), 1).to_doubles());
}

TEST_P(Random, IsAPartOfTheKernelAroundIt) {
  const Variable x = matrix("x"), state = input({uint64, {2}}, "state");
  RandomStream random(state);
  for (const Variable& y : {tanh(x + 0.1 * random.normal(x)) * random.bernoulli(x, 0.5), random.categorical(x), sum(random.uniform({5, 7}), 1)}) {
    EXPECT_EQ(kernels_of(function({x, state}, {y}, {.device = Device("null"), .allow_unused_inputs = true})), 1) << to_string(y.type());
  }
}

TEST_P(Random, MovesItsStateByTheDrawsOfAFunction) {
  RandomStream random = stream();
  const Variable a = random.uniform({3}), b = random.uniform({3});
  const Function both = function({}, {a, b}, options()), second = function({}, {b}, options());
  const Shared state(random.state());
  RandomGenerator eager = generator();
  const auto [one, two] = both.call<2>();
  EXPECT_EQ(one.to_doubles(), eager.uniform({3}).to_doubles());
  EXPECT_EQ(two.to_doubles(), eager.uniform({3}).to_doubles());
  EXPECT_THAT(state.array().to_vector<std::uint64_t>(), ElementsAre(7, 2));
  RandomGenerator from_three(7, 3, device());
  EXPECT_EQ(Array(second()).to_doubles(), from_three.uniform({3}).to_doubles());
  EXPECT_THAT(state.array().to_vector<std::uint64_t>(), ElementsAre(7, 4));
}

TEST_P(Random, GoesOnFromAStateThatWasSaved) {
  RandomStream random = stream();
  const Function f = function({}, {random.normal({5})}, options());
  f();
  const Shared state(random.state());
  const Array saved = state.array();
  const Values expected = Array(f()).to_doubles();
  EXPECT_NE(Array(f()).to_doubles(), expected);
  state.set(saved);
  EXPECT_EQ(Array(f()).to_doubles(), expected);
}

TEST_P(Random, KeepsItsStateWhereAnUpdateSaysSo) {
  RandomStream random = stream();
  const Function f = function({}, {random.normal({5})}, {.device = device(), .updates = {{random.state(), random.state()}}});
  const Values first = Array(f()).to_doubles();
  EXPECT_EQ(Array(f()).to_doubles(), first);
}

TEST_P(Random, DrawsFromAStateThatIsAnInput) {
  const Variable state = input({uint64, {2}}, "state");
  RandomStream random(state);
  const Variable drawn = random.uniform({6});
  const Function f = function({state}, {drawn, random.next_state()}, options());
  const auto [values, next] = f.call<2>(Array::from(Words{11, 5}, device()));
  EXPECT_EQ(values.to_doubles(), RandomGenerator(11, 5, device()).uniform({6}).to_doubles());
  EXPECT_THAT(next.to_vector<std::uint64_t>(), ElementsAre(11, 6));
}

TEST_P(Random, SplitsOffStreamsThatHaveOtherNumbers) {
  RandomStream random = stream();
  RandomGenerator eager = generator();
  const Values own = generator().uniform({1000}).to_doubles();
  for (int i = 0; i < 2; ++i) {
    RandomStream part = random.split();
    RandomGenerator eager_part = eager.split();
    const Function f = function({}, {part.uniform({1000})}, options());
    const Values values = Array(f()).to_doubles();
    EXPECT_EQ(values, eager_part.uniform({1000}).to_doubles());
    EXPECT_NE(values, own);
  }
  EXPECT_NE(Array(function({}, {random.split().uniform({9})}, options())()).to_doubles(), Array(function({}, {random.split().uniform({9})}, options())()).to_doubles());
}

TEST_P(Random, DropsElementsAndScalesTheOthers) {
  const Array x = Array::full({200, 100}, 3.0, float32, device());
  for (double p : {0.0, 0.25, 0.5, 1.0}) {
    RandomStream random = stream();
    const Variable v = matrix("x");
    const Function f = function({v}, {dropout(v, p, random)}, options());
    const Values kept = Array(f(x)).to_doubles();
    RandomGenerator eager = generator();
    EXPECT_EQ(dropout(x, p, eager).to_doubles(), kept);
    const auto scaled = static_cast<double>(3.0f * static_cast<float>(p < 1 ? 1 / (1 - p) : 0));
    const auto dropped = std::count(kept.begin(), kept.end(), 0.0);
    if (p < 1) EXPECT_EQ(dropped + std::count(kept.begin(), kept.end(), scaled), 20000);
    EXPECT_NEAR(static_cast<double>(dropped), 20000 * p, 5 * std::sqrt(20000 * p * (1 - p)) + 1e-9) << p;
  }
}

TEST_P(Random, DrawsTheMaskOfDropoutAgainInItsGradient) {
  RandomStream random = stream();
  const Variable x = matrix("x"), g = matrix("g");
  const Variable y = dropout(tanh(x), 0.4, random), d = grad(sum(y * g), x);
  const Function f = function({x, g}, {y, d}, options());
  const Array at = generator(1).normal({64, 33}), by = generator(2).uniform({64, 33}, 1, 2);
  const auto [values, slopes] = f.call<2>(at, by);
  const Values a = at.to_doubles(), b = by.to_doubles(), v = values.to_doubles(), s = slopes.to_doubles();
  const double scale = 1 / 0.6;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double slope = v[i] == 0 ? 0 : b[i] * scale * (1 - std::tanh(a[i]) * std::tanh(a[i]));
    ASSERT_NEAR(s[i], slope, 1e-5) << i;
  }
  for (NodeId node : f.graph().nodes()) {  // x, g, and results of x's dtype: no mask goes from kernel to kernel
    for (ValueId output : f.graph().outputs(node)) EXPECT_TRUE(f.graph().type(output).dtype == float32 || f.graph().type(output).dtype == uint64);
  }
}

TEST_P(Random, HasGradientsByWhatScalesAndShifts) {
  RandomStream random = stream();
  const Variable mean = vector("mean"), std = vector("std");
  const Variable z = random.normal({4, 3}, mean, std), u = random.uniform({4, 3}, mean, std);
  const std::vector<Variable> by_normal = grad(sum(z), {mean, std}), by_uniform = grad(sum(u), {mean, std});
  const Function f = function({mean, std}, {by_normal[0], by_normal[1], by_uniform[0], by_uniform[1]}, options());
  const auto [dm, ds, dl, dh] = f.call<4>(array({1, 2, 3}), array({4, 5, 6}));
  RandomGenerator eager = generator();
  const Array unit_normal = eager.normal({4, 3}), unit = eager.uniform({4, 3});
  EXPECT_THAT(dm.to_doubles(), Each(4.0));
  const auto near = [](const Array& found, const Array& expected) {
    const Values a = found.to_doubles(), b = expected.to_doubles();
    for (std::size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 1e-5);
  };
  near(ds, sum(unit_normal, 0));
  near(dh, sum(unit, 0));
  near(dl, 4.0 - sum(unit, 0));
}

TEST_P(Random, HasNoGradientByWhatItRejectsBy) {
  RandomStream random = stream();
  const Variable alpha = vector("alpha");
  EXPECT_THAT(error_of<GraphError>([&] { grad(sum(random.gamma({4, 3}, alpha)), alpha); }), AllOf(HasSubstr("random_gamma"), HasSubstr("rejection")));
  EXPECT_THAT(error_of<GraphError>([&] { grad(sum(random.truncated_normal({4, 3}, alpha, 9)), alpha); }), HasSubstr("rejection"));
}

TEST_P(Random, TakesParametersThatAreTensors) {
  RandomStream random = stream();
  const Variable p = vector("p"), rate = input({float64, {1, 1}}, "rate");
  const Function f = function({p, rate}, {random.bernoulli({1000, 3}, p), random.poisson({1000, 1}, rate)}, options());
  const auto [flags, counts] = f.call<2>(array({-1, 0.5, 2}), Array::full({1, 1}, -2.0, float64, device()));
  const Values of_columns = sum(flags, 0).to_doubles();
  EXPECT_EQ(of_columns[0], 0);
  EXPECT_NEAR(of_columns[1], 500, 80);
  EXPECT_EQ(of_columns[2], 1000);
  EXPECT_THAT(counts.to_doubles(), Each(-1.0));
}

TEST_P(Random, DrawsNothingOfNoElements) {
  RandomStream random = stream();
  EXPECT_EQ(Array(function({}, {random.normal({0, 3})}, options())()).shape(), (Shape{0, 3}));
  EXPECT_EQ(generator().uniform({4, 0}).size(), 0);
  EXPECT_EQ(Array(function({}, {random.uniform({})}, options())()).shape(), Shape());
}

TEST_P(Random, PermutesAndChooses) {
  const Variable x = matrix("x");
  RandomStream random = stream();
  const Values p = {0.5, 0, 0.2, 0.3};
  const Function f = function({x}, {random.permutation(3000), random.permutation(x, 1), random.choice(10, {2, 3}, false), random.choice(4, {5000}, true, p), random.choice(4, {3}, false, p), random.choice(6, {100})}, options());
  const Array given = range({2, 50});
  const auto [order, moved, some, drawn, three, even] = f.call<6>(given);
  RandomGenerator eager = generator();
  EXPECT_EQ(order.to_doubles(), eager.permutation(3000).to_doubles());
  EXPECT_EQ(moved.to_doubles(), eager.permutation(given, 1).to_doubles());
  EXPECT_EQ(some.to_doubles(), eager.choice(10, {2, 3}, false).to_doubles());
  EXPECT_EQ(drawn.to_doubles(), eager.choice(4, {5000}, true, p).to_doubles());
  EXPECT_EQ(three.to_doubles(), eager.choice(4, {3}, false, p).to_doubles());
  EXPECT_EQ(even.to_doubles(), eager.choice(6, {100}).to_doubles());
  Values all = order.to_doubles(), row = moved.to_doubles(), six = some.to_doubles(), counts(4, 0);
  EXPECT_FALSE(std::is_sorted(all.begin(), all.end()));
  std::sort(all.begin(), all.end());
  for (std::size_t i = 0; i < all.size(); ++i) ASSERT_EQ(all[i], static_cast<double>(i));
  for (std::size_t i = 0; i < 50; ++i) EXPECT_EQ(row[i] + 50, row[50 + i]);  // slices stay together
  std::sort(six.begin(), six.end());
  EXPECT_EQ(std::unique(six.begin(), six.end()), six.end());
  for (double k : drawn.to_doubles()) counts[static_cast<std::size_t>(k)] += 1;
  for (std::size_t k = 0; k < 4; ++k) EXPECT_NEAR(counts[k], 5000 * p[k], 5 * std::sqrt(5000 * p[k] * (1 - p[k]))) << k;
  Values possible = three.to_doubles();
  std::sort(possible.begin(), possible.end());
  EXPECT_THAT(possible, ElementsAre(0, 2, 3));
}

TEST_P(Random, ChoosesTheFirstWithoutReplacementByProbability) {
  RandomGenerator random = generator();
  int first = 0, second = 0;  // 0 comes first with 0.7, and second, behind 1 or 2, with 0.2 0.7 / 0.8 + 0.1 0.7 / 0.9
  for (int i = 0; i < 400; ++i) {
    const Values pair = random.choice(3, {2}, false, {0.7, 0.2, 0.1}).to_doubles();
    first += pair[0] == 0;
    second += pair[1] == 0;
  }
  EXPECT_NEAR(first, 280, 40);
  EXPECT_NEAR(second, 400 * (0.175 + 0.7 / 9), 40);
}

TEST_P(Random, RefusesWhatIsNoDistribution) {
  RandomStream random = stream();
  RandomGenerator eager = generator();
  const Variable x = vector("x", int32);
  EXPECT_THAT(error_of<OptionError>([&] { random.uniform({3}, 2, 2); }), AllOf(HasSubstr("uniform: low is 2, high is 2"), HasSubstr("low must be below high")));
  EXPECT_THAT(error_of<OptionError>([&] { eager.uniform({3}, 2, 1); }), HasSubstr("uniform: low is 2, high is 1"));
  EXPECT_THAT(error_of<OptionError>([&] { random.normal({3}, 0, -1); }), HasSubstr("normal: std is -1"));
  EXPECT_THAT(error_of<OptionError>([&] { random.bernoulli({3}, 1.5); }), AllOf(HasSubstr("bernoulli: p is 1.5"), HasSubstr("from 0 to 1")));
  EXPECT_THAT(error_of<OptionError>([&] { random.dropout(vector("y"), -0.1); }), HasSubstr("dropout: p is -0.1"));
  EXPECT_THAT(error_of<OptionError>([&] { eager.randint({3}, 5, 5); }), HasSubstr("randint: low is 5, high is 5"));
  EXPECT_THAT(error_of<OptionError>([&] { eager.randint({3}, 0, 300, uint8); }), HasSubstr("numbers from 0 to 299 do not fit uint8"));
  EXPECT_THAT(error_of<OptionError>([&] { random.gamma({3}, 0); }), HasSubstr("gamma: alpha is 0"));
  EXPECT_THAT(error_of<OptionError>([&] { random.poisson({3}, -1); }), HasSubstr("poisson: the rate is -1"));
  EXPECT_THAT(error_of<OptionError>([&] { random.choice(0, {3}); }), AllOf(HasSubstr("choice: there are 0 numbers to choose from"), HasSubstr("at least one")));
  EXPECT_THAT(error_of<OptionError>([&] { random.choice(4, {5}, false); }), HasSubstr("choice: 5 of 4 numbers without replacement"));
  EXPECT_THAT(error_of<OptionError>([&] { eager.choice(3, {3}, false, {0.5, 0, 0.5}); }), HasSubstr("choice: 3 of 2 numbers without replacement"));
  EXPECT_THAT(error_of<OptionError>([&] { eager.choice(2, {3}, true, {0.5, 0.6}); }), AllOf(HasSubstr("choice: the probabilities sum to 1.1"), HasSubstr("divide them by their sum")));
  EXPECT_THAT(error_of<OptionError>([&] { eager.choice(2, {3}, true, {-0.5, 1.5}); }), HasSubstr("choice: the probability of 0 is -0.5"));
  EXPECT_THAT(error_of<OptionError>([&] { eager.choice(2, {3}, true, {1}); }), HasSubstr("choice: 1 probabilities for 2 numbers"));
  EXPECT_THAT(error_of<OptionError>([&] { eager.permutation(-1); }), HasSubstr("permutation: n is -1"));
  EXPECT_THAT(error_of<ShapeError>([&] { random.uniform({3, -1}); }), AllOf(HasSubstr("uniform: the extent of axis 1 is -1"), HasSubstr("0 or more")));
  EXPECT_THAT(error_of<ShapeError>([&] { eager.normal({-2}); }), HasSubstr("normal: the extent of axis 0 is -2"));
  EXPECT_THAT(error_of<TypeError>([&] { random.normal({3}, 0, 1, int32); }), HasSubstr("normal: int32 is no floating dtype"));
  EXPECT_THAT(error_of<TypeError>([&] { random.dropout(x, 0.5); }), HasSubstr("dropout: x is int32"));
  EXPECT_THAT(error_of<TypeError>([&] { random.categorical(x); }), HasSubstr("categorical: logits are int32"));
  EXPECT_THAT(error_of<ShapeError>([&] { random.gamma({3}, matrix("alpha")); }), HasSubstr("do not broadcast to a draw of shape (3,)"));
  // Not even of the standard draw that is scaled: its numbers would stand in several places.
  const Array four = Array::ones({4}, float32, device()), rows = Array::ones({2, 3}, float32, device());
  EXPECT_THAT(error_of<ShapeError>([&] { eager.normal({1}, four); }), HasSubstr("normal: parameters of shape (4,) do not broadcast to a draw of shape (1,)"));
  EXPECT_THAT(error_of<ShapeError>([&] { eager.uniform({3}, 0, rows); }), HasSubstr("uniform: parameters of shape (2, 3) do not broadcast to a draw of shape (3,)"));
  EXPECT_THAT(error_of<ShapeError>([&] { random.exponential({1, 3}, matrix("scale")); }), HasSubstr("do not broadcast to a draw of shape (1, 3)"));
  EXPECT_EQ(eager.normal({2, 3}, Array::ones({3}, float32, device())).shape(), (Shape{2, 3}));
  EXPECT_EQ(random.normal(matrix("y"), 0, vector("std")).rank(), 2);
  EXPECT_THAT(error_of<OptionError>([&] { eager.uniform({4}, -3e38, 3e38); }), AllOf(HasSubstr("is farther than float32 holds"), HasSubstr("a part of it")));
  EXPECT_THAT(error_of<OptionError>([&] { random.uniform({4}, 0, std::numeric_limits<double>::infinity()); }), HasSubstr("uniform: from 0 to inf is farther than float32 holds"));
  EXPECT_THAT(error_of<OptionError>([&] { random.uniform({4}, scalar("low"), std::numeric_limits<double>::infinity(), float64); }), HasSubstr("from what is given to inf is farther than float64 holds"));
  EXPECT_THAT(error_of<ShapeError>([&] { random.categorical(matrix("scores"), 5); }), AllOf(HasSubstr("categorical: axis 5 does not exist: logits has 2 axes"), HasSubstr("random_test.cpp"), Not(HasSubstr("argmax"))));
  EXPECT_THAT(error_of<ShapeError>([&] { random.categorical_of(scalar("p")); }), HasSubstr("categorical_of: probabilities has no axis"));
  EXPECT_THAT(error_of<ShapeError>([&] { RandomStream(input({uint64, {3}}, "s")); }), HasSubstr("is no state"));
  EXPECT_THAT(error_of<GraphError>([&] { RandomStream(input({uint64, {2}}, "s")).split(); }), HasSubstr("no shared variable"));
}

DAMO_ON_EACH_DEVICE(Random);

}  // namespace
}  // namespace damo
