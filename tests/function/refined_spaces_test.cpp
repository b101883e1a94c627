// Work that reshapes part is one kernel, and its values are those of an op a kernel: norms over groups of channels above all. Which graphs refine_spaces makes:
// tests/ops/rewrites/refine_spaces_test.cpp.
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <damo/damo.hpp>
#include "support/noise.hpp"

namespace damo {
namespace {

using Values = std::vector<double>;

class RefinedSpaces : public testing::NoiseOnEachDevice {
 protected:
  RefinedSpaces() : NoiseOnEachDevice(1) {}
  Options with(bool fuse) const { return {.fuse = fuse, .device = device()}; }
  /// Fused, without the pass, and op by op.
  void expect_equal(const std::vector<Variable>& inputs, const std::vector<Variable>& outputs, const std::vector<Array>& arrays, double tolerance = 2e-5) {
    Options without = with(true);
    without.disable = {"refine_spaces", "pass_contiguous"};
    const Function fused = function(inputs, outputs, with(true)), parted = function(inputs, outputs, without), plain = function(inputs, outputs, with(false));
    const Results a = fused.call(arrays), b = parted.call(arrays), c = plain.call(arrays);
    for (std::size_t i = 0; i < a.size(); ++i) {
      ASSERT_EQ(a[i].shape(), c[i].shape());
      const Values found = a[i].to_doubles(), before = b[i].to_doubles(), expected = c[i].to_doubles();
      for (std::size_t k = 0; k < found.size(); ++k) {
        ASSERT_NEAR(found[k], before[k], tolerance * std::max(1.0, std::abs(before[k]))) << "result " << i << " element " << k;
        ASSERT_NEAR(found[k], expected[k], tolerance * std::max(1.0, std::abs(expected[k]))) << "result " << i << " element " << k;
      }
    }
  }
};

/// Of x (n, channels, height, width) in so many groups.
Variable group_norm(const Variable& x, const Variable& w, const Variable& b, std::int64_t n, std::int64_t groups) {
  const Shape dims = x.dims();
  const Variable rows = reshape(x, {n, groups, dims[1] / groups * dims[2] * dims[3]}), centered = rows - mean(rows, 2, keepdims);
  const Variable y = reshape(centered * rsqrt(mean(sqr(centered), 2, keepdims) + 1e-5), {n, dims[1], dims[2], dims[3]});
  return y * reshape(w, {dims[1], 1, 1}) + reshape(b, {dims[1], 1, 1});
}

TEST_P(RefinedSpaces, AGroupNormIsWhatFloat64Gives) {
  for (const bool is_known : {true, false}) {
    const std::int64_t n = is_known ? 3 : kUnknown;
    const Variable x = input({float32, {n, 6, 5, 4}}, "x"), w = input({float32, {6}}, "w"), b = input({float32, {6}}, "b");
    const Function f = function({x, w, b}, {group_norm(x, w, b, is_known ? 3 : -1, 2)}, with(true));
    int fused = 0;
    for (NodeId node : f.graph().nodes()) fused += f.graph().op(node).name() == "fused";
    EXPECT_EQ(fused, 1) << f.explain();
    EXPECT_EQ(f.graph().op(f.graph().owner(f.graph().outputs()[0])).name(), "reshape") << "a view of what the kernel wrote";
    const Array array = noise({3, 6, 5, 4}), weight = noise({6}), shift = noise({6});
    const Values in = array.to_doubles(), by = weight.to_doubles(), plus = shift.to_doubles(), found = f(array, weight, shift)[0].to_doubles();
    for (std::size_t group = 0; group < 6; ++group) {
      double middle = 0, square = 0;
      for (std::size_t k = 0; k < 60; ++k) middle += in[group * 60 + k] / 60;
      for (std::size_t k = 0; k < 60; ++k) square += (in[group * 60 + k] - middle) * (in[group * 60 + k] - middle) / 60;
      for (std::size_t k = 0; k < 60; ++k) {
        const std::size_t channel = group % 2 * 3 + k / 20;
        EXPECT_NEAR(found[group * 60 + k], (in[group * 60 + k] - middle) / std::sqrt(square + 1e-5) * by[channel] + plus[channel], 1e-5) << group << " " << k;
      }
    }
  }
}

TEST_P(RefinedSpaces, GradientsAreThoseOfOpsOneByOne) {
  const Variable x = input({float32, {4, 6, 5, 4}}, "x"), w = input({float32, {6}}, "w"), b = zeros_like(w), g = input({float32, {4, 6, 5, 4}}, "g");
  const Variable y = group_norm(x, w, b, 4, 3);
  expect_equal({x, w, g}, lop(std::vector{y}, std::vector{g}, std::vector{x, w, b}), {noise({4, 6, 5, 4}), noise({6}), noise({4, 6, 5, 4})}, 2e-4);
}

TEST_P(RefinedSpaces, ViewsBehindReshapesAreReadWhereTheyLie) {
  for (const bool is_known : {true, false}) {
    const std::int64_t n = is_known ? 3 : kUnknown;
    const Variable x = input({float32, {n, 4, 5, 16}}, "x"), w = input({float32, {4 * 16}}, "w");
    const Variable patches = reshape(dimshuffle(x, {0, 2, 1, 3}), {is_known ? 3 : -1, 5, 4 * 16});
    const std::vector<Array> arrays{noise({3, 4, 5, 16}), noise({4 * 16})};
    expect_equal({x, w}, {tanh(patches) * w}, arrays);
    expect_equal({x, w}, {patches - mean(patches, 2, keepdims) * w, sum(patches, 1)}, arrays);
    const Function f = function({x, w}, {tanh(patches) * w}, with(true));
    const Values in = arrays[0].to_doubles(), by = arrays[1].to_doubles(), found = f.call(arrays)[0].to_doubles();
    for (std::size_t k = 0; k < found.size(); ++k) {
      const std::size_t at = k / 320 * 320 + k % 64 / 16 * 80 + k / 64 % 5 * 16 + k % 16;
      EXPECT_NEAR(found[k], std::tanh(in[at]) * by[k % 64], 1e-6) << k;
    }
  }
}

TEST_P(RefinedSpaces, WhatIsRepeatedIsReadWhereItLies) {
  const Variable x = input({float32, {kUnknown, 3, 8}}, "x"), w = input({float32, {16}}, "w");
  const Array array = noise({2, 3, 8}), weights = noise({16});
  const auto twice = [](const Variable& of) { return repeat(repeat(of, 2, 1), 2, 2); };
  expect_equal({x, w}, {tanh(twice(x)) * w, repeat(repeat(repeat(x, 3, 2), 2, 0), 2, 1), twice(dimshuffle(x, {0, 2, 1})) + 1.0, repeat(dimshuffle(repeat(x, 3, 1), {2, 1, 0}), 2, 2), repeat(repeat(repeat(x, 2, 2), 3, 2), 2, 2)}, {array, weights});
  const Function f = function({x, w}, {twice(x), tanh(twice(x)) * w}, with(true));
  for (const Array& each : {array, noise({0, 3, 8}), noise({1, 3, 8})}) {
    const Results results = f(each, weights);
    const Values in = each.to_doubles(), by = weights.to_doubles(), copied = results[0].to_doubles(), found = results[1].to_doubles();
    ASSERT_EQ(copied.size(), in.size() * 4);
    for (std::size_t k = 0; k < found.size(); ++k) {
      const double from = in[k / 96 * 24 + k % 96 / 32 * 8 + k % 16 / 2];
      EXPECT_EQ(copied[k], from) << k;
      EXPECT_NEAR(found[k], std::tanh(from) * by[k % 16], 1e-6) << k;
    }
  }
}

TEST_P(RefinedSpaces, RowsAreWrittenInAnotherOrderOfAxes) {
  const Variable x = input({float32, {kUnknown, 6, 3, 16}}, "x");
  const Variable heads = contiguous(dimshuffle(x - mean(x, 3, keepdims), {0, 2, 1, 3}));
  const Function f = function({x}, {heads}, with(true));
  EXPECT_THAT(f.explain(), ::testing::HasSubstr("in its place already"));
  const Array array = noise({2, 6, 3, 16});
  expect_equal({x}, {heads, sum(heads, 2)}, {array});
  const Values in = array.to_doubles(), found = f(array)[0].to_doubles();
  EXPECT_TRUE(f(array)[0].is_contiguous());
  for (std::size_t row = 0; row < 36; ++row) {
    const std::size_t from = row / 18 * 18 + row % 6 * 3 + row / 6 % 3;
    double middle = 0;
    for (std::size_t k = 0; k < 16; ++k) middle += in[from * 16 + k] / 16;
    for (std::size_t k = 0; k < 16; ++k) EXPECT_NEAR(found[row * 16 + k], in[from * 16 + k] - middle, 1e-6) << row;
  }
}

TEST_P(RefinedSpaces, ArraysMayLieAnyhow) {
  const Variable x = input({float32, {4, 6, 20}}, "x"), y = input({float32, {4, 2, 60}}, "y");
  const Variable rows = reshape(x, {4, 2, 60}), normal = (rows - max(rows, 2, keepdims)) * y;
  const Array turned = noise({20, 4, 6}).permute(std::vector{1, 2, 0}), backwards = flip(noise({4, 2, 60}), 2);
  expect_equal({x, y}, {reshape(normal, {4, 6, 20}) + x, max(normal, 2)}, {turned, backwards});
}

TEST_P(RefinedSpaces, ValuesOfRowsAndPlacesAndDropsCountAsBefore) {
  const Variable x = input({float32, {4, 6, 20}}, "x");
  RandomStream random(3, device());
  const Variable rows = reshape(x, {4, 2, 60}), sums = sum(rows, 2, keepdims);
  const Variable placed = reshape(rows * sums + cast(index_along(rows, {1, 2}), float32), {4, 6, 20});
  expect_equal({x}, {placed + cast(index_along(x, 2), float32), sums, argmax(placed, 2)}, {noise({4, 6, 20})});
  const Variable some = reshape(random.dropout(rows / sums, 0.5), {4, 6, 20}) * 2.0;
  const Array given = noise({4, 6, 20});
  RandomStream again(3, device());
  const Function f = function({x}, {some}, with(true)), plain = function({x}, {reshape(again.dropout(reshape(x, {4, 2, 60}) / sum(reshape(x, {4, 2, 60}), 2, keepdims), 0.5), {4, 6, 20}) * 2.0}, with(false));
  const Values a = f(given)[0].to_doubles(), b = plain(given)[0].to_doubles();
  for (std::size_t k = 0; k < a.size(); ++k) ASSERT_NEAR(a[k], b[k], 1e-4 * std::max(1.0, std::abs(b[k]))) << k;
}

TEST_P(RefinedSpaces, OfNothingIsNothing) {
  const Variable x = input({float32, {kUnknown, 6, 4}}, "x");
  const Variable rows = reshape(x, {-1, 2, 12}), y = reshape(rows - mean(rows, 2, keepdims), {-1, 6, 4}) * 2.0;
  const Function f = function({x}, {y}, with(true));
  EXPECT_EQ(f(Array::zeros({0, 6, 4}, float32, device()))[0].shape(), (Shape{0, 6, 4}));
  EXPECT_EQ(f(noise({1, 6, 4}))[0].shape(), (Shape{1, 6, 4}));
}

/// Of what a repeated or turned array stands beside a call alone says how long it is.
TEST_P(RefinedSpaces, ExtentsOfACallAreComparedWithThoseThatAreKnown) {
  const Variable y = input({float32, {kUnknown, 32}}, "y"), z = input({float32, {6, 16}}, "z"), t = input({float32, {3, 2, 2, 16}}, "t");
  const auto error_of = [&](const Variable& other, const Variable& sum, const Array& a, std::int64_t rows) -> std::string {
    try {
      function({y, other}, {sum}, with(true)).call(std::vector<Array>{noise({rows, 32}), a});
    } catch (const ShapeError& error) {
      return error.what();
    }
    return "";
  };
  for (const std::int64_t rows : {12, 3, 6}) {
    const std::string repeated = error_of(z, y + repeat(z, 2, 1), noise({6, 16}), rows), turned = error_of(t, y * 2.0 + reshape(dimshuffle(t, {0, 2, 1, 3}), {6, 32}), noise({3, 2, 2, 16}), rows);
    for (const std::string& text : {repeated, turned}) {
      if (rows == 6) EXPECT_EQ(text, "");
      else EXPECT_THAT(text, ::testing::HasSubstr("cannot broadcast")) << rows;
    }
  }
}

TEST_P(RefinedSpaces, WhatDoesNotFitIsTheErrorThatItWas) {
  const Variable x = input({float32, {kUnknown, 8}}, "x"), y = input({float32, {kUnknown, 2, 8}}, "y");
  const Variable centered = x - mean(x, 1, keepdims);
  const auto error_of = [&](const Variable& result, const std::vector<Array>& arrays) -> std::string {
    std::vector<Variable> inputs{x, y};
    inputs.resize(arrays.size());
    try {
      function(inputs, {result}, with(true)).call(arrays);
    } catch (const ShapeError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(error_of(reshape(centered, {-1, 2, 8}) * 2.0, {noise({3, 8})}), ::testing::HasSubstr("reshape: (3, 8) cannot become (?, 2, 8): 24 elements are not a multiple of 16"));
  EXPECT_THAT(error_of(sum(reshape(centered, {4, 2, 8}) * 2.0), {noise({6, 8})}), ::testing::HasSubstr("reshape: (6, 8) cannot become (4, 2, 8)"));
  EXPECT_NE(error_of(reshape(centered, {-1, 2, 8}) + (y - mean(y, 2, keepdims)), {noise({4, 8}), noise({3, 2, 8})}), "");
}

DAMO_ON_EACH_DEVICE(RefinedSpaces);

}  // namespace
}  // namespace damo
