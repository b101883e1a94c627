// Which orders libraries take, Damo's own kernel against loops, and what opening a library does and says.
#include "runtime/library/matrix_library.hpp"

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <random>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <damo/array.hpp>
#include "runtime/library/generated_product.hpp"
#include "support/devices.hpp"

namespace damo {
namespace {

using ::testing::ExitedWithCode;

TEST(MatrixOrder, IsThatOfRowsOrColumnsWithoutGapsInside) {
  const auto order = [](MatrixStrides strides, std::int64_t rows, std::int64_t columns) -> std::string {
    const auto found = order_of(strides, rows, columns);
    return found ? std::string(found->is_transposed ? "columns " : "rows ") + std::to_string(found->leading) : "none";
  };
  EXPECT_EQ(order({4, 1}, 3, 4), "rows 4");
  EXPECT_EQ(order({9, 1}, 3, 4), "rows 9") << "gaps between rows";
  EXPECT_EQ(order({1, 3}, 3, 4), "columns 3");
  EXPECT_EQ(order({8, 2}, 3, 4), "none") << "gaps inside rows";
  EXPECT_EQ(order({-4, 1}, 3, 4), "none");
  EXPECT_EQ(order({0, 1}, 3, 4), "none") << "one row for all";
  EXPECT_EQ(order({3, 1}, 3, 4), "none") << "rows that overlap";
  EXPECT_EQ(order({7, 5}, 3, 1), "rows 7") << "a column: where its elements step";
  EXPECT_EQ(order({7, 5}, 1, 3), "columns 5");
  EXPECT_EQ(order({0, 0}, 1, 1), "rows 1");
  EXPECT_EQ(order({-2, 1}, 3, 1), "none");
}

class MatrixProducts : public testing::OnEachDevice {
 protected:
  std::mt19937 random_{1};
  Array noise(std::int64_t size) {
    std::vector<float> values(static_cast<std::size_t>(size));
    std::uniform_real_distribution<float> uniform(-1, 1);
    for (float& value : values) value = uniform(random_);
    return Array::from(values, device());
  }
  /// alpha A B + beta C0 of float32 matrices that lie anyhow, by what is prepared.
  void check(PreparedProduct& prepared, const MatrixProduct& p, std::int64_t a_first, std::int64_t b_first, bool in_place, const char* what) {
    const Array a = noise(4096), b = noise(4096), start = noise(4096), c = in_place ? start.copy() : noise(4096);
    const std::vector<float> va = a.to_vector<float>(), vb = b.to_vector<float>(), vs = start.to_vector<float>();
    const Array workspace = Array::empty({static_cast<std::int64_t>(prepared.workspace_bytes())}, uint8, device());
    const auto at = [](const Array& array, std::int64_t element) { return static_cast<float*>(array.data()) + element; };
    prepared.run({.a = at(a, a_first), .b = at(b, b_first), .start = p.beta == 0 ? nullptr : in_place ? c.data() : start.data(), .result = c.data()}, workspace.data(), nullptr);
    const std::vector<float> vc = c.to_vector<float>();
    for (std::int64_t batch = 0; batch < p.batches; ++batch) {
      for (std::int64_t i = 0; i < p.m; ++i) {
        for (std::int64_t j = 0; j < p.n; ++j) {
          double sum = 0;
          for (std::int64_t l = 0; l < p.k; ++l) {
            sum += double(va[static_cast<std::size_t>(a_first + batch * p.a.batch + i * p.a.row + l * p.a.column)]) *
                   double(vb[static_cast<std::size_t>(b_first + batch * p.b.batch + l * p.b.row + j * p.b.column)]);
          }
          const auto place = static_cast<std::size_t>(batch * p.c.batch + i * p.c.row + j);
          ASSERT_NEAR(vc[place], p.alpha * sum + p.beta * double(vs[place]), 1e-4) << what << " batch " << batch << " (" << i << ", " << j << ")";
        }
      }
    }
  }
};

TEST_P(MatrixProducts, OfAnyStridesByTheGeneratedKernel) {
  for (int round = 0; round < 20; ++round) {
    const auto pick = [&](int least, int most) { return std::uniform_int_distribution<int>(least, most)(random_); };
    MatrixProduct p{.m = pick(1, 20), .n = pick(1, 20), .k = pick(0, 20), .batches = pick(1, 3)};
    p.a = {pick(-30, 30), pick(-3, 3), pick(0, 50)};
    p.b = {pick(-30, 30), pick(0, 1) ? 1 : pick(-3, 3), pick(0, 50)};
    p.c = {p.n + pick(0, 2), 1, (p.n + 2) * p.m};
    p.alpha = round % 2 ? 1 : -0.5;
    p.beta = round % 3 == 0 ? 0 : 2;
    check(*generated_product(device().backend(), p), p, 1500, 1500, round % 2 == 0, "generated");
  }
}

TEST_P(MatrixProducts, OfEitherOrderByTheLibrary) {
  for (int round = 0; round < 40; ++round) {
    const auto pick = [&](int least, int most) { return std::uniform_int_distribution<int>(least, most)(random_); };
    MatrixProduct p{.m = pick(1, 20), .n = pick(1, 20), .k = pick(1, 20), .batches = pick(1, 3)};
    if (round % 5 == 0) p.m = 1;
    if (round % 5 == 1) p.n = 1;
    const auto matrix = [&](std::int64_t rows, std::int64_t columns) {
      const bool turned = pick(0, 1);
      const std::int64_t leading = (turned ? rows : columns) + pick(0, 2);
      return turned ? MatrixStrides{1, leading, pick(0, 1) * leading * columns} : MatrixStrides{leading, 1, pick(0, 1) * leading * rows};
    };
    p.a = matrix(p.m, p.k);
    p.b = matrix(p.k, p.n);
    p.c = {p.n + pick(0, 2), 1, (p.n + 2) * p.m};
    p.alpha = round % 2 ? 1 : -0.5;
    p.beta = round % 3 == 0 ? 0 : 2;
    check(*MatrixLibrary::of(device().backend())->prepare(p), p, pick(0, 3), pick(0, 3), round % 2 == 0, "library");
  }
}

TEST_P(MatrixProducts, AreKeptWhileTheyAreAskedFor) {
  const auto library = MatrixLibrary::of(device().backend());
  const MatrixProduct p{.m = 3, .n = 4, .k = 5, .a = {5, 1}, .b = {4, 1}, .c = {4, 1}};
  EXPECT_EQ(library->prepare(p), library->prepare(p));
}

DAMO_ON_EACH_DEVICE(MatrixProducts);

#if DAMO_HAS_CPU
std::string mapped() {
  std::ostringstream text;
  text << std::ifstream("/proc/self/maps").rdbuf();
  return text.str();
}

/// In a process of its own: a library is opened once. The code says which expectation failed.
class BlasLibraryOnCpu : public ::testing::Test {
 protected:
  void SetUp() override { ::testing::FLAGS_gtest_death_test_style = "threadsafe"; }
};

TEST_F(BlasLibraryOnCpu, IsOpenedAtTheFirstProduct) {
  EXPECT_EXIT(
      {
        const Device cpu("cpu");
        const Array x = Array::full({4, 4}, 1.0, float32, cpu);
        if (mapped().find("blas") != std::string::npos) std::exit(1);
        const auto library = MatrixLibrary::of(cpu.backend());
        const bool named = library->has(float32) && library->engine()->name(float32).find("blas") != std::string::npos;
        std::exit(named == (mapped().find("blas") != std::string::npos) ? 0 : 2);
      },
      ExitedWithCode(0), "");
}

TEST_F(BlasLibraryOnCpu, IsNotOpenedWhereTheEnvironmentSaysNone) {
  EXPECT_EXIT(
      {
        setenv("DAMO_BLAS_PATH", "none", 1);
        std::exit(MatrixLibrary::of(Device("cpu").backend())->has(float32) ? 1 : 0);
      },
      ExitedWithCode(0), "");
}

TEST_F(BlasLibraryOnCpu, ThatIsNoneIsAnErrorWithTheRemedy) {
  EXPECT_EXIT(
      {
        setenv("DAMO_BLAS_PATH", "/nonexistent/libblas.so", 1);
        try {
          MatrixLibrary::of(Device("cpu").backend());
        } catch (const DeviceError& error) {
          std::fputs(error.what(), stderr);
          std::exit(0);
        }
        std::exit(1);
      },
      ExitedWithCode(0), "DAMO_BLAS_PATH is '/nonexistent/libblas.so', which is no BLAS library(.|\n)*give the file of a library with cblas_sgemm, or none");
}
#endif

}  // namespace
}  // namespace damo
