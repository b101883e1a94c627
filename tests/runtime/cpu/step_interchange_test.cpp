// Loops that go by the whole grid or block: each step of all threads, and then the next.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "runtime/cpu/compile_support.hpp"

namespace damo::cpu_backend::testing {
namespace {

TEST(GridStride, RunsWithAtomics) {
  const auto object = load(compile_cuda(R"(
__global__ void total(const float* x, float* sum, int* count, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    atomicAdd(sum, x[i]);
    atomicAdd(count, 1);
    atomicMax(count + 1, i);
  }
})"));
  const std::vector<float> x(1000, 0.5f);
  float sum = 0;
  int count[2] = {0, 0};
  int* counts = count;
  launch(object->kernel("total"), {3}, {32}, x.data(), &sum, counts, 1000);
  EXPECT_EQ(sum, 500.0f);
  EXPECT_EQ(count[0], 1000);
  EXPECT_EQ(count[1], 999);
}

TEST(GridStride, RunsContiguously) {
  const auto object = load(compile_cuda(R"(
__global__ void scale(const float* x, float* y, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) y[i] += 2.0f * x[i];
}
__global__ void wide(const float* x, float* y, size_t n) {
  for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) y[i] += 2.0f * x[i];
}
__global__ void while_style(const float* x, float* y, unsigned n) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned step = gridDim.x * blockDim.x;
  while (i < n) { if (x[i] > 0.0f) y[i] += 2.0f * x[i]; i += step; }
}
__global__ void carried(const float* x, float* y, int n) {  // a value goes from step to step
  float last = 0.0f;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) { y[i] += x[i] + (x[i] - last) + last; last = x[i]; }
}
__global__ void leaves(const float* x, float* y, int n) {  // leaves early, never here
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) { if (x[i] < 0.0f) return; y[i] += 2.0f * x[i]; }
})"));
  const auto x = counting(10007);
  for (const char* name : {"scale", "wide", "while_style", "carried", "leaves"}) {
    for (const Extent block : {Extent{1}, Extent{32}, Extent{256}, Extent{100}}) {
      for (const Extent grid : {Extent{1}, Extent{3}, Extent{200}}) {
        for (const std::size_t n : {std::size_t{0}, std::size_t{5}, std::size_t{10007}}) {
          std::vector<float> y(10007, 1.0f);
          launch(object->kernel(name), grid, block, x.data(), y.data(), n);  // n is read as 4 or 8 bytes
          for (std::size_t i = 0; i < y.size(); ++i) ASSERT_EQ(y[i], i < n ? 1.0f + 2.0f * x[i] : 1.0f) << name << ' ' << i;
        }
      }
    }
  }
  std::vector<float> y(10007);
  for (const char* name : {"scale", "wide", "while_style", "carried"}) {
    const double time = least_milliseconds(20, [&] { launch(object->kernel(name), {16}, {256}, x.data(), y.data(), std::size_t{10007}); });
    std::printf("[ figure ] grid-stride loop '%s', <<<16, 256>>>: %.2f ns an element\n", name, time * 1e6 / 10007);
  }
}

TEST(GridStride, GoesOnWithSumsWhereAGuardInAStepFails) {
  const auto object = load(compile_cuda(R"(
__global__ void strided(int* sums, const int* x, int* y, int m, int n) {
  int s = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) { s += x[i]; if (i < m) y[i] += 1; }
  sums[blockIdx.x * blockDim.x + threadIdx.x] = s;
}
__global__ void shared(int* sums, const int* x, int* y, int m, int n) {
  const int c = blockIdx.x * blockDim.x + threadIdx.x;
  int s = 0;
  for (int k = 0; k < n; ++k) { s += x[k]; if (c < m) y[c] += 1; }
  sums[c] = s;
})"));
  constexpr int kThreads = 128;
  std::vector<int> x(1000);
  std::iota(x.begin(), x.end(), 1);
  for (const int m : {0, 20, 100, 128, 500}) {
    std::vector<int> sums(kThreads), y(1000), expected(kThreads), touched(1000);
    for (int i = 0; i < 1000; ++i) expected[i % kThreads] += x[i], touched[i] = i < m ? 1 : 0;
    launch(object->kernel("strided"), {2}, {64}, sums.data(), x.data(), y.data(), m, 1000);
    EXPECT_EQ(sums, expected) << m;
    EXPECT_EQ(y, touched) << m;
    launch(object->kernel("shared"), {2}, {64}, sums.data(), x.data(), y.data(), m, 1000);
    EXPECT_EQ(sums, std::vector<int>(kThreads, 500500)) << m;
  }
}

TEST(GridStride, GoesNearlyToTheEndOfItsIndexType) {
  const auto object = load(compile_cuda(R"(
__global__ void as_int(int* visits, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) visits[(i >> 30) * 4096 + (i & 4095)] += 1;
}
__global__ void as_unsigned(int* visits, unsigned n) {
  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) visits[(i >> 30) * 4096 + (i & 4095)] += 1;
}
__global__ void to_memory(int* visits, unsigned n) {
  visits[4096 * 4] = n;
  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < (unsigned)visits[4096 * 4]; i += gridDim.x * blockDim.x) visits[(i >> 30) * 4096 + (i & 4095)] += 1;
})"));
  // 2^30 threads, or nearly: one step more would reach the end of an int, or of an unsigned. Two of the blocks run.
  const std::uint32_t blocks = 1u << 20;
  const LaunchFrame frame{{blocks, 1, 1}, {1023, 1, 1}, 0, 0, nullptr};
  const auto visits_of = [&](const char* name, std::uint32_t n) {
    std::vector<int> visits(4096 * 4 + 1, 0), sums;
    int* counts = visits.data();
    const void* arguments[] = {&counts, &n};
    object->kernel(name)(const_cast<void* const*>(arguments), &frame, blocks - 2, blocks);
    for (int part = 0; part < 4; ++part) sums.push_back(std::accumulate(counts + part * 4096, counts + (part + 1) * 4096, 0));
    return sums;
  };
  EXPECT_EQ(visits_of("as_int", 0x60000000u), (std::vector<int>{2046, 0, 0, 0}));
  EXPECT_EQ(visits_of("as_unsigned", 0xc0000000u), (std::vector<int>{2046, 2046, 2046, 0}));
  EXPECT_EQ(visits_of("to_memory", 0xc0000000u), (std::vector<int>{2046, 2046, 2046, 0}));
}

TEST(GridStride, CountsOnPastTheGreatestSignedNumber) {
  const auto object = load(compile_cuda(R"(
__global__ void wide(int* y, long n) { for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; (long)i < n; i += gridDim.x * blockDim.x) y[(long)i / 1048576 + (i & 1023)] += (int)(i % 1048576u); }
__global__ void narrow(int* y, unsigned n) { for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) y[i / 1048576u + (i & 1023)] += (int)(i % 1048576u); })"));
  // Block 1 alone of 2^20, so that a step goes 2^30 on. Each thread has elements of its own.
  const LaunchFrame frame{{1u << 20, 1, 1}, {1024, 1, 1}, 0, 0, nullptr, nullptr};
  const std::int64_t n = std::int64_t{3} << 30;
  const auto narrow_n = static_cast<unsigned>(n);
  for (const std::string name : {"wide", "narrow"}) {
    std::vector<int> y(4096), expected(4096);
    for (const int step : {0, 1, 2}) std::iota(&expected[1024 * step], &expected[1024 * step] + 1024, 1024);
    int* const to = y.data();
    const void* const bound = name == "wide" ? static_cast<const void*>(&n) : &narrow_n;
    const void* pointers[] = {&to, bound, nullptr};
    object->kernel(name)(const_cast<void* const*>(pointers), &frame, 1, 2);
    EXPECT_EQ(y, expected) << name;
  }
}

}  // namespace
}  // namespace damo::cpu_backend::testing
