// What concatenate and stack put together is written there by the kernels that make the parts (runtime/exec/parts_plan.hpp). Values are those of the parts, put
// together on the host.
#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <damo/damo.hpp>
#include "runtime/backend.hpp"
#include "support/devices.hpp"

namespace damo {
namespace {

class Parts : public testing::OnEachDevice {
 protected:
  Function made(const std::vector<Variable>& inputs, const std::vector<Variable>& outputs, Options options = {}) const {
    options.device = device();
    return function(inputs, outputs, options);
  }
  static std::vector<Array> call(const Function& f, const std::vector<Array>& arrays) { return f.call(arrays); }
  /// Kernels that a call launches.
  int launches(const Function& f, const std::vector<Array>& arrays) const {
    f.call(arrays);
    const std::uint64_t before = device().backend().launches;
    f.call(arrays);
    return static_cast<int>(device().backend().launches - before);
  }
  Array ramp(const Shape& shape, double factor = 1, DType dtype = float32) const {
    std::vector<float> values;
    for (std::int64_t i = 0; i < shape.size(); ++i) values.push_back(static_cast<float>(factor * (static_cast<double>(i * 7 % 23) - 9)));
    return astype(Array::from(values, shape, device()), dtype);
  }
  /// The function gives what put_together makes of what a function of the parts alone gives; in three calls, the second one with other values.
  void expect(const std::vector<Variable>& inputs, const std::vector<Variable>& parts, const std::function<Variable(const std::vector<Variable>&)>& together,
              const std::vector<std::vector<Array>>& calls, int kernels) const {
    const Function f = made(inputs, {together(parts)}, {.allow_unused_inputs = true}), g = made(inputs, parts, {.allow_unused_inputs = true});
    for (const std::vector<Array>& arrays : calls) {
      std::vector<Variable> given;
      const std::vector<Array> values = g.call(arrays);
      for (const Array& value : values) given.push_back(input({value.dtype(), value.shape()}));
      const Array expected = made(given, {together(given)}).call(values)[0];
      const Array first = f.call(arrays)[0], again = f.call(arrays)[0];
      EXPECT_EQ(first.shape(), expected.shape());
      EXPECT_EQ(first.to_doubles(), expected.to_doubles());
      EXPECT_EQ(again.to_doubles(), expected.to_doubles());
      EXPECT_TRUE(first.is_contiguous());
    }
    if (kernels != kAny) EXPECT_EQ(launches(f, calls.back()), kernels) << f.explain();
  }
  static constexpr int kAny = -1;
};

using Vars = std::vector<Variable>;
Variable beside(const Vars& parts, int axis) { return concatenate(parts, axis); }

TEST_P(Parts, OneKernelWritesAllPartsOfOneShape) {
  const Variable x = input({float32, {kUnknown, kUnknown, 6}}, "x");
  const Vars parts{x * 2, exp(x), x + 1};
  for (int axis : {0, 1, 2}) {
    expect({x}, parts, [axis](const Vars& of) { return beside(of, axis); }, {{ramp({2, 3, 6}, 0.1)}, {ramp({5, 4, 6}, 0.1)}, {ramp({2, 3, 6}, 0.2)}}, 1);
    expect({x}, parts, [axis](const Vars& of) { return stack(of, axis); }, {{ramp({2, 3, 6}, 0.1)}, {ramp({5, 4, 6}, 0.1)}}, 1);
  }
  expect({x}, parts, [](const Vars& of) { return stack(of, 3); }, {{ramp({2, 3, 6}, 0.1)}}, 1);
}

/// Axes but for the last one in another order, as of heads whose halves were turned into each other.
TEST_P(Parts, AreWrittenInAnotherOrderOfAxes) {
  const Variable x = input({float32, {kUnknown, 3, 16}}, "x"), y = input({float32, {kUnknown, 3, 32}}, "y");
  const std::vector<std::vector<Array>> calls{{ramp({4, 3, 16}, 0.1), ramp({4, 3, 32}, 0.1)}, {ramp({1, 3, 16}), ramp({1, 3, 32})}, {ramp({7, 3, 16}, 0.2), ramp({7, 3, 32}, 0.3)}};
  const Vars alike{x * 2, exp(x)}, unlike{x * 2, y + 1};
  expect(
      {x, y}, alike, [](const Vars& of) { return contiguous(dimshuffle(beside(of, 2), {1, 0, 2})); }, calls, 1);
  expect(
      {x, y}, alike, [](const Vars& of) { return contiguous(dimshuffle(beside(of, 0), {1, 0, 2})); }, calls, 1);
  expect(
      {x, y}, alike, [](const Vars& of) { return contiguous(dimshuffle(stack(of, 1), {1, 2, 0, 3})); }, calls, 1);
  expect(
      {x, y}, unlike, [](const Vars& of) { return contiguous(dimshuffle(beside(of, 2), {1, kNewAxis, 0, 2})); }, calls, 2);
  expect(
      {x, y}, {x - max(x, 2, keepdims), x * 2}, [](const Vars& of) { return contiguous(dimshuffle(beside(of, 2), {1, 0, 2})); }, calls, kAny);
}

TEST_P(Parts, ExtentsDiffer) {
  const Variable x = matrix("x"), y = matrix("y"), z = matrix("z");
  expect({x, y, z}, {sqr(x), -y, z * 0.5}, [](const Vars& of) { return beside(of, 1); }, {{ramp({4, 3}), ramp({4, 1}), ramp({4, 130})}, {ramp({1, 3}), ramp({1, 7}), ramp({1, 2})}, {ramp({4, 3}), ramp({4, 0}), ramp({4, 5})}}, 2);
  expect({x, y, z}, {sqr(x), -y, z * 0.5}, [](const Vars& of) { return beside(of, 0); }, {{ramp({4, 300}), ramp({0, 300}), ramp({2, 300})}, {ramp({3, 5}), ramp({1, 5}), ramp({2, 5})}}, 3);
}

TEST_P(Parts, ReductionsAndScansWriteThem) {
  const Variable x = matrix("x");
  expect({x}, {sum(x, 1, keepdims), max(x, 1, keepdims)}, [](const Vars& of) { return beside(of, 1); }, {{ramp({40, 9})}, {ramp({3, 700})}}, 1);
  expect({x}, {sum(x, 0), max(x, 0)}, [](const Vars& of) { return stack(of, 1); }, {{ramp({40, 9})}, {ramp({3, 70})}}, 1);
  expect({x}, {exp(x - max(x, 1, keepdims)), -x}, [](const Vars& of) { return beside(of, 1); }, {{ramp({40, 9})}, {ramp({3, 3000})}}, 2);
  expect({x}, {cumsum(x, 1), cumsum(x, 0)}, [](const Vars& of) { return beside(of, 1); }, {{ramp({40, 9})}, {ramp({3, 3000})}}, 2);
  const Variable c = x - mean(x, 1, keepdims);
  expect({x}, {c, sum(c * x, 0, keepdims), max(x, 0, keepdims)}, [](const Vars& of) { return beside(of, 0); }, {{ramp({40, 9})}}, 2);
}

TEST_P(Parts, WhatNoKernelMakesIsCopied) {
  const Variable x = matrix("x"), y = matrix("y");
  expect({x, y}, {x, exp(y)}, [](const Vars& of) { return beside(of, 1); }, {{ramp({4, 3}), ramp({4, 5}, 0.1)}}, 2);
  expect({x, y}, {transpose(x), exp(y), x}, [](const Vars& of) { return beside({transpose(of[0]), of[1], of[2]}, 0); }, {{ramp({4, 3}), ramp({5, 3}, 0.1)}}, 3);
  expect({x, y}, {dot(x, y), exp(y)}, [](const Vars& of) { return beside(of, 0); }, {{ramp({4, 3}), ramp({3, 3}, 0.1)}}, kAny);  // a library's launches are not counted
}

TEST_P(Parts, APartThatIsReadElsewhere) {
  const Variable x = matrix("x");
  const Variable part = x * 3, whole = concatenate({part, x + 1}, 1);
  const Array a = ramp({5, 4});
  const std::vector<double> from = a.to_doubles();
  {  // by a kernel, a view, a product, and as a result
    const Function f = made({x}, {whole, exp(part - 20.0), sum(part, 0), dot(part, transpose(part)), transpose(part), part});
    for (int turn = 0; turn < 4; ++turn) {
      const std::vector<Array> results = call(f, {a});
      const std::vector<double> all = results[0].to_doubles(), exponentials = results[1].to_doubles(), sums = results[2].to_doubles(), product = results[3].to_doubles(), turned = results[4].to_doubles();
      for (std::size_t row = 0; row < 5; ++row) {
        for (std::size_t k = 0; k < 4; ++k) {
          const double x_k = from[row * 4 + k];
          EXPECT_EQ(all[row * 8 + k], 3 * x_k);
          EXPECT_EQ(all[row * 8 + 4 + k], x_k + 1);
          EXPECT_NEAR(exponentials[row * 4 + k], std::exp(3 * x_k - 20), 1e-6 * std::exp(3 * x_k - 20));
          EXPECT_EQ(turned[k * 5 + row], 3 * x_k);
          EXPECT_EQ(results[5].to_doubles()[row * 4 + k], 3 * x_k);
        }
      }
      EXPECT_EQ(product[1], 9 * (from[0] * from[4] + from[1] * from[5] + from[2] * from[6] + from[3] * from[7]));
      EXPECT_EQ(sums[0], 3 * (from[0] + from[4] + from[8] + from[12] + from[16]));
    }
  }
  {  // twice, in two wholes, and in a whole of wholes
    const Function f = made({x}, {concatenate({part, part, exp(x * 0.0)}, 1), concatenate({whole, whole, part}, 1)});
    for (int turn = 0; turn < 3; ++turn) {
      const std::vector<Array> results = call(f, {a});
      const std::vector<double> twice = results[0].to_doubles(), nested = results[1].to_doubles();
      for (std::size_t row = 0; row < 5; ++row) {
        for (std::size_t k = 0; k < 4; ++k) {
          const double x_k = from[row * 4 + k];
          EXPECT_EQ(twice[row * 12 + k], 3 * x_k);
          EXPECT_EQ(twice[row * 12 + 4 + k], 3 * x_k);
          EXPECT_EQ(twice[row * 12 + 8 + k], 1);
          for (std::size_t i : {0, 8, 16}) EXPECT_EQ(nested[row * 20 + i + k], 3 * x_k);
          for (std::size_t i : {4, 12}) EXPECT_EQ(nested[row * 20 + i + k], x_k + 1);
        }
      }
    }
  }
}

TEST_P(Parts, WholesWithinWholes) {
  const Variable x = matrix("x"), y = matrix("y");
  const auto together = [](const Vars& of) { return concatenate({concatenate({of[0], of[1]}, 0), concatenate({of[2], of[3]}, 0)}, 1); };
  expect({x, y}, {x * 2, exp(x), y - 1, abs(y)}, together, {{ramp({3, 4}, 0.1), ramp({3, 2})}, {ramp({6, 1}, 0.1), ramp({6, 5})}}, 2);
}

TEST_P(Parts, WhatIsOverwrittenIsNotTheWhole) {
  const Variable x = matrix("x");
  const Variable part = x * 3, whole = concatenate({part, x + 1}, 1);
  const Function f = made({x}, {sum(whole, 0), set_subtensor(part, {0}, 7.0), set_subtensor(whole, {{}, 0}, 5.0)});
  const Array a = ramp({3, 2});
  const std::vector<double> from = a.to_doubles();
  for (int turn = 0; turn < 3; ++turn) {
    const std::vector<Array> results = call(f, {a});
    EXPECT_THAT(results[0].to_doubles(), ::testing::ElementsAre(3 * (from[0] + from[2] + from[4]), 3 * (from[1] + from[3] + from[5]), from[0] + from[2] + from[4] + 3, from[1] + from[3] + from[5] + 3));
    EXPECT_THAT(results[1].to_doubles(), ::testing::ElementsAre(7, 7, 3 * from[2], 3 * from[3], 3 * from[4], 3 * from[5]));
    EXPECT_THAT(results[2].to_doubles(), ::testing::ElementsAre(5, 3 * from[1], from[0] + 1, from[1] + 1, 5, 3 * from[3], from[2] + 1, from[3] + 1, 5, 3 * from[5], from[4] + 1, from[5] + 1));
  }
}

/// The whole then is of a later stage than one of its parts.
TEST_P(Parts, ExtentsThatShowInData) {
  const Variable x = vector("x");
  const Variable found = subtensor(x, {nonzero(x > 0)[0]});
  const Function f = made({x}, {concatenate({x * 2, exp(found * 0.0), found}, 0)});
  for (const std::vector<float>& values : std::vector<std::vector<float>>{{1, -1, 2}, {-1, -1, -1}, {4, 5, 6}, {1, -1, 2}, {1, -1, 2}}) {
    std::vector<double> expected;
    std::vector<float> kept;
    for (float value : values) expected.push_back(2 * value);
    std::copy_if(values.begin(), values.end(), std::back_inserter(kept), [](float value) { return value > 0; });
    expected.insert(expected.end(), kept.size(), 1);
    expected.insert(expected.end(), kept.begin(), kept.end());
    EXPECT_EQ(call(f, {Array::from(values, device())})[0].to_doubles(), expected);
  }
}

TEST_P(Parts, NewValuesOfSharedVariables) {
  const Shared state = shared("state", ramp({4, 3}));
  const Variable x = matrix("x");
  const Variable next = concatenate({subtensor(state, {{1, 4}}) * 1.5, exp(x)}, 0);
  const Function f = function({x}, {sum(next)}, {.device = device(), .updates = {{state, next}}});
  std::vector<double> expected = ramp({4, 3}).to_doubles();
  for (int turn = 0; turn < 4; ++turn) {
    call(f, {ramp({1, 3}, 0)});
    expected.erase(expected.begin(), expected.begin() + 3);
    for (double& value : expected) value *= 1.5;
    expected.insert(expected.end(), 3, 1.0);
  }
  EXPECT_EQ(state.array().to_doubles(), expected);
}

TEST_P(Parts, AreNoMemoryOfTheirOwn) {
  if (!device().is_host()) GTEST_SKIP() << "a GPU's plan counts the product's workspace too";
  const Variable x = input({float32, {1024, 64}}, "x"), y = input({float32, {1024, 32}}, "y");
  const Function f = made({x, y}, {sum(sqr(dot(concatenate({exp(x), -y, cumsum(y, 1)}, 1), constant(ramp({128, 4})))))});
  const CallPlan plan = f.plan({{1024, 64}, {1024, 32}});
  EXPECT_LE(plan.temporaries, 1024u * (128 + 4 + 4) * 4 + 65536);
}

TEST_P(Parts, RotaryEmbeddingsAreOneKernel) {
  const Variable x = input({float32, {2, 5, 3, 8}}, "x"), c = input({float32, {5, 1, 8}}, "c"), s = input({float32, {5, 1, 8}}, "s");
  const Vars half = split(x, {4, 4}, 3), cosines = split(c, {4, 4}, 2), sines = split(s, {4, 4}, 2);
  const Array a = ramp({2, 5, 3, 8}), cosine = ramp({5, 1, 8}, 0.25), sine = ramp({5, 1, 8}, -0.5);
  const std::vector<double> of_x = a.to_doubles(), of_c = cosine.to_doubles(), of_s = sine.to_doubles();
  const auto rotated = [&](const Variable& of) {
    const Vars parts = split(of, {4, 4}, 3);
    return of * c + concatenate({-parts[1], parts[0]}, 3) * s;
  };
  const Variable g = input({float32, {2, 5, 3, 8}}, "g"), y = rotated(x);
  const Function gradient = made({g, c, s, x}, lop(std::span(&y, 1), std::span(&g, 1), std::span(&x, 1)));
  const auto expect_turned = [&](const Function& f, const std::function<double(std::size_t at, std::size_t row, std::size_t k)>& expected) {
    std::vector<Array> arrays{a, cosine, sine};
    if (&f == &gradient) arrays.push_back(a);
    const std::vector<double> values = f.call(arrays)[0].to_doubles();
    for (std::size_t i = 0; i < values.size(); ++i) EXPECT_NEAR(values[i], expected(i / 8 * 8, i / 24 % 5 * 8, i % 8), 1e-5);
    EXPECT_EQ(launches(f, arrays), 1) << f.explain();
  };
  expect_turned(made({x, c, s}, {rotated(x)}), [&](std::size_t at, std::size_t row, std::size_t k) {
    return of_x[at + k] * of_c[row + k] + (k < 4 ? -of_x[at + k + 4] : of_x[at + k - 4]) * of_s[row + k];
  });
  expect_turned(made({x, c, s}, {concatenate({half[0] * cosines[0] - half[1] * sines[0], half[1] * cosines[0] + half[0] * sines[0]}, 3)}), [&](std::size_t at, std::size_t row, std::size_t k) {
    return of_x[at + k] * of_c[row + k % 4] + (k < 4 ? -of_x[at + k + 4] : of_x[at + k - 4]) * of_s[row + k % 4];
  });
  const Variable pairs = reshape(x, {2, 5, 3, 4, 2}), even = subtensor(pairs, {ellipsis, 0}), odd = subtensor(pairs, {ellipsis, 1});
  expect_turned(made({x, c, s}, {reshape(stack({even * cosines[0] - odd * sines[0], odd * cosines[0] + even * sines[0]}, 4), {2, 5, 3, 8})}), [&](std::size_t at, std::size_t row, std::size_t k) {
    return of_x[at + k] * of_c[row + k / 2] + (k % 2 == 0 ? -of_x[at + k + 1] : of_x[at + k - 1]) * of_s[row + k / 2];
  });
  expect_turned(gradient, [&](std::size_t at, std::size_t row, std::size_t k) {
    const std::size_t other = k < 4 ? k + 4 : k - 4;
    return of_x[at + k] * of_c[row + k] + (k < 4 ? 1 : -1) * of_x[at + other] * of_s[row + other];
  });
}

DAMO_ON_EACH_DEVICE(Parts);

}  // namespace
}  // namespace damo
