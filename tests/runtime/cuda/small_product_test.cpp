// The kernel of small products against sums in float64: orders of both operands, strides with and without whole vectors, batches, both tiles,
// what is added. Which of its ways a product is computed by is measured, so here the kernel is asked for directly.
#include "runtime/cuda/small_product.hpp"

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include <damo/array.hpp>

#include "runtime/cuda/backend.hpp"
#include "runtime/cuda/cuda_backend.hpp"

namespace damo::cuda_backend {
namespace {

class SmallProductOnCuda : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const auto problem = cuda_problem()) GTEST_SKIP() << "needs a GPU: " << *problem;
  }
  CudaBackend& backend() { return static_cast<CudaBackend&>(Device("cuda:0").backend()); }

  std::vector<float> noise(std::int64_t size) {
    std::vector<float> values(static_cast<std::size_t>(size));
    for (float& value : values) value = std::uniform_real_distribution<float>(-1, 1)(random_);
    return values;
  }
  int pick(int least, int most) { return std::uniform_int_distribution<int>(least, most)(random_); }

  void check(const MatrixProduct& p, bool in_place) {
    const auto extent = [&](const MatrixStrides& s, std::int64_t rows, std::int64_t columns) { return (p.batches - 1) * s.batch + (rows - 1) * s.row + (columns - 1) * s.column + 1; };
    const std::vector<float> a = noise(extent(p.a, p.m, p.k)), b = noise(extent(p.b, p.k, p.n)), start = noise(extent(p.c, p.m, p.n)), bias = noise(p.n);
    const Device device("cuda:0");
    const Array da = Array::from(a, device), db = Array::from(b, device), dstart = Array::from(start, device), dbias = Array::from(bias, device), dc = in_place ? dstart.copy() : Array::full(dstart.shape(), 0, float32, device);
    const auto product = small_product(backend(), p);
    ASSERT_TRUE(product);
    ASSERT_TRUE(product->is_ready());
    product->run({.a = da.data(), .b = db.data(), .start = in_place ? dc.data() : dstart.data(), .bias = dbias.data(), .result = dc.data()}, nullptr);
    const std::vector<float> c = dc.to_vector<float>();
    std::vector<bool> is_element(c.size());
    for (std::int64_t batch = 0; batch < p.batches; ++batch) {
      for (std::int64_t i = 0; i < p.m; ++i) {
        for (std::int64_t j = 0; j < p.n; ++j) {
          double sum = 0;
          for (std::int64_t l = 0; l < p.k; ++l) {
            sum += double(a[static_cast<std::size_t>(batch * p.a.batch + i * p.a.row + l * p.a.column)]) * double(b[static_cast<std::size_t>(batch * p.b.batch + l * p.b.row + j * p.b.column)]);
          }
          const auto at = static_cast<std::size_t>(batch * p.c.batch + i * p.c.row + j);
          is_element[at] = true;
          const double expected = p.alpha * sum + (p.beta == 0 ? 0 : p.beta * double(start[at])) + (p.has_bias ? double(bias[static_cast<std::size_t>(j)]) : 0);
          ASSERT_NEAR(c[at], expected, 2e-4) << "batch " << batch << " (" << i << ", " << j << ") of " << p.m << " x " << p.n << " x " << p.k;
        }
      }
    }
    for (std::size_t at = 0; at < c.size(); ++at) ASSERT_TRUE(is_element[at] || c[at] == (in_place ? start[at] : 0)) << "written between rows at " << at;
  }

  std::mt19937 random_{1};
};

TEST_F(SmallProductOnCuda, IsTheSumOfProductsHoweverOperandsLie) {
  for (int round = 0; round < 64; ++round) {
    const bool a_turned = round & 1, b_turned = round & 2, gaps = round & 4, large = round % 16 >= 12;
    MatrixProduct p{.m = large ? pick(200, 300) : pick(16, 70), .n = large ? pick(200, 300) : pick(8, 70), .k = pick(128, 700), .batches = round % 5 == 0 && !large ? 3 : 1};
    const auto lie = [&](std::int64_t rows, std::int64_t columns, bool is_turned) {
      std::int64_t leading = (is_turned ? rows : columns) + (gaps ? pick(1, 7) : 0);
      if (round & 8) leading = (leading + 3) / 4 * 4;
      const std::int64_t batch = leading * (is_turned ? columns : rows) + (round & 8 ? 4 : 5);
      return is_turned ? MatrixStrides{1, leading, batch} : MatrixStrides{leading, 1, batch};
    };
    p.a = lie(p.m, p.k, a_turned), p.b = lie(p.k, p.n, b_turned), p.c = lie(p.m, p.n, false);
    if (round % 10 == 0) p.b.batch = 0;
    p.alpha = round % 3 ? 1 : -0.5;
    p.beta = round % 4 == 3 ? 0.75 : round % 4 == 1 ? 1 : 0;
    p.has_bias = round % 7 < 3;
    check(p, round % 8 == 3);
    if (HasFatalFailure()) return;
  }
}

TEST_F(SmallProductOnCuda, KeepsNanAndInfinityToTheirRows) {
  MatrixProduct p{.m = 20, .n = 12, .k = 130};
  p.a = {130, 1, 0}, p.b = {12, 1, 0}, p.c = {12, 1, 0};
  std::vector<float> a(20 * 130, 1), b(130 * 12, 2);
  a[3 * 130 + 129] = std::numeric_limits<float>::quiet_NaN(), a[19 * 130] = std::numeric_limits<float>::infinity();
  const Device device("cuda:0");
  const Array da = Array::from(a, device), db = Array::from(b, device), c = Array::full({20, 12}, std::numeric_limits<float>::quiet_NaN(), float32, device);
  const auto product = small_product(backend(), p);
  ASSERT_TRUE(product && product->is_ready());
  product->run({.a = da.data(), .b = db.data(), .result = c.data()}, nullptr);
  const std::vector<float> values = c.to_vector<float>();
  for (std::size_t i = 0; i < 20; ++i) {
    for (std::size_t j = 0; j < 12; ++j) {
      const float value = values[i * 12 + j];
      EXPECT_TRUE(i == 3 ? std::isnan(value) : i == 19 ? std::isinf(value) : value == 260) << value << " at (" << i << ", " << j << ")";
    }
  }
}

TEST_F(SmallProductOnCuda, LeavesToTheLibraryWhatIsNotSmallNorFloat32) {
  MatrixProduct p{.m = 64, .n = 64, .k = 256};
  p.a = {256, 1, 0}, p.b = {64, 1, 0}, p.c = {64, 1, 0};
  EXPECT_TRUE(small_product(backend(), p));
  const auto refuses = [&](auto change) {
    MatrixProduct other = p;
    change(other);
    return !small_product(backend(), other);
  };
  EXPECT_TRUE(refuses([](MatrixProduct& o) { o.tf32 = true; }));
  EXPECT_TRUE(refuses([](MatrixProduct& o) { o.activation = Activation::kGeluTanh; }));
  EXPECT_TRUE(refuses([](MatrixProduct& o) { o.operands = o.result = float64; }));
  EXPECT_TRUE(refuses([](MatrixProduct& o) { o.m = 8; }));
  EXPECT_TRUE(refuses([](MatrixProduct& o) { o.k = 64, o.a.row = 64; }));
  EXPECT_TRUE(refuses([](MatrixProduct& o) { o.m = o.n = 512, o.b.row = o.c.row = 512; }));
  EXPECT_TRUE(refuses([](MatrixProduct& o) { o.a = {256, 2, 0}; }));
}

}  // namespace
}  // namespace damo::cuda_backend
