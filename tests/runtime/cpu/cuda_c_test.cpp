// CUDA C compiled for the CPU: styles of kernels that must run. What must be refused: cuda_c_refusals_test.cpp.
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <limits>
#include <vector>

#include "runtime/cpu/compile_support.hpp"

namespace damo::cpu_backend::testing {
namespace {

TEST(CudaC, RunsAGuardedOneDimensionalKernel) {
  const auto object = load(compile_cuda(R"(
extern "C" __global__ void scale(const float* x, float* y, float factor, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = factor * x[i];
})"));
  const auto x = counting(1000);
  std::vector<float> y(1024, -1.0f);
  launch(object->kernel("scale"), {4}, {256}, x.data(), y.data(), 3.0f, 1000);
  for (int i = 0; i < 1024; ++i) ASSERT_EQ(y[i], i < 1000 ? 3.0f * float(i) : -1.0f) << i;
}

TEST(CudaC, ReturnsEarlyAndReadsAPlainCxxKernelByName) {
  const auto object = load(compile_cuda(R"(
__global__ void relu(const float* x, float* y, unsigned n) {
  unsigned i = threadIdx.x + blockDim.x * blockIdx.x;
  if (i >= n) return;
  float v = x[i];
  if (v < 5.0f) { y[i] = 0.0f; return; }
  y[i] = v;
})"));
  const auto x = counting(100);
  std::vector<float> y(128, -1.0f);
  launch(object->kernel("relu"), {2}, {64}, x.data(), y.data(), 100u);
  for (int i = 0; i < 128; ++i) ASSERT_EQ(y[i], i >= 100 ? -1.0f : i < 5 ? 0.0f : float(i)) << i;
}

TEST(CudaC, IndexesInTwoAndThreeDimensions) {
  const auto object = load(compile_cuda(R"(
__global__ void transpose(const float* in, float* out, int rows, int columns) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < columns && y < rows) out[x * rows + y] = in[y * columns + x];
}
__global__ void number(int* out) {
  dim3 b = blockIdx, n = gridDim;
  int block = (b.z * n.y + b.y) * n.x + b.x;
  int thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  out[block * (blockDim.x * blockDim.y * blockDim.z) + thread] = block * 1000 + thread;
})"));
  const auto in = counting(30 * 50);
  std::vector<float> out(30 * 50, -1.0f);
  launch(object->kernel("transpose"), {4, 4}, {16, 8}, in.data(), out.data(), 30, 50);
  for (int y = 0; y < 30; ++y) {
    for (int x = 0; x < 50; ++x) ASSERT_EQ(out[x * 30 + y], in[y * 50 + x]);
  }
  std::vector<int> numbers(24 * 24, -1);
  launch(object->kernel("number"), {2, 3, 4}, {4, 3, 2}, numbers.data());
  for (int i = 0; i < 24 * 24; ++i) ASSERT_EQ(numbers[i], i / 24 * 1000 + i % 24);
}

TEST(CudaC, TakesStructsByValue) {
  struct Small { float a; int b; };
  struct Large { double weights[5]; float* y; int n; };
  const auto object = load(compile_cuda(R"(
struct Small { float a; int b; };
struct Large { double weights[5]; float* y; int n; };
__global__ void combine(Small s, Large l, float4 v) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < l.n) l.y[i] = s.a * i + s.b + l.weights[i % 5] + v.w;
})"));
  std::vector<float> y(100, -1.0f);
  const Small s{2.0f, 1};
  const Large l{{10, 20, 30, 40, 50}, y.data(), 100};
  struct alignas(16) { float x, y, z, w; } v{0, 0, 0, 0.5f};
  launch(object->kernel("combine"), {4}, {32}, s, l, v);
  for (int i = 0; i < 100; ++i) ASSERT_EQ(y[i], 2.0f * float(i) + 1.5f + float(10 * (i % 5 + 1)));
}

// nvcc takes them too: what they refer to lies in memory of the device.
TEST(CudaC, TakesReferencesAsAddresses) {
  const auto object = load(compile_cuda(R"(
struct Count { int value, more[20]; };
__global__ void add(Count& count, const float& factor, int by) {
  __shared__ int sum;
  if (threadIdx.x == 0) sum = 0;
  __syncthreads();
  atomicAdd(&sum, by);
  __syncthreads();
  if (threadIdx.x == 0) count.value += int(sum * factor);
})"));
  struct { int value = 5, more[20] = {}; } count;
  const float factor = 2;
  launch(object->kernel("add"), {1}, {8}, &count, &factor, 3);
  EXPECT_EQ(count.value, 53);
}

// As CUDA does: no constructor and no destructor runs, and each thread has a copy of its own.
TEST(CudaC, CopiesTheBytesOfClassesWhoseConstructorsAreTheHosts) {
  const char* const text = R"(
struct Owner { int* memory; int sum; Owner(const Owner& other); ~Owner(); };  // defined where the host's functions are
struct Part { Owner owner; int by; };
struct Once { int by; Once(const Once&) = delete; Once(Once&&) = default; };  // goes in a register, as no way to copy it does anything
struct Moved { int by; __device__ Moved(Moved&& other) : by(other.by + 1) {} };
__global__ void add(Part part, Moved moved, int* y) {
  part.owner.sum += part.by + moved.by + threadIdx.x;
  moved.by = 1000;
  y[threadIdx.x] = part.owner.sum;
}
__global__ void once(Once once, int* y) { y[threadIdx.x] = once.by + threadIdx.x; once.by = 100; }
__global__ void meet(Part part, int* y) {
  part.owner.sum += threadIdx.x;
  __syncthreads();
  y[threadIdx.x] = part.owner.sum * part.by;
})";
  struct Argument { int* memory; int sum; };
  struct { Argument owner; int by; } given = {{nullptr, 5}, 10};
  int moved = 3;
  const auto object = load(compile_cuda(text));
  std::vector<int> y(8);
  launch(object->kernel("add"), {1}, {8}, given, moved, y.data());
  for (int t = 0; t < 8; ++t) EXPECT_EQ(y[static_cast<std::size_t>(t)], 18 + t);
  launch(object->kernel("once"), {1}, {8}, moved, y.data());
  for (int t = 0; t < 8; ++t) EXPECT_EQ(y[static_cast<std::size_t>(t)], 3 + t);
  launch(object->kernel("meet"), {1}, {8}, given, y.data());
  for (int t = 0; t < 8; ++t) EXPECT_EQ(y[static_cast<std::size_t>(t)], (5 + t) * 10);
}

TEST(CudaC, ReadsFloat4AndCallsDeviceFunctions) {
  const auto object = load(compile_cuda(R"(
__device__ float dot(float4 a, float4 b);
template <class T, int N> __device__ T power(T x) { T r = 1; for (int i = 0; i < N; ++i) r *= x; return r; }
__global__ void norm(const float4* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = sqrtf(dot(x[i], x[i])) + power<float, 3>(float(i));
}
__device__ __noinline__ float dot(float4 a, float4 b) { return a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w; }
)"));
  struct alignas(16) Four { float x, y, z, w; };
  std::vector<Four> x(50);
  for (int i = 0; i < 50; ++i) x[i] = {float(i), float(i), float(i), float(i)};
  std::vector<float> y(50);
  launch(object->kernel("norm"), {2}, {32}, x.data(), y.data(), 50);
  for (int i = 0; i < 50; ++i) ASSERT_EQ(y[i], 2.0f * float(i) + float(i * i * i));
}

TEST(CudaC, CallsHelpersThatHaveNoAnnotation) {
  const auto object = load(compile_cuda(R"(
int twice(int x) { return 2 * x; }
constexpr int three() { return 3; }
__global__ void k(int* y) {
  const auto shifted = [=] __device__ (int v) { return twice(v) + three(); };
  y[threadIdx.x] = shifted(threadIdx.x);
})"));
  std::vector<int> y(4);
  launch(object->kernel("k"), {1}, {4}, y.data());
  for (int i = 0; i < 4; ++i) EXPECT_EQ(y[i], 2 * i + 3);
}

TEST(CudaC, CompilesTemplateKernelsByName) {
  const auto output = compile_cuda(R"(
namespace ops {
template <class T, int Factor> __global__ void scale(const T* x, T* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] * T(Factor);
}
})", {"ops::scale<float, 3>", "ops::scale<int, 4>"});
  const auto object = load(output);
  EXPECT_EQ(object->signatures(), "ops::scale<float, 3>: const float *, float *, int\t8,8,4\t0,0\n"
                                  "ops::scale<int, 4>: const int *, int *, int\t8,8,4\t0,0\n");
  const auto x = counting(10);
  std::vector<float> y(10);
  launch(object->kernel("ops::scale<float, 3>"), {1}, {16}, x.data(), y.data(), 10);
  for (int i = 0; i < 10; ++i) ASSERT_EQ(y[i], 3.0f * float(i));
}

TEST(CudaC, CompilesTemplatesThatEndInAPack) {
  const auto output = compile_cuda(R"(
struct Scaled {
  float by;
  __device__ float operator()(float x, float plus, int times) const { return by * x * times + plus; }
};
template <class Do, class... More> __global__ void each(float* y, int n, Do act, More... more) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = act(y[i], more...);
})", {"each<Scaled, float, int>"});
  const auto object = load(output);
  EXPECT_EQ(object->signatures(), "each<Scaled, float, int>: float *, int, Scaled, float, int\t8,4,4,4,4\t0,0\n");
  auto y = counting(10);
  launch(object->kernel("each<Scaled, float, int>"), {1}, {16}, y.data(), 10, 0.5f, 7.0f, 3);
  for (int i = 0; i < 10; ++i) ASSERT_EQ(y[i], 1.5f * float(i) + 7.0f);
}

TEST(CudaC, KeepsConstantAndDeviceVariablesAtTheirNames) {
  const auto object = load(compile_cuda(R"(
__constant__ float table[4] = {1, 2, 3, 4};
__constant__ float weights[4];
__device__ int calls = 5;
static __constant__ int offsets[2] = {7, 9};
__global__ void look(float* y) {
  int i = threadIdx.x;
  y[i] = table[i & 3] * 10 + weights[i & 3] + offsets[i & 1] + calls;
})"));
  auto* weights = static_cast<float*>(object->find("weights"));
  ASSERT_NE(weights, nullptr);
  ASSERT_EQ(object->size_of("weights"), 16u);
  for (int i = 0; i < 4; ++i) weights[i] = 100.0f * float(i);
  std::vector<float> y(8);
  launch(object->kernel("look"), {1}, {8}, y.data());
  for (int i = 0; i < 8; ++i) ASSERT_EQ(y[i], float((i & 3) + 1) * 10 + 100.0f * float(i & 3) + (i & 1 ? 9.0f : 7.0f) + 5.0f);
}

TEST(CudaC, KeepsLocalArraysOfThreadsApart) {
  const auto object = load(compile_cuda(R"(
__global__ void reverse(const float* x, float* y, int shift) {
  float mine[8];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  for (int k = 0; k < 8; ++k) mine[(k + shift) % 8] = x[i * 8 + k];
  float* p = mine;
  if (shift > 100) p = y;
  for (int k = 0; k < 8; ++k) y[i * 8 + k] = p[7 - k];
})"));
  const auto x = counting(512);
  std::vector<float> y(512);
  launch(object->kernel("reverse"), {2}, {32}, x.data(), y.data(), 3);
  for (int i = 0; i < 64; ++i) {
    for (int k = 0; k < 8; ++k) ASSERT_EQ(y[i * 8 + k], x[i * 8 + (7 - k + 5) % 8]) << i << ' ' << k;
  }
}

TEST(CudaC, KnowsTheMathAndTheHeadersOfCuda) {
  const auto object = load(compile_cuda(R"(
#include <cuda_runtime.h>
#include <cuda_fp16.h>
#include <math.h>
__global__ void functions(const float* x, float* y, __half* h, __nv_bfloat16* b) {
  int i = threadIdx.x;
  float v = x[i] * 0.1f;
  y[i] = expf(v) + logf(1.0f + v) + tanhf(v) + powf(v, 2.0f) + erff(v) + sinf(v) + fmaf(v, v, 1.0f) + max(v, 0.5f)
       + min(i, 3) + fabsf(-v) + rsqrtf(1.0f + v) + (float)exp((double)v) + floorf(v) + __expf(v) + fmodf(v, 0.3f);
  h[i] = __float2half(v);
  b[i] = __float2bfloat16(__half2float(h[i]));
})"));
  const auto x = counting(40);
  std::vector<float> y(40);
  std::vector<std::uint16_t> h(40), b(40);
  launch(object->kernel("functions"), {1}, {40}, x.data(), y.data(), h.data(), b.data());
  for (int i = 0; i < 40; ++i) {
    const double v = double(x[i] * 0.1f);
    const double wanted = std::exp(v) * 3 + std::log(1 + v) + std::tanh(v) + v * v + std::erf(v) + std::sin(v) + v * v + 1 + std::max(v, 0.5) +
                          std::min(i, 3) + v + 1 / std::sqrt(1 + v) + std::floor(x[i] * 0.1f) + double(std::fmod(x[i] * 0.1f, 0.3f));
    ASSERT_NEAR(y[i], wanted, 1e-5 * (1 + wanted)) << i;
  }
  EXPECT_EQ(h[10], 0x3c00);
  EXPECT_EQ(b[10], 0x3f80);
}

TEST(CudaC, TakesMacrosFromTheFlags) {
  const auto object = load(compile_cuda("__global__ void fill(int* y) { y[threadIdx.x] = VALUE; }", {}, {"-DVALUE=42"}));
  std::vector<int> y(16);
  launch(object->kernel("fill"), {1}, {16}, y.data());
  EXPECT_EQ(y, std::vector<int>(16, 42));
}

TEST(CudaC, MayHaveMacrosOfAnyNames) {
  // Names of variables, of parameters and of what is in namespaces, in front of headers and behind them.
  std::string macros;
  for (const char* name : {"A", "B", "D", "F", "N", "T", "U", "a", "b", "i", "n", "s", "t", "nx", "ny", "nz", "gx", "row", "at", "y", "z", "first", "last", "block", "state", "frame",
                           "arguments", "joined", "T0", "p0", "count", "size", "mask", "max", "swap"}) {
    macros += std::string("#define ") + name + " 17\n";
  }
  const auto object = load(compile_cuda(macros + R"(
#include <cooperative_groups.h>
#include <cuda_fp16.h>
#include <algorithm>
#define w 5
__global__ void k(int* to) {
  cooperative_groups::this_thread_block().sync();
  to[threadIdx.x] = nx + N + z + swap + w + H;
}
#define float double
)",
                                        {}, {"-DH=9", "-DI=9", "-DJ=9", "-DO=9"}));
  std::vector<int> y(4, -1);
  launch(object->kernel("k"), {1}, {4}, y.data());
  for (const int value : y) EXPECT_EQ(value, 4 * 17 + 5 + 9);
}

TEST(CudaC, TakesFlagsThatThePrecompiledPreludeCannotFollow) {
  const auto object = load(compile_cuda("__global__ void fill(long* y) { y[threadIdx.x] = __cplusplus; }", {}, {"-std=c++17"}));
  std::vector<long> y(4);
  launch(object->kernel("fill"), {1}, {4}, y.data());
  EXPECT_EQ(y, std::vector<long>(4, 201703L));
}

TEST(CudaC, GivesTheSameBytesForTheSameText) {
  const char* text = "__device__ static int f(int x) { return x * 3; }\n__global__ void k(int* y) { y[threadIdx.x] = f(threadIdx.x); }";
  const CompileOutput first = compile_cuda(text), second = compile_cuda(text);
  ASSERT_TRUE(first.ok);
  EXPECT_EQ(first.object, second.object);
}

TEST(CudaC, AgreesWithAPlainLoopOnOddGridsAndAliases) {
  // In place, shifted by one against the direction of the loop, masked tails: what a wrong vectorisation would break.
  const auto object = load(compile_cuda(R"(
__global__ void in_place(float* x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] = x[i] > 10.0f ? x[i] * 0.5f : x[i] + 1.0f;
}
__global__ void gather(const float* x, const int* at, float* y, int n) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && at[i] >= 0) y[at[i]] += x[i];
}
__global__ void scan_rows(const float* x, float* y, int rows, int columns) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows) return;
  float sum = 0;
  for (int c = 0; c < columns; ++c) { sum += x[r * columns + c]; y[r * columns + c] = sum; }
})"));
  for (const std::uint32_t block : {1u, 3u, 32u, 100u, 256u}) {
    constexpr int n = 1000;
    auto x = counting(n);
    launch(object->kernel("in_place"), {(n + block - 1) / block}, {block}, x.data(), n);
    for (int i = 0; i < n; ++i) ASSERT_EQ(x[i], i > 10 ? float(i) * 0.5f : float(i) + 1.0f);
    std::vector<int> at(n);
    for (int i = 0; i < n; ++i) at[i] = i % 5 ? (i * 7) % n : -1;
    std::vector<float> y(n, 1.0f);
    launch(object->kernel("gather"), {(n + block - 1) / block}, {block}, x.data(), at.data(), y.data(), n);
    for (int i = 0; i < n; ++i) {
      if (at[i] >= 0) ASSERT_EQ(y[at[i]], 1.0f + x[i]);
    }
    std::vector<float> sums(n);
    launch(object->kernel("scan_rows"), {(40 + block - 1) / block}, {block}, x.data(), sums.data(), 40, 25);
    for (int r = 0; r < 40; ++r) {
      float sum = 0;
      for (int c = 0; c < 25; ++c) ASSERT_EQ(sums[r * 25 + c], sum += x[r * 25 + c]);
    }
  }
}

TEST(CudaC, IgnoresHostFunctionsOfTheText) {
  const auto object = load(compile_cuda(R"(
__global__ void fill(int* y) { y[threadIdx.x] = 1; }
int host_side(int x) { return x + 1; }
)"));
  EXPECT_EQ(object->functions(), std::vector<std::string>{"fill"});
}

// As the shifts of a GPU do, whose amounts end at the width.
TEST(CudaC, ShiftsEverythingOutByTheWidthOrMore) {
  const auto object = load(compile_cuda(R"(
__global__ void shift(const unsigned* amount, unsigned* left, unsigned* right, int* arithmetic, unsigned long long* wide, long long* wide_arithmetic) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  left[i] = 0x80000001u << amount[i];
  right[i] = 0xc0000000u >> amount[i];
  arithmetic[i] = -12345678 >> amount[i];
  wide[i] = 0x8000000000000001ull << amount[i] | 0x4000000000000000ull >> amount[i];
  wide_arithmetic[i] = -(1ll << 40) >> amount[i];
}
__device__ unsigned rotate(unsigned x, int n) { return x << n | x >> 32 - n; }
template <int n> __device__ unsigned rotate(unsigned x) { return x << n | x >> (32 - n); }
__global__ void known(unsigned* y) { y[threadIdx.x] = rotate(y[threadIdx.x], 0) + rotate<0>(y[threadIdx.x]); }
__global__ void pack(const unsigned* words, const unsigned* bits, unsigned* out, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) out[i] = words[i] >> bits[i] | (i ? words[i - 1] << 32 - bits[i] : 0);
})"));
  std::vector<unsigned> amount, left(80), right(80);
  std::vector<int> arithmetic(80);
  std::vector<unsigned long long> wide(80);
  std::vector<long long> wide_arithmetic(80);
  for (unsigned i = 0; i < 78; ++i) amount.push_back(i);
  amount.push_back(256);
  amount.push_back(0xffffffffu);
  launch(object->kernel("shift"), {10}, {8}, amount.data(), left.data(), right.data(), arithmetic.data(), wide.data(), wide_arithmetic.data());
  for (int i = 0; i < 80; ++i) {
    const unsigned n = amount[i];
    EXPECT_EQ(left[i], n < 32 ? 0x80000001u << n : 0) << n;
    EXPECT_EQ(right[i], n < 32 ? 0xc0000000u >> n : 0) << n;
    EXPECT_EQ(arithmetic[i], n < 32 ? -12345678 >> n : -1) << n;
    EXPECT_EQ(wide[i], n < 64 ? 0x8000000000000001ull << n | 0x4000000000000000ull >> n : 0) << n;
    EXPECT_EQ(wide_arithmetic[i], n < 64 ? -(1ll << 40) >> n : -1) << n;
  }
  const std::vector<unsigned> words(37, 0x89abcdefu), bits(37, 0);
  std::vector<unsigned> out(37);
  launch(object->kernel("pack"), {1}, {16}, words.data(), bits.data(), out.data(), 37);
  EXPECT_EQ(out, words);
  launch(object->kernel("known"), {1}, {37}, out.data());
  EXPECT_EQ(out, std::vector<unsigned>(37, 2 * 0x89abcdefu)) << "also where the compiler sees the amount";
}

// Loop strength reduction took minutes for the index v + k, as v is a sum of 40 products by then.
TEST(CudaC, CompilesALoopBesideALongSumAtOnce) {
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_TRUE(compile_cuda(R"(
__device__ unsigned sum(unsigned depth, unsigned x) {
  if (depth == 0) return x;
  return sum(depth - 1, x * 3u + __shfl_sync(~0u, x, 1)) + depth;
}
extern "C" __global__ void waits(unsigned* a) { a[threadIdx.x] = sum(a[threadIdx.x] & 3u, threadIdx.x); }
extern "C" __global__ void recurs(unsigned* a, unsigned* b, const unsigned* c, unsigned n) {
  const unsigned t = threadIdx.x, g = blockIdx.x * 96 + t;
  volatile unsigned* seen = b;
  unsigned v = n, w = 7;
  unsigned char y = 200;
  if (g >= n) return;
  for (unsigned i = 0; i < 3; ++i) {
    v += i;
    for (unsigned k = 0; k < 33; ++k) {
      v = v * 3u + c[t + k] * c[k];
      a[g + 96] = a[g];
    }
  }
  for (unsigned j = 0; j < c[3]; ++j) {
    for (unsigned k = 0; k < 33; ++k) {
      y += (unsigned char)c[t + k];
      if (c[g + k] & 1u) w ^= v + k;
    }
    b[g + (y % 2u) * 96] += seen[g];
    for (unsigned k = 0; k < 33; ++k) w += c[g + k];
  }
  a[g] = v + w;
})").ok);
  EXPECT_LT(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(), 30) << "seconds";
}

TEST(CudaC, EndsRowsOfThreadsWhereAGuardSays) {
  const auto object = load(compile_cuda(R"(
__global__ void below(int* y, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] = 1; }
__global__ void up_to(int* y, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (n < i) return; y[i] = 1; }
__global__ void wide(int* y, long n) { long i = (long)blockIdx.x * blockDim.x + threadIdx.x; if (!(i >= n)) y[i] = 1; }
__global__ void natural(int* y, unsigned n) { unsigned i = blockIdx.x * blockDim.x + threadIdx.x; if (i >= n) return; y[i] = 1; }
__global__ void of_block(int* y, int n) { if ((int)threadIdx.x < n) y[blockIdx.x * blockDim.x + threadIdx.x] = 1; }
__global__ void otherwise(int* y, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] = 1; else y[i] = 2; }
__global__ void counted(int* y, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; atomicAdd(&y[i], 2); if (i < n) y[i] += 1; }
__global__ void rows(int* y, int n, int m) { int i = blockIdx.x * blockDim.x + threadIdx.x, j = threadIdx.y; if (i < n && j < m) y[j * 12 + i] = 1; }
__global__ void within(int* y, int n) { for (int i = threadIdx.x; i < n; i += blockDim.x) if (i < 12) y[i] += 1; }
)"));
  const auto run = [&](const char* name, auto... bounds) {
    std::vector<int> y(64);
    launch(object->kernel(name), {3}, {4}, y.data(), bounds...);
    return y;
  };
  for (const int n : {-2147483647 - 1, -1, 0, 1, 4, 7, 11, 12, 2147483647}) {
    std::vector<int> below(64), up_to(64), of_block(64), otherwise(64), counted(64), within(64);
    for (int i = 0; i < 12; ++i) {
      below[i] = i < n;
      up_to[i] = i <= n;
      of_block[i] = i % 4 < n;
      otherwise[i] = i < n ? 1 : 2;
      counted[i] = 2 + (i < n);
      within[i] = i < n ? 3 : 0;  // once a block
    }
    EXPECT_EQ(run("below", n), below) << n;
    EXPECT_EQ(run("up_to", n), up_to) << n;
    EXPECT_EQ(run("wide", static_cast<long>(n)), below) << n;
    EXPECT_EQ(run("of_block", n), of_block) << n;
    EXPECT_EQ(run("otherwise", n), otherwise) << n;
    EXPECT_EQ(run("counted", n), counted) << n;
    if (n >= 0) EXPECT_EQ(run("natural", static_cast<unsigned>(n)), below) << n;
    if (n < 2147483647) EXPECT_EQ(run("within", n), within) << n;
    std::vector<int> y(64), expected(64);
    launch(object->kernel("rows"), {3}, {4, 3}, y.data(), n, 2);
    for (int i = 0; i < 24; ++i) expected[i] = i % 12 < n;
    EXPECT_EQ(y, expected) << n;
  }
  EXPECT_EQ(run("natural", 0xffffffffu)[11], 1);
  EXPECT_EQ(run("wide", std::numeric_limits<long>::max())[11], 1);
  EXPECT_EQ(run("wide", std::numeric_limits<long>::min())[0], 0);
}

TEST(CudaC, VectorisesAGuardedKernel) {
  const auto loop = load(compile_loops(R"(
using namespace damo;
extern "C" void doubling(void* const* a, const LaunchFrame*, i64 first, i64 last) {
  const f32* __restrict x = *(const f32* const*)a[0]; f32* __restrict y = *(f32* const*)a[1];
  for (i64 i = first; i < last; ++i) y[i] = x[i] * 2.0f;
})"));
  const auto output = compile_cuda(R"(
__global__ void doubling(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] * 2.0f;
})");
  const auto kernel = load(output);
  std::vector<float> x(1 << 14, 1.0f), y(1 << 14);
  const float* in = x.data();
  float* out = y.data();
  const void* arguments[] = {&in, &out};
  const LaunchFrame frame{};
  const double plain = least_milliseconds(20, [&] {
    for (int i = 0; i < 100; ++i) loop->kernel("doubling")(const_cast<void* const*>(arguments), &frame, 0, 1 << 14);
  });
  for (const std::uint32_t block : {64u, 256u, 1024u}) {
    const double time = least_milliseconds(20, [&] {
      for (int i = 0; i < 100; ++i) launch(kernel->kernel("doubling"), {(1u << 14) / block}, {block}, in, out, 1 << 14);
    });
    std::printf("[ figure ] doubling, 64 KiB in cache, block %u: %.0f GB/s (plain loop %.0f GB/s)\n", block, 131072 * 100 / time / 1e6, 131072 * 100 / plain / 1e6);
    if (block >= 256) EXPECT_LT(time, 6 * plain) << "scalar code takes 8 to 16 times as long; the rest is for a busy machine";
  }
  const double compiling = least_milliseconds(7, [&] { compile_cuda("__global__ void doubling(const float* x, float* y, int n) {\n  int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i < n) y[i] = x[i] * 2.0f;\n}"); });
  std::printf("[ figure ] compile of a CUDA C kernel: %.1f ms\n", compiling);
}

}  // namespace
}  // namespace damo::cpu_backend::testing
