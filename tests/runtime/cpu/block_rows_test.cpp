// Blocks of few threads along x, which run as one row where nothing tells them apart. Shared memory does.
#include "runtime/cpu/host_kernel.hpp"
#include "runtime/cpu/row_launches.hpp"

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

TEST(BlockRows, JoinBlocksOfTheSizeThatTheTextNames) {
  expect_as_on_host({DAMO_KERNEL(times, const int c = blockIdx.x * 16 + threadIdx.x; if (c < n) y[c] = x[c] * m;), DAMO_KERNEL(shifted, const unsigned c = (blockIdx.x << 4) + threadIdx.x; if (c < unsigned(n)) y[c] = x[c] * m;),
                     DAMO_KERNEL(wide, const unsigned long c = blockIdx.x * 16ul + threadIdx.x; y[c] = x[c] + int(c);), DAMO_KERNEL(wide_later, const long c = long(16 * blockIdx.x) + threadIdx.x; y[c] = x[c] + int(c);),
                     DAMO_KERNEL(with_sign, const int b = blockIdx.x, t = threadIdx.x; y[t + 16 * b] += x[t + b * 16]; y[t + 16l * b] += i;), DAMO_KERNEL(both, y[i] = x[blockIdx.x * 16 + threadIdx.x] + i;),
                     DAMO_KERNEL(two_sizes, y[blockIdx.x * 16 + threadIdx.x] = x[i] + int(blockIdx.x * 8 + threadIdx.x);), DAMO_KERNEL(of_block, y[blockIdx.x * 16 + threadIdx.x] = x[i] + int(blockIdx.x * 16);),
                     DAMO_KERNEL(of_place, y[blockIdx.x * 16 + threadIdx.x] = x[i] + int(threadIdx.x);), DAMO_KERNEL(over_grid, for (int k = blockIdx.x * 16 + threadIdx.x; k < 2048; k += gridDim.x * 16) y[k] += x[k] + m;),
                     DAMO_KERNEL(in_order, const int c = blockIdx.x * 16 + threadIdx.x; atomicAdd(&x[c % 8], 1); y[c] = c;), DAMO_KERNEL(kept, __shared__ int s; s = x[blockIdx.x * 16 + threadIdx.x]; for (int k = 0; k < m; ++k) s += k; y[i] = s;),
                     DAMO_KERNEL(summed, int s = 0; for (int k = 0; k < m; ++k) s += x[blockIdx.x * 16 + threadIdx.x] * k; y[i] = s;)},
                    {{{40}, {16}, 600, 5}, {{40}, {1}, 33, 5}, {{9}, {16}, 100, 3}, {{1}, {16}, 5, 2}, {{64}, {1}, 64, 2}}, kElements);
}

TEST(BlockRows, JoinBlocksOfTheSizeThatTheTextNamesInAnyShareOfThem) {
  const auto kernel = load(compile_cuda("__global__ void k(int* y, int w) { int c = blockIdx.x * 16 + threadIdx.x, r = blockIdx.y * blockDim.y + threadIdx.y; if (c < w) y[r * w + c] += 100 * r + c; }"));
  for (const Extent block : {Extent{16, 2}, Extent{16, 1}}) {
    for (const std::int64_t share : {1, 3, 7, 1000}) {
      std::vector<int> y(150 * 8), expected(150 * 8);
      for (int i = 0; i < 150 * 8; ++i) expected[i] = 100 * (i / 150) + i % 150;
      launch_in_shares(kernel->kernel("k"), {10, 8 / block.y}, block, share, y.data(), 150);
      EXPECT_EQ(y, expected) << block.y << ", shares of " << share;
    }
  }
}

}  // namespace
}  // namespace damo::cpu_backend::testing
