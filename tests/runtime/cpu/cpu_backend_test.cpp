// The device "cpu" as a whole: compile, cache, load, launch.
#include "runtime/cpu/cpu_backend.hpp"

#include <fcntl.h>

#include <chrono>
#include <cstring>
#include <fstream>
#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <damo/error.hpp>

#include "runtime/cpu/cpu_module.hpp"
#include "runtime/kernel/cache.hpp"
#include "support/errors.hpp"
#include "support/scratch_directory.hpp"

namespace damo {
namespace {

using damo::testing::Environment;
using damo::testing::error_of;
using damo::testing::ScratchDirectory;
using ::testing::HasSubstr;

/// A generated kernel: 1000 elements a block.
std::string loop_source(const std::string& factor = "2.0f") {
  return R"(using namespace damo;
extern "C" void doubling(void* const* arguments, const LaunchFrame* frame, i64 first, i64 last) {
  const f32* __restrict x = *(const f32* const*)arguments[0];
  f32* __restrict y = *(f32* const*)arguments[1];
  const i64 n = *(const i64*)arguments[2];
  for (i64 i = first * 1000; i < last * 1000 && i < n; ++i) y[i] = x[i] * )" +
         factor + ";\n}\n";
}

const std::string kCudaSource = R"(extern "C" __global__ void scale(const float* x, float* y, float factor, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = factor * x[i];
}
__constant__ float table[4] = {1, 2, 3, 4};
extern "C" __global__ void look(float* y) { y[threadIdx.x] = table[threadIdx.x & 3]; }
__global__ void nothing() {}
)";

class CpuBackendTest : public ::testing::Test {
 protected:
  Kernel kernel(const CompileRequest& request, const std::string& name) {
    return {backend_.cache().get(request)->kernel(name), Stream::default_of(Device(&backend_))};
  }
  Kernel cuda(const std::string& name) {
    return kernel({.source = kCudaSource, .kind = SourceKind::kCudaC, .file_name = "user.cu"}, name);
  }

  ScratchDirectory scratch_;
  Environment directory_{"DAMO_CACHE_DIR", scratch_.path()};
  CpuBackend backend_;
};

TEST_F(CpuBackendTest, RunsAGeneratedKernelOverItsBlocks) {
  std::vector<float> x(12345), y(12345, -1.0f);
  std::iota(x.begin(), x.end(), 0.0f);
  kernel({.source = loop_source(), .kernels = {"doubling"}}, "doubling")
      .launch({.grid = {13}}, x.data(), y.data(), std::int64_t{12345});
  for (std::size_t i = 0; i < x.size(); ++i) ASSERT_EQ(y[i], 2 * x[i]);
}

TEST_F(CpuBackendTest, RunsACudaKernelOverAllThreads) {
  for (const int n : {1, 100, 5000, 1000000}) {
    std::vector<float> x(n), y(n + 1, -1.0f);
    std::iota(x.begin(), x.end(), 0.0f);
    cuda("scale").launch_1d(n, x.data(), y.data(), 3.0f, n);
    for (int i = 0; i < n; ++i) ASSERT_EQ(y[i], 3 * x[i]) << n;
    EXPECT_EQ(y[n], -1.0f);
  }
  EXPECT_EQ(backend_.cache().statistics().compiles, 1u);
}

TEST_F(CpuBackendTest, KnowsTheParametersOfACudaKernel) {
  std::vector<float> x(4);
  EXPECT_EQ(
      error_of<TypeError>([&] { cuda("scale").launch({}, x.data(), x.data(), 3.0, 4); }),
      "launch of 'scale': argument 3 of 4 is a float64, the kernel's parameter is 'float'\n  pass a float");
  EXPECT_EQ(error_of<TypeError>([&] { cuda("scale").launch({}, x.data(), x.data()); }),
            "launch of 'scale': 2 arguments are given, the kernel has 4 parameters: const float *, float *, float, int\n"
            "  give one argument a parameter, in order");
  cuda("nothing").launch({});
}

TEST_F(CpuBackendTest, FindsVariablesAndNamesTheKernelsThereAre) {
  const auto module = backend_.cache().get({.source = kCudaSource, .kind = SourceKind::kCudaC});
  const auto [address, bytes] = module->global("table");
  ASSERT_EQ(bytes, 16u);
  static_cast<float*>(address)[1] = 20.0f;
  std::vector<float> y(4);
  Kernel(module->kernel("look"), Stream::default_of(Device(&backend_))).launch({.block = {4}}, y.data());
  EXPECT_EQ(y, (std::vector<float>{1, 20, 3, 4}));
  EXPECT_EQ(module->global("absent"), (std::pair<void*, std::size_t>(nullptr, 0)));
  EXPECT_THAT(error_of<DeviceError>([&] { module->kernel("absent"); }),
              HasSubstr("has no kernel 'absent'; it has: look, nothing, scale"));
}

TEST_F(CpuBackendTest, AKernelOutlivesItsModuleAndCache) {
  std::shared_ptr<const LoadedKernel> kernel;
  {
    CompiledCode code = backend_.compiler().compile({.source = loop_source()});
    kernel = backend_.load(code.bytes, "doubling")->kernel("doubling");
  }
  float x = 4, y = 0;
  Kernel(kernel, Stream::default_of(Device(&backend_))).launch({}, &x, &y, std::int64_t{1});
  EXPECT_EQ(y, 8.0f);
}

TEST_F(CpuBackendTest, NamesTheUsersLineOfAnError) {
  const CompileRequest wrong{.source = "__global__ void k(float* y) {\n  y[0] = nowhere;\n}\n",
                             .kind = SourceKind::kCudaC,
                             .file_name = "user.cu",
                             .kernels = {"k"}};
  const std::string message = error_of<CompileError>([&] { backend_.cache().get(wrong); });
  EXPECT_THAT(message, HasSubstr("kernel 'k' does not compile for the CPU\n"));
  EXPECT_THAT(message, HasSubstr("user.cu:2:10: error: use of undeclared identifier 'nowhere'"));
  EXPECT_THAT(message, HasSubstr("   2 |   y[0] = nowhere;\n"));
}

TEST_F(CpuBackendTest, RefusesMoreThreadsThanAnIndexHolds) {
  std::vector<float> x(4);
  EXPECT_EQ(error_of<DeviceError>(
                [&] { cuda("scale").launch({.grid = {4194304}, .block = {512}}, x.data(), x.data(), 1.0f, 4); }),
            "launch of 'scale': 2147483648 x 1 x 1 threads: on the CPU an axis has fewer than 2147483648\n"
            "  let each thread take several elements, with a grid-stride loop");
  EXPECT_EQ(error_of<DeviceError>([&] {
              cuda("nothing").launch({.block = {64, 32}});
            }),
            "launch of 'nothing': block of 2048 threads: cpu allows 1024\n  give the block fewer threads and the grid more blocks");
}

TEST_F(CpuBackendTest, TellsItsProperties) {
  const DeviceProperties properties = CpuBackend(3).properties();
  EXPECT_FALSE(properties.description.empty());
  EXPECT_THAT(properties.architecture, HasSubstr("x86-64 "));
  EXPECT_EQ(properties.multiprocessors, 3);
  std::ifstream info("/proc/cpuinfo");
  const std::string text((std::istreambuf_iterator<char>(info)), {});
  EXPECT_THAT(text, HasSubstr(properties.description));
  EXPECT_EQ(properties.architecture == "x86-64 avx512", text.find(" avx512f ") != std::string::npos);
}

TEST_F(CpuBackendTest, TakesItsThreadsFromTheEnvironment) {
  const Environment many("DAMO_NUM_THREADS", "many");
  EXPECT_EQ(error_of<OptionError>([] { CpuBackend backend; }),
            "DAMO_NUM_THREADS is 'many', which is no number of threads\n  give a number from 1 to 4096");
  const Environment five("DAMO_NUM_THREADS", "5");
  EXPECT_EQ(CpuBackend().properties().multiprocessors, 5);
}

TEST_F(CpuBackendTest, TakesTheFormOfKernelsFromTheEnvironment) {
  const CompileRequest request{.source = "__global__ void k(int* y) { __syncthreads(); *y = 1; }", .kind = SourceKind::kCudaC, .file_name = "user.cu"};
  const auto mentions = [&](std::string_view symbol) {
    const std::vector<std::byte> bytes = backend_.compiler().compile(request).bytes;
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return text.find(symbol) != text.npos;
  };
  const auto runs_coroutines = [&] { return mentions("damo_run_coroutines"); };
  const std::string stamp = backend_.compiler().stamp();
  EXPECT_FALSE(runs_coroutines());
  {
    const Environment coroutines("DAMO_CPU_FORM", "coroutines");
    EXPECT_TRUE(runs_coroutines());
    EXPECT_NE(backend_.compiler().stamp(), stamp);
  }
  {
    const Environment reference("DAMO_CPU_FORM", "reference");
    EXPECT_TRUE(mentions("damo_run_fibers"));
    EXPECT_FALSE(runs_coroutines());
    EXPECT_NE(backend_.compiler().stamp(), stamp);
  }
  const Environment unknown("DAMO_CPU_FORM", "threads");
  EXPECT_EQ(error_of<OptionError>([&] { runs_coroutines(); }),
            "DAMO_CPU_FORM is 'threads', which is no form of kernels\n  say coroutines or reference, or leave it unset");
}

TEST_F(CpuBackendTest, CopiesLargeAndOverlappingMemory) {
  std::vector<std::uint32_t> from(3 << 20), to(from.size() + 1, 7);
  std::iota(from.begin(), from.end(), 0u);
  backend_.copy(to.data(), from.data(), from.size() * 4, CopyKind::kDeviceToDevice, nullptr);
  EXPECT_TRUE(std::equal(from.begin(), from.end(), to.begin()));
  EXPECT_EQ(to.back(), 7u);
  backend_.copy(to.data() + 1, to.data(), from.size() * 4, CopyKind::kDeviceToDevice, nullptr);
  EXPECT_TRUE(std::equal(from.begin(), from.end(), to.begin() + 1));
}

TEST(CpuBackend, ReadsSignaturesOfKernelsWhoseNamesHoldCommas) {
  const std::string text =
      "scale<float, 3>: float *, const float *, int\t8,8,4\t0,0\nscale: int\t4\t1024,256\nnone: \t\t64,0\nother: float *\nbad: int\tx\t0,0\n";
  const auto instance = signature_of(text, "scale<float, 3>");
  ASSERT_TRUE(instance);
  ASSERT_EQ(instance->parameters.size(), 3u);
  EXPECT_EQ(instance->parameters[1].text, "const float *");
  EXPECT_EQ(instance->parameters[2].bytes, 4u);
  ASSERT_EQ(signature_of(text, "scale")->parameters.size(), 1u);
  EXPECT_EQ(signature_of(text, "scale")->shared_bytes, 1024u);
  EXPECT_EQ(signature_of(text, "scale")->max_threads, 256u);
  EXPECT_TRUE(signature_of(text, "none")->parameters.empty());
  EXPECT_EQ(signature_of(text, "none")->shared_bytes, 64u);
  EXPECT_FALSE(signature_of(text, "other"));
  EXPECT_FALSE(signature_of(text, "bad"));
  EXPECT_FALSE(signature_of("", "other"));
}

// The second process: this program again, with the first one's cache directory.
TEST_F(CpuBackendTest, ASecondProcessOpensNoCompiler) {
  std::vector<CompileRequest> requests;
  for (int i = 0; i < 20; ++i)
    requests.push_back({.source = loop_source(std::to_string(i) + ".0f"), .kernels = {"doubling"}});
  requests.push_back({.source = kCudaSource, .kind = SourceKind::kCudaC});
  backend_.cache().get(requests);
  EXPECT_EQ(backend_.cache().statistics().compiles, 21u);
  EXPECT_EQ(damo::testing::in_child([] {
              execl("/proc/self/exe", "warm", "--gtest_filter=CpuBackendWarm.*", "--gtest_also_run_disabled_tests",
                    nullptr);
              return 127;
            }),
            0);
}

TEST(CpuBackendWarm, DISABLED_LoadsWhatAnEarlierProcessCompiled) {
  CpuBackend backend;
  std::vector<CompileRequest> requests;
  for (int i = 0; i < 20; ++i)
    requests.push_back({.source = loop_source(std::to_string(i) + ".0f"), .kernels = {"doubling"}});
  const auto begin = std::chrono::steady_clock::now();
  const auto modules = backend.cache().get(requests);
  const double time = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
  const auto module = backend.cache().get({.source = kCudaSource, .kind = SourceKind::kCudaC});
  const Stream stream = Stream::default_of(Device(&backend));
  float x = 3, y = 0;
  Kernel(modules[7]->kernel("doubling"), stream).launch({}, &x, &y, std::int64_t{1});
  EXPECT_EQ(y, 21.0f);
  Kernel(module->kernel("scale"), stream).launch({}, &x, &y, 5.0f, 1);
  EXPECT_EQ(y, 15.0f);
  const CacheStatistics statistics = backend.cache().statistics();
  EXPECT_EQ(statistics.disk_hits, 21u);
  EXPECT_EQ(statistics.compiles, 0u);
  std::ifstream maps("/proc/self/maps");
  const std::string mapped((std::istreambuf_iterator<char>(maps)), {});
  EXPECT_EQ(mapped.find("libLLVM"), std::string::npos);
  EXPECT_EQ(mapped.find("damo_clang"), std::string::npos);
  std::printf("[ figure ] 20 kernels from the disk cache: %.2f ms\n", time);
}

TEST_F(CpuBackendTest, PrintsTheCostOfALaunch) {
  const Kernel scale = cuda("scale");
  float x = 1, y = 0;
  constexpr int kTimes = 100000;
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < kTimes; ++i) scale.launch({}, &x, &y, 2.0f, 1);
  const double each =
      std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin).count() / kTimes;
  std::printf("[ figure ] a launch of one thread: %.0f ns\n", each);
  EXPECT_LT(each, 5000);
}

}  // namespace
}  // namespace damo
