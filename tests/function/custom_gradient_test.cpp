// Gradients given for parts of a graph, and parts that are computed again, on each device.
#include <damo/damo.hpp>

#include <cmath>

#include <gmock/gmock.h>

#include "support/devices.hpp"

namespace damo {
namespace {

using damo::testing::error_of;
using ::testing::ElementsAre;
using ::testing::FloatNear;
using ::testing::HasSubstr;

class CustomGradientOnEachDevice : public damo::testing::OnEachDevice {};

TEST_P(CustomGradientOnEachDevice, StandsForThatOfThePart) {
  const auto x = vector("x");
  const Variable y = with_gradient(sqr(x) * 3.0, {x}, [](auto in, auto out, auto g) { return Gradients(g[0] * (in[0] + out[0])); });
  const Function f = function({x}, {y, grad(sum(y), x)}, {.device = device()});
  const auto [value, slope] = f.call<2>(array({1, -2, 0}));
  EXPECT_THAT(value.to_vector<float>(), ElementsAre(3, 12, 0));
  EXPECT_THAT(slope.to_vector<float>(), ElementsAre(4, 10, 0)) << "x + 3 x^2, as the rule says, not 6 x";
  EXPECT_EQ(f.graph().node_count(), 1) << "it is no node of what runs";
}

TEST_P(CustomGradientOnEachDevice, GetsAllOutputsGradientsAtOnce) {
  const auto x = vector("x");
  const Variable outputs[] = {sin(x), argmax(x), cos(x)}, inputs[] = {x};
  int calls = 0;
  const std::vector<Variable> y = with_gradient(outputs, inputs, [&calls](auto, auto out, auto g) {
    ++calls;
    EXPECT_FALSE(bool(g[1])) << "an integer has none";
    return Gradients(g[0] * 10.0 + g[2] + out[0] * 0.0);
  });
  const Function f = function({x}, {grad(sum(y[0] * 2.0) + sum(y[2]), x), grad(sum(y[2]), x)}, {.device = device()});
  const auto [both, one] = f.call<2>(array({1, 2}));
  EXPECT_THAT(both.to_vector<float>(), ElementsAre(21, 21));
  EXPECT_THAT(one.to_vector<float>(), ElementsAre(1, 1)) << "zeros where nothing depends on an output";
  EXPECT_EQ(calls, 2);
}

TEST(CustomGradient, PassesNothingElseOn) {
  const auto x = vector("x"), w = vector("w");
  const auto rule = [](auto, auto, auto g) { return Gradients(g[0]); };
  const Variable y = with_gradient(x * w, {x}, rule);
  EXPECT_THAT(error_of([&] { grad(sum(y), w); }), HasSubstr("is read only by ops that pass no gradient on"));
  EXPECT_EQ(grad(sum(y * w), w).type(), w.type());
  const Variable twice = with_gradient(x * w, {x, w}, rule);
  EXPECT_THAT(error_of([&] { grad(sum(twice), x); }), HasSubstr("with_gradient: the rule gave 1 gradients for 2 inputs"));
  EXPECT_THAT(error_of([&] { with_gradient({}, std::span(&x, 1), rule); }), HasSubstr("with_gradient: no output is given"));
  EXPECT_THAT(error_of([&] { with_gradient(x, {Variable()}, rule); }), HasSubstr("an output or input is an empty Variable"));
  EXPECT_THAT(error_of([&] { with_gradient(x, {x}, nullptr); }), HasSubstr("no rule is given"));
}

/// A chain of dense layers, parts of which are computed again.
struct Chain {
  Chain(int layers, int part, std::int64_t rows) : x(input({float32, {rows, 64}}, "x")) {
    Variable h = x;
    for (int i = 0; i < layers; i += part) {
      const Variable begin = h;
      for (int k = 0; k < part; ++k) {
        weights.push_back(input({float32, {64, 64}}, "w" + std::to_string(i + k)));
        h = tanh(dot(h, weights.back()));
      }
      if (part > 1) h = recompute(h, {begin});
    }
    outputs = {sum(h)};
    for (const Variable& slope : grad(outputs[0], weights)) outputs.push_back(sum(slope, 0));
    inputs = {x};
    inputs.insert(inputs.end(), weights.begin(), weights.end());
  }
  Variable x;
  std::vector<Variable> weights, inputs, outputs;
};

TEST_P(CustomGradientOnEachDevice, RecomputedPartsGiveTheSameInLessMemory) {
  // What a product's library works in lies apart, up to 64 MiB together, so that a GPU may run nodes side by side: there layers are so large that they tell.
  const std::int64_t rows = device().is_host() ? 8192 : 65536;
  const std::size_t beside = device().is_host() ? 0 : std::size_t{64} << 20, layer = static_cast<std::size_t>(rows) * 64 * sizeof(float);
  const Chain kept(16, 1, rows), again(16, 4, rows);
  const Options options{.device = device()};
  const Function all = function(kept.inputs, kept.outputs, options), less = function(again.inputs, again.outputs, options);
  std::vector<Shape> shapes;
  std::vector<Array> arrays;
  for (const Variable& one : kept.inputs) {
    shapes.push_back(one.dims());
    std::vector<float> values(static_cast<std::size_t>(one.dims().size()));
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(std::sin(static_cast<double>(i) + static_cast<double>(arrays.size())) / 6);
    arrays.push_back(Array::from(values, one.dims(), device()));
  }
  EXPECT_GE(all.plan(shapes).temporaries, 16 * layer) << "each layer is kept";
  EXPECT_LE(less.plan(shapes).temporaries, 11 * layer + beside) << "four layers between parts, and those of one part";
  const Results want = all.call(arrays), got = less.call(arrays);
  ASSERT_EQ(want.size(), got.size());
  for (std::size_t i = 0; i < want.size(); ++i) EXPECT_EQ(want[i].to_vector<float>(), got[i].to_vector<float>()) << "result " << i;
}

TEST_P(CustomGradientOnEachDevice, RecomputedPartsAreNotMergedWithTheForwardPass) {
  const auto x = matrix("x"), w = matrix("w"), v = matrix("v");
  const auto count_dots = [&](const Variable& cost) {
    int count = 0;
    const Function f = function({x, w, v}, {grad(cost, w), grad(cost, x)}, {.fuse = false, .device = device()});
    for (NodeId node : f.graph().nodes()) count += f.graph().op(node).name() == "dot" ? 1 : 0;
    return count;
  };
  const Variable h = tanh(dot(x, w)), y = recompute(dot(h, v), {x, w});
  EXPECT_EQ(count_dots(sum(sqr(y))) - count_dots(sum(sqr(dot(h, v)))), 1) << "dot(x, w) runs twice; dot(h, v) is needed once";
  EXPECT_EQ(grad(sum(y), v).type(), v.type()) << "what the part reads beside its inputs has its gradient";
}

TEST_P(CustomGradientOnEachDevice, RecomputedPartsOfStepsGiveWhatTheyReadAroundTheLoop) {
  const auto x = matrix("x"), a = vector("a");
  const auto slopes = [&](bool again) {
    const Variable states = scan({.sequences = {x}, .initial = {a}}, [&](const Variable& row, const Variable& h) {
      const Variable y = tanh(row * a * h) + sin(a);  // sin(a) is computed outside, once
      return again ? recompute(y, {a, h}) : y;
    });
    return grad(sum(sqr(states)), {x, a});
  };
  const std::vector<Variable> want = slopes(false), got = slopes(true);
  const Results results = function({x, a}, {want[0], got[0], want[1], got[1]}, {.device = device()})(
      Array::from(std::vector<float>{0.5f, -1, 0.25f, 2, 1, -0.5f}, {3, 2}, device()), array({0.75f, -0.5f}));
  for (std::size_t i = 0; i < results.size(); i += 2) {
    const std::vector<float> plain = results[i].to_vector<float>(), again = results[i + 1].to_vector<float>();
    for (std::size_t k = 0; k < plain.size(); ++k) EXPECT_NEAR(again[k], plain[k], 1e-6f * (1 + std::fabs(plain[k]))) << "result " << i << ", element " << k;
  }
}

TEST_P(CustomGradientOnEachDevice, RecomputedPartsReadWhatIsPutIntoThem) {
  const auto x = vector("x"), y = vector("y"), z = vector("z");
  const Variable between = sin(x), part = recompute(between * y * x, {x, y});
  const auto given = [&](std::initializer_list<Assignment> givens) { return substitute(std::span(&part, 1), std::span(givens.begin(), givens.size()), false).front(); };
  const Function f = function({x, y, z}, {grad(sum(given({{between, z}})), z), grad(sum(given({{x, z}, {y, z}})), z)}, {.device = device(), .allow_unused_inputs = true});
  const auto [by_part, by_both] = f.call<2>(array({1, 2}), array({3, -1}), array({0, 2}));
  EXPECT_THAT(by_part.to_vector<float>(), ElementsAre(3, -2)) << "x y";
  EXPECT_THAT(by_both.to_vector<float>(), ElementsAre(0, FloatNear(4 * std::cos(2.0f) + 4 * std::sin(2.0f), 1e-5f))) << "of z^2 sin(z)";
}

TEST_P(CustomGradientOnEachDevice, RecomputedPartsHaveOutputsThatDependOnNoInput) {
  const auto x = vector("x"), z = vector("z");
  const Variable outputs[] = {sin(x), sqr(z), z}, inputs[] = {x};
  const std::vector<Variable> y = recompute(outputs, inputs);
  const auto [by_x, by_z] = function({x, z}, grad(sum(y[0] * 2.0) + sum(y[1] * 3.0) + sum(y[2]), {x, z}), {.device = device()}).call<2>(array({0, 0}), array({1, 2}));
  EXPECT_THAT(by_x.to_vector<float>(), ElementsAre(2, 2));
  EXPECT_THAT(by_z.to_vector<float>(), ElementsAre(7, 13));
}

TEST(CustomGradient, RecomputeSaysWhatItCannotDo) {
  const auto x = vector("x"), y = vector("y");
  EXPECT_THAT(error_of([&] { recompute(tanh(x), {y}); }), HasSubstr("recompute: no output depends on y float32 (?,)"));
  EXPECT_THAT(error_of([&] { recompute({}, std::span(&x, 1)); }), HasSubstr("recompute: no output is given"));
  EXPECT_THAT(error_of([&] { recompute(Variable(), {x}); }), HasSubstr("recompute: an output is an empty Variable"));
}

DAMO_ON_EACH_DEVICE(CustomGradientOnEachDevice);

}  // namespace
}  // namespace damo
