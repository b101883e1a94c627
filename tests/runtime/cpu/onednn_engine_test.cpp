// Products of bfloat16 against float64, of int8 against exact integers, and where their work runs.
#include "runtime/cpu/onednn_engine.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <damo/device.hpp>
#include <damo/half.hpp>

#include "runtime/backend.hpp"
#include "support/sampling.hpp"
#include "support/scratch_directory.hpp"

namespace damo::cpu_backend {
namespace {

constexpr double kFloatUnit = 0x1p-24, kBfloat16Unit = 0x1p-8;

struct OneDnnOperands {
  std::vector<BFloat16> a, b;
};

std::vector<std::byte> run_product(PreparedProduct& prepared, const MatrixProduct& p, const void* a, const void* b, const void* start, const void* bias, bool in_place = false) {
  const std::size_t elements = static_cast<std::size_t>(p.batches * (p.c.batch + p.m * p.c.row)) + 1;
  std::vector<std::byte> c(elements * itemsize(p.result), std::byte{0x7f}), workspace(prepared.workspace_bytes());
  if (in_place) std::memcpy(c.data(), start, c.size());
  prepared.run({.a = a, .b = b, .start = in_place ? c.data() : start, .bias = bias, .result = c.data()}, workspace.data(), nullptr);
  return c;
}

double number_at(const void* elements, DType dtype, std::int64_t at) {
  if (dtype == bfloat16) return static_cast<const BFloat16*>(elements)[at];
  return dtype == float32 ? static_cast<const float*>(elements)[at] : static_cast<const double*>(elements)[at];
}

void store_number(void* elements, DType dtype, std::int64_t at, double value) {
  if (dtype == bfloat16) static_cast<BFloat16*>(elements)[at] = BFloat16(value);
  else if (dtype == float32) static_cast<float*>(elements)[at] = static_cast<float>(value);
  else static_cast<double*>(elements)[at] = value;
}

/// alpha A B + beta C0 + bias against float64, each element within the bounds of sums in float32 that are rounded once.
void check_bfloat16(const MatrixProduct& p, const OneDnnOperands& given, const std::vector<std::byte>& start, const std::vector<std::byte>& bias, const std::vector<std::byte>& c,
                    const std::string& what) {
  for (std::int64_t batch = 0; batch < p.batches; ++batch) {
    for (std::int64_t i = 0; i < p.m; ++i) {
      for (std::int64_t j = 0; j < p.n; ++j) {
        double sum = 0, size = 0;
        for (std::int64_t l = 0; l < p.k; ++l) {
          const double product = double(given.a[static_cast<std::size_t>(batch * p.a.batch + i * p.a.row + l * p.a.column)]) *
                                 double(given.b[static_cast<std::size_t>(batch * p.b.batch + l * p.b.row + j * p.b.column)]);
          sum += product;
          size += std::fabs(product);
        }
        const std::int64_t at = batch * p.c.batch + i * p.c.row + j;
        double want = p.alpha * sum;
        size *= std::fabs(p.alpha);
        if (p.beta != 0) want += p.beta * number_at(start.data(), p.result, at), size += std::fabs(p.beta * number_at(start.data(), p.result, at));
        if (p.has_bias) want += number_at(bias.data(), p.result, j), size += std::fabs(number_at(bias.data(), p.result, j));
        const double got = number_at(c.data(), p.result, at);
        const double bound = static_cast<double>(p.k + 4) * (kFloatUnit * size + 0x1p-149) + (p.result == bfloat16 ? kBfloat16Unit * std::fabs(want) + 0x1p-134 : 0);
        ASSERT_NEAR(got, want, bound) << what << ": " << p.m << " x " << p.n << " x " << p.k << ", batch " << batch << " (" << i << ", " << j << ")";
      }
    }
  }
}

class OneDnnProductsOnCpu : public ::testing::Test {
 protected:
  std::unique_ptr<MatrixEngine> engine(int threads = 2) {
    workers_.push_back(std::make_unique<WorkerPool>(threads));
    return make_onednn_engine(backend(), *workers_.back());
  }
  static const Backend& backend() { return Device("cpu").backend(); }
  void SetUp() override {
    if (!engine()->computes_as(bfloat16)) GTEST_SKIP() << "needs oneDNN, and a CPU with instructions for bfloat16";
  }
  std::int64_t pick(std::int64_t least, std::int64_t most) { return std::uniform_int_distribution<std::int64_t>(least, most)(random_); }
  template <class T, class Make>
  std::vector<T> values(std::int64_t count, const Make& make) {
    std::vector<T> made(static_cast<std::size_t>(count));
    for (T& value : made) value = T(make());
    return made;
  }
  double noise() { return std::normal_distribution<double>()(random_); }
  MatrixStrides matrix(std::int64_t rows, std::int64_t columns, bool is_apart) {
    const bool turned = pick(0, 1);
    const std::int64_t leading = (turned ? rows : columns) + pick(0, 1) * pick(0, 5);
    return turned ? MatrixStrides{1, leading, is_apart * leading * columns} : MatrixStrides{leading, 1, is_apart * leading * rows};
  }
  static std::int64_t reach(const MatrixStrides& s, std::int64_t rows, std::int64_t columns, std::int64_t batches) {
    return (batches - 1) * s.batch + (rows - 1) * s.row + (columns - 1) * s.column + 1;
  }
  MatrixProduct random_product(DType operands, DType result, bool is_large) {
    const std::int64_t most = is_large ? 530 : 40;
    MatrixProduct p{.operands = operands, .result = result, .m = pick(1, most), .n = pick(1, most), .k = pick(1, is_large ? 300 : 70), .batches = is_large ? 1 : pick(1, 4)};
    for (std::int64_t* extent : {&p.m, &p.n, &p.k}) {  // one row, or one beside whole tiles
      if (pick(0, 4) == 0) *extent = is_large ? 257 : 1;
    }
    p.a = matrix(p.m, p.k, pick(0, 3) != 0);
    p.b = matrix(p.k, p.n, pick(0, 3) != 0);
    p.c = {p.n + pick(0, 1) * pick(0, 3), 1, (p.n + 3) * p.m};
    return p;
  }
  template <class Make>
  OneDnnOperands operands_of(const MatrixProduct& p, const Make& make_a, const Make& make_b) {
    return {values<BFloat16>(reach(p.a, p.m, p.k, p.batches), make_a), values<BFloat16>(reach(p.b, p.k, p.n, p.batches), make_b)};
  }
  std::vector<std::byte> numbers(DType dtype, std::int64_t count) {
    std::vector<std::byte> bytes(static_cast<std::size_t>(count) * itemsize(dtype));
    for (std::int64_t i = 0; i < count; ++i) store_number(bytes.data(), dtype, i, noise());
    return bytes;
  }

  std::mt19937 random_{7};

 private:
  std::vector<std::unique_ptr<WorkerPool>> workers_;
};

TEST_F(OneDnnProductsOnCpu, OfBfloat16AreThoseOfFloat64RoundedOnce) {
  const auto multiplies = engine();
  for (int round = 0; round < (damo::testing::is_thorough() ? 2000 : 60); ++round) {
    MatrixProduct p = random_product(bfloat16, round % 3 == 0 ? float32 : round % 7 == 0 ? float64 : bfloat16, round % 10 == 9);
    if (round % 4 == 1) p.alpha = -0.75;
    if (round % 4 >= 2) p.beta = round % 8 < 4 ? 1 : 0.3;
    p.has_bias = round % 5 == 0;
    const std::int64_t size = p.batches * (p.c.batch + p.m * p.c.row) + 1;
    const auto make = [&] { return noise(); };
    const OneDnnOperands given = operands_of(p, make, make);
    const std::vector<std::byte> start = numbers(p.result, size), bias = numbers(p.result, p.n);
    const auto prepared = multiplies->prepare(p);
    ASSERT_TRUE(prepared);
    check_bfloat16(p, given, start, bias, run_product(*prepared, p, given.a.data(), given.b.data(), start.data(), bias.data(), round % 2 == 0 && p.beta != 0), "round " + std::to_string(round));
  }
}

TEST_F(OneDnnProductsOnCpu, KeepDenormals) {
  const auto multiplies = engine();
  // Sizes of the operands' exponents: denormals by large numbers, products that are denormals, and sums that are where their terms are not.
  const int exponents[][2] = {{-132, 100}, {-60, -72}, {-63, -63}, {-128, 0}, {-10, -133}, {-56, -56}, {0, 0}};
  for (const auto& [of_a, of_b] : exponents) {
    for (const DType result : {bfloat16, float32}) {
      for (const std::int64_t n : {1, 20}) {
        MatrixProduct p{.operands = bfloat16, .result = result, .m = 270, .n = n, .k = 530};
        p.a = {p.k, 1}, p.b = n == 20 ? MatrixStrides{1, p.k} : MatrixStrides{n, 1}, p.c = {n, 1};
        const auto scaled = [&](int exponent) { return [this, exponent] { return std::ldexp(std::round(noise() * 64) / 64, exponent); }; };
        OneDnnOperands given{values<BFloat16>(p.m * p.k, scaled(of_a)), values<BFloat16>(p.k * n, scaled(of_b))};
        check_bfloat16(p, given, {}, {}, run_product(*multiplies->prepare(p), p, given.a.data(), given.b.data(), nullptr, nullptr), "exponents " + std::to_string(of_a) + " " + std::to_string(of_b));
      }
    }
  }
}

TEST_F(OneDnnProductsOnCpu, KeepDenormalsOfOneStripAmongOthers) {
  const auto multiplies = engine();
  MatrixProduct p{.operands = bfloat16, .result = float32, .m = 600, .n = 600, .k = 33};
  for (const bool turned : {false, true}) {
    p.a = turned ? MatrixStrides{1, p.m} : MatrixStrides{p.k, 1}, p.b = turned ? MatrixStrides{1, p.k} : MatrixStrides{p.n, 1}, p.c = {p.n, 1};
    const auto make = [&] { return noise(); };
    OneDnnOperands given = operands_of(p, make, make);
    for (std::int64_t l = 0; l < p.k; ++l) {  // row 300 of A and column 599 of B: denormals alone, which a product with 1 keeps
      given.a[static_cast<std::size_t>(300 * p.a.row + l * p.a.column)] = BFloat16(std::ldexp(noise(), -130));
      given.b[static_cast<std::size_t>(l * p.b.row + 599 * p.b.column)] = BFloat16(std::ldexp(noise(), -131));
    }
    check_bfloat16(p, given, {}, {}, run_product(*multiplies->prepare(p), p, given.a.data(), given.b.data(), nullptr, nullptr), turned ? "turned" : "as they lie");
  }
}

TEST_F(OneDnnProductsOnCpu, KeepDenormalsThatAreLeftOfLargerNumbers) {
  const auto multiplies = engine();
  const MatrixProduct p{.operands = bfloat16, .result = float32, .m = 2, .n = 3, .k = 6, .a = {6, 1}, .b = {1, 6}, .c = {3, 1}};
  for (int exponent = -105; exponent >= -134; --exponent) {  // of what is multiplied; what is left is 2^-14 of it
    for (const std::size_t apart : {1u, 4u}) {               // in one pair of products, in two
      std::vector<BFloat16> a(12, BFloat16(0.0f)), b(18, BFloat16(0.0f));
      a[0] = BFloat16(std::ldexp(1 + 0x1p-7, exponent / 2)), a[apart] = BFloat16(std::ldexp(-1 - 0x1p-6, exponent / 2));
      b[0] = BFloat16(std::ldexp(1 + 0x1p-7, exponent - exponent / 2)), b[apart] = BFloat16(std::ldexp(1.0, exponent - exponent / 2));
      const std::vector<std::byte> bytes = run_product(*multiplies->prepare(p), p, a.data(), b.data(), nullptr, nullptr);
      EXPECT_EQ(number_at(bytes.data(), float32, 0), std::ldexp(1.0, exponent - 14)) << exponent << " " << apart;
    }
  }
}

TEST_F(OneDnnProductsOnCpu, KeepNaNAndInfinity) {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  const auto multiplies = engine();
  for (const float least : {1.0f, 0x1p-130f}) {  // by the instructions, and widened
    MatrixProduct p{.operands = bfloat16, .result = bfloat16, .m = 5, .n = 3, .k = 40, .a = {40, 1}, .b = {3, 1}, .c = {3, 1}};
    std::vector<BFloat16> a(200, BFloat16(1.0f)), b(120, BFloat16(1.0f));
    b[119] = BFloat16(least);
    a[0] = BFloat16(nan), a[40] = BFloat16(inf), a[80] = BFloat16(inf), a[81] = BFloat16(-inf), a[120] = BFloat16(3e38f), a[121] = BFloat16(3e38f);
    b[1] = BFloat16(0.0f);
    const std::vector<std::byte> bytes = run_product(*multiplies->prepare(p), p, a.data(), b.data(), nullptr, nullptr);
    const auto at = [&](std::int64_t i, std::int64_t j) { return number_at(bytes.data(), bfloat16, i * 3 + j); };
    for (int j = 0; j < 3; ++j) EXPECT_TRUE(std::isnan(at(0, j))) << j;
    EXPECT_EQ(at(1, 0), inf);
    EXPECT_TRUE(std::isnan(at(1, 1))) << "infinity by 0";
    EXPECT_TRUE(std::isnan(at(2, 0)));
    EXPECT_EQ(at(3, 0), inf) << "beyond the greatest number";
    EXPECT_NEAR(at(4, 1), 39, 0.5);
  }
}

TEST_F(OneDnnProductsOnCpu, OfInt8AreExact) {
  const auto multiplies = engine();
  for (int round = 0; round < 60; ++round) {
    MatrixProduct p = random_product(int8, int32, round % 10 == 9);
    if (round % 10 == 8) p.m = p.n = 3, p.k = 140000, p.batches = 1, p.a = {p.k, 1}, p.b = {3, 1}, p.c = {3, 1};  // beyond 2^31, which wraps
    const int greatest = round % 3 == 0 ? 127 : 0;
    const auto make = [&] { return greatest ? (pick(0, 9) ? greatest : -128) : pick(-128, 127); };
    const auto a = values<std::int8_t>(reach(p.a, p.m, p.k, p.batches), make), b = values<std::int8_t>(reach(p.b, p.k, p.n, p.batches), make);
    const auto prepared = multiplies->prepare(p);
    if (!prepared) GTEST_SKIP() << "needs a CPU with instructions for int8";
    const std::vector<std::byte> bytes = run_product(*prepared, p, a.data(), b.data(), nullptr, nullptr);
    for (std::int64_t batch = 0; batch < p.batches; ++batch) {
      for (std::int64_t i = 0; i < p.m; ++i) {
        for (std::int64_t j = 0; j < p.n; ++j) {
          std::int64_t sum = 0;
          for (std::int64_t l = 0; l < p.k; ++l) {
            sum += std::int64_t{a[static_cast<std::size_t>(batch * p.a.batch + i * p.a.row + l * p.a.column)]} *
                   b[static_cast<std::size_t>(batch * p.b.batch + l * p.b.row + j * p.b.column)];
          }
          const std::int32_t got = reinterpret_cast<const std::int32_t*>(bytes.data())[batch * p.c.batch + i * p.c.row + j];
          ASSERT_EQ(got, static_cast<std::int32_t>(sum)) << p.m << " x " << p.n << " x " << p.k << ", batch " << batch << " (" << i << ", " << j << ")";
        }
      }
    }
  }
}

TEST_F(OneDnnProductsOnCpu, HaveTheSameBitsOnAnyNumberOfThreads) {
  for (const int scale : {0, -100}) {
    MatrixProduct p{.operands = bfloat16, .result = float32, .m = 700, .n = 530, .k = 300, .a = {300, 1}, .b = {530, 1}, .c = {530, 1}};
    const auto make = [&] { return std::ldexp(noise(), scale); };
    const OneDnnOperands given = operands_of(p, make, make);
    const auto on = [&](int threads) { return run_product(*engine(threads)->prepare(p), p, given.a.data(), given.b.data(), nullptr, nullptr); };
    const std::vector<std::byte> one = on(1);
    for (const int threads : {2, 3, 16}) EXPECT_TRUE(on(threads) == one) << threads;
  }
}

TEST_F(OneDnnProductsOnCpu, ThatItDoesNotTakeAreNull) {
  const auto multiplies = engine();
  const MatrixProduct p{.operands = bfloat16, .result = bfloat16, .m = 3, .n = 4, .k = 5, .a = {5, 1}, .b = {4, 1}, .c = {4, 1}};
  const auto with = [&](auto change) {
    MatrixProduct changed = p;
    change(changed);
    return multiplies->prepare(changed);
  };
  EXPECT_TRUE(multiplies->prepare(p));
  EXPECT_FALSE(with([](MatrixProduct& q) { q.operands = q.result = float32; }));
  EXPECT_FALSE(with([](MatrixProduct& q) { q.operands = q.result = float16; }));
  EXPECT_FALSE(with([](MatrixProduct& q) { q.result = float16; }));
  EXPECT_FALSE(with([](MatrixProduct& q) { q.operands = int8; }));
  EXPECT_FALSE(with([](MatrixProduct& q) { q.operands = int8, q.result = int32, q.alpha = 2; }));
  EXPECT_FALSE(with([](MatrixProduct& q) { q.operands = int8, q.result = int8; }));
  EXPECT_FALSE(with([](MatrixProduct& q) { q.activation = Activation::kGeluTanh; }));
  EXPECT_FALSE(with([](MatrixProduct& q) { q.a.row = 2; })) << "rows that overlap";
  EXPECT_FALSE(with([](MatrixProduct& q) { q.m = 0; }));
  EXPECT_FALSE(with([](MatrixProduct& q) { q.k = 0; }));
}

MatrixProduct square(std::int64_t n) { return {.operands = bfloat16, .result = float32, .m = n, .n = n, .k = n, .a = {n, 1}, .b = {n, 1}, .c = {n, 1}}; }

/// Multiplies on one thread of Damo's with OpenMP's number of threads set to 5: 0 if no thread was started and it still is 5. In a process of its own, as
/// oneTBB's threads of other tests come and go.
int threads_left_alone(MatrixEngine& multiplies) {
  const auto set = reinterpret_cast<void (*)(int)>(dlsym(dlopen("libgomp.so.1", RTLD_NOW), "omp_set_num_threads"));
  const auto get = reinterpret_cast<int (*)()>(dlsym(dlopen("libgomp.so.1", RTLD_NOW), "omp_get_max_threads"));
  const auto threads = [] { return std::distance(std::filesystem::directory_iterator("/proc/self/task"), std::filesystem::directory_iterator()); };
  set(5);
  const auto before = threads();
  const MatrixProduct p = square(600);
  const std::vector<BFloat16> a(360000, BFloat16(1.0f));
  run_product(*multiplies.prepare(p), p, a.data(), a.data(), nullptr, nullptr);
  MatrixProduct of_int8 = p;
  of_int8.operands = int8, of_int8.result = int32;
  const std::vector<std::int8_t> bytes(360000, 1);
  if (const auto prepared = multiplies.prepare(of_int8)) run_product(*prepared, of_int8, bytes.data(), bytes.data(), nullptr, nullptr);
  if (threads() != before) return 1;
  return get() == 5 ? 0 : 2;
}

TEST_F(OneDnnProductsOnCpu, StartNoThreadsAndLeaveTheProgramsNumberOfThem) {
  if (!dlopen("libgomp.so.1", RTLD_NOW | RTLD_NOLOAD)) GTEST_SKIP() << "needs a oneDNN with GNU's OpenMP";
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(std::exit(threads_left_alone(*engine(1))), ::testing::ExitedWithCode(0), "");
}

TEST_F(OneDnnProductsOnCpu, RunInAChildOfAProcessThatMultiplied) {
  const auto multiplies = engine(3);
  const MatrixProduct p = square(600);
  const std::vector<BFloat16> a(360000, BFloat16(1.0f));
  const auto prepared = multiplies->prepare(p);
  const std::vector<std::byte> want = run_product(*prepared, p, a.data(), a.data(), nullptr, nullptr);
  const int status = damo::testing::in_child([&] {
    alarm(60);
    if (run_product(*prepared, p, a.data(), a.data(), nullptr, nullptr) != want) return 1;
    return run_product(*multiplies->prepare(p), p, a.data(), a.data(), nullptr, nullptr) == want ? 0 : 2;
  });
  EXPECT_EQ(status, 0);
}

TEST_F(OneDnnProductsOnCpu, RunFromSeveralThreadsAtATime) {
  const auto multiplies = engine(2);
  const MatrixProduct p = square(300);
  const auto make = [&] { return noise(); };
  const OneDnnOperands given = operands_of(p, make, make);
  const auto prepared = multiplies->prepare(p);
  const std::vector<std::byte> want = run_product(*prepared, p, given.a.data(), given.b.data(), nullptr, nullptr);
  std::vector<int> wrong(4, 0);
  std::vector<std::thread> callers;
  for (int& count : wrong) {
    callers.emplace_back([&] {
      for (int i = 0; i < 10; ++i) count += run_product(*prepared, p, given.a.data(), given.b.data(), nullptr, nullptr) != want;
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_THAT(wrong, ::testing::Each(0));
}

}  // namespace
}  // namespace damo::cpu_backend
