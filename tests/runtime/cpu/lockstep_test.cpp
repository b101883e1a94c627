// Volatile accesses to shared memory keep the lanes of a warp in step, in both forms.
#include <gtest/gtest.h>

#include <numeric>

#include "runtime/cpu/both_forms.hpp"

namespace damo::cpu_backend::testing {
namespace {

std::vector<int> numbers(int count) {
  std::vector<int> values(count);
  for (int i = 0; i < count; ++i) values[i] = i * 37 % 101;
  return values;
}

TEST(Lockstep, SumsUpAWarpWithoutBarriers) {
  const BothForms forms(R"(
    extern "C" __global__ void k(int* y, const int* x) {
      __shared__ int cells[64];
      const int t = threadIdx.x;
      cells[t] = x[t];
      cells[t + 32] = x[t + 32];
      volatile int* v = cells;
      v[t] += v[t + 32];
      v[t] += v[t + 16];
      v[t] += v[t + 8];
      v[t] += v[t + 4];
      v[t] += v[t + 2];
      v[t] += v[t + 1];
      if (t == 0) *y = v[0];
    })");
  const std::vector<int> x = numbers(64);
  EXPECT_EQ(forms.run("k", {1}, {32}, std::vector<int>(1), x.data())[0], std::accumulate(x.begin(), x.end(), 0));
}

TEST(Lockstep, LanesThatPartMeetAgain) {
  const BothForms forms(R"(
    extern "C" __global__ void k(int* y, const int* x) {
      __shared__ volatile int cells[32];
      const int t = threadIdx.x;
      cells[t] = x[t];
      for (int d = 1; d < 32; d *= 2) {
        if (t % 3 == 0) {
          if (t >= d) cells[t] = cells[t] + cells[t - d];
        } else {
          if (t >= d) cells[t] = cells[t - d] + cells[t];
        }
      }
      y[t] = cells[t];
    })");
  // Which of the two ways comes first is the text's order: those that are behind go on first.
  std::vector<int> x = numbers(32), expected = x;
  for (int d = 1; d < 32; d *= 2) {
    for (const bool first : {true, false}) {
      const std::vector<int> before = expected;
      for (int t = d; t < 32; ++t) {
        if ((t % 3 == 0) == first) expected[t] = before[t] + before[t - d];
      }
    }
  }
  EXPECT_EQ(forms.run("k", {1}, {32}, std::vector<int>(32), x.data()), expected);
}

TEST(Lockstep, AThreadMayWaitInALoopForAnotherOfItsBlock) {
  const CompileOutput output = compile_cuda(R"(
    extern "C" __global__ void k(int* y) {
      __shared__ volatile int turn;
      if (threadIdx.x == 0) turn = 0;
      __syncthreads();
      const int own = blockDim.x - 1 - threadIdx.x;
      while (turn != own) {
      }
      y[threadIdx.x] = turn;
      turn = own + 1;
    })");
  const auto module = load(output);
  std::vector<int> y(100);
  launch(module->kernel("k"), {1}, {100}, y.data());
  for (int t = 0; t < 100; ++t) EXPECT_EQ(y[t], 99 - t);
}

TEST(Lockstep, VolatileGlobalMemoryNeedsNoThreadToWait) {
  const CompileOutput output = compile_cuda("__global__ void k(volatile int* y) { __shared__ int s; s = 1; y[threadIdx.x] = y[threadIdx.x] + s; }");
  EXPECT_TRUE(output.ok) << output.log;
  EXPECT_FALSE(mentions(output, "damo_next_region"));
  EXPECT_FALSE(mentions(output, "damo_run_coroutines"));
}

TEST(Lockstep, LetsOtherWarpsRunWhereALockIsHeldAcrossAWait) {
  constexpr const char* kText = R"(
__global__ void k(int* lock, int* sums) {
  const int lane = threadIdx.x % 32;
  if (lane == 0) while (atomicCAS(lock, 0, 1) != 0);
  __syncwarp();
  sums[lane] += lane + 1;
  __syncwarp();
  if (lane == 0) { __threadfence(); atomicExch(lock, 0); }
})";
  for (const std::vector<std::string>& form : {std::vector<std::string>{}, {"--damo-coroutines"}, {"--damo-reference"}}) {
    const auto object = testing::load(testing::compile_cuda(kText, {}, form));
    int lock = 0;
    std::vector<int> sums(32);
    testing::launch(object->kernel("k"), {2}, {128}, &lock, sums.data());
    for (int lane = 0; lane < 32; ++lane) EXPECT_EQ(sums[static_cast<std::size_t>(lane)], 8 * (lane + 1)) << lane;
    EXPECT_EQ(lock, 0);
  }
}

TEST(Lockstep, LetsTheFirstWarpWaitForATurnThatComesLast) {
  constexpr const char* kText = R"(
__global__ void k(int* turn, int* order) {
  const int warp = threadIdx.x / 32, last = blockDim.x / 32 - 1;
  if (threadIdx.x % 32 != 0) return;
  while (READ != last - warp);
  order[last - warp] = warp;
  __threadfence();
  atomicAdd(turn, 1);
})";
  for (const char* read : {"-DREAD=atomicAdd(turn,0)", "-DREAD=(*(volatile int*)turn)", "-DREAD=atomicCAS(turn,9,9)"}) {
    for (const std::vector<std::string>& form : {std::vector<std::string>{read}, {read, "--damo-coroutines"}, {read, "--damo-reference"}}) {
      const auto object = testing::load(testing::compile_cuda(kText, {}, form));
      int turn = 0;
      std::vector<int> order(4, -1);
      testing::launch(object->kernel("k"), {1}, {128}, &turn, order.data());
      EXPECT_EQ(order, (std::vector<int>{3, 2, 1, 0})) << read;
      EXPECT_EQ(turn, 4);
    }
  }
}

}  // namespace
}  // namespace damo::cpu_backend::testing
