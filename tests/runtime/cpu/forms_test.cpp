// Forms of a kernel's threads: all give the values of the reference form.
#include <gmock/gmock.h>

#include <cmath>
#include <numeric>

#include "runtime/cpu/compile_support.hpp"

namespace damo::cpu_backend::testing {
namespace {

/// y, the first argument, of 64 threads in each form.
template <class... Arguments>
void expect_in_all_forms(const std::string& text, const std::vector<float>& expected, const Arguments&... arguments) {
  for (const char* form : {"", "--damo-coroutines", "--damo-reference"}) {
    const auto object = load(compile_cuda(text, {}, *form ? std::vector<std::string>{form} : std::vector<std::string>{}));
    std::vector<float> y(expected.size());
    launch(object->kernel("k"), {1}, {64}, y.data(), arguments...);
    EXPECT_EQ(y, expected) << "form " << form;
  }
}

std::vector<float> numbers(std::size_t count) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<float>(i * 7 % 11);
  return values;
}

TEST(Forms, ReadVolatileSharedMemoryInALoopUnderABranch) {
  const std::vector<float> x = numbers(64);
  std::vector<float> expected(64);
  for (int t = 0; t < 8; ++t) expected[t] = std::accumulate(x.begin(), x.begin() + 5, 0.0f);
  expect_in_all_forms(R"(
    extern "C" __global__ void k(float* y, const float* x) {
      __shared__ volatile float s[256];
      s[threadIdx.x] = x[threadIdx.x];
      __syncthreads();
      float beta = 0;
      if (threadIdx.x < 8) for (int i = 0; i < 5; ++i) beta += s[i];
      y[threadIdx.x] = beta;
    })", expected, x.data());
}

// Failed before: the compiler faulted.
TEST(Forms, LetOneThreadAddUpVolatileSharedMemory) {
  const std::vector<float> x = numbers(64);
  std::vector<float> expected(64);
  std::partial_sum(x.begin(), x.end(), expected.begin());
  expect_in_all_forms(R"(
    extern "C" __global__ void k(float* y, const float* x) {
      __shared__ volatile float s[256];
      int tid = threadIdx.x;
      s[tid] = x[tid];
      __syncthreads();
      if (tid == 0) for (int i = 1; i < 64; ++i) s[i] += s[i - 1];
      __syncthreads();
      y[tid] = s[tid];
    })", expected, x.data());
}

// Failed before: Clang refuses such variables. NVRTC takes them, warns, and runs no constructor.
TEST(Forms, RunNoConstructorForSharedMemory) {
  const std::string text = R"(
    __device__ int made;
    struct Cell {
      float value = 5;
      int tag;
      __device__ Cell() : tag(atomicAdd(&made, 1)) {}
      __device__ ~Cell() { atomicAdd(&made, 100); }
    };
    template <class T> __device__ float right_of(float own) {
      __shared__ T cells[64], one;
      cells[threadIdx.x].value = own;
      __syncthreads();
      if (threadIdx.x == 0) one.value = cells[63].value;
      __syncthreads();
      return threadIdx.x == 63 ? one.value : cells[threadIdx.x + 1].value;
    }
    extern "C" __global__ void k(float* y, const float* x) {
      __shared__ Cell first[2][3];
      if (threadIdx.x == 0) first[1][2].value = 1;
      y[threadIdx.x] = right_of<Cell>(x[threadIdx.x]) * first[1][2].value + made;
    })";
  const std::vector<float> x = numbers(64);
  std::vector<float> expected(x.begin() + 1, x.end());
  expected.push_back(x[63]);
  expect_in_all_forms(text, expected, x.data());
  const std::string log = compile_cuda(text).log;
  for (const char* const place : {"user.cu:10:20", "user.cu:10:31", "user.cu:18:23"}) {
    EXPECT_THAT(log, ::testing::HasSubstr(place + std::string(": warning: no constructor or destructor runs for "))) << log;
  }
}

TEST(Forms, ShuffleAfterAnInnerLoop) {
  const std::vector<float> x = numbers(4 * 8 * 64);
  std::vector<float> expected(4 * 64);
  for (int warp = 0; warp < 2; ++warp) {
    float m[33] = {};
    for (int r = 0; r < 4; ++r) {
      float v[32];
      for (int lane = 0; lane < 32; ++lane) {
        for (int c = 0; c < 8; ++c) m[lane] += v[lane] = x[(r * 8 + c) * 64 + warp * 32 + lane];
      }
      for (int lane = 0; lane < 32; ++lane) {
        const float other = lane < 31 ? m[lane + 1] : m[lane];
        expected[r * 64 + warp * 32 + lane] = m[lane] + other;
      }
      std::copy(v, v + 32, m);
    }
  }
  expect_in_all_forms(R"(
    extern "C" __global__ void k(float* out, const float* in) {
      float m = 0;
      for (int r = 0; r < 4; ++r) {
        float v = 0;
        for (int c = 0; c < 8; ++c) { v = in[(r * 8 + c) * 64 + threadIdx.x]; m += v; }
        m += __shfl_down_sync(0xffffffffu, m, 1);
        out[r * 64 + threadIdx.x] = m;
        m = v;
      }
    })", expected, x.data());
}

TEST(Forms, FuseTheFirstOfTwoProducts) {
  const std::string text = R"(
__global__ void k(float* y, const float* x, float a, float b, float c, float d, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] * (a * b + c * d);
})";
  constexpr int kThreads = 61;
  std::vector<float> x(kThreads);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = std::sin(static_cast<float>(i));
  for (const char* form : {"", "--damo-reference"}) {
    const auto object = load(compile_cuda(text, {}, *form ? std::vector<std::string>{form} : std::vector<std::string>{}));
    for (int first = 1; first <= 16; ++first) {
      const auto number = [&](int i) { return std::sin(static_cast<float>(first + i)); };
      const float a = number(0), b = number(1), c = number(2), d = number(3);
      std::vector<float> y(kThreads), fused(kThreads), plain(kThreads);
      launch(object->kernel("k"), {1}, {64}, y.data(), x.data(), a, b, c, d, kThreads);
      const volatile float ab = a * b, cd = c * d;  // each rounded
      for (std::size_t i = 0; i < x.size(); ++i) {
        fused[i] = x[i] * std::fma(a, b, cd);
        plain[i] = x[i] * (ab + cd);  // without the instruction
      }
      EXPECT_TRUE(y == fused || y == plain) << "form '" << form << "', numbers from " << first;
    }
  }
}

TEST(Forms, TheReferenceHasNoLoopsOverThreads) {
  const CompileOutput waits = compile_cuda("__global__ void k(int* y) { __syncthreads(); *y = 1; }", {}, {"--damo-reference"});
  const CompileOutput alone = compile_cuda("__global__ void k(int* y) { y[threadIdx.x] = 1; }", {}, {"--damo-reference"});
  const auto mentions = [](const CompileOutput& output, std::string_view symbol) {
    return std::string_view(reinterpret_cast<const char*>(output.object.data()), output.object.size()).find(symbol) != std::string_view::npos;
  };
  EXPECT_TRUE(mentions(waits, "damo_run_fibers"));
  EXPECT_TRUE(mentions(alone, "damo_run_threads"));
}

}  // namespace
}  // namespace damo::cpu_backend::testing
