// Threads that part: warps of a block, or lanes of a warp, that go different ways to different waits. Split kernels must
// then do what threads one by one do.
#include <gmock/gmock.h>

#include "runtime/cpu/both_forms.hpp"

namespace damo::cpu_backend::testing {
namespace {

TEST(Fission, LetsOneWarpFinishWhatAllBegan) {
  const BothForms forms(R"(
__global__ void total(int* y, const int* x) {
  __shared__ int part[32];
  int t = threadIdx.x, lane = t & 31, warp = t >> 5, warps = (blockDim.x + 31) / 32, v = x[t];
  for (int o = 16; o > 0; o /= 2) v += __shfl_down_sync(~0u, v, o);
  if (lane == 0) part[warp] = v;
  __syncthreads();
  if (warp == 0) {
    v = lane < warps ? part[lane] : 0;
    for (int o = 16; o > 0; o /= 2) v += __shfl_down_sync(~0u, v, o);
    if (lane == 0) part[0] = v;
  }
  __syncthreads();
  y[t] = part[0] + t;
})");
  std::vector<int> x(1024);
  for (int i = 0; i < 1024; ++i) x[i] = i * 37 % 101;
  for (const unsigned n : {32u, 64u, 256u, 1024u}) {
    const auto y = forms.run("total", {1}, {n}, std::vector<int>(n), x.data());
    int sum = 0;
    for (unsigned t = 0; t < n; ++t) sum += x[t];
    for (unsigned t = 0; t < n; ++t) ASSERT_EQ(y[t], sum + static_cast<int>(t)) << n;
  }
}

TEST(Fission, RunsOtherLoopsInOtherWarps) {
  const BothForms forms(R"(
__global__ void k(int* y) {
  int t = threadIdx.x, warp = t / 32, v = t;
  for (int i = 0; i <= warp; ++i) {
    v += __shfl_sync(~0u, v, (t + i) % 32);
    if (warp == 2) { __syncwarp(); v += 1; continue; }
    if (__any_sync(~0u, v > 300 + warp)) break;
  }
  __syncthreads();
  y[t] = v;
})");
  const auto y = forms.run("k", {1}, {128}, std::vector<int>(128));
  for (int warp = 0; warp < 4; ++warp) {
    int v[32];
    for (int lane = 0; lane < 32; ++lane) v[lane] = warp * 32 + lane;
    for (int i = 0; i <= warp; ++i) {
      int next[32];
      bool any = false;
      for (int lane = 0; lane < 32; ++lane) next[lane] = v[lane] + v[(lane + i) % 32] + (warp == 2);
      for (int lane = 0; lane < 32; ++lane) any |= next[lane] > 300 + warp;
      std::copy(next, next + 32, v);
      if (warp != 2 && any) break;
    }
    for (int lane = 0; lane < 32; ++lane) EXPECT_EQ(y[warp * 32 + lane], v[lane]);
  }
}

TEST(Fission, ExchangesWithinLanesThatAMaskNames) {
  const BothForms forms(R"(
__global__ void k(int* y, const int* x) {
  int t = threadIdx.x, lane = t % 32, v = x[t];
  unsigned odd = __ballot_sync(~0u, v & 1);
  int result = 0;
  if (v & 1) result = __shfl_sync(odd, v, __ffs(odd) - 1);
  else result = __popc(__ballot_sync(~odd, v > 50));
  unsigned same = __match_any_sync(~0u, v % 5);
  result += 100 * __shfl_sync(same, lane, 31 - __clz(same));
  result += 10000 * __reduce_add_sync(same, 1u);
  y[t] = result;
})");
  std::vector<int> x(64);
  for (int i = 0; i < 64; ++i) x[i] = i * 37 % 101;
  const auto y = forms.run("k", {1}, {64}, std::vector<int>(64), x.data());
  for (int t = 0; t < 64; ++t) {
    const int* warp = x.data() + t / 32 * 32;
    int first_odd = -1, big_even = 0, last_same = 0, same = 0;
    for (int lane = 0; lane < 32; ++lane) {
      if (warp[lane] & 1 && first_odd < 0) first_odd = warp[lane];
      big_even += !(warp[lane] & 1) && warp[lane] > 50;
      if (warp[lane] % 5 == x[t] % 5) last_same = lane, ++same;
    }
    EXPECT_EQ(y[t], (x[t] & 1 ? first_odd : big_even) + 100 * last_same + 10000 * same) << t;
  }
}

TEST(Fission, LeavesLoopsAtDifferentTimes) {
  const BothForms forms(R"(
__global__ void k(int* y) {
  __shared__ int s[64];
  int t = threadIdx.x;
  s[t] = 0;
  __syncthreads();
  for (int i = 0;; ++i) {
    if (i == t % 7) { y[t] = 100 * i + __syncthreads_count(1); return; }
    s[t] += __syncthreads_count(t & 1);
    if (i % 2 && t % 7 == 6) s[t] += 1000;
  }
})");
  // A thread that has left the loop waits at its own call, with the others at theirs: all of one barrier.
  const auto y = forms.run("k", {1}, {64}, std::vector<int>(64));
  int live = 64;
  for (int i = 0; i < 7; ++i) {
    int leaving = 0, odd = 0;
    for (int t = 0; t < 64; ++t) leaving += t % 7 == i, odd += t % 7 > i && t % 2;
    for (int t = 0; t < 64; ++t) {
      if (t % 7 == i) EXPECT_EQ(y[t], 100 * i + leaving + odd) << t;
    }
    live -= leaving;
  }
  EXPECT_EQ(live, 0);
}

TEST(Fission, AsksWhichLanesAreHere) {
  const BothForms forms(R"(
__global__ void k(unsigned* y) {
  int t = threadIdx.x;
  if (t % 32 >= 28) return;
  unsigned all = __activemask(), some = 0;
  if (t % 3 == 0) some = __activemask();
  __syncwarp(all);
  y[t] = all ^ some;
})");
  const auto y = forms.run("k", {1}, {40}, std::vector<unsigned>(40));
  for (unsigned t = 0; t < 40; ++t) {
    const unsigned first = t / 32 * 32, end = std::min(40u, first + 28);
    unsigned all = 0, some = 0;
    for (unsigned u = first; u < end; ++u) all |= 1u << u % 32, some |= (u % 3 == 0 ? 1u : 0u) << u % 32;
    EXPECT_EQ(y[t], t >= end ? 0 : t % 3 == 0 ? all ^ some : all) << t;
  }
}

TEST(Fission, MeetsAtBarriersThatHaveNumbers) {
  const BothForms forms(R"(
__global__ void k(int* y) {
  __shared__ int s[64];
  int t = threadIdx.x;
  if (t < 32) { s[t] = t * 3; __barrier_sync_count(1, 64); __barrier_sync_count(2, 64); y[t] = s[t + 32]; }
  else { __barrier_sync_count(1, 64); s[t] = s[t - 32] + 1; __barrier_sync_count(2, 64); y[t] = t; }
})");
  const auto y = forms.run("k", {1}, {64}, std::vector<int>(64));
  for (int t = 0; t < 64; ++t) EXPECT_EQ(y[t], t < 32 ? t * 3 + 1 : t);
}

TEST(Fission, TellsFunctionsThatStayWhereTheyAreCalled) {
  const BothForms forms(R"(
__device__ int depth(int n) { return n <= 0 ? int(threadIdx.x + 2 * threadIdx.y) : 1 + depth(n - 1 - (n & 1)); }
__global__ void k(int* y) {
  __shared__ int s[64];
  int t = threadIdx.x + threadIdx.y * blockDim.x;
  s[t] = depth(t % 5);
  __syncthreads();
  y[t] = s[63 - t];
})");
  const auto y = forms.run("k", {1}, {16, 4}, std::vector<int>(64));
  for (int t = 0; t < 64; ++t) {
    const int u = 63 - t;
    int steps = 0;
    for (int n = u % 5; n > 0; n -= 1 + (n & 1)) ++steps;
    EXPECT_EQ(y[t], u % 16 + 2 * (u / 16) + steps) << t;
  }
}

}  // namespace
}  // namespace damo::cpu_backend::testing
