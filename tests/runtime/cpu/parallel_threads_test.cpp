// What one thread does one after the other in memory that is the same: input and output are one array, and the vectoriser
// must not take a thread's loads before its stores, however the distance between neighbours is written.
#include "runtime/cpu/host_kernel.hpp"

namespace damo::cpu_backend::testing {
namespace {

const std::vector<HostLaunch> kThreadLaunches = {{{1}, {64}, 64, 2}, {{4}, {32}, 128, 2}, {{3}, {100}, 300, 2}, {{5}, {7}, 33, 2}};
constexpr int kThreadElements = 4096;

const std::vector<HostKernel>& kernels() {
  static const std::vector<HostKernel> all = {
      DAMO_KERNEL(plain, y[2 * i + 1] = x[2 * i] + 1; y[2 * i] = 2 * x[2 * i + 1];),
      DAMO_KERNEL(shift, y[(i << 1) + 1] = x[i << 1] + 1; y[i << 1] = 2 * x[(i << 1) + 1];),
      DAMO_KERNEL(division, unsigned a = (4u * i) / 2u; y[a + 1] = x[a] + 1; y[a] = 2 * x[a + 1];),
      DAMO_KERNEL(exclusive, int a = (2 * i) ^ 1; y[a] = x[a ^ 1] + 1; y[a ^ 1] = 2 * x[a];),
      DAMO_KERNEL(size_of, size_t a = i * sizeof(short); y[a + 1] = x[a] + 1; y[a] = 2 * x[a + 1];),
      DAMO_KERNEL(parameter, int a = i * m; y[a + 1] = x[a] + 1; y[a] = 2 * x[a + 1];),
      DAMO_KERNEL(shifted_parameter, int a = i << (m - 1); y[a + 1] = x[a] + 1; y[a] = 2 * x[a + 1];),
      DAMO_KERNEL(selected, int step = m == 2 ? 2 : 4; int a = i * step; y[a + 1] = x[a] + 1; y[a] = 2 * x[a + 1];),
      DAMO_KERNEL(members, struct P { int a, b; }; P* q = (P*)y; const P* p = (const P*)x; q[i].b = p[i].a + 1; q[i].a = 2 * p[i].b;),
      DAMO_KERNEL(whole_members, struct P { int a, b; }; P* q = (P*)y; const P* p = (const P*)x; P u = {p[i].b, 7}; q[i] = u; P v = p[i]; q[i].b += v.a;),
      DAMO_KERNEL(table, const int step[] = {1, 2, 4}; int a = i * step[1]; y[a + 1] = x[a] + 1; y[a] = 2 * x[a + 1];),
      DAMO_KERNEL(table_read, const int step[] = {1, 2, 4}; int a = i * step[m - 1]; y[a + 1] = x[a] + 1; y[a] = 2 * x[a + 1];),
      DAMO_KERNEL(threes, int a = 3 * i; y[a + 2] = x[a] + 1; y[a + 1] = 2 * x[a + 2]; y[a] = x[a + 1] + x[a + 2];),
      DAMO_KERNEL(fours, int a = 4 * i; y[a + 3] = x[a]; y[a + 2] = x[a + 3]; y[a] = x[a + 2] + 1; y[a + 1] = x[a] - 1;),
      DAMO_KERNEL(backwards, int a = 2 * (threads - 1 - i); y[a + 1] = x[a] + 1; y[a] = 2 * x[a + 1];),
      DAMO_KERNEL(inner, for (int c = 0; c < 2; ++c) y[2 * i + 1 - c] = x[2 * i + c] + 1;),
      DAMO_KERNEL(inner_steps, for (int c = 0; c < 4; ++c) y[4 * i + c] = x[4 * i + 3 - c] + c;),
      DAMO_KERNEL(guarded, if (i < n) { y[2 * i + 1] = x[2 * i] + 1; y[2 * i] = 2 * x[2 * i + 1]; }),
      DAMO_KERNEL(chosen, if (x[2 * i] > 3) y[2 * i + 1] = 5; y[2 * i] = 2 * x[2 * i + 1];),
      DAMO_KERNEL(again, y[2 * i] = 5; y[2 * i + 1] = x[2 * i]; y[2 * i] = 7;),
      DAMO_KERNEL(as_bytes, char* q = (char*)y; const char* p = (const char*)x; q[2 * i + 1] = char(p[2 * i] + 1); q[2 * i] = char(2 * p[2 * i + 1]);),
      DAMO_KERNEL(mixed_sizes, char* q = (char*)y; q[4 * i + 1] = char(x[i] + 1); y[i] += q[4 * i];),
      DAMO_KERNEL(over_grid, for (int j = i; j < n; j += threads) { y[2 * j + 1] = x[2 * j] + 1; y[2 * j] = 2 * x[2 * j + 1]; }),
      DAMO_KERNEL(in_step, if (i < n) for (int k = 0; k < 40; ++k) { y[2 * i + 1] = x[2 * i] + k; y[2 * i] = 2 * x[2 * i + 1] % 1001; }),
      DAMO_KERNEL(doubled_index, int a = i + i; y[a + 1] = x[a] + 1; y[a] = 2 * x[a + 1];),
      DAMO_KERNEL(masked, int a = (i * 2) & ~1; y[a | 1] = x[a] + 1; y[a] = 2 * x[a | 1];),
      DAMO_KERNEL(remainder_of, int a = 2 * (i % 2048); y[a + 1] = x[a] + 1; y[a] = 2 * x[a + 1];)};
  return all;
}

TEST(ParallelThreads, KeepTheOrderOfAThreadsAccessesInOneArray) { expect_as_on_host(kernels(), kThreadLaunches, kThreadElements, true); }

TEST(ParallelThreads, ReadAndWriteTwoArraysLikewise) { expect_as_on_host(kernels(), kThreadLaunches, kThreadElements); }

TEST(ParallelThreads, KeepTheOrderOfAThreadsAccessesBetweenBarriers) {
  std::vector<HostKernel> waiting = {
      DAMO_KERNEL(through_shared, __shared__ int s[256]; s[2 * threadIdx.x] = x[2 * i]; s[2 * threadIdx.x + 1] = x[2 * i + 1]; __syncthreads();
                  int* q = s; int t = threadIdx.x; q[2 * t + 1] = s[2 * t] + 1; q[2 * t] = 2 * s[2 * t + 1]; __syncthreads(); y[i] = s[t]; y[1024 + i] = s[t + blockDim.x];),
      DAMO_KERNEL(after_barrier, __syncthreads(); y[2 * i + 1] = x[2 * i] + 1; y[2 * i] = 2 * x[2 * i + 1];),
      DAMO_KERNEL(after_barrier_shift, __syncthreads(); y[(i << 1) + 1] = x[i << 1] + 1; y[i << 1] = 2 * x[(i << 1) + 1];),
      DAMO_KERNEL(after_barrier_parameter, __syncthreads(); int a = i * m; y[a + 1] = x[a] + 1; y[a] = 2 * x[a + 1];),
      DAMO_KERNEL(after_barrier_threes, __syncthreads(); int a = 3 * i; y[a + 2] = x[a] + 1; y[a + 1] = 2 * x[a + 2]; y[a] = x[a + 1] + x[a + 2];),
      DAMO_KERNEL(in_a_loop, for (int k = 0; k < 3; ++k) { __syncthreads(); y[2 * i + 1] = x[2 * i] + k; y[2 * i] = 2 * x[2 * i + 1]; })};
  expect_as_on_host(waiting, {{{2}, {32}, 64, 2}, {{1}, {50}, 50, 2}}, kThreadElements, true);
}

}  // namespace
}  // namespace damo::cpu_backend::testing
