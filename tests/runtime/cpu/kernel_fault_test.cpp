// Kernels that the processor stops: each is an error with the user's line, and the process goes on.
#include <gmock/gmock.h>
#include <malloc.h>

#include <atomic>
#include <csignal>
#include <thread>

#include "runtime/cpu/user_kernel.hpp"

namespace damo::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using KernelFault = UserKernelTest;

TEST_F(KernelFault, NamesTheLineOfAWriteThroughNull) {
  const auto kernel = compiled("__global__ void k(float* y) {\n  int i = threadIdx.x;\n  y[i] = 1.0f;\n}");
  const float* none = nullptr;
  const std::string error = error_of(*kernel, {{1}, {32}}, none);
  EXPECT_THAT(error, HasSubstr("kernel 'k': write to address 0x0, next to a null pointer at user.cu:3:8"));
  EXPECT_THAT(error, HasSubstr("DAMO_CHECK=1"));
  expect_usable();
}

TEST_F(KernelFault, NamesTheLineInBlocksOfTheSizeThatTheTextSaysAndInOthers) {
  const auto kernel = compiled("__global__ void k(float* y, int n) {\n  int i = blockIdx.x * 16 + threadIdx.x;\n  if (i < n)\n    y[i] = 1.0f;\n}");
  const float* none = nullptr;
  for (const unsigned threads : {16u, 8u}) {
    EXPECT_THAT(error_of(*kernel, {{4}, {threads}}, none, 64), HasSubstr("kernel 'k': write to address 0x0, next to a null pointer at user.cu:4:10"));
  }
  expect_usable();
}

TEST_F(KernelFault, KeepsAConstantNullWrite) {
  const auto kernel = compiled("__global__ void k(int* y) {\n  int* p = nullptr;\n  if (*y == 3)\n    *p = 1;\n}");
  int three = 3;
  EXPECT_THAT(error_of(*kernel, {{1}, {1}}, &three), HasSubstr("write to address 0x0, next to a null pointer at user.cu:4:8"));
}

TEST_F(KernelFault, NamesAWildAddress) {
  const auto kernel = compiled("__global__ void k(const float* x, float* y) {\n  y[0] = x[threadIdx.x] + 1;\n}");
  float y = 0;
  const auto* wild = reinterpret_cast<const float*>(0x10000);
  EXPECT_THAT(error_of(*kernel, {{1}, {1}}, wild, &y), HasSubstr("read of address 0x10000, where there is no memory at user.cu:2:"));
  const auto* impossible = reinterpret_cast<const float*>(0x8000000000000000);
  EXPECT_THAT(error_of(*kernel, {{1}, {1}}, impossible, &y), HasSubstr("access to an address that can't be"));
  expect_usable();
}

TEST_F(KernelFault, NamesTheCallOfALibraryFunctionThatFaults) {
  const auto kernel = compiled("struct Large { char bytes[4000]; };\n__global__ void k(Large* x, Large* y, int n) {\n  __builtin_memcpy(y, x, n);\n}");
  std::vector<char> y(4000);
  const std::string error = error_of(*kernel, {{1}, {1}}, reinterpret_cast<void*>(0x20000), y.data(), 4000);
  EXPECT_THAT(error, HasSubstr("read of address 0x20000, where there is no memory at user.cu:3:"));
  expect_usable();
}

TEST_F(KernelFault, RunsIntoNoOtherCodeWhereATextSaysThatNobodyGets) {
  for (const char* const text : {"__global__ void k(int* y) { __builtin_unreachable(); }", "__global__ void k(int* y) { if (*y == 3) *y = 4;\n __builtin_unreachable(); }\n__global__ void other(int* y) { *y = 5; }"}) {
    // In the other forms the compiler may take it that no thread runs at all.
    const auto kernel = compiled(text, "k", {"--damo-reference"});
    int y = 3;
    EXPECT_THAT(error_of(*kernel, {{1}, {1}}, &y), HasSubstr("kernel 'k': it reached code that can't be reached")) << text;
    EXPECT_NE(y, 5);
  }
  expect_usable();
}

/// What the C library has handed out, in its arenas and in mappings.
std::size_t allocated_bytes() {
  const struct mallinfo2 now = mallinfo2();
  return now.uordblks + now.hblkhd;
}

TEST_F(KernelFault, GivesBackWhatTheLaunchHadAllocated) {
  const auto kernel = compiled(R"(
    __global__ void k(int fails) {
      char* const memory = (char*)malloc(1 << 20);
      memory[threadIdx.x] = 1;
      if (fails && threadIdx.x == 3) __trap();
      free(memory);
    })");
  EXPECT_EQ(error_of(*kernel, {{4}, {8}}, 0), "nothing thrown");
  const std::size_t before = allocated_bytes();
  for (int i = 0; i < 50; ++i) EXPECT_THAT(error_of(*kernel, {{4}, {8}}, 1), HasSubstr("__trap() was called"));
  EXPECT_LT(allocated_bytes(), before + (8 << 20)) << "a launch leaves some of its 32 MiB behind";
  expect_usable();
}

TEST_F(KernelFault, KeepsWhatAnEarlierLaunchHadAllocated) {
  const auto makes = compiled("__global__ void k(int** kept) { *kept = (int*)malloc(64); **kept = 42; }");
  const auto fails = compiled("__global__ void k(int** kept) { int* const own = (int*)malloc(64); *own = **kept; __trap(); }");
  const auto takes = compiled("__global__ void k(int** kept, int* y) { *y = **kept; free(*kept); }");
  int* memory = nullptr;
  int y = 0;
  EXPECT_EQ(error_of(*makes, {{1}, {1}}, &memory), "nothing thrown");
  EXPECT_THAT(error_of(*fails, {{1}, {1}}, &memory), HasSubstr("__trap() was called"));
  EXPECT_EQ(error_of(*takes, {{1}, {1}}, &memory, &y), "nothing thrown");
  EXPECT_EQ(y, 42);
}

TEST_F(KernelFault, NamesADivisionByZero) {
  const auto kernel = compiled("__global__ void k(int* y) {\n  y[1] = y[0] /\n    y[1];\n}");
  std::vector<int> y = {3, 0};
  EXPECT_THAT(error_of(*kernel, {{1}, {1}}, y.data()), HasSubstr("kernel 'k': integer division by zero at user.cu:2:15"));
  expect_usable();
}

TEST_F(KernelFault, NamesRecursionWithoutAnEnd) {
  const auto kernel = compiled(
      "__device__ int deep(int* y, int n) {\n  int local[64];\n  for (int i = 0; i < 64; ++i) local[i] = y[0] + i;\n"
      "  int below = deep(y, n + 1);\n  return below + local[below & 63];\n}\n__global__ void k(int* y) { *y = deep(y, 0); }");
  int y = 1;
  EXPECT_THAT(error_of(*kernel, {{1}, {1}}, &y), HasSubstr("the thread's stack is full at user.cu:"));
  expect_usable();
  EXPECT_THAT(error_of(*kernel, {{1}, {1}}, &y), HasSubstr("the thread's stack is full"));
}

TEST_F(KernelFault, NamesACallOfNoFunction) {
  const auto kernel = compiled("__global__ void k(void (*f)(int)) {\n  f(3);\n}");
  void (*none)(int) = nullptr;
  EXPECT_THAT(error_of(*kernel, {{1}, {1}}, none), HasSubstr("call of address 0x0, where there is no function at user.cu:2:3"));
  expect_usable();
}

TEST_F(KernelFault, NamesTheThreadOfACoroutine) {
  const auto kernel = compiled(
      "__global__ void k(int** y) {\n  __shared__ int s[64];\n  s[threadIdx.x] = __shfl_sync(~0u, 5, 3);\n  __syncthreads();\n"
      "  if (threadIdx.x == 37)\n    *y[1] = s[3];\n  __syncwarp();\n  *y[0] = 1;\n}",
      "k", {"--damo-coroutines"});
  int target = 0;
  int* places[2] = {&target, nullptr};
  EXPECT_THAT(error_of(*kernel, {{2}, {64}}, &places[0]),
              HasSubstr("write to address 0x0, next to a null pointer at user.cu:6:11, block (0, 0, 0), thread (37, 0, 0)"));
  expect_usable();
  EXPECT_THAT(error_of(*kernel, {{2}, {64}}, &places[0]), HasSubstr("thread (37, 0, 0)"));
  places[1] = &target;
  EXPECT_EQ(error_of(*kernel, {{2}, {64}}, &places[0]), "nothing thrown");
}

constexpr const char* kFibers = R"(__device__ __noinline__ int meet(int n, int* y) {
  __syncthreads();
  return n > 0 ? meet(n - 1, y) + 1 : *y;
}
__device__ int deep(int n, int* y) { int a[32]; for (int& v : a) v = n; __syncthreads(); return deep(n + 1, y) + a[n & 31]; }
__global__ void k(int* y, int* z, int deeper) { y[threadIdx.x] = deeper ? deep(0, z) : meet(3, z + (threadIdx.x == 5)); }
)";

TEST_F(KernelFault, NamesTheThreadOfAFiber) {
  const auto kernel = compiled(kFibers);
  std::vector<int> y(64), z(2);
  EXPECT_THAT(error_of(*kernel, {{1}, {64}}, y.data(), static_cast<int*>(nullptr), 0), HasSubstr("read of address 0x0, next to a null pointer at user.cu:3:"));
  EXPECT_THAT(error_of(*kernel, {{1}, {64}}, y.data(), z.data(), 1), HasSubstr("the thread's stack is full at user.cu:5:"));
  EXPECT_EQ(error_of(*kernel, {{1}, {64}}, y.data(), z.data(), 0), "nothing thrown");
  EXPECT_EQ(y[7], 3);
  expect_usable();
}

TEST_F(KernelFault, LeavesFibersThatWaitForEver) {
  const auto kernel = compiled(
      "__device__ __noinline__ int f(int n, int* y) { if (n > 3) { __syncthreads(); return 1; } __syncwarp(); return f(n + 1, y); }\n"
      "__global__ void k(int* y) { if (threadIdx.x < 2) { __shared__ int s; s = f(0, y); } else if (threadIdx.x == 3) __barrier_sync(3); }");
  int y = 0;
  EXPECT_THAT(error_of(*kernel, {{1}, {64}}, &y), HasSubstr("its threads wait for each other for ever"));
  EXPECT_THAT(error_of(*kernel, {{1}, {64}}, &y), HasSubstr("its threads wait for each other for ever"));
  expect_usable();
}

TEST_F(KernelFault, ConcernsTheLaunchThatFaultsAlone) {
  const auto wrong = compiled("__global__ void k(int* y) {\n  y[blockIdx.x * blockDim.x + threadIdx.x] = 1;\n}");
  const auto right = compiled("__global__ void k(int* y) { y[blockIdx.x * blockDim.x + threadIdx.x] += 1; }");
  std::atomic<int> faults = 0;
  std::thread other([&] {
    for (int i = 0; i < 50; ++i) faults += error_of(*wrong, {{64}, {256}}, static_cast<int*>(nullptr)).find("null pointer") != std::string::npos;
  });
  std::vector<int> y(64 * 256, 0);
  for (int i = 0; i < 50; ++i) EXPECT_EQ(error_of(*right, {{64}, {256}}, y.data()), "nothing thrown");
  other.join();
  EXPECT_EQ(faults, 50);
  for (const int value : y) ASSERT_EQ(value, 50);
}

TEST_F(KernelFault, HasNoLineWhereLineTablesAreOff) {
  const auto kernel = compiled("__global__ void k(float* y) {\n  *y = 1.0f;\n}", "k", {"--damo-no-line-tables"});
  const std::string error = error_of(*kernel, {{1}, {1}}, static_cast<float*>(nullptr));
  EXPECT_THAT(error, HasSubstr("kernel 'k': write to address 0x0, next to a null pointer"));
  EXPECT_THAT(error, Not(HasSubstr("user.cu")));
}

TEST_F(KernelFault, NamesTheUsersLineForCodeOfTheLibrary) {
  const auto kernel = compiled("__global__ void k(int* y) {\n  int i = threadIdx.x;\n  atomicAdd(y + i, 2);\n}");
  EXPECT_THAT(error_of(*kernel, {{1}, {1}}, static_cast<int*>(nullptr)), HasSubstr("next to a null pointer at user.cu:3:3"));
}

TEST_F(KernelFault, FindsTheLineInCodeFromTheDiskCache) {
  const std::string source = "__global__ void k(float* y) {\n\n  y[threadIdx.x] = 1.0f;\n}";
  compiled(source);
  CpuBackend again;
  const auto kernel = again.cache().get({.source = source, .kind = SourceKind::kCudaC, .file_name = "user.cu"})->kernel("k");
  EXPECT_EQ(again.cache().statistics().disk_hits, 1u);
  EXPECT_THAT(error_of(*kernel, {{1}, {1}}, static_cast<float*>(nullptr)), HasSubstr("at user.cu:3:18"));
}

volatile std::sig_atomic_t seen = 0;

TEST(KernelFaultDeathTest, LeavesFaultsOfTheProgramToTheProgram) {
  ::testing::GTEST_FLAG(death_test_style) = "threadsafe";
  EXPECT_EXIT(
      {
        std::signal(SIGSEGV, [](int) { std::_Exit(seen == 1 ? 17 : 18); });
        CpuBackend backend;
        const auto kernel = backend.cache().get({.source = "__global__ void k(int* y) { *y = 1; }", .kind = SourceKind::kCudaC})->kernel("k");
        int y = 0;
        int* pointer = &y;
        void* arguments[] = {&pointer};
        backend.launch(*kernel, {{1}, {1}}, arguments, nullptr);
        seen = y;
        *reinterpret_cast<volatile int*>(16) = 1;
      },
      ::testing::ExitedWithCode(17), "");
}

}  // namespace
}  // namespace damo::testing
