// Guards of threads of several elements each, and the order of one thread's accesses.
#include <algorithm>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "runtime/cpu/host_kernel.hpp"
#include "runtime/cpu/row_launches.hpp"

namespace damo::cpu_backend::testing {

TEST(GuardedThreads, GiveAThreadSeveralElements) {
  const auto object = load(compile_cuda(R"(
#define I int i = (blockIdx.x * blockDim.x + threadIdx.x) * 4
__global__ void four(const float* x, float* y, int n) {
  I;
  if (i + 3 < n) { y[i] += x[i]; y[i + 1] += x[i + 1]; y[i + 2] += x[i + 2]; y[i + 3] += x[i + 3]; }
  else for (; i < n; ++i) y[i] += x[i];
}
__global__ void each(const float* x, float* y, int n) { I; for (int k = 0; k < 4; ++k) if (i + k < n) y[i + k] += x[i + k]; }
__global__ void both(const float* x, float* y, int n) { I; for (int k = 0; k < 4 && i + k <= n - 1; ++k) y[i + k] += x[i + k]; }
__global__ void back(const float* x, float* y, int n) { I; for (int k = 3; k >= 0; --k) { if (i + k >= n) continue; y[i + k] += x[i + k]; } }
__global__ void wide(const float* x, float* y, int n) {
  size_t i = ((size_t)blockIdx.x * blockDim.x + threadIdx.x) * 4;
  for (int k = 0; k < 4; ++k) if (i + k < (size_t)n) y[i + k] += x[i + k];
}
__global__ void vectors(const float* x, float* y, int n) {
  I;
  if (i + 3 < n) {
    float4 v = *(const float4*)(x + i), w = *(float4*)(y + i);
    *(float4*)(y + i) = make_float4(v.x + w.x, v.y + w.y, v.z + w.z, v.w + w.w);
  } else for (; i < n; ++i) y[i] += x[i];
}
__global__ void apart(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x * 4 + threadIdx.x;
  for (int k = 0; k < 4; ++k) { int j = i + k * blockDim.x; if (j < n) y[j] += x[j]; }
})"));
  for (const char* name : {"four", "each", "both", "back", "wide", "vectors", "apart"}) {
    for (const std::uint32_t block : {256u, 17u, 1u}) {
      for (const int n : {0, 1, 3, 4, 7, 64, 333, 1000, 1023, 1024}) {
        for (const std::int64_t share : {std::int64_t{3}, std::int64_t{1} << 40}) {
          const auto x = numbers(n + 1);
          alignas(16) float y[1040];
          std::fill(std::begin(y), std::end(y), 1.0f);
          const std::uint32_t grid = covering(n, 4 * block) + 1;
          launch_in_shares(object->kernel(name), {grid}, {block}, std::min<std::int64_t>(share, grid), x.data(), &y[0], n);
          for (int i = 0; i < 1040; ++i) ASSERT_EQ(y[i], i < n ? 1.0f + x[i] : 1.0f) << name << ' ' << i << " of " << n << ", block " << block;
        }
      }
    }
  }
}

TEST(GuardedThreads, KeepTheOrderOfOneThreadsElements) {
  // x and y are one array: what a thread reads, it wrote just before.
  const auto object = load(compile_cuda(R"(
#define I int i = blockIdx.x * blockDim.x + threadIdx.x
__global__ void guarded(const float* x, float* y, int n) { I; i *= 2; if (i + 1 < n) { y[i + 1] = x[i] + 1; y[i] = x[i + 1] * 2; } }
__global__ void bounded(const float* x, float* y, int n) { I; if (i < n / 2) { y[2 * i + 1] = x[2 * i] + 1; y[2 * i] = x[2 * i + 1] * 2; } }
struct Pair { float first, second; };
__global__ void pairs(const Pair* x, Pair* y, int n) { I; if (i < n / 2) { y[i].second = x[i].first + 1; y[i].first = x[i].second * 2; } }
__global__ void counted(const float* x, float* y, int n) {
  I;
  if (i < n / 2) for (int k = 0; k < 2; ++k) y[2 * i + 1 - k] = x[2 * i + k] * (k + 1) + 1 - k;
})"));
  for (const char* name : {"guarded", "bounded", "pairs", "counted"}) {
    constexpr int n = 1000;
    auto both = numbers(n);
    auto expected = both;
    for (int i = 0; i < n; i += 2) {
      expected[i + 1] = expected[i] + 1;
      expected[i] = expected[i + 1] * 2;
    }
    launch(object->kernel(name), {8}, {64}, both.data(), both.data(), n);
    ASSERT_EQ(both, expected) << name;
  }
}

TEST(GuardedThreads, AskThreadsWhoseIndexGoesRound) {
  const auto object = load(compile_cuda(R"(
__global__ void positive(int* y, unsigned n) { unsigned g = blockIdx.x * blockDim.x + threadIdx.x, i = 4 * g + 0xffffff00u; if (i < n) y[g] = i + 1; }
__global__ void with_sign(int* y, unsigned n) { unsigned g = blockIdx.x * blockDim.x + threadIdx.x; int i = 4 * g + 0x7fffff00u; if (i < (int)n) y[g] = i + 1; }
__global__ void negative(int* y, unsigned n) { unsigned g = blockIdx.x * blockDim.x + threadIdx.x; int i = 4 * (int)g - 100; if (i < n) y[g] = i + 1; }
)"));
  for (const unsigned n : {0u, 100u, 2000000000u, 4294967295u}) {
    std::vector<int> y(256);
    const auto run = [&](const char* name, auto index) {
      std::fill(y.begin(), y.end(), 7);
      launch(object->kernel(name), {4}, {64}, y.data(), n);
      for (unsigned g = 0; g < 256; ++g) {
        const auto i = index(g);
        const bool passes = std::is_signed_v<decltype(i)> && std::string(name) == "with_sign" ? static_cast<int>(i) < static_cast<int>(n) : static_cast<unsigned>(i) < n;
        ASSERT_EQ(y[g], passes ? static_cast<int>(static_cast<unsigned>(i) + 1u) : 7) << name << ' ' << g << " of " << n;
      }
    };
    run("positive", [](unsigned g) { return 4 * g + 0xffffff00u; });
    run("with_sign", [](unsigned g) { return static_cast<int>(4 * g + 0x7fffff00u); });
    run("negative", [](unsigned g) { return static_cast<int>(4 * g) - 100; });
  }
}

TEST(GuardedThreads, EndWhereWhatTheyCompareDoesHoweverItIsWritten) {
  expect_as_on_host(
      {DAMO_KERNEL(sign_extended, const int j = 4 * i - 100; if ((unsigned long)j < (unsigned long)(long)n) y[i] += j;),
       DAMO_KERNEL(zero_extended, const unsigned j = 4u * i + m; if ((long)j < n) y[i] += j;), DAMO_KERNEL(wide, const long j = 4l * i - 7; if (j < n) y[i] += int(j);),
       DAMO_KERNEL(wide_unsigned, const unsigned long j = 4ul * i - 7; if (j < (unsigned long)(long)n) y[i] += int(j);),
       DAMO_KERNEL(returns, const int j = 3 * i - m; if (j > n) return; y[i] += j;), DAMO_KERNEL(between, if (2 * i + 1 >= m && 2 * i + 1 < n) y[2 * i + 1] += 1;),
       DAMO_KERNEL(known_size, const int c = blockIdx.x * 16 + threadIdx.x; if (c < n) atomicAdd(&y[c], 1);),
       DAMO_KERNEL(goes_round, const unsigned j = 0xfffffff0u + 2u * i; if (j < unsigned(n)) y[i] += 1;),
       DAMO_KERNEL(goes_round_signed, const int j = int(0x7fffffe0u + 2u * i); if (j < n) y[i] += 1;), DAMO_KERNEL(or_equal, if (4 * i <= n) y[i] += 1;),
       DAMO_KERNEL(two_of_them, if (2 * i + 1 < n) { if (3 * i < m * 8) y[i] += 1; }), DAMO_KERNEL(falls, if (n - 2 * i > m) y[i] += 1;),
       DAMO_KERNEL(not_zero, if (2 * i - m != 0) y[i] += 1;), DAMO_KERNEL(shifted, if ((i << 2) + 3 < n) { y[4 * i] += 1; y[4 * i + 3] += 2; }),
       DAMO_KERNEL(by_parameter, if (i * m < n) y[i] += 1;), DAMO_KERNEL(halved, if (i / 2 < n) y[i] += 1;)},
      {{{4}, {32}, 50, 5}, {{3}, {7}, 0, 0}, {{2}, {64}, -3, -9}, {{5}, {16}, 100000, 20}, {{1}, {1}, 1, 1}, {{4}, {32}, 2147483647, 3}}, 4096);
}

}  // namespace damo::cpu_backend::testing
