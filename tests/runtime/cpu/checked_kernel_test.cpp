// Options{.check = true}: what each kind of wild access is reported as, and that right kernels are left alone.
#include <gmock/gmock.h>

#include <algorithm>

#include <damo/cuda_c.hpp>
#include <damo/module.hpp>

#include "support/errors.hpp"
#include "support/scratch_directory.hpp"

namespace damo::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;

class CheckedKernel : public ::testing::Test {
 protected:
  Module module(const std::string& source, bool check = true) {
    return Module(device_, source, {.check = check, .file_name = "user.cu"});
  }
  template <class... Arguments>
  std::string error_of(const std::string& source, const LaunchConfig& config, const Arguments&... arguments) {
    const Module checked = module(source);
    return damo::testing::error_of<DeviceError>([&] { checked.kernel("k")(config, arguments...); });
  }
  Array floats(std::int64_t count) { return Array::zeros({count}, float32, device_); }

  ScratchDirectory scratch_;
  Environment directory_{"DAMO_CACHE_DIR", scratch_.path()};
  Device device_ = cpu();
};

TEST_F(CheckedKernel, NamesTheArrayThatAWriteLiesBehind) {
  const std::string source = "__global__ void k(float* x, int n) {\n  int i = blockIdx.x * blockDim.x + threadIdx.x;\n  x[i + 2] = 1.0f;\n}";
  const std::string error = error_of(source, {{4}, {256}}, floats(1000), 1000);
  EXPECT_THAT(error, HasSubstr("kernel 'k': write of 4 bytes out of bounds at user.cu:3:12, block (3, 0, 0), thread (230, 0, 0): address 0x"));
  EXPECT_THAT(error, HasSubstr(", right past the end of argument 1 (x), 1000 of float32"));
  EXPECT_THAT(error_of(source, {{4}, {256}}, floats(1026), 1000), "nothing thrown");
}

TEST_F(CheckedKernel, KnowsRegisteredMemoryAsLongAsItIs) {
  const std::string source = "__global__ void k(float* x) { x[threadIdx.x] = 1; }";
  std::vector<float> values(64);
  {
    const RegisteredMemory registered(values, device_, {.mapped = true});
    EXPECT_EQ(error_of(source, {.block = {64}}, registered), "nothing thrown");
    EXPECT_THAT(error_of(source, {.block = {65}}, registered), HasSubstr("thread (64, 0, 0)"));
  }
  EXPECT_THAT(error_of(source, {.block = {64}}, values.data()), HasSubstr("out of bounds"));
}

/// A tile's reduction of a struct hands it on in words, through what only the group itself may read.
TEST_F(CheckedKernel, ReducesStructsInAGroup) {
  const std::string source = R"(
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;
struct Entry { int value, at; double weight; };
struct Larger {
  __device__ Entry operator()(const Entry& a, const Entry& b) const { return a.value > b.value || (a.value == b.value && a.at < b.at) ? a : b; }
};
__global__ void k(double* y, const int* x) {
  const auto tile = cg::tiled_partition<16>(cg::this_thread_block());
  const int i = threadIdx.x;
  const Entry best = cg::reduce(tile, Entry{x[i], i, 0.5 * i}, Larger());
  y[i] = 1000 * best.value + best.at + best.weight / 1024;
})";
  std::vector<int> x(64);
  for (int i = 0; i < 64; ++i) x[static_cast<std::size_t>(i)] = i * 7 % 13;
  std::vector<double> expected(64);
  for (std::size_t i = 0; i < 64; ++i) {
    const auto first = x.begin() + static_cast<std::ptrdiff_t>(i / 16 * 16), best = std::max_element(first, first + 16);
    const auto at = static_cast<double>(best - x.begin());
    expected[i] = 1000.0 * *best + at + 0.5 * at / 1024;
  }
  const Array y = Array::zeros({64}, float64, device_);
  EXPECT_EQ(error_of(source, {.block = {64}}, y, Array::from(x, device_)), "nothing thrown");
  EXPECT_EQ(y.to_vector<double>(), expected);
}

TEST_F(CheckedKernel, KnowsArraysMadeBeforeAndAfterTheModule) {
  const Array before = floats(10);
  const Module checked = module("__global__ void k(const float* x, float* y, int i) {\n  y[0] = x[i];\n}");
  const Array after = floats(10);
  checked.kernel("k")({{1}, {1}}, before, after, 9);
  for (const Array& x : {before, after}) {
    try {
      checked.kernel("k")({{1}, {1}}, x, after, 12);
      FAIL();
    } catch (const DeviceError& error) {
      EXPECT_THAT(error.what(), HasSubstr("read of 4 bytes out of bounds at user.cu:2:10"));
      EXPECT_THAT(error.what(), HasSubstr("8 bytes past the end of argument 1 (x), 10 of float32"));
    }
  }
  EXPECT_THROW(checked.kernel("k")({{1}, {1}}, before, after, -1), DeviceError);
}

TEST_F(CheckedKernel, RefusesMemoryThatWasGivenUp) {
  void* gone = nullptr;
  {
    const Array x = floats(1000);
    gone = x.data();
  }
  EXPECT_THAT(error_of("__global__ void k(void* x) {\n  ((float*)x)[0] = 1;\n}", {{1}, {1}}, gone), HasSubstr("write of 4 bytes out of bounds at user.cu:2:18"));
  EXPECT_THAT(error_of("__global__ void k(float* x) {\n  *x = 1;\n}", {{1}, {1}}, nullptr), HasSubstr("address 0x0, next to a null pointer"));
}

TEST_F(CheckedKernel, KnowsHostMemoryThatIsLent) {
  std::vector<float> host(8, 1.0f);
  const std::string source = "__global__ void k(const float* x, float* y, int i) {\n  y[i] = x[i] + 1;\n}";
  const Array borrowed = Array::borrow(host.data(), float32, {8}, {1}, device_);
  std::vector<float> out(8);
  EXPECT_EQ(error_of(source, {{1}, {1}}, borrowed, Out(out), 7), "nothing thrown");
  EXPECT_EQ(out[7], 2.0f);
  EXPECT_THAT(error_of(source, {{1}, {1}}, borrowed, Out(out), 8), HasSubstr("read of 4 bytes out of bounds at user.cu:2:10"));
  std::vector<float> in(9);
  EXPECT_THAT(error_of(source, {{1}, {1}}, In(in), Out(out), 8), HasSubstr("write of 4 bytes out of bounds at user.cu:2:8"));
}

TEST_F(CheckedKernel, KeepsSharedArraysApart) {
  const std::string source =
      "__global__ void k(int* y, int n) {\n  __shared__ int first[16];\n  __shared__ int second[16];\n"
      "  second[threadIdx.x] = 1;\n  first[threadIdx.x + n] = 2;\n  __syncthreads();\n  y[threadIdx.x] = first[threadIdx.x] + second[threadIdx.x];\n}";
  EXPECT_EQ(error_of(source, {{2}, {16}}, Array::zeros({16}, int32, device_), 0), "nothing thrown");
  EXPECT_THAT(error_of(source, {{2}, {16}}, Array::zeros({16}, int32, device_), 1),
              HasSubstr("write of 4 bytes out of bounds at user.cu:5:26, block (0, 0, 0), thread (15, 0, 0): address 0x"));
  EXPECT_THAT(error_of(source, {{2}, {16}}, Array::zeros({16}, int32, device_), 1),
              HasSubstr("right past the end of shared array 'first' of 64 bytes (element 16)"));
}

TEST_F(CheckedKernel, KeepsSharedArraysApartBehindAFunctionsPointer) {
  const std::string source =
      "__device__ __noinline__ int at(int* s, int i, int deep) { return deep ? at(s, i, deep - 1) : s[i]; }\n"
      "__global__ void k(int* y, int i) {\n  __shared__ int first[16], second[16];\n  first[threadIdx.x] = second[threadIdx.x] = 3;\n"
      "  y[threadIdx.x] = at(first, i, 2) + at(second, 0, 1);\n}";
  EXPECT_EQ(error_of(source, {{1}, {16}}, Array::zeros({16}, int32, device_), 0), "nothing thrown");
  EXPECT_THAT(error_of(source, {{1}, {16}}, Array::zeros({16}, int32, device_), 17),
              HasSubstr("4 bytes past the end of shared array 'first' of 64 bytes (element 17)"));
}

TEST_F(CheckedKernel, KnowsTheEndOfMemoryAskedForAtTheLaunch) {
  const std::string source =
      "__global__ void k(float* y, int n) {\n  extern __shared__ float s[];\n  s[threadIdx.x + n] = 1;\n  __syncthreads();\n  y[threadIdx.x] = s[n];\n}";
  EXPECT_EQ(error_of(source, {{1}, {32}, 128}, floats(32), 0), "nothing thrown");
  EXPECT_THAT(error_of(source, {{1}, {32}, 128}, floats(32), 1), HasSubstr("right past the end of shared array 's' of 128 bytes (element 32)"));
}

TEST_F(CheckedKernel, FindsSharedMemoryThatNobodyWrote) {
  const std::string source =
      "__global__ void k(float* y, int n) {\n  __shared__ float s[8];\n  if (threadIdx.x < n) s[threadIdx.x] = 1;\n  __syncthreads();\n"
      "  y[threadIdx.x] = s[7 - threadIdx.x];\n}";
  EXPECT_EQ(error_of(source, {{3}, {8}}, floats(8), 8), "nothing thrown");
  EXPECT_THAT(error_of(source, {{3}, {8}}, floats(8), 7),
              HasSubstr("read of shared memory that no thread of the block has written at user.cu:5:20, block (0, 0, 0), thread (0, 0, 0): shared array 's' of 32 bytes (element 7)"));
}

TEST_F(CheckedKernel, CopiesStructsWithHolesThroughSharedMemory) {
  const std::string source =
      "struct Item { char c; double d; };\n__global__ void k(Item* y) {\n  __shared__ Item s[8];\n  s[threadIdx.x].c = 1;\n  s[threadIdx.x].d = 2;\n"
      "  __syncthreads();\n  y[threadIdx.x] = s[7 - threadIdx.x];\n}";
  EXPECT_EQ(error_of(source, {{1}, {8}}, Array::zeros({128}, uint8, device_)), "nothing thrown");
}

TEST_F(CheckedKernel, KnowsTheEndOfLocalArraysAndVariables) {
  const std::string local =
      "__global__ void k(float* y, int i) {\n  float mine[4] = {1, 2, 3, 4};\n  for (int j = 0; j < 4; ++j) mine[j] += y[0];\n  y[0] = mine[i];\n}";
  EXPECT_EQ(error_of(local, {{1}, {1}}, floats(1), 3), "nothing thrown");
  EXPECT_THAT(error_of(local, {{1}, {1}}, floats(1), 4), HasSubstr("read of 4 bytes out of bounds at user.cu:4:10, block (0, 0, 0), thread (0, 0, 0)"));
  EXPECT_THAT(error_of(local, {{1}, {1}}, floats(1), 4), HasSubstr("right past the end of local array 'mine' of 16 bytes (element 4)"));
  const std::string table = "__constant__ float table[4] = {1, 2, 3, 4};\n__global__ void k(float* y, int i) {\n  y[0] = table[i];\n}";
  EXPECT_EQ(error_of(table, {{1}, {1}}, floats(1), 3), "nothing thrown");
  EXPECT_THAT(error_of(table, {{1}, {1}}, floats(1), -1), HasSubstr("4 bytes before the beginning of variable 'table' of 16 bytes (element -1)"));
}

TEST_F(CheckedKernel, FollowsLocalArraysThroughPointers) {
  const std::string source =
      "__device__ __noinline__ float sum(const float* p, int n, int deep) { float own[2] = {0, 1}; return n == 0 ? own[deep & 1] : p[n - 1] + sum(p, n - 1, deep + 1); }\n"
      "__global__ void k(float* y, int n) {\n  float a[4] = {1, 2, 3, 4}, b[4] = {5, 6, 7, 8};\n  __syncthreads();\n  y[0] = sum(n & 1 ? a : b, n, 0);\n}";
  EXPECT_EQ(error_of(source, {{1}, {4}}, floats(1), 4), "nothing thrown");
  EXPECT_THAT(error_of(source, {{1}, {4}}, floats(1), 300), HasSubstr("out of bounds at user.cu:1:"));
}

TEST_F(CheckedKernel, FindsVectorsThatAreNotAligned) {
  const std::string source = "__global__ void k(float* x, int i) {\n  *(float4*)(x + i) = make_float4(1, 2, 3, 4);\n}";
  EXPECT_EQ(error_of(source, {{1}, {1}}, floats(8), 4), "nothing thrown");
  EXPECT_THAT(error_of(source, {{1}, {1}}, floats(8), 1), HasSubstr("that is not aligned at user.cu:2:"));
  EXPECT_THAT(error_of(source, {{1}, {1}}, floats(8), 1), HasSubstr("is no multiple of 16"));
}

TEST_F(CheckedKernel, NamesAtomicsAndCopies) {
  EXPECT_THAT(error_of("__global__ void k(int* x) {\n  atomicAdd(x + 5, 1);\n}", {{1}, {1}}, Array::zeros({5}, int32, device_)),
              HasSubstr("atomic access to 4 bytes out of bounds at user.cu:2:3"));
  EXPECT_THAT(error_of("__global__ void k(char* x, int n) {\n  char mine[64];\n  memset(mine, 1, n);\n  memcpy(x, mine, n);\n}", {{1}, {1}},
                       Array::zeros({64}, uint8, device_), 65),
              HasSubstr("write of 65 bytes out of bounds at user.cu:3:"));
}

TEST_F(CheckedKernel, KnowsMemoryFromMalloc) {
  const std::string source =
      "__global__ void k(int* y, int i) {\n  int* p = (int*)malloc(16);\n  p[i] = 5;\n  y[threadIdx.x] = p[i];\n  free(p);\n  if (i == 3) free(p);\n}";
  const Array y = Array::zeros({32}, int32, device_);
  EXPECT_EQ(error_of(source, {{1}, {32}}, y, 2), "nothing thrown");
  EXPECT_THAT(error_of(source, {{1}, {32}}, y, 4), HasSubstr("write of 4 bytes out of bounds at user.cu:3:8"));
  EXPECT_THAT(error_of(source, {{1}, {32}}, y, 3), HasSubstr("free() of"));
}

TEST_F(CheckedKernel, FreesOverAlignedObjectsWithWhatNewGave) {
  const std::string source = R"(#include <new>
struct alignas(64) Wide { int values[16]; Wide() { values[15] = 9; } };
__global__ void k(int* y) {
  Wide* made[] = {new Wide, new (std::nothrow) Wide, new Wide[3], new (std::nothrow) Wide[3]};
  for (Wide* wide : made) y[0] += wide->values[15], y[1] |= reinterpret_cast<size_t>(wide) % 64;
  delete made[0]; delete made[1]; delete[] made[2]; delete[] made[3];
})";
  const Array y = Array::zeros({2}, int32, device_);
  EXPECT_EQ(error_of(source, {{1}, {1}}, y), "nothing thrown");
  EXPECT_THAT(y.to_vector<int>(), ::testing::ElementsAre(36, 0));
}

TEST_F(CheckedKernel, RunsKernelsOfEveryFormRight) {
  const std::string source = R"(
__device__ __noinline__ void meet(int n) { __syncthreads(); if (n > 0) meet(n - 1); }
__global__ void k(const float* x, float* y, int n) {
  __shared__ float s[64];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  s[threadIdx.x] = i < n ? x[i] : 0.0f;
  __syncthreads();
  for (int half = 32; half > 0; half /= 2) {
    if (threadIdx.x < half) s[threadIdx.x] += s[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) y[blockIdx.x] = s[0];
}
__global__ void warps(const float* x, float* y, int n) {
  float v = threadIdx.x < n ? x[threadIdx.x] : 0.0f;
  for (int d = 16; d > 0; d /= 2) v += __shfl_down_sync(~0u, v, d);
  meet(2);
  if (threadIdx.x % 32 == 0) y[threadIdx.x / 32] = v;
}
__global__ void stride(const float* x, float* y, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) y[i] = 2 * x[i];
})";
  std::vector<float> values(256);
  for (int i = 0; i < 256; ++i) values[i] = float(i);
  const Array x = Array::from(values, device_), y = floats(256);
  const Module checked = module(source);
  checked.kernel("k")({{4}, {64}}, x, y, 256);
  EXPECT_EQ(y.to_vector<float>()[1], 64.0f * (64 + 127) / 2);
  checked.kernel("warps")({{1}, {64}}, x, y, 64);
  EXPECT_EQ(y.to_vector<float>()[1], 32.0f * (32 + 63) / 2);
  checked.kernel("stride")({{2}, {32}}, x, y, 256);
  EXPECT_EQ(y.to_vector<float>()[255], 510.0f);
}

TEST_F(CheckedKernel, ChecksNothingUnlessAsked) {
  const Module plain = module("__global__ void k(float* x, int i) {\n  x[i] = 1;\n}", false);
  plain.kernel("k")({{1}, {1}}, floats(100), 101);  // within what the pool rounds up to
}

TEST_F(CheckedKernel, IsAskedForByTheEnvironment) {
  const Environment check("DAMO_CHECK", "1");
  const Module checked(device_, "__global__ void k(float* x, int i) {\n  x[i] = 1;\n}");
  EXPECT_THROW(checked.kernel("k")({{1}, {1}}, floats(100), 101), DeviceError);
}

}  // namespace
}  // namespace damo::testing
