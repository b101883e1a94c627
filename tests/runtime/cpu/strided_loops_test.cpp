// Loops in which a block's or a warp's threads go through an array side by side, in kernels with barriers: the values that CUDA gives,
// by formula and as coroutines give, and that they read neighbours.
#include <cstdint>
#include <cstdio>
#include <limits>

#include "runtime/cpu/both_forms.hpp"

namespace damo::cpu_backend::testing {
namespace {

/// What a thread adds up that begins there: order matters.
std::uint32_t folded(const std::vector<std::uint32_t>& x, std::uint64_t begin, std::uint64_t end, std::uint64_t step) {
  std::uint32_t sum = 0;
  for (std::uint64_t i = begin; i < end; i += step) sum = sum * 3 + x[i];
  return sum;
}

TEST(StridedLoops, FoldWhatEachThreadOfTheBlockMeets) {
  const BothForms forms(R"(
typedef unsigned u;
__global__ void plain(u* y, const u* x, int n) { u s = 0; for (int i = threadIdx.x; i < n; i += blockDim.x) s = s * 3 + x[i]; __syncthreads(); y[threadIdx.x] = s; }
__global__ void last(u* y, const u* x, int n) { u s = 0; for (u i = threadIdx.x; i <= u(n) - 1; i += blockDim.x) s = s * 3 + x[i]; __syncthreads(); y[threadIdx.x] = s; }
__global__ void wide(u* y, const u* x, int n) { u s = 0; for (size_t i = threadIdx.x; n > (long)i; i += blockDim.x) s = s * 3 + x[i]; __syncthreads(); y[threadIdx.x] = s; }
__global__ void behind(u* y, const u* x, int n) { u s = 0; int i = threadIdx.x; for (; i < n; i += blockDim.x) s = s * 3 + x[i]; __syncthreads(); y[threadIdx.x] = s + u(i); }
__global__ void twice(u* y, const u* x, int n) { u s = 0; for (int r = 0; r < 2; ++r) { for (int i = threadIdx.x; i < n; i += blockDim.x) s = s * 3 + x[i]; __syncthreads(); } y[threadIdx.x] = s; }
)");
  const auto x = hashed(3000);
  for (const unsigned block : {1u, 31u, 64u, 256u}) {
    for (const int n : {1, 30, 255, 256, 257, 3000}) {
      for (const char* kernel : {"plain", "last", "wide", "behind", "twice"}) {
        const auto y = forms.run(kernel, {1}, {block}, std::vector<std::uint32_t>(block, 7), x.data(), n);
        for (unsigned t = 0; t < block; ++t) {
          const auto end = static_cast<unsigned>(n);
          std::uint32_t wanted = folded(x, t, end, block);
          if (kernel == std::string("behind")) wanted += t < end ? t + (end - t + block - 1) / block * block : t;
          if (kernel == std::string("twice")) {
            for (std::uint64_t i = t; i < end; i += block) wanted = wanted * 3 + x[i];
          }
          ASSERT_EQ(y[t], wanted) << kernel << ", block " << block << ", n " << n << ", thread " << t;
        }
      }
    }
  }
}

/// The same in C++: of thread t, where i has type I and is compared as C. x[0] is element -16.
template <class I, class C, class Begin = std::uint32_t>
std::uint32_t folded_from(const std::vector<std::uint32_t>& x, std::uint32_t t, std::uint32_t from, int n, std::uint32_t block) {
  std::uint32_t sum = 0;
  for (I i = static_cast<I>(static_cast<Begin>(t + from)); static_cast<C>(i) < static_cast<C>(n); i += static_cast<I>(block)) sum = sum * 3 + x[static_cast<std::size_t>(static_cast<std::int64_t>(i) + 16)];
  return sum;
}

// threadIdx.x + from passes the end of its type within a block: the threads before do not begin beside those behind.
TEST(StridedLoops, BeginWhereTheSumSaysThoughItWraps) {
  const BothForms forms(R"(
typedef unsigned u;
#define FOLD(name, I, begin, test) \
  __global__ void name(u* y, const u* x, u from, int n) { u s = 0; for (I i = begin; test; i += blockDim.x) s = s * 3 + x[(long)i + 16]; __syncthreads(); y[threadIdx.x] = s; }
FOLD(wide, unsigned long, threadIdx.x + from, i < (unsigned long)n)
FOLD(huge, unsigned long, int(threadIdx.x + from), i < (unsigned long)n)
FOLD(wide_of_signed, long, int(threadIdx.x + from), i < n)
FOLD(narrow, u, threadIdx.x + from, i < u(n))
FOLD(widened, u, threadIdx.x + from, (long)i < (long)n)
FOLD(plain, int, threadIdx.x + from, i < n)
FOLD(sized, int, threadIdx.x + from, (size_t)i < (size_t)n)
)");
  const auto x = hashed(1000);
  for (const std::uint32_t block : {7u, 64u}) {
    for (const std::uint32_t from : {0u, 3u, ~4u, ~15u, 0x7ffffffau, 0x80000000u}) {
      for (const int n : {0, 1, 900}) {
        const auto expect = [&](const char* kernel, const auto& reference) {
          const auto y = forms.run(kernel, {1}, {block}, std::vector<std::uint32_t>(block, 7), x.data(), from, n);
          for (std::uint32_t t = 0; t < block; ++t) ASSERT_EQ(y[t], reference(x, t, from, n, block)) << kernel << ", block " << block << ", from " << from << ", n " << n << ", thread " << t;
        };
        expect("wide", folded_from<std::uint64_t, std::uint64_t>);
        expect("huge", folded_from<std::uint64_t, std::uint64_t, std::int32_t>);
        expect("narrow", folded_from<std::uint32_t, std::uint32_t>);
        expect("widened", folded_from<std::uint32_t, std::int64_t>);
        expect("sized", folded_from<std::int32_t, std::uint64_t>);
        if (from >> 30 == 1 || from >> 30 == 2) continue;  // signed, those would begin far in front of x
        expect("wide_of_signed", folded_from<std::int64_t, std::int64_t, std::int32_t>);
        expect("plain", folded_from<std::int32_t, std::int32_t>);
      }
    }
  }
}

TEST(StridedLoops, FoldWhatEachLaneMeetsWhateverTheShapeOfBlocks) {
  const BothForms forms(R"(
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
typedef unsigned u;
__global__ void rows(u* y, const u* x, int n, int rows) {
  auto warp = cg::tiled_partition<32>(cg::this_thread_block());
  const int row = blockIdx.x * warp.meta_group_size() + warp.meta_group_rank();
  if (row >= rows) return;
  u s = 0;
  for (int i = warp.thread_rank(); i < n; i += warp.size()) s = s * 3 + x[row * n + i];
  for (int o = 16; o > 0; o /= 2) s += __shfl_xor_sync(~0u, s, o);
  for (int i = warp.thread_rank(); i < n; i += 32) y[row * n + i] = s ^ x[row * n + i];
}
__global__ void on_x(u* y, const u* x, int n, int rows) {
  const int lane = threadIdx.x % 32, row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
  u s = 0;
  if (row < rows) for (int i = lane; i < n; i += 32) s = s * 3 + x[row * n + i];
  for (int o = 16; o > 0; o /= 2) s += __shfl_xor_sync(~0u, s, o);
  if (row < rows) for (int i = lane; i < n; i += 32) y[row * n + i] = s ^ x[row * n + i];
}
)");
  constexpr int kRows = 9;
  for (const int n : {1, 31, 33, 100, 256}) {
    const auto x = hashed(static_cast<std::size_t>(n) * kRows);
    std::vector<std::uint32_t> wanted(x.size());
    for (int row = 0; row < kRows; ++row) {
      const std::vector<std::uint32_t> own(x.begin() + row * n, x.begin() + (row + 1) * n);
      std::uint32_t sum = 0;
      for (unsigned lane = 0; lane < 32; ++lane) sum += folded(own, lane, own.size(), 32);
      for (int i = 0; i < n; ++i) wanted[static_cast<std::size_t>(row * n + i)] = sum ^ own[static_cast<std::size_t>(i)];
    }
    for (const Extent block : {Extent{32}, Extent{64}, Extent{256}, Extent{32, 4}, Extent{16, 8}, Extent{8, 4, 4}, Extent{24, 4}}) {
      const unsigned warps = block.x * block.y * block.z / 32;
      EXPECT_EQ(forms.run("rows", {(kRows + warps - 1) / warps}, block, std::vector<std::uint32_t>(x.size()), x.data(), n, kRows), wanted) << n << ", block of " << block.x << " x " << block.y << " x " << block.z;
      if (block.x == 32 * warps) EXPECT_EQ(forms.run("on_x", {(kRows + warps - 1) / warps}, block, std::vector<std::uint32_t>(x.size()), x.data(), n, kRows), wanted) << n << ", block of " << block.x;
    }
  }
}

// A thread that takes no part in a round counts it all the same.
TEST(StridedLoops, EndWhereABranchKeepsThreadsOffAndOthersTakeFewerRounds) {
  const BothForms forms(R"(
typedef unsigned u;
#define KERNEL(NAME, BRANCH) \
__global__ void NAME(u* y, const u* x, int n) { \
  const u t = threadIdx.x; \
  u s = 5; \
  __syncthreads(); \
  if (BRANCH) for (u i = t % 32; i < u(n); i += 32) s = s * 3 + x[i]; \
  y[t] = s; \
}
KERNEL(of_first, t < 40)
KERNEL(of_warp, t / 32 == 1)
KERNEL(of_even, x[t] % 2 == 0)
)");
  const auto x = hashed(100);
  for (const unsigned block : {1u, 3u, 40u, 64u, 96u}) {
    for (const int n : {0, 1, 2, 31, 33, 100}) {
      const auto run = [&](const char* name) { return forms.run(name, {1}, {block}, std::vector<std::uint32_t>(block), x.data(), n); };
      const auto first = run("of_first"), warp = run("of_warp"), even = run("of_even");
      for (unsigned t = 0; t < block; ++t) {
        std::uint32_t sum = 5;
        for (unsigned i = t % 32; i < static_cast<unsigned>(n); i += 32) sum = sum * 3 + x[i];
        EXPECT_EQ(first[t], t < 40 ? sum : 5) << "block " << block << ", n " << n << ", thread " << t;
        EXPECT_EQ(warp[t], t / 32 == 1 ? sum : 5) << "block " << block << ", n " << n << ", thread " << t;
        EXPECT_EQ(even[t], x[t] % 2 == 0 ? sum : 5) << "block " << block << ", n " << n << ", thread " << t;
      }
    }
  }
}

// The distance may be anything, bounds may differ by thread, and indices may come near the end of their type.
TEST(StridedLoops, StayAsTheyWereWhereRoundsWouldNotBeTheSame) {
  const BothForms forms(R"(
typedef unsigned u;
__global__ void own_bound(u* y, const u* x, int n) { u s = 0; for (int i = threadIdx.x; i < n - int(threadIdx.x % 5); i += blockDim.x) s = s * 3 + x[i]; __syncthreads(); y[threadIdx.x] = s; }
__global__ void distance(u* y, const u* x, int n, int step) { u s = 0; for (int i = threadIdx.x; i < n; i += step) s = s * 3 + x[i]; __syncthreads(); y[threadIdx.x] = s; }
__global__ void backwards(u* y, const u* x, int n, int step) { u s = 0; int rounds = 0; for (int i = threadIdx.x; i < n && rounds < 5; i += step, ++rounds) s = s * 3 + x[i < 0 ? 0 : i]; __syncthreads(); y[threadIdx.x] = s; }
__global__ void far(u* y, const u* x, u base, u n) { u s = 0, rounds = 0; for (u i = threadIdx.x + base; i < n; i += blockDim.x) s += x[i - base], ++rounds; __syncthreads(); y[threadIdx.x] = s + rounds; }
__global__ void leaves(u* y, const u* x, int n) { u s = 0; for (int i = threadIdx.x; i < n; i += blockDim.x) { if (x[i] % 7 == 3) break; s = s * 3 + x[i]; } __syncthreads(); y[threadIdx.x] = s; }
)");
  const auto x = hashed(1000);
  constexpr unsigned kBlock = 64;
  const std::vector<std::uint32_t> y(kBlock);
  for (const int n : {0, 3, 64, 999}) {
    const auto own = forms.run("own_bound", {1}, {kBlock}, y, x.data(), n);
    for (unsigned t = 0; t < kBlock; ++t) ASSERT_EQ(own[t], n > int(t % 5) ? folded(x, t, static_cast<unsigned>(n) - t % 5, kBlock) : 0) << n << ' ' << t;
    for (const int step : {1, 17, 64, 5000}) {
      const auto far = forms.run("distance", {1}, {kBlock}, y, x.data(), n, step);
      for (unsigned t = 0; t < kBlock; ++t) ASSERT_EQ(far[t], folded(x, t, static_cast<unsigned>(n), static_cast<unsigned>(step))) << n << ' ' << step << ' ' << t;
    }
    const auto left = forms.run("leaves", {1}, {kBlock}, y, x.data(), n);
    for (unsigned t = 0; t < kBlock; ++t) {
      std::uint32_t sum = 0;
      for (unsigned i = t; i < static_cast<unsigned>(n) && x[i] % 7 != 3; i += kBlock) sum = sum * 3 + x[i];
      ASSERT_EQ(left[t], sum) << n << ' ' << t;
    }
  }
  const auto back = forms.run("backwards", {1}, {kBlock}, y, x.data(), 100, -16);
  for (unsigned t = 0; t < kBlock; ++t) {
    std::uint32_t sum = 0;
    for (int i = static_cast<int>(t), rounds = 0; rounds < 5; i -= 16, ++rounds) sum = sum * 3 + x[i < 0 ? 0 : static_cast<std::size_t>(i)];
    ASSERT_EQ(back[t], sum) << t;
  }
  // The last index before the bound is 64 below 2^32, so the next one has passed the end of the type; and the signed bound's twin.
  constexpr std::uint32_t kMost = std::numeric_limits<std::uint32_t>::max();
  for (const std::uint32_t base : {kMost - 200, 0x7fffff80u}) {
    const std::uint32_t end = base + 137;
    const auto far = forms.run("far", {1}, {kBlock}, y, x.data(), base, end);
    for (unsigned t = 0; t < kBlock; ++t) {
      std::uint32_t sum = 0;
      for (unsigned i = t; i < 137; i += kBlock) sum += x[i] + 1;
      ASSERT_EQ(far[t], sum) << base << ' ' << t;
    }
  }
}

TEST(StridedLoops, ReadNeighbours) {
  const auto object = load(compile_cuda(R"(
__global__ void flat(const float* x, float* y, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] = 2.0f * x[i]; }
__global__ void by_block(const float* x, float* y, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) y[blockIdx.x * n + i] = 2.0f * x[blockIdx.x * n + i];
  __syncthreads();
  if (threadIdx.x == 0) y[blockIdx.x * n] += 1.0f;
}
__global__ void by_warp(const float* x, float* y, int n) {
  const int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
  for (int i = threadIdx.x % 32; i < n; i += 32) y[row * n + i] = 2.0f * x[row * n + i];
  __syncwarp();
  if (threadIdx.x % 32 == 0) y[row * n] += 1.0f;
}
)"));
  constexpr int kAll = 1 << 14, kRow = 1 << 10;
  std::vector<float> x(kAll, 1.0f), y(kAll);
  const auto time_of = [&](const char* name, unsigned grid, unsigned block, int n) {
    return least_milliseconds(20, [&] {
      for (int i = 0; i < 40; ++i) launch(object->kernel(name), {grid}, {block}, x.data(), y.data(), n);
    });
  };
  const double flat = time_of("flat", kAll / 256, 256, kAll), block = time_of("by_block", kAll / kRow, 256, kRow), warp = time_of("by_warp", kAll / kRow / 4, 128, kRow);
  std::printf("[ figure ] 64 KiB by blocks, by warps: %.1f, %.1f of the time of a thread an element\n", block / flat, warp / flat);
  for (int i = 0; i < kAll; ++i) ASSERT_EQ(y[static_cast<std::size_t>(i)], i % kRow == 0 ? 3.0f : 2.0f) << i;
  EXPECT_LT(block, 8 * flat) << "3 times as long; thread by thread, jumping through memory, 13 times; the rest is for a busy machine";
  EXPECT_LT(warp, 8 * flat) << "2 times as long, and 12";
}

}  // namespace
}  // namespace damo::cpu_backend::testing
