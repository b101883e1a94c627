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

TEST(Uniformity, KeepsWhatALoopComputedLastInThreadsThatLeftItAtDifferentSteps) {
  // In each step k is the same in all threads that are still there; behind the loop it, and what is made of it, is not.
  expect_as_on_host({DAMO_KERNEL(last_step, int k = 0; int v = 0; do { v = k * 5 + 3; } while (++k < 2 + (x[i] & 3)); __syncthreads(); y[i] = v;),
                     DAMO_KERNEL(with_its_thread, int k = 0; int v = 0; do { v = (k * 5) ^ i; } while (++k < 2 + (x[i] & 3)); __syncthreads(); y[i] = v + k;),
                     DAMO_KERNEL(of_two_loops, int v = 0; int w = 0; for (int j = 0; j < m; ++j) { int k = 0; do { v = k * 3 - j; w = v << 1; } while (++k <= ((x[i] + j) & 3)); y[i] += v; }
                                 __syncthreads(); y[i] += w;),
                     DAMO_KERNEL(around_a_wait, int v = 0; for (int j = 0; j < m; ++j) { int k = 0; do { v = k * 7 + j; } while (++k < (x[i] & 7)); __syncthreads(); y[i] += v; __syncthreads(); }),
                     DAMO_KERNEL(left_in_its_middle, int k = 0; int v = 0; for (;;) { v = k * 9; if (x[i] == k) break; v = v ^ 5; if (++k > m) break; } __syncthreads(); y[i] = v;)},
                    {{{2}, {32}, 0, 5}, {{1}, {20}, 0, 3}, {{3}, {1}, 0, 2}}, 64);
}

TEST(Uniformity, TellsApartWhatThreadsBringFromSidesOfUnevenLength) {
  // The sides of a branch hold blocks that follow one another without a choice between.
  expect_as_on_host(
      {DAMO_KERNEL(sides_of_a_switch, int u = 200; volatile int* v = y; for (int k = 0; k < m; ++k) {
                     switch ((k << (u & 7)) * x[i] & 3) {
                       case 0: if (v[i] > 3) {} else {} u += 1; break;
                       case 1:
                       default: v[i] = v[i] + (0 < k + 1 ? 2 : u);
                     }
                     x[i] = 1; __syncthreads(); if (threadIdx.x < 8) y[i] += u; __syncthreads(); }
                   y[i] += u;),
       DAMO_KERNEL(sides_of_an_if, int u = 1; volatile int* v = y; if (x[i] & 1) { u = m + 1; if (v[i] > 3) {} else {} v[i] = v[i] + 1; if (v[i] > 5) {} else {} }
                   else { u = m * 2; if (v[i] > 2) {} else {} v[i] = v[i] + 2; } __syncthreads(); y[i] += u;),
       DAMO_KERNEL(exits_of_a_loop, int u = 7; for (int k = 0;; ++k) { if (x[i] <= k) { u = 1; break; } if (k == m) { u = 2; break; } } __syncthreads(); y[i] += u; __syncthreads(); y[i] *= u;)},
      {{{2}, {32}, 0, 5}, {{1}, {20}, 0, 3}, {{3}, {1}, 0, 2}}, 64);
}

}  // namespace
}  // namespace damo::cpu_backend::testing
