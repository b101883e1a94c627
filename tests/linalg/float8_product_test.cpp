// Products of 8-bit floats, in graphs and of Arrays, against sums in double: their products are exact in float32, so what is left are roundings of sums.
#include <damo/damo.hpp>

#include <cmath>
#include <cstdint>
#include <functional>
#include <random>
#include <utility>
#include <vector>

#include <gmock/gmock.h>

#include "support/devices.hpp"
#include "support/errors.hpp"

namespace damo::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class Float8Product : public OnEachDevice {
 protected:
  Array small_numbers(const Shape& shape, DType dtype) {
    std::vector<float> values(static_cast<std::size_t>(shape.size()));
    for (float& value : values) value = std::ldexp(static_cast<float>(static_cast<int>(random_() % 31) - 15), static_cast<int>(random_() % 6) - 5);
    return astype(Array::from(values, device()).reshape(shape), dtype);
  }

  /// x: (m, k), y: (k, n)
  static void expect_product(const Array& got, const Array& x, const Array& y, DType dtype, const std::string& what, double scale = 1) {
    ASSERT_EQ(got.dtype(), dtype) << what;
    const std::int64_t m = x.shape()[0], k = x.shape()[1], n = y.shape()[1];
    ASSERT_EQ(got.shape(), (Shape{m, n})) << what;
    const std::vector<double> a = x.to_doubles(), b = y.to_doubles(), c = got.to_doubles();
    // Tensor cores keep some 14 bits of each 32 products of 8-bit floats that they add up: an H200 was off by 2^-11.8 of the sum of sizes.
    const double unit = x.device().is_host() ? 0x1p-24 * static_cast<double>(k + 2) : 0x1p-12 * (1 + static_cast<double>(k) / 32);
    const double last = dtype == float64 ? 0x1p-52 : dtype == float32 ? 0x1p-24 : dtype == float16 ? 0x1p-11 : 0x1p-8;
    for (std::int64_t i = 0; i < m; ++i) {
      for (std::int64_t j = 0; j < n; ++j) {
        double sum = 0, size = 0;
        for (std::int64_t l = 0; l < k; ++l) {
          const double product = a[static_cast<std::size_t>(i * k + l)] * b[static_cast<std::size_t>(l * n + j)] * scale;
          sum += product;
          size += std::fabs(product);
        }
        ASSERT_NEAR(c[static_cast<std::size_t>(i * n + j)], sum, last * std::fabs(sum) + (dtype == float64 && x.device().is_host() ? 0 : unit * size)) << what << " " << i << ", " << j;
      }
    }
  }

  std::mt19937 random_{7};
};

TEST_P(Float8Product, IsAddedUpInFloat32ForEveryPairOfDtypes) {
  if (!DAMO_HAS_CPU) GTEST_SKIP() << "needs the CPU back end";
  // 48: multiples of 16, as a library may ask for; the others fit nowhere.
  for (const auto& [m, k, n] : {std::tuple<int, int, int>{48, 32, 16}, {5, 7, 3}}) {
    for (const DType first : {float8_e4m3, float8_e5m2}) {
      for (const DType second : {float8_e4m3, float8_e5m2}) {
        const Array x = small_numbers({m, k}, first), y = small_numbers({k, n}, second), turned = small_numbers({n, k}, second);
        const std::string what = std::string(name(first)) + " " + std::string(name(second)) + " " + std::to_string(m);
        expect_product(dot(x, y), x, y, float32, what);
        expect_product(dot(x, transpose(turned)), x, contiguous(transpose(turned)), float32, what + ", turned");
        for (const DType dtype : {bfloat16, float16, float64}) expect_product(matmul(x, y, dtype), x, y, dtype, what + " " + std::string(name(dtype)));
        const Variable u = matrix("u", first), v = matrix("v", second), one = constant(Array::full({1}, 1, first, Device("cpu")));
        const Results results = function({u, v}, {dot(u, v), dot(u, v) * 0.125, einsum("ij,jk->ik", {u, v}), dot(u, v, bfloat16), einsum("ij,jk,l->ik", {u, v, one})}, {.device = device()})(x, y);
        expect_product(results[0], x, y, float32, what + ", a graph");
        expect_product(results[1], x, y, float32, what + ", scaled", 0.125);
        expect_product(results[2], x, y, float32, what + ", einsum");
        expect_product(results[3], x, y, bfloat16, what + ", bfloat16");
        expect_product(results[4], x, y, float32, what + ", einsum of three");
      }
    }
  }
}

TEST_P(Float8Product, KeepsNumbersThat16BitsOfAResultWouldLose) {
  // 57344^2 is infinite in float16, and a sum of 2^12 of 448^2.
  const Array x = Array::full({16, 4096}, 57344, float8_e5m2, device()), y = Array::full({4096, 16}, 57344, float8_e5m2, device());
  EXPECT_EQ(dot(x, y).to_doubles()[0], 4096.0 * 57344 * 57344);
  const Array u = Array::full({16, 4096}, 448, float8_e4m3, device()), v = Array::full({4096, 16}, 448, float8_e4m3, device());
  EXPECT_EQ(dot(u, v).to_doubles()[255], 4096.0 * 448 * 448);
  EXPECT_TRUE(std::isnan(dot(u, Array::full({4096, 16}, 1e9, float8_e4m3, device())).to_doubles()[0]));
}

TEST_P(Float8Product, OfBatchesPartsAndVectors) {
  const Array x = small_numbers({3, 32, 64}, float8_e4m3), y = small_numbers({64, 48}, float8_e4m3), part = small_numbers({33, 65}, float8_e4m3).slice({{1, 33}, {1, 65}});
  const Array all = matmul(x, y);
  for (int i = 0; i < 3; ++i) expect_product(subtensor(all, {i}), subtensor(x, {i}), y, float32, "batch");
  expect_product(dot(part, y), part.copy(), y, float32, "addresses that are odd");
  const Array row = small_numbers({1, 64}, float8_e4m3);
  expect_product(dot(row, y), row, y, float32, "one row");
  const std::vector<double> a = row.to_doubles();
  double sum = 0;
  for (const double value : a) sum += value * value;
  EXPECT_NEAR(vdot(row, row).item().as_double(), sum, sum * 1e-5);
  EXPECT_EQ(dot(Array::zeros({2, 0}, float8_e4m3, device()), Array::zeros({0, 3}, float8_e4m3, device())).to_doubles(), std::vector<double>(6, 0.0));
}

TEST_P(Float8Product, HasGradientsInFloat32) {
  const Array x = small_numbers({16, 32}, float8_e4m3), y = small_numbers({32, 16}, float8_e4m3), g = astype(small_numbers({16, 16}, float8_e4m3), float32);
  const Variable u = matrix("u", float8_e4m3), v = matrix("v", float8_e4m3), weight = matrix("g");
  const std::vector<Variable> gradients = grad(sum(dot(u, v) * weight), std::vector{u, v});
  const Results results = function({u, v, weight}, gradients, {.device = device()})(x, y, g);
  expect_product(results[0], g, contiguous(transpose(y)), float32, "of the first");
  expect_product(results[1], contiguous(transpose(x)), g, float32, "of the second");
}

DAMO_ON_EACH_DEVICE(Float8Product);

TEST(Float8ProductErrors, SayWhatToCast) {
  const Variable x = matrix("x", float8_e4m3), y = matrix("y");
  EXPECT_THAT(error_of<TypeError>([&] { dot(x, y); }), AllOf(HasSubstr("dot: multiplies 8-bit floats with each other alone, not with float32"), HasSubstr("float8_e4m3")));
  EXPECT_THAT(error_of<TypeError>([&] { dot(x, x, float8_e4m3); }), AllOf(HasSubstr("a result of 8-bit floats is float32, bfloat16, float16 or float64"), HasSubstr("cast the result")));
  EXPECT_THAT(error_of<TypeError>([&] { matmul(x, x, int32); }), HasSubstr("not int32"));
}

}  // namespace
}  // namespace damo::testing
