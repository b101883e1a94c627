#include "runtime/cpu/clang_plugin.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <thread>
#include <vector>

#include <damo/error.hpp>

#include "runtime/cpu/compile_support.hpp"

namespace damo::cpu_backend::testing {
namespace {

const std::string kDoubling = R"(
using namespace damo;
extern "C" void doubling(void* const* arguments, const LaunchFrame*, i64 first, i64 last) {
  const f32* __restrict x = *(const f32* const*)arguments[0];
  f32* __restrict y = *(f32* const*)arguments[1];
  for (i64 i = first; i < last; ++i) y[i] = x[i] * 2.0f;
})";

long resident_kilobytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.rfind("VmRSS:", 0) == 0) return std::stol(line.substr(6));
  }
  return 0;
}

void run(KernelEntry kernel, const void* input, void* output, std::int64_t n) {
  const void* arguments[] = {&input, &output};
  const LaunchFrame frame{};
  kernel(const_cast<void* const*>(arguments), &frame, 0, n);
}

// First in this file: the plugin is opened once a process.
TEST(ClangPlugin, PrintsTheCostOfTheFirstCompile) {
  const double opening = least_milliseconds(1, [] { ASSERT_EQ(plugin_problem(), std::nullopt); });
  const double first = least_milliseconds(1, [] { compile_loops(kDoubling); });
  const double second = least_milliseconds(1, [] { compile_loops(kDoubling); });
  std::printf("[ figure ] open the plugin %.1f ms, first compile %.1f ms (with the prelude), second %.1f ms\n", opening, first, second);
}

TEST(ClangPlugin, SaysWhatToInstallWhenItIsMissing) {
  // A process of its own: here the plugin is open already.
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto attempt = [] {
    setenv("DAMO_PLUGIN_DIR", "/nowhere", 1);
    try {
      compile_loops(kDoubling);
    } catch (const damo::Error& error) {
      std::fputs(error.what(), stderr);
      std::exit(3);
    }
  };
  EXPECT_EXIT(attempt(), ::testing::ExitedWithCode(3), "cannot be opened; tried:.*/nowhere/libdamo_clang.so: not there.*libclang-cpp19 libllvm19");
}

TEST(ClangPlugin, CompilesALoopThatRuns) {
  const auto object = load(compile_loops(kDoubling));
  std::vector<float> x(1000), y(1000);
  for (int i = 0; i < 1000; ++i) x[i] = float(i);
  run(object->kernel("doubling"), x.data(), y.data(), 1000);
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(y[i], 2.0f * float(i));
}

TEST(ClangPlugin, CompilesForOlderCpus) {
  for (const char* cpu : {"x86-64", "x86-64-v2", "x86-64-v3"}) {
    const auto object = load(compile({.source = kDoubling, .file_name = "generated.cpp", .cpu = cpu}));
    float x[5] = {1, 2, 3, 4, 5}, y[5] = {};
    run(object->kernel("doubling"), x, y, 5);
    EXPECT_EQ(y[4], 10.0f) << cpu;
  }
}

TEST(ClangPlugin, NamesFileLineAndColumnOfAnError) {
  const CompileOutput output = compile_loops("\n\nint f() { return undeclared; }\n");
  EXPECT_FALSE(output.ok);
  EXPECT_NE(output.log.find("generated.cpp:3:18: error: use of undeclared identifier 'undeclared'"), std::string::npos) << output.log;
}

TEST(ClangPlugin, KeepsSignedZerosAndNaN) {
  const auto object = load(compile_loops(R"(
using namespace damo;
extern "C" void zeros(void* const* arguments, const LaunchFrame*, i64 first, i64 last) {
  const f32* x = *(const f32* const*)arguments[0];
  f32* y = *(f32* const*)arguments[1];
  for (i64 i = first; i < last; ++i) y[i] = (0.0f - x[i]) == x[i] ? x[i] + 0.0f : -x[i];
})"));
  const float x[] = {-0.0f, 1.0f, NAN};
  float y[3];
  run(object->kernel("zeros"), x, y, 3);
  EXPECT_FALSE(std::signbit(y[0]));  // -0 + 0 is +0
  EXPECT_EQ(y[1], -1.0f);
  EXPECT_TRUE(std::isnan(y[2]));
}

TEST(ClangPlugin, RoundsHalfAndBfloat16ToNearestEven) {
  const auto object = load(compile_loops(R"(
using namespace damo;
extern "C" void narrow(void* const* arguments, const LaunchFrame*, i64 first, i64 last) {
  const f32* x = *(const f32* const*)arguments[0];
  f32* y = *(f32* const*)arguments[1];
  for (i64 i = first; i < last; ++i) { y[2 * i] = half(x[i]); y[2 * i + 1] = bfloat16(x[i]); }
})"));
  const float x[] = {1.0f + 1.0f / 2048, 1.0f + 3.0f / 2048, 1.0f + 1.0f / 256, 1.0f + 3.0f / 256, 1e-40f, NAN, INFINITY, 70000.0f};
  float y[16];
  run(object->kernel("narrow"), x, y, 8);
  EXPECT_EQ(y[0], 1.0f);
  EXPECT_EQ(y[2], 1.0f + 2.0f / 1024);
  EXPECT_EQ(y[5], 1.0f);
  EXPECT_EQ(y[7], 1.0f + 2.0f / 128);
  EXPECT_GT(y[9], 0.0f) << "a denormal survives";
  EXPECT_TRUE(std::isnan(y[10]) && std::isnan(y[11]));
  EXPECT_EQ(y[13], INFINITY);
  EXPECT_EQ(y[14], INFINITY);
}

TEST(ClangPlugin, CompilesOnSeveralThreadsAtOnce) {
  constexpr int kThreads = 4, kEach = 50;
  const double alone = least_milliseconds(5, [] { compile_loops(kDoubling); });
  const auto begin = std::chrono::steady_clock::now();
  std::vector<int> right(kThreads, 0);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&right, t] {
      for (int i = 0; i < kEach; ++i) {
        const int factor = t * kEach + i;
        std::string text = kDoubling;
        text.replace(text.find("2.0f"), 4, std::to_string(factor) + ".0f");
        const CompileOutput output = compile_loops(text);
        if (!output.ok) continue;
        const LoadedObject object(output.object, "thread");
        float x[3] = {1, 2, 3}, y[3] = {};
        run(object.kernel("doubling"), x, y, 3);
        right[t] += y[2] == 3.0f * float(factor);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const double wall = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
  std::printf("[ figure ] a compile alone %.1f ms, each of 200 on 4 threads %.1f ms of wall time (%u cores)\n", alone,
              wall / (kThreads * kEach), std::thread::hardware_concurrency());
  for (const int count : right) EXPECT_EQ(count, kEach);
}

TEST(ClangPlugin, GivesItsMemoryBackAfterEachCompile) {
  for (int i = 0; i < 20; ++i) compile_loops(kDoubling);
  const long before = resident_kilobytes();
  for (int i = 0; i < 100; ++i) load(compile_loops(kDoubling));
  const long grown = resident_kilobytes() - before;
  std::printf("[ figure ] resident memory after 100 compiles: %+ld KB (of %ld KB)\n", grown, before);
  EXPECT_LT(grown, 1024);  // a compile needs several MB
}

TEST(ClangPlugin, ALoopKernelReachesTheSpeedOfACopy) {
  const auto object = load(compile_loops(kDoubling));
  const KernelEntry kernel = object->kernel("doubling");
  constexpr std::size_t kElements = 16u << 20;
  std::vector<float> x(kElements, 1.0f), y(kElements);
  const double copy = least_milliseconds(7, [&] { std::memcpy(y.data(), x.data(), kElements * 4); });
  const double loop = least_milliseconds(7, [&] { run(kernel, x.data(), y.data(), kElements); });
  std::vector<float> near_x(4096, 1.0f), near_y(4096);
  const double near = least_milliseconds(50, [&] { for (int i = 0; i < 100; ++i) run(kernel, near_x.data(), near_y.data(), 4096); });
  const auto rate = [](double bytes, double milliseconds) { return bytes / milliseconds / 1e6; };
  std::printf("[ figure ] 64 MiB: memcpy %.1f GB/s, loop kernel %.1f GB/s; 16 KiB in cache: %.0f GB/s\n", rate(kElements * 8.0, copy),
              rate(kElements * 8.0, loop), rate(4096 * 8.0 * 100, near));
  EXPECT_LT(loop, 3.0 * copy) << "memcpy stores past the caches, which saves a read of what is written";
  EXPECT_GT(rate(4096 * 8.0 * 100, near), 20.0) << "scalar code would give about 10";
}

TEST(ClangPlugin, AReductionVectorisesUnderThePragma) {
  const auto object = load(compile_loops(R"(
using namespace damo;
extern "C" void total(void* const* arguments, const LaunchFrame*, i64 first, i64 last) {
  const f32* x = *(const f32* const*)arguments[0];
  f32* y = *(f32* const*)arguments[1];
  f32 sum = 0;
  {
    #pragma clang fp reassociate(on)
    for (i64 i = first; i < last; ++i) sum += x[i];
  }
  y[0] = sum;
})"));
  std::vector<float> x(4096, 1.0f);
  float y = 0;
  const double time = least_milliseconds(50, [&] { for (int i = 0; i < 100; ++i) run(object->kernel("total"), x.data(), &y, 4096); });
  EXPECT_EQ(y, 4096.0f);
  std::printf("[ figure ] sum of 4096 in cache: %.2f ns an element\n", time * 1e6 / 100 / 4096);
  EXPECT_LT(time * 1e6 / 100 / 4096, 0.5) << "one addition after the other takes about 1 ns";
}

/// 25 steps on one value; without the prelude's math (it is written apart) only arithmetic.
std::string chain_of_25() {
  const bool has_math = compile_loops("float f(float x) { return damo::exp(x) + damo::tanh(x) + damo::log(x); }").ok;
  std::string text = "using namespace damo;\nextern \"C\" void chain(void* const* a, const LaunchFrame*, i64 first, i64 last) {\n"
                     "  const f32* __restrict x = *(const f32* const*)a[0]; f32* __restrict y = *(f32* const*)a[1];\n"
                     "  for (i64 i = first; i < last; ++i) {\n    f32 v0 = x[i];\n";
  for (int i = 1; i <= 25; ++i) {
    const std::string in = "v" + std::to_string(i - 1), square = in + " * " + in;
    std::string step = i % 4 == 0 ? in + " * 1.5f" : i % 4 == 1 ? in + " + 0.25f" : i % 4 == 2 ? in + " - v0" : in + " / (1.0f + " + square + ")";
    if (has_math && i == 5) step = "damo::exp(-(" + square + "))";
    if (has_math && i == 12) step = "damo::tanh(" + in + ")";
    if (has_math && i == 19) step = "damo::log(1.0f + " + square + ")";
    text += "    f32 v" + std::to_string(i) + " = " + step + ";\n";
  }
  std::printf("[ figure ] the chain of 25 %s exp, tanh and log\n", has_math ? "has" : "lacks");
  return text + "    y[i] = v25;\n  }\n}\n";
}

TEST(ClangPlugin, PrintsTheLatencyOfCompiles) {
  const std::string chain = chain_of_25();
  const double small = least_milliseconds(7, [&] { ASSERT_TRUE(compile_loops(kDoubling).ok); });
  const double large = least_milliseconds(7, [&] {
    const CompileOutput output = compile_loops(chain);
    ASSERT_TRUE(output.ok) << output.log;
  });
  const CompileOutput output = compile_loops(chain);
  const double loading = least_milliseconds(20, [&] { LoadedObject object(output.object, "chain"); });
  const LoadedObject object(output.object, "chain");
  std::vector<float> x(4096, 0.5f), y(4096);
  const double running = least_milliseconds(50, [&] { run(object.kernel("chain"), x.data(), y.data(), 4096); });
  std::printf("[ figure ] chain of 25 in cache: %.2f ns an element\n", running * 1e6 / 4096);
  std::printf("[ figure ] compile: doubling %.1f ms, chain of 25 %.1f ms (object %zu bytes); load %.3f ms\n", small, large, output.object.size(), loading);
}

TEST(ClangPlugin, KnowsItsStampAndTheHostWithoutBeingOpened) {
  EXPECT_EQ(cache_stamp().rfind("clang 19.", 0), 0u);
  EXPECT_NE(cache_stamp().find(" prelude "), std::string::npos);
  EXPECT_EQ(host_isa().rfind("x86-64 ", 0), 0u);
  std::printf("[ figure ] %s | %s\n", cache_stamp().c_str(), host_isa().c_str());
}

}  // namespace
}  // namespace damo::cpu_backend::testing
