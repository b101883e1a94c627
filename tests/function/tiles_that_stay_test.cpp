// Kernels that go over columns, or rows in pieces, more than once, held as tiles by blocks that stay (runtime/cuda/tile_schedule.hpp): values of random programs and shapes are those of their ops one by one in float64.
// Elsewhere than on a GPU with clusters other forms are held to the same.
#include <cmath>
#include <limits>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <damo/damo.hpp>
#include "support/noise.hpp"

namespace damo {
namespace {

using Values = std::vector<double>;

class TilesThatStay : public testing::NoiseOnEachDevice {
 protected:
  TilesThatStay() : NoiseOnEachDevice(1) {}

  struct Graph {
    std::vector<Variable> inputs, outputs;
  };
  /// graph(dtype) fused, in the dtype, and its ops one by one in float64.
  template <class Make>
  void expect_what_float64_gives(const Make& graph, DType dtype, const std::vector<Array>& arrays) {
    const Graph own = graph(dtype), wide = graph(float64);
    std::vector<Array> wide_arrays;
    for (const Array& array : arrays) wide_arrays.push_back(astype(array, float64));
    const Function fused = function(own.inputs, own.outputs, {.device = device(), .allow_unused_inputs = true}), plain = function(wide.inputs, wide.outputs, {.fuse = false, .device = device(), .allow_unused_inputs = true});
    const Results found = fused.call(arrays), expected = plain.call(wide_arrays), again = fused.call(arrays);
    const double tolerance = dtype == float64 ? 1e-11 : dtype == float32 ? 1e-4
                                                    : dtype == float16   ? 4e-3
                                                                         : 3e-2;
    for (std::size_t i = 0; i < found.size() && !HasFailure(); ++i) {
      const Values a = found[i].to_doubles(), b = expected[i].to_doubles(), c = again[i].to_doubles();
      for (std::size_t k = 0; k < a.size() && !HasFailure(); ++k) {
        const bool is_equal = std::isnan(b[k]) ? std::isnan(a[k]) : a[k] == b[k] || std::abs(a[k] - b[k]) <= tolerance * std::max(1.0, std::abs(b[k]));
        EXPECT_TRUE(is_equal) << "result " << i << " element " << k << ": " << a[k] << ", not " << b[k] << "\n"
                              << fused.explain();
        EXPECT_TRUE(a[k] == c[k] || (std::isnan(a[k]) && std::isnan(c[k]))) << "the same bits each time";
      }
    }
  }

  /// One of several kernels that go over x more than once along the axes; w has a value of each row, v one of each place of a row.
  static std::vector<Variable> program(int which, const Variable& x, const Variable& w, const Variable& v, const std::vector<int>& axes) {
    const Variable m = max(x, axes, keepdims), e = exp(x - m), c = x - mean(x, axes, keepdims), s = sum(e, axes, keepdims);
    switch (which) {
      case 0: return {e / s};
      case 1: return {c * rsqrt(mean(sqr(c), axes, keepdims) + 1e-3) * v + w};
      case 2: return {e / s, m, sum(x * x, axes)};
      case 3: return {x - m - log(s)};
      case 4: return {where(x >= m, x, x * 0.5) - min(x, axes, keepdims) * w};
      case 5: return {x * v / (sum(abs(x * v), axes, keepdims) + 1.0)};
      default: {
        if (axes.size() > 1) return {c, m};
        const auto greatest = max_and_argmax(x, axes[0]);
        return {x - expand_dims(greatest.values, axes[0]), greatest.positions};
      }
    }
  }
};

TEST_P(TilesThatStay, GiveWhatFloat64Gives) {
  for (int round = 0; round < 12; ++round) {
    SCOPED_TRACE(round);
    const DType dtype = std::array{float32, bfloat16, float16, float64}[static_cast<std::size_t>(round % 4)];
    const std::int64_t length = round % 3 == 0 ? pick(33, 512) : pick(513, 1100), columns = 480000 / length;
    const int form = pick(0, 3), which = pick(0, 6);
    const Shape shapes[] = {{length, columns / 8 * 8}, {length, columns}, {2, length, columns / 16 * 8}, {columns / 16, length, 4, 4}};
    const Shape& shape = shapes[form];
    const std::vector<int> axes = form == 2 ? std::vector{1} : form == 3 ? std::vector{1, 3}
                                                                         : std::vector{0};
    const bool turned = form < 2 && pick(0, 2) == 0;
    Shape kept = shape, along = shape;
    for (int axis = 0; axis < shape.rank(); ++axis) (std::find(axes.begin(), axes.end(), axis) == axes.end() ? along : kept)[axis] = 1;
    const auto graph = [&](DType type) {
      const Variable x = input({type, shape}), w = input({type, kept}), v = input({type, along});
      std::vector<Variable> outputs = program(which, x, w, v, axes);
      if (turned) outputs[0] = contiguous(transpose(outputs[0]));
      return Graph{{x, w, v}, outputs};
    };
    expect_what_float64_gives(graph, dtype, {noise(shape, dtype), noise(kept, dtype), noise(along, dtype)});
    if (HasFailure()) return;
  }
}

/// Columns for all of a GPU's multiprocessors, on which they are held against rows of the turned array, which are held otherwise.
TEST_P(TilesThatStay, GiveWhatRowsGive) {
  const std::int64_t columns = device().kind() == DeviceKind::kCuda ? std::int64_t{device().properties().multiprocessors} * 128 : 256;
  const Array x = noise({1100, columns}), w = noise({1, columns}), v = noise({1100, 1});
  const auto turned = [](const Array& array) { return contiguous(transpose(array)); };
  for (const DType dtype : {float32, bfloat16}) {
    for (int which : {0, 1, 4}) {
      const auto values = [&](const Array& x_, const Array& w_, const Array& v_, int axis) {
        const std::vector<Array> arrays = {astype(x_, dtype), astype(w_, dtype), astype(v_, dtype)};
        const Variable x = input({dtype, x_.shape()}), w = input({dtype, w_.shape()}), v = input({dtype, v_.shape()});
        return astype(function({x, w, v}, program(which, x, w, v, {axis}), {.device = device(), .allow_unused_inputs = true}).call(arrays)[0], float32);
      };
      const Array difference = max(abs(values(x, w, v, 0) - transpose(values(turned(x), turned(w), turned(v), 1))));
      EXPECT_LE(difference.to_doubles()[0], dtype == float32 ? 1e-4 : 6e-2) << which;
    }
  }
}

/// A part of a column that has no finite element, a column of -inf alone, NaN, and infinity.
TEST_P(TilesThatStay, GiveInfinitiesAndNaNAsOpsDo) {
  const float infinity = std::numeric_limits<float>::infinity();
  const Shape shape = {1100, 1600};
  std::vector<float> values(static_cast<std::size_t>(shape.size()));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::size_t row = i / 1600, column = i % 1600;
    values[i] = column % 5 == 1 && row > 400 ? -infinity : column % 5 == 2             ? -infinity
                                                       : column % 5 == 3 && row == 700 ? infinity
                                                       : column % 5 == 4 && row == 3   ? NAN
                                                                                       : std::sin(static_cast<float>(i));
  }
  for (int which : {0, 3}) {
    const auto graph = [&](DType type) {
      const Variable x = input({type, shape});
      return Graph{{x}, program(which, x, x, x, {0})};
    };
    expect_what_float64_gives(graph, float32, {Array::from(values, shape, device())});
  }
}

DAMO_ON_EACH_DEVICE(TilesThatStay);

}  // namespace
}  // namespace damo
