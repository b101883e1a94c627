// Loops whose headers do something: a header runs once more than its body, and what it writes is written as often. Loops
// over the grid and the block, loops that all threads go through alike, with and without barriers around them.
#include "runtime/cpu/host_kernel.hpp"

namespace damo::cpu_backend::testing {
namespace {

const std::vector<HostLaunch> kLoopLaunches = {{{1}, {32}, 33, 5}, {{3}, {16}, 48, 40}, {{2}, {7}, 100, 0}, {{4}, {1}, 9, 34}, {{2}, {64}, 128, 64}};
constexpr int kLoopElements = 16384;

TEST(LoopHeaders, AreRunOnceMoreThanBodiesOfLoopsThatAllThreadsShare) {
  expect_as_on_host(
      {DAMO_KERNEL(last_row, if (i < n) { int s = 0; for (int k = 0;; ++k) { y[k * n + i] = s; if (k == m) break; s += x[k * n + i]; } }),
       DAMO_KERNEL(counted, if (i < n) { int k; for (k = 0; y[i] += 1, k < m; ++k) y[n + i] += 2; }),
       DAMO_KERNEL(called, if (i < n) { for (int k = 0; atomicAdd(&y[i], 1) < 5000 && k < m; ++k) y[n + i] += x[k]; }),
       DAMO_KERNEL(pointed, if (i < n) { int* p = y + i; int k = 0; while (*p = k, p += n, k++ < m) x[i] += k; x[n + i] = k; }),
       DAMO_KERNEL(summed, if (i < n) { int s = 0; for (int k = 0; s += x[k], k < m; ++k) s += 3 * x[k * n + i]; y[i] = s; }),
       DAMO_KERNEL(behind, if (i < n) { int s = 0; int k = 0; for (;;) { s += k; y[k * n + i] = s; if (++k > m) break; s ^= x[k]; } y[i] += s; }),
       DAMO_KERNEL(in_turn, if (i < n) { int s = y[i]; int k = 0; do { s += x[k * n + i]; y[k * n + i] = s; } while (++k < m); y[i] += s; }),
       DAMO_KERNEL(twice_left, if (i < n) { for (int k = 0;; ++k) { y[k * n + i] += k; if (k >= m) break; x[i] += k; if (k == 20) break; y[i] += 1; } }),
       DAMO_KERNEL(nested, if (i < n) { for (int k = 0; y[i] += 1, k < m; ++k) for (int j = 0; y[n + i] += 1, j < k; ++j) y[2 * n + i] += j; }),
       DAMO_KERNEL(stored_bound, if (i < n) { x[i] = m; for (int k = 0; y[n + i] += 1, k < x[i]; ++k) { y[i] += k; if (k == 3) x[i] -= 2; } }),
       DAMO_KERNEL(two_of_them, if (i < n) { for (int k = 0; y[i] += 1, k < m; ++k) y[n + i] += 2; for (int k = 0; k < m; ++k) y[2 * n + i] += y[n + i]; })},
      kLoopLaunches, kLoopElements);
}

TEST(LoopHeaders, AreRunOnceMoreThanBodiesOfLoopsOverTheGrid) {
  expect_as_on_host(
      {DAMO_KERNEL(store_first, for (int j = i;; j += threads) { y[j] += 1; if (j + threads >= n * 4) break; x[j] += 2; }),
       DAMO_KERNEL(break_after, for (int j = i;; j += threads) { y[j] += j; if (j >= n * 4) break; }),
       DAMO_KERNEL(bound_in_memory, if (i == 0) y[4000] = 0; for (int j = i;; j += threads) { y[j] += j; if (j >= x[3] * 20) break; y[j] ^= 5; }),
       DAMO_KERNEL(counts_tests, for (int j = i; y[4096 + i] += 1, j < n * 4; j += threads) y[j] += x[j]; ),
       DAMO_KERNEL(counts_bound, for (int j = i; y[4096 + i] += 1, j < x[3] * 20; j += threads) y[j] += 3; ),
       DAMO_KERNEL(sums, int s = 0; for (int j = i; s += 1, j < n * 4; j += threads) s += x[j]; y[i] = s;),
       DAMO_KERNEL(sums_bound, int s = 0; for (int j = i; s += 1, j < x[3] * 20; j += threads) s += x[j]; y[i] = s;),
       DAMO_KERNEL(atomics, for (int j = i; atomicAdd(&y[5000], 1) >= 0 && j < n * 4; j += threads) atomicAdd(&y[j], 2); ),
       DAMO_KERNEL(own_bound, y[i] = n * 2; for (int j = i; j < y[i]; j += threads) { y[4096 + j] += 1; if (j > n) y[i] = 0; }),
       DAMO_KERNEL(left_early, for (int j = i; j < n * 4; j += threads) { y[j] += 1; if (x[j] == 7) break; x[j] += 1; } ),
       DAMO_KERNEL(nested, for (int j = i; x[4096 + i] += 1, j < n * 4; j += threads) for (int k = 0; y[4096 + i] += 1, k < m; ++k) y[j] += k; ),
       DAMO_KERNEL(while_style, int j = i; while (y[4096 + i]++ < 9 && j < n * 4) { y[j] += x[j]; j += threads; }),
       DAMO_KERNEL(before_and_after, int s = y[i]; for (int j = i; y[4096 + i] += 1, j < n * 4; j += threads) s += x[j]; y[i] = s + y[4096 + i];)},
      kLoopLaunches, kLoopElements);
}

TEST(LoopHeaders, AreRunOnceMoreThanBodiesOfLoopsOverTheBlock) {
  expect_as_on_host(
      {DAMO_KERNEL(store_first, int* row = y + blockIdx.x * 1024; for (int j = threadIdx.x;; j += blockDim.x) { row[j] += 1; if (j + int(blockDim.x) >= n * 2) break; row[j] += x[j]; }),
       DAMO_KERNEL(break_after, int* row = y + blockIdx.x * 1024; for (int j = threadIdx.x;; j += blockDim.x) { row[j] += j; if (j >= n * 2) break; }),
       DAMO_KERNEL(bound_in_memory, int* row = y + blockIdx.x * 1024; for (int j = threadIdx.x;; j += blockDim.x) { row[j] += j; if (j >= x[3] * 20) break; row[j] *= 2; }),
       DAMO_KERNEL(counts_tests, int* row = y + blockIdx.x * 1024; for (int j = threadIdx.x; row[700 + threadIdx.x] += 1, j < n * 2; j += blockDim.x) row[j] += x[j]; ),
       DAMO_KERNEL(as_unsigned, int* row = y + blockIdx.x * 1024; for (unsigned j = threadIdx.x; row[700 + threadIdx.x] += 1, j < unsigned(n) * 2; j += blockDim.x) row[j] += x[j]; ),
       DAMO_KERNEL(wide, int* row = y + blockIdx.x * 1024; for (size_t j = threadIdx.x; row[700 + threadIdx.x] += 1, j < size_t(n) * 2; j += blockDim.x) row[j] += x[j]; ),
       DAMO_KERNEL(sums, int s = 0; for (int j = threadIdx.x; y[9000 + i] = s, j < n * 2; j += blockDim.x) s += x[j]; y[i] = s;)},
      kLoopLaunches, kLoopElements);
}

TEST(LoopHeaders, AreRunOnceMoreThanBodiesBetweenBarriers) {
  expect_as_on_host(
      {DAMO_KERNEL(shared_loop, __shared__ int s[64]; s[threadIdx.x] = x[i]; __syncthreads();
                   for (int k = 0; y[4096 + i] += 1, k < m; ++k) y[i] += s[k % blockDim.x]; __syncthreads(); y[i] += s[0];),
       DAMO_KERNEL(with_barrier_inside, __shared__ int s[64]; int sum = 0;
                   for (int k = 0; s[threadIdx.x] = k + i, __syncthreads(), k < m; ++k) { sum += s[(threadIdx.x + 1) % blockDim.x]; __syncthreads(); } y[i] = sum + s[0];),
       DAMO_KERNEL(over_block, __shared__ int s[64]; s[threadIdx.x] = 0; __syncthreads();
                   for (int j = threadIdx.x;; j += blockDim.x) { s[threadIdx.x] += j; if (j >= n) break; } __syncthreads(); y[i] = s[(threadIdx.x + 1) % blockDim.x];),
       DAMO_KERNEL(last_row, __syncthreads(); int s = 0; for (int k = 0;; ++k) { y[k * 128 + i] = s; if (k == m) break; s += x[k * 128 + i]; } )},
      kLoopLaunches, kLoopElements);
}

}  // namespace
}  // namespace damo::cpu_backend::testing
