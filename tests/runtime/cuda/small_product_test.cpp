// The kernel of small products against sums in float64: orders of both operands, strides with and without whole vectors, batches, the three tiles,
// what is added. Which of its ways a product is computed by is measured, so here the kernel is asked for directly. Without a GPU its text runs on
// the CPU, with loops in the place of asynchronous copies.
#include "runtime/cuda/small_product.hpp"

#include <cmath>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <damo/array.hpp>

#include "runtime/cuda/backend.hpp"
#include "runtime/cuda/cuda_backend.hpp"
#include "runtime/kernel/cache.hpp"
#include "support/devices.hpp"
#include "support/scratch_directory.hpp"

namespace damo::cuda_backend {
namespace {

std::string with_loops_for_copies(std::string text) {
  const std::string fetch = "__device__ __forceinline__ void fetch(";
  const std::size_t begin = text.find(fetch), end = text.find("\n}\n", begin);
  EXPECT_NE(begin, std::string::npos);
  text.replace(begin, end - begin, fetch + "float* to, const float* from, int words, int most) {\n  for (int i = 0; i < most; ++i) to[i] = i < words ? from[i] : 0;");
  for (std::size_t at = text.find("asm"); at != std::string::npos; at = text.find("asm", at + 5)) text.insert(at, "//");
  return text;
}

class SmallProductOnEachDevice : public damo::testing::OnEachDevice {
 protected:
  /// How the product is computed on the device; false where the kernel does not take it.
  bool run(const MatrixProduct& p, const MatrixAddresses& addresses) {
    if (!device().is_host()) {
      const auto product = small_product(static_cast<CudaBackend&>(device().backend()), p);
      if (!product || !product->is_ready()) return false;
      product->run(addresses, nullptr);
      return true;
    }
    constexpr int kMultiprocessors = 132;
    auto kernel = small_product_kernel(p, kMultiprocessors, 227 * 1024);
    if (!kernel) return false;
    const testing::Environment form("DAMO_CPU_FORM", "reference");  // compiled in half of the time
    kernel->request.source = with_loops_for_copies(kernel->request.source);
    const auto module = device().backend().cache().get(kernel->request);
    SmallProductArguments arguments(p, *kernel, addresses);
    device().backend().launch(*module->kernel("small_product"), kernel->config, arguments.pointers, nullptr);
    return true;
  }

  std::vector<float> noise(std::int64_t size) {
    std::vector<float> values(static_cast<std::size_t>(size));
    for (float& value : values) value = std::uniform_real_distribution<float>(-1, 1)(random_);
    return values;
  }
  int pick(int least, int most) { return std::uniform_int_distribution<int>(least, most)(random_); }

  void check(const MatrixProduct& p, bool in_place) {
    const auto extent = [&](const MatrixStrides& s, std::int64_t rows, std::int64_t columns) { return (p.batches - 1) * s.batch + (rows - 1) * s.row + (columns - 1) * s.column + 1; };
    const std::vector<float> a = noise(extent(p.a, p.m, p.k)), b = noise(extent(p.b, p.k, p.n)), start = noise(extent(p.c, p.m, p.n)), bias = noise(p.n);
    const Array da = array(a), db = array(b), dstart = array(start), dbias = array(bias), dc = in_place ? dstart.copy() : Array::full(dstart.shape(), 0, float32, device());
    ASSERT_TRUE(run(p, {.a = da.data(), .b = db.data(), .start = in_place ? dc.data() : dstart.data(), .bias = dbias.data(), .result = dc.data()})) << p.m << " x " << p.n << " x " << p.k;
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

TEST_P(SmallProductOnEachDevice, IsTheSumOfProductsHoweverOperandsLie) {
  const int rounds = device().is_host() ? 24 : 96;
  for (int round = 0; round < rounds; ++round) {
    const bool a_turned = round & 1, b_turned = round & 2, gaps = round & 4, large = round % 16 >= 12;
    MatrixProduct p{.m = large ? pick(160, 300) : round % 3 == 1 ? pick(1, 9) : pick(10, 70), .n = large ? pick(200, 300) : pick(8, 70), .k = pick(128, device().is_host() ? 300 : 1100),
                    .batches = round % 5 == 0 && !large ? 3 : 1};
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

TEST_P(SmallProductOnEachDevice, KeepsNanAndInfinityToTheirRows) {
  MatrixProduct p{.m = 20, .n = 12, .k = 130};
  p.a = {130, 1, 0}, p.b = {12, 1, 0}, p.c = {12, 1, 0};
  std::vector<float> a(20 * 130, 1), b(130 * 12, 2);
  a[3 * 130 + 129] = std::numeric_limits<float>::quiet_NaN(), a[19 * 130] = std::numeric_limits<float>::infinity();
  const Array da = array(a), db = array(b), c = Array::full({20, 12}, std::numeric_limits<float>::quiet_NaN(), float32, device());
  ASSERT_TRUE(run(p, {.a = da.data(), .b = db.data(), .result = c.data()}));
  const std::vector<float> values = c.to_vector<float>();
  for (std::size_t i = 0; i < 20; ++i) {
    for (std::size_t j = 0; j < 12; ++j) {
      const float value = values[i * 12 + j];
      EXPECT_TRUE(i == 3 ? std::isnan(value) : i == 19 ? std::isinf(value) : value == 260) << value << " at (" << i << ", " << j << ")";
    }
  }
}
DAMO_ON_EACH_DEVICE(SmallProductOnEachDevice);

TEST(SmallProduct, LeavesToTheLibraryWhatIsNotSmallNorFloat32) {
  MatrixProduct p{.m = 64, .n = 64, .k = 256};
  p.a = {256, 1, 0}, p.b = {64, 1, 0}, p.c = {64, 1, 0};
  const auto takes = [](const MatrixProduct& product) { return small_product_kernel(product, 132, 227 * 1024).has_value(); };
  EXPECT_TRUE(takes(p));
  EXPECT_FALSE(small_product_kernel(p, 132, 48 * 1024)) << "a GPU with little shared memory";
  const auto refuses = [&](auto change) {
    MatrixProduct other = p;
    change(other);
    return !takes(other);
  };
  EXPECT_TRUE(refuses([](MatrixProduct& o) { o.tf32 = true; }));
  EXPECT_TRUE(refuses([](MatrixProduct& o) { o.activation = Activation::kGeluTanh; }));
  EXPECT_TRUE(refuses([](MatrixProduct& o) { o.operands = o.result = float64; }));
  EXPECT_TRUE(refuses([](MatrixProduct& o) { o.m = 0; }));
  EXPECT_TRUE(refuses([](MatrixProduct& o) { o.n = 7; }));
  EXPECT_TRUE(refuses([](MatrixProduct& o) { o.k = 64, o.a.row = 64; }));
  EXPECT_TRUE(refuses([](MatrixProduct& o) { o.m = o.n = 512, o.b.row = o.c.row = 512; }));
  EXPECT_TRUE(refuses([](MatrixProduct& o) { o.a = {256, 2, 0}; }));
}

}  // namespace
}  // namespace damo::cuda_backend
