// Plain loads from one address, in kernels whose threads are ordered by something else than barriers: locks, tickets, flags.
// What is read is then not the same in all threads. Expected values follow from how many threads there are.
#include <numeric>
#include <thread>

#include "runtime/cpu/host_kernel.hpp"

namespace damo::cpu_backend::testing {
namespace {

// y: a value a thread, each of 0 .. threads - 1 once; x: the number of threads at 0.
constexpr const char* kTickets = R"(
__device__ void lock(int* l) { while (atomicCAS(l, 0, 1)); __threadfence(); }
__device__ void unlock(int* l) { __threadfence(); atomicExch(l, 0); }
#define I const int i = threadIdx.x + blockDim.x * threadIdx.y + blockIdx.x * blockDim.x * blockDim.y
__global__ void locked(int* y, int* x) { I; __syncthreads(); lock(x + 1); int v = x[0]; y[i] = v; x[0] = v + 1; unlock(x + 1); __syncthreads(); }
__global__ void locked_alone(int* y, int* x) { I; lock(x + 1); int v = x[0]; y[i] = v; x[0] = v + 1; unlock(x + 1); }
__global__ void locked_twice(int* y, int* x) {
  I; __syncthreads();
  lock(x + 1); int v = x[0]; x[0] = v + 1; unlock(x + 1);
  y[i] = v;
  lock(x + 1); x[2] += v; unlock(x + 1); __syncthreads();
}
__global__ void shared_counter(int* y, int* x) {
  __shared__ int l, count; I;
  if (threadIdx.x == 0 && threadIdx.y == 0) l = 0, count = blockIdx.x * blockDim.x * blockDim.y;
  __syncthreads();
  lock(&l); y[i] = count; count = count + 1; unlock(&l);
  __syncthreads();
  if (count == (int)((blockIdx.x + 1) * blockDim.x * blockDim.y)) atomicAdd(x, 1);
}
__global__ void tickets(int* y, int* x) {
  I; __syncthreads();
  const int ticket = atomicAdd(x + 1, 1);
  while (*(volatile int*)(x + 2) != ticket);
  __threadfence();
  int v = x[0]; y[i] = v; x[0] = v + 1;
  __threadfence();
  *(volatile int*)(x + 2) = ticket + 1;
  __syncthreads();
}
__global__ void in_a_loop(int* y, int* x) {
  I; __syncthreads();
  for (int k = 0; k < 3; ++k) { lock(x + 1); int v = x[0]; if (k == 1) { y[i] = x[3]; x[3] = x[3] + 1; } x[0] = v + 1; unlock(x + 1); }
  __syncthreads();
}
__global__ void behind_a_flag(int* y, int* x) {  // the value that a lock lets out decides where a thread goes
  I; __syncthreads();
  lock(x + 1); const int turn = x[0]; x[0] = turn + 1; unlock(x + 1);
  if (turn % 2) y[i] = turn; else y[i] = turn;
  __syncthreads();
}
__global__ void from_a_function(int* y, int* x) {
  I; __syncthreads();
  lock(x + 1);
  auto take = [&](int* p) { return (*p)++; };
  y[i] = take(x); unlock(x + 1); __syncthreads();
})";

TEST(Uniformity, TakesNoLoadForTheSameInAllThreadsThatLocksOrder) {
  const CompileOutput output = compile_cuda(kTickets);
  const auto object = load(output);
  for (const char* name : {"locked", "locked_alone", "locked_twice", "shared_counter", "tickets", "in_a_loop", "behind_a_flag", "from_a_function"}) {
    for (const auto& [grid, block] : {std::pair{Extent{1}, Extent{32}}, std::pair{Extent{3}, Extent{96}}, std::pair{Extent{2}, Extent{16, 5}}, std::pair{Extent{2}, Extent{1}}}) {
      const int threads = static_cast<int>(grid.x * block.x * block.y);
      std::vector<int> y(threads, -1), x(8), expected(threads);
      launch(object->kernel(name), grid, block, y.data(), x.data());
      std::iota(expected.begin(), expected.end(), 0);
      std::sort(y.begin(), y.end());
      ASSERT_EQ(y, expected) << name << "<<<" << grid.x << ", " << block.x << " x " << block.y << ">>>";
      const std::string kernel = name;
      ASSERT_EQ(x[0], kernel == "shared_counter" ? static_cast<int>(grid.x * block.x * block.y) : kernel == "in_a_loop" ? 3 * threads : threads) << name;
    }
  }
}

TEST(Uniformity, KeepsWhatALockGuardsBetweenItsAtomics) {
  // Two blocks at once, without fences: what the lock guards may not stay in a register from one thread to the next.
  const auto object = load(compile_cuda(R"(
__device__ int held, counter;
__global__ void count(int n) {
  for (int k = 0; k < n; ++k) { while (atomicCAS(&held, 0, 1)); counter = counter + 1; atomicExch(&held, 0); }
}
__global__ void read(int* y) { y[0] = counter; })"));
  {
    std::jthread other([&] { launch(object->kernel("count"), {1}, {32}, 2000); });
    launch(object->kernel("count"), {1}, {32}, 2000);
  }
  int count = 0, *y = &count;
  launch(object->kernel("read"), {1}, {1}, y);
  EXPECT_EQ(count, 2 * 32 * 2000);
}

TEST(Uniformity, ReadsOnceWhatBarriersOrder) {
  expect_as_on_host({DAMO_KERNEL(sum_of_block, __shared__ int s; if (threadIdx.x == 0) s = 0; __syncthreads(); atomicAdd(&s, x[i]); __syncthreads(); y[i] = s + s;),
                     DAMO_KERNEL(changes, __shared__ int s; for (int k = 0; k < m; ++k) { if (threadIdx.x == k % blockDim.x) s = k; __syncthreads(); y[i] += s; __syncthreads(); }),
                     DAMO_KERNEL(most, __shared__ int s; if (threadIdx.x == 0) s = -1; __syncthreads(); atomicMax(&s, x[i]); __syncthreads();
                                 const int found = s; __syncthreads(); if (found > 5) y[i] = found; else y[i] = -found;)},
                    {{{3}, {32}, 0, 9}, {{1}, {20}, 0, 3}, {{2}, {1}, 0, 2}}, 1024);
}

}  // namespace
}  // namespace damo::cpu_backend::testing
