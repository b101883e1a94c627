// Reductions fused with what stands around them: fused, unfused and the host agree, also where a kernel a pass or a kernel a node
// takes over at the call. Which kernels graphs become: tests/ops/rewrites/fusion_reductions_test.cpp.
#include <cmath>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <damo/damo.hpp>
#include "support/devices.hpp"
#include "support/row_programs.hpp"

namespace damo {
namespace {

using Values = std::vector<double>;
using damo::testing::layer_norm;
using damo::testing::softmax;

class FusedReductions : public testing::OnEachDevice {
 protected:
  Array noise(const Shape& shape, unsigned seed = 1) const {
    std::mt19937 random(seed);
    std::uniform_real_distribution<float> uniform(-2, 2);
    std::vector<float> values(static_cast<std::size_t>(shape.size()));
    for (float& value : values) value = uniform(random);
    return Array::from(values, shape, device());
  }
  void expect_equal(const std::vector<Variable>& inputs, const std::vector<Variable>& outputs, const std::vector<Array>& arrays, double tolerance = 1e-5) {
    const Function fused = function(inputs, outputs, {.device = device()}), plain = function(inputs, outputs, {.fuse = false, .device = device()});
    const Results a = fused.call(arrays), b = plain.call(arrays);
    for (std::size_t i = 0; i < a.size(); ++i) {
      ASSERT_EQ(a[i].shape(), b[i].shape());
      const Values found = a[i].to_doubles(), expected = b[i].to_doubles();
      for (std::size_t k = 0; k < found.size(); ++k) {
        ASSERT_NEAR(found[k], expected[k], tolerance * std::max(1.0, std::abs(expected[k]))) << "result " << i << " of " << to_string(a[i].shape()) << " element " << k;
      }
    }
  }
};

TEST_P(FusedReductions, GiveSoftmaxOfEveryShape) {
  const Variable x = matrix("x");
  for (int axis : {0, 1}) {
    const Function f = function({x}, {softmax(x, axis)}, {.device = device()});
    for (const Shape& shape : {Shape{1, 1}, Shape{3, 1}, Shape{1, 3}, Shape{5, 300}, Shape{300, 5}, Shape{33, 1024}, Shape{2, 50257}, Shape{4, 300000}, Shape{300000, 4}}) {
      for (bool turned : {false, true}) {
        const Array values = turned ? noise({shape[1], shape[0]}).transpose() : noise(shape);
        const Values in = values.to_doubles(), out = f(values)[0].to_doubles();
        const auto columns = static_cast<std::size_t>(shape[1]), rows = static_cast<std::size_t>(shape[0]);
        std::vector<double> sums(axis == 0 ? columns : rows, 0);
        for (std::size_t i = 0; i < in.size(); ++i) sums[axis == 0 ? i % columns : i / columns] += std::exp(in[i]);
        for (std::size_t i = 0; i < in.size(); ++i) {
          const double expected = std::exp(in[i]) / sums[axis == 0 ? i % columns : i / columns];
          ASSERT_NEAR(out[i], expected, 1e-5 * expected) << to_string(shape) << " axis " << axis << (turned ? " turned" : "") << " element " << i;
        }
      }
    }
  }
}

TEST_P(FusedReductions, GiveLayerNormAndItsGradients) {
  const Variable x = matrix("x"), w = vector("w"), b = vector("b"), g = matrix("g");
  const Variable y = layer_norm(x, w, b);
  const std::vector<Variable> gradients = lop(std::vector{y}, std::vector{g}, std::vector{x, w, b});
  for (const Shape& shape : {Shape{7, 64}, Shape{300, 33}, Shape{2, 400000}}) {
    expect_equal({x, w, b, g}, {y, gradients[0], gradients[1], gradients[2]}, {noise(shape), noise({shape[1]}, 2), noise({shape[1]}, 3), noise(shape, 4)}, 1e-3);
  }
}

TEST_P(FusedReductions, GiveSeveralReductionsAtOnce) {
  const Variable x = tensor3("x"), y = tensor3("y");
  for (const Axes& axes : {Axes(0), Axes(1), Axes(2), Axes{0, 2}, Axes{1, 2}}) {
    const Variable z = x * y + 1.0;
    expect_equal({x, y}, {sum(z, axes), max(z, axes, keepdims), mean(sqr(z), axes), z - mean(z, axes, keepdims), argmin(z, axes)}, {noise({9, 40, 13}), noise({9, 40, 13}, 5)});
  }
}

TEST_P(FusedReductions, TakeOperandsThatStretch) {
  const Variable column = input({float32, {kUnknown, 1}}, "column"), row = input({float32, {1, kUnknown}}, "row"), x = matrix("x");
  for (const Variable& other : {column, row}) {
    const Variable z = other * x;
    const Array values = other.is_same(column) ? noise({5, 1}) : noise({1, 7});
    expect_equal({other, x}, {sum(z, 1, keepdims) * 2.0, sum(other, 1, keepdims), z - mean(x, 1, keepdims)}, {values, noise({5, 7}, 2)});
  }
}

TEST_P(FusedReductions, GiveSixteenBitFloats) {
  for (DType dtype : {float16, bfloat16}) {
    const Variable x = matrix("x", dtype);
    const Array values = astype(noise({12, 200}), dtype);
    const Values found = function({x}, {softmax(x, 1)}, {.device = device()})(values)[0].to_doubles(), in = values.to_doubles();
    for (std::size_t row = 0; row < 12; ++row) {
      double sum = 0;
      for (std::size_t k = 0; k < 200; ++k) sum += std::exp(in[row * 200 + k]);
      for (std::size_t k = 0; k < 200; ++k) {
        const double expected = std::exp(in[row * 200 + k]) / sum;
        ASSERT_NEAR(found[row * 200 + k], expected, expected * (dtype == float16 ? 1e-3 : 8e-3) + 1e-7);
      }
    }
  }
}

DAMO_ON_EACH_DEVICE(FusedReductions);

}  // namespace
}  // namespace damo
