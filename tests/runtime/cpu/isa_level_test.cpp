#include "runtime/cpu/isa_level.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>

#include <damo/error.hpp>

#include "runtime/cpu/compile_support.hpp"
#include "runtime/cpu/cpu_compiler.hpp"
#include "support/errors.hpp"
#include "support/scratch_directory.hpp"

namespace damo::cpu_backend::testing {
namespace {

using damo::testing::Environment;
using damo::testing::error_of;
using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(IsaLevel, IsAllOfThisCpuUnlessSaid) {
  for (const char* text : {static_cast<const char*>(nullptr), "", "native"}) {
    const Environment environment("DAMO_CPU_ISA", text);
    EXPECT_EQ(isa_level(), "");
    EXPECT_THAT(CpuCompiler().stamp(), HasSubstr(host_isa()));
  }
}

TEST(IsaLevel, IsPartOfEveryCacheKey) {
  const Environment environment("DAMO_CPU_ISA", "x86-64-v2");
  EXPECT_EQ(isa_level(), "x86-64-v2");
  EXPECT_EQ(CpuCompiler().stamp().find(cache_stamp() + " for x86-64-v2"), 0u);
}

TEST(IsaLevel, SaysWhichLevelsThereAre) {
  const Environment environment("DAMO_CPU_ISA", "avx2");
  EXPECT_THAT(error_of<OptionError>([] { isa_level(); }),
              StartsWith("DAMO_CPU_ISA is 'avx2', which is no level of instructions\n  on this CPU say native or x86-64-v2"));
  EXPECT_THAT(error_of<OptionError>([] { compile_loops("int x;"); }), HasSubstr("DAMO_CPU_ISA is 'avx2'"));
}

TEST(IsaLevel, RefusesInstructionsThatThisCpuLacks) {
  if (__builtin_cpu_supports("avx512f")) GTEST_SKIP() << "needs a CPU without AVX-512";
  const Environment environment("DAMO_CPU_ISA", "x86-64-v4");
  EXPECT_THAT(error_of<OptionError>([] { isa_level(); }), StartsWith("DAMO_CPU_ISA is 'x86-64-v4', which this CPU can't run\n  on this CPU say native or"));
}

/// 1 is FMA, 2 AVX, 4 F16C, 8 AVX-512: what the kernel was compiled for.
const char* const kFeatures = R"(
  int features = 0;
#ifdef __FMA__
  features |= 1;
#endif
#ifdef __AVX__
  features |= 2;
#endif
#ifdef __F16C__
  features |= 4;
#endif
#ifdef __AVX512F__
  features |= 8;
#endif
)";

TEST(IsaLevelOnCpu, HoldsForGeneratedKernelsAndForCudaCAndForThePrecompiledPrelude) {
  const std::string loops = std::string("extern \"C\" void k(void* const* a, const damo::LaunchFrame*, damo::i64, damo::i64) {") + kFeatures +
                            "  **(int* const*)a[0] = features;\n}";
  const std::string cuda = std::string("__global__ void k(int* y) {") + kFeatures + "  *y = features;\n}";
  const std::pair<const char*, int> levels[] = {{"x86-64-v2", 0}, {"x86-64-v3", 7}, {"x86-64-v4", 15}};
  for (const auto& [level, features] : levels) {
    if (features == 7 && !__builtin_cpu_supports("avx2")) continue;
    if (features == 15 && !__builtin_cpu_supports("avx512vl")) continue;
    const Environment environment("DAMO_CPU_ISA", level);
    for (int time = 0; time < 3; ++time) {  // from the second on the prelude is precompiled
      int by_loops = -1, by_cuda = -1, *py = &by_loops;
      const void* arguments[] = {&py};
      load(compile_loops(loops))->kernel("k")(const_cast<void* const*>(arguments), nullptr, 0, 1);
      launch(load(compile_cuda(cuda))->kernel("k"), {1}, {1}, &by_cuda);
      EXPECT_EQ(by_loops, features) << level;
      EXPECT_EQ(by_cuda, features) << level;
    }
  }
}

/// Without F16C and FMA the compiler calls libgcc and libm: halves travel in the registers that it thinks they do, and fmaf rounds once.
TEST(IsaLevelOnCpu, ConvertsHalvesAndFusesWithoutTheInstructions) {
  const Environment environment("DAMO_CPU_ISA", "x86-64-v2");
  const auto object = load(compile_cuda(R"(
#include <cuda_fp16.h>
__global__ void k(const float* x, __half* h, float* back, double* wide, float* fused, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x; if (i >= n) return;
  h[i] = __float2half(x[i]);
  back[i] = __half2float(h[i]);
  wide[i] = (double)h[i];
  fused[i] = fmaf(x[i], x[i], -(x[i] * x[i]));
})"));
  constexpr int kCount = 70000;
  std::vector<float> x(kCount), back(kCount), fused(kCount);
  std::vector<std::uint16_t> h(kCount);
  std::vector<double> wide(kCount);
  for (int i = 0; i < kCount; ++i) x[i] = std::ldexp(1.0f + static_cast<float>(i % 7001) / 7000.0f, i % 43 - 26) * (i & 1 ? -1.0f : 1.0f);
  launch(object->kernel("k"), {(kCount + 255) / 256}, {256}, x.data(), h.data(), back.data(), wide.data(), fused.data(), kCount);
  for (int i = 0; i < kCount; ++i) {
    // To nearest even by scaling: halves have 11 bits, and no less than 2^-24.
    int exponent = 0;
    std::frexp(x[i], &exponent);
    const double unit = std::ldexp(1.0, std::max(exponent - 11, -24)), near = std::nearbyint(x[i] / unit) * unit;
    const double expected = std::abs(near) > 65504 ? std::copysign(HUGE_VAL, near) : near;
    ASSERT_EQ(wide[i], expected) << x[i];
    ASSERT_EQ(static_cast<double>(back[i]), expected) << x[i];
    const float square = x[i] * x[i];
    ASSERT_EQ(fused[i], static_cast<float>(static_cast<double>(x[i]) * x[i] - square)) << x[i];
  }
}

}  // namespace
}  // namespace damo::cpu_backend::testing
