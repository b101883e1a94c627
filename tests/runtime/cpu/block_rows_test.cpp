// Blocks of few threads along x, which run as one row where nothing tells them apart. Shared memory does.
#include "runtime/cpu/host_kernel.hpp"

namespace damo::cpu_backend::testing {
namespace {

constexpr int kElements = 4096;

TEST(BlockRows, LeaveEachBlockItsSharedMemory) {
  expect_as_on_host(
      {DAMO_KERNEL(one_value, __shared__ int s; s = x[i] * 3; y[i] = s + s;),
       DAMO_KERNEL(read_between, __shared__ int s; s = x[i] * 3; y[i] = s; s += i; y[2048 + i] = s;),
       DAMO_KERNEL(an_array, __shared__ int s[8]; for (int k = 0; k < 8; ++k) s[k] = x[i] + k; int sum = 0; for (int k = 0; k < 8; ++k) sum = sum * 3 + s[(k * m) % 8]; y[i] = sum;),
       DAMO_KERNEL(dynamic, DYNAMIC_SHARED(int, s); for (int k = 0; k < 8; ++k) s[k] = x[i] + k; int sum = 0; for (int k = 0; k < 8; ++k) sum = sum * 3 + s[(k * m) % 8]; y[i] = sum;),
       DAMO_KERNEL(in_a_struct, struct S { int a; int b[3]; }; __shared__ S s; s.a = x[i]; s.b[m % 3] = x[i] + 1; y[i] = s.a * s.b[m % 3];),
       DAMO_KERNEL(by_pointer, __shared__ int s[4]; int* p = n > 1 ? s : s + 2; p[0] = x[i]; p[1] = i; y[i] = p[0] * p[1];),
       DAMO_KERNEL(guarded, __shared__ int s; if (i < n) { s = x[i]; for (int k = 0; k < 40; ++k) s += x[k]; y[i] = s; }),
       DAMO_KERNEL(over_grid, __shared__ int s; s = 0; for (int j = i; j < n * 4; j += threads) { s += x[j]; y[j] += s; }),
       DAMO_KERNEL(summed, __shared__ int s; s = 0; for (int j = i; j < n * 4; j += threads) s += x[j]; y[i] = s;)},
      {{{40}, {1}, 33, 5}, {{64}, {1}, 64, 2}, {{7}, {1}, 100, 3}}, kElements);
}

TEST(BlockRows, LeaveEachBlockItsSharedMemoryWhereItsThreadsStandAlongYOrZ) {
  expect_as_on_host({DAMO_KERNEL(of_row, __shared__ int s[64]; const int t = threadIdx.y + blockDim.y * threadIdx.z, r = i + threads * int(blockIdx.y * blockDim.y + threadIdx.y); s[t] = x[r]; s[t] += m; y[r] = s[t] * s[t];),
       DAMO_KERNEL(of_depth, __shared__ int s[64]; const int t = threadIdx.y + blockDim.y * threadIdx.z; const int r = i + threads * (t + int(blockIdx.y) * int(blockDim.y * blockDim.z));
                   s[t] = x[r]; for (int k = 0; k < m; ++k) s[t] += k * x[r]; y[r] = s[t];)},
                    {{{40}, {1}, 33, 5}, {{64, 2}, {1, 4}, 64, 2}, {{7, 3}, {1, 3, 2}, 4, 1}}, kElements);
}

TEST(BlockRows, JoinWhatHasNoSharedMemory) {
  expect_as_on_host({DAMO_KERNEL(plain, if (i < n) y[i] = x[i] * m;), DAMO_KERNEL(by_size, y[i] = i % int(blockDim.x) + i / int(blockDim.x);),
                     DAMO_KERNEL(rows, const int r = i + threads * int(blockIdx.y * blockDim.y + threadIdx.y); if (i < n) y[r] = x[r] * m;)},
                    {{{40}, {1}, 33, 5}, {{64, 2}, {1, 4}, 64, 2}, {{9}, {16}, 100, 3}}, kElements);
}

}  // namespace
}  // namespace damo::cpu_backend::testing
