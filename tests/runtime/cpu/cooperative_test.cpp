// CUDA C whose threads wait for each other: what it computes, whichever form the compiler gives it.
#include <gmock/gmock.h>

#include <bit>
#include <numeric>
#include <vector>

#include "runtime/cpu/compile_support.hpp"
#include "support/errors.hpp"

namespace damo::cpu_backend::testing {
namespace {

std::vector<int> iota(int n) {
  std::vector<int> values(n);
  std::iota(values.begin(), values.end(), 0);
  return values;
}

template <class... Arguments>
std::string failure(KernelEntry kernel, Extent grid, Extent block, const Arguments&... arguments) {
  return damo::testing::error_of<std::runtime_error>([&] { launch(kernel, grid, block, arguments...); });
}

TEST(Cooperative, ReducesInSharedMemory) {
  const auto object = load(compile_cuda(R"(
__global__ void total(const int* x, int* sums) {
  __shared__ int part[256];
  const int t = threadIdx.x;
  part[t] = x[blockIdx.x * blockDim.x + t];
  __syncthreads();
  for (int step = blockDim.x / 2; step > 0; step /= 2) {
    if (t < step) part[t] += part[t + step];
    __syncthreads();
  }
  if (t == 0) sums[blockIdx.x] = part[0];
})"));
  const auto x = iota(1024);
  std::vector<int> sums(4);
  launch(object->kernel("total"), {4}, {256}, x.data(), sums.data());
  for (int b = 0; b < 4; ++b) EXPECT_EQ(sums[b], 256 * (256 * b) + 255 * 256 / 2);
}

TEST(Cooperative, ReversesThroughMemoryGivenAtTheLaunch) {
  const auto object = load(compile_cuda(R"(
template <class T> __device__ T* scratch() { extern __shared__ char bytes[]; return reinterpret_cast<T*>(bytes); }
__global__ void reverse(int* x, int n) {
  __shared__ int first;
  int* s = scratch<int>();
  const int t = threadIdx.x;
  if (t == 0) first = x[0];
  s[t] = x[t];
  __syncthreads();
  x[t] = s[n - 1 - t] + first;
})"));
  auto x = iota(100);
  for (int& v : x) v += 7;
  launch(object->kernel("reverse"), {1}, {100}, x.data(), 100);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(x[i], 99 - i + 7 + 7);
}

TEST(Cooperative, ReducesAWarpByShuffles) {
  const auto object = load(compile_cuda(R"(
__inline__ __device__ int sum_of_warp(int v) {
  for (int offset = 16; offset > 0; offset /= 2) v += __shfl_down_sync(0xffffffff, v, offset);
  return v;
}
__global__ void total(const int* x, int* sum) {
  __shared__ int part[32];
  int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  int v = sum_of_warp(x[threadIdx.x]);
  if (lane == 0) part[warp] = v;
  __syncthreads();
  v = threadIdx.x < blockDim.x / 32 ? part[lane] : 0;
  if (warp == 0) v = sum_of_warp(v);
  if (threadIdx.x == 0) *sum = v;
})"));
  const auto x = iota(256);
  int sum = 0, *out = &sum;
  launch(object->kernel("total"), {1}, {256}, x.data(), out);
  EXPECT_EQ(sum, 255 * 256 / 2);
}

TEST(Cooperative, ShufflesWithinSegmentsAsThePtxManualSays) {
  const auto object = load(compile_cuda(R"(
__global__ void shuffle(int* up, int* down, int* index, int* across, double* wide) {
  int t = threadIdx.x;
  up[t] = __shfl_up_sync(~0u, t, 3, 8);
  down[t] = __shfl_down_sync(~0u, t, 3, 8);
  index[t] = __shfl_sync(~0u, t, 10, 8);
  across[t] = __shfl_xor_sync(~0u, t, 5);
  wide[t] = __shfl_sync(~0u, t * 0.5, 31 - t % 32);
})"));
  std::vector<int> up(64), down(64), index(64), across(64);
  std::vector<double> wide(64);
  launch(object->kernel("shuffle"), {1}, {64}, up.data(), down.data(), index.data(), across.data(), wide.data());
  for (int t = 0; t < 64; ++t) {
    EXPECT_EQ(up[t], t % 8 < 3 ? t : t - 3);
    EXPECT_EQ(down[t], t % 8 > 4 ? t : t + 3);
    EXPECT_EQ(index[t], t / 8 * 8 + 2);
    EXPECT_EQ(across[t], t ^ 5);
    EXPECT_EQ(wide[t], (t / 32 * 32 + 31 - t % 32) * 0.5);
  }
}

TEST(Cooperative, VotesMatchesAndReduces) {
  const auto object = load(compile_cuda(R"(
__global__ void vote(unsigned* ballot, int* any, int* all, unsigned* match, int* least, unsigned* bits) {
  int t = threadIdx.x;
  ballot[t] = __ballot_sync(~0u, t % 3 == 0);
  any[t] = __any_sync(~0u, t == 5) + 2 * __any_sync(~0u, t > 99);
  all[t] = __all_sync(~0u, t < 32) + 2 * __all_sync(~0u, t == 5);
  match[t] = __match_any_sync(~0u, t / 4);
  least[t] = __reduce_min_sync(~0u, 10 - t);
  bits[t] = __reduce_or_sync(~0u, 1u << t);
})"));
  std::vector<unsigned> ballot(32), match(32), bits(32);
  std::vector<int> any(32), all(32), least(32);
  launch(object->kernel("vote"), {1}, {32}, ballot.data(), any.data(), all.data(), match.data(), least.data(), bits.data());
  for (int t = 0; t < 32; ++t) {
    EXPECT_EQ(ballot[t], 0x49249249u);
    EXPECT_EQ(any[t], 1);
    EXPECT_EQ(all[t], 1);
    EXPECT_EQ(match[t], 0xfu << (t / 4 * 4));
    EXPECT_EQ(least[t], -21);
    EXPECT_EQ(bits[t], ~0u);
  }
}

TEST(Cooperative, LetsThreadsReturnBeforeABarrier) {
  const auto object = load(compile_cuda(R"(
__global__ void count(const int* x, int* out, int n) {
  int t = threadIdx.x;
  if (t >= n) return;
  int big = __syncthreads_count(x[t] > 10);
  int any = __syncthreads_or(x[t] == 3), every = __syncthreads_and(x[t] >= 0);
  out[t] = big * 100 + any * 10 + every;
})"));
  const auto x = iota(50);
  std::vector<int> out(64, -1);
  launch(object->kernel("count"), {1}, {64}, x.data(), out.data(), 50);
  for (int t = 0; t < 64; ++t) EXPECT_EQ(out[t], t < 50 ? 3911 : -1);
}

TEST(Cooperative, WaitsInsideRecursionAndCallsThroughPointers) {
  const auto object = load(compile_cuda(R"(
__shared__ int board[64];
__device__ int walk(int depth, int v) {
  board[threadIdx.x] = v;
  __syncthreads();
  int next = board[(threadIdx.x + 1) % blockDim.x];
  __syncthreads();
  return depth == 0 ? next : walk(depth - 1, next);
}
__global__ void rotate(const int* x, int* y, int depth) { y[threadIdx.x] = walk(depth, x[threadIdx.x]); }
__device__ int twice(int v) { return 2 * v; }
__device__ int up(int v) { return v + int(threadIdx.x); }
typedef int (*Rule)(int);
__device__ Rule rules[2] = {twice, up};
__global__ void apply(int* x, int which) { x[threadIdx.x] = rules[which](x[threadIdx.x]); }
)"));
  const auto x = iota(64);
  std::vector<int> y(64);
  launch(object->kernel("rotate"), {1}, {64}, x.data(), y.data(), 4);
  for (int t = 0; t < 64; ++t) EXPECT_EQ(y[t], (t + 5) % 64);
  launch(object->kernel("apply"), {1}, {64}, y.data(), 1);
  for (int t = 0; t < 64; ++t) EXPECT_EQ(y[t], (t + 5) % 64 + t);
}

TEST(Cooperative, ReportsThreadsThatWaitForEachOtherForEver) {
  const auto object = load(compile_cuda(R"(
__global__ void stuck(int* x) {
  if (threadIdx.x == 1) __syncthreads();
  else x[threadIdx.x] = __shfl_sync(~0u, 1, 0);
})"));
  std::vector<int> x(32);
  EXPECT_THAT(failure(object->kernel("stuck"), {2}, {32}, x.data()),
              ::testing::AllOf(::testing::HasSubstr("block (0, 0, 0)"), ::testing::HasSubstr("thread (0, 0, 0) waits in a shuffle"),
                               ::testing::HasSubstr("thread (1, 0, 0) waits at __syncthreads()")));
}

TEST(Cooperative, ReportsAnAssertionThatFails) {
  const auto object = load(compile_cuda(R"(
__global__ void check(const int* x) {
  assert(x[threadIdx.x] < 5);
})"));
  const auto x = iota(8);
  EXPECT_THAT(failure(object->kernel("check"), {1}, {8}, x.data()),
              ::testing::AllOf(::testing::HasSubstr("user.cu:3"), ::testing::HasSubstr("x[threadIdx.x] < 5")));
}

TEST(Cooperative, DISABLED_Times) {
  const auto object = load(compile_cuda(R"(
__global__ void tree(const float* x, float* y) {
  __shared__ float part[256];
  int t = threadIdx.x;
  part[t] = x[blockIdx.x * 256 + t];
  __syncthreads();
  for (int step = 128; step > 0; step /= 2) { if (t < step) part[t] += part[t + step]; __syncthreads(); }
  if (t == 0) y[blockIdx.x] = part[0];
}
__global__ void shuffles(const float* x, float* y) {
  __shared__ float part[32];
  int t = threadIdx.x;
  float v = x[blockIdx.x * 256 + t];
  for (int o = 16; o > 0; o /= 2) v += __shfl_down_sync(~0u, v, o);
  if (t % 32 == 0) part[t / 32] = v;
  __syncthreads();
  if (t < 32) { v = t < 8 ? part[t] : 0; for (int o = 16; o > 0; o /= 2) v += __shfl_down_sync(~0u, v, o); if (t == 0) y[blockIdx.x] = v; }
}
#define T 16
__global__ void matmul(const float* a, const float* b, float* c, int n) {
  __shared__ float as[T][T], bs[T][T];
  int row = blockIdx.y * T + threadIdx.y, column = blockIdx.x * T + threadIdx.x;
  float sum = 0;
  for (int m = 0; m < n / T; ++m) {
    as[threadIdx.y][threadIdx.x] = a[row * n + m * T + threadIdx.x];
    bs[threadIdx.y][threadIdx.x] = b[(m * T + threadIdx.y) * n + column];
    __syncthreads();
    for (int k = 0; k < T; ++k) sum += as[threadIdx.y][k] * bs[k][threadIdx.x];
    __syncthreads();
  }
  c[row * n + column] = sum;
})"));
  std::vector<float> x(512 * 512, 1.0f), y(512 * 512), z(512 * 512);
  const auto us = [&](const char* name, Extent grid, Extent block, auto... arguments) {
    const double ms = least_milliseconds(20, [&] { launch(object->kernel(name), grid, block, arguments...); });
    printf("%s: %.2f us a block\n", name, ms * 1e3 / (grid.x * grid.y));
    return ms;
  };
  us("tree", {1024}, {256}, x.data(), y.data());
  us("shuffles", {1024}, {256}, x.data(), y.data());
  const double ms = us("matmul", {32, 32}, {16, 16}, x.data(), x.data(), z.data(), 512);
  printf("matmul %.2f GFLOP/s, %f\n", 2.0 * 512 * 512 * 512 / ms * 1e-6, z[5]);
}

}  // namespace
}  // namespace damo::cpu_backend::testing
