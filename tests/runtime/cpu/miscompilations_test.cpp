// Kernels that LLVM 19 compiles wrongly, each without what keeps the bug out, and with it. Bugs of AVX-512 show in the
// object's instructions, read by llvm-objdump, on any machine; their values are tested where the machine can run them. And what
// it compiles element by element (vector_loops.cpp).
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <fstream>
#include <numeric>
#include <regex>

#include "runtime/cpu/compile_support.hpp"
#include "support/scratch_directory.hpp"

namespace damo::cpu_backend::testing {
namespace {

const char* const kUnguarded = "--damo-unguarded";

CompileOutput compile_for(const std::string& cpu, const std::string& text, std::vector<std::string> flags = {}) {
  return compile({.source = text, .file_name = "generated.cpp", .language = SourceLanguage::kLoops, .flags = std::move(flags), .cpu = cpu});
}

/// The object's instructions, one a line: mnemonic, operands.
std::string instructions(const CompileOutput& output) {
  EXPECT_TRUE(output.ok) << output.log;
  const damo::testing::ScratchDirectory directory;
  const std::string path = std::string(directory.path()) + "/kernel.o";
  std::ofstream(path, std::ios::binary).write(reinterpret_cast<const char*>(output.object.data()), static_cast<std::streamsize>(output.object.size()));
  FILE* const pipe = popen((std::string(DAMO_LLVM_OBJDUMP " -d --no-show-raw-insn --no-leading-addr ") + path).c_str(), "r");
  std::string text;
  for (char line[512]; pipe && std::fgets(line, sizeof line, pipe);) text += line;
  EXPECT_TRUE(pipe && pclose(pipe) == 0);
  return text;
}

bool has(const std::string& text, const char* pattern) { return std::regex_search(text, std::regex(pattern)); }

/// Instructions of AVX-512 FP16; conversions between half and float are F16C's and AVX-512F's.
constexpr const char* kHalfArithmetic = R"(\bv(?!cvtph2ps|cvtps2ph)\w*(ph|sh)\b)";
/// A vpternlog that keeps its old lanes under a mask and reads memory. AT&T's order: constant, memory, register, result and mask.
constexpr const char* kMaskedTernaryOfMemory = R"(vpternlog\w\s+\$\w+, [^%]*\([^)]*\)(\{1to\d+\})?, %\w+, %\w+ \{%k\d\}(?! \{z\}))";

class Miscompilations : public ::testing::Test {
 protected:
  void SetUp() override {
    if (access(DAMO_LLVM_OBJDUMP, X_OK) != 0) GTEST_SKIP() << "needs llvm-objdump";
  }
};

const std::string kHalves = R"(
using namespace damo;
extern "C" void halves(void* const* a, const LaunchFrame*, i64 first, i64 last) {
  const f16* __restrict x = *(const f16* const*)a[0];
  f16* __restrict y = *(f16* const*)a[1];
  for (i64 i = first; i < last; ++i) {
    const f16 u = x[i], v = y[i];
    y[i] = ((u < f16(0)) & (v > f16(1))) ? u * v : u + f16(2);
  }
})";

TEST_F(Miscompilations, NoCpuNameBringsHalfArithmetic) {
  EXPECT_TRUE(has(instructions(compile_for("sapphirerapids", kHalves, {kUnguarded})), kHalfArithmetic));
  for (const char* cpu : {"sapphirerapids", "graniterapids-d", "x86-64-v4"}) {
    const std::string text = instructions(compile_for(cpu, kHalves));
    EXPECT_FALSE(has(text, kHalfArithmetic)) << cpu << text;
    EXPECT_TRUE(has(text, "vcvtph2ps.*%zmm")) << cpu << text;
  }
}

TEST_F(Miscompilations, HalvesAreComparedAndRoundedInVectors) {
  const std::string source = R"(
using namespace damo;
extern "C" void halves(void* const* a, const LaunchFrame*, i64 first, i64 last) {
  const f16* __restrict x = *(const f16* const*)a[0];
  f16* __restrict y = *(f16* const*)a[1];
  for (i64 i = first; i < last; ++i) {
    const float u = float(x[i]), v = float(y[i]);
    y[i] = u < v ? f16(__builtin_floorf(v)) : x[i];
  }
})";
  for (const char* cpu : {"x86-64-v3", "x86-64-v4", "sapphirerapids"}) {
    const std::string text = instructions(compile_for(cpu, source));
    EXPECT_TRUE(has(text, "vcmp\\w*ps.*%[yz]mm")) << cpu << text;
    EXPECT_TRUE(has(text, "vrnd\\w*ps.*%zmm|vroundps.*%ymm")) << cpu << text;
  }
}

TEST_F(Miscompilations, NeitherAFlagNorAnAttributeBringsHalfArithmetic) {
  for (const char* feature : {"+avx512fp16", "+avx10.1-512"}) {
    EXPECT_FALSE(has(instructions(compile_for("sapphirerapids", kHalves, {"-target-feature", feature})), kHalfArithmetic)) << feature;
  }
  std::string text = kHalves;
  text.replace(text.find("extern \"C\""), 10, "extern \"C\" __attribute__((target(\"avx512fp16\")))");
  EXPECT_TRUE(has(instructions(compile_for("x86-64-v4", text, {kUnguarded})), kHalfArithmetic));
  EXPECT_FALSE(has(instructions(compile_for("x86-64-v4", text)), kHalfArithmetic));
  const CompileOutput cuda = compile({.source = "__attribute__((target(\"avx512fp16\"))) __global__ void k(_Float16* y, int n) {\n"
                                                "  int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] = y[i] * y[i];\n}",
                                      .file_name = "user.cu", .language = SourceLanguage::kCudaC, .cpu = "graniterapids"});
  if (cuda.ok) EXPECT_FALSE(has(instructions(cuda), kHalfArithmetic));
}

/// The magnitude of z with x's sign where w is less than 77, else x: one vpternlog that keeps x under a mask. The truth table is of the
/// constant, z and x, in this order; the instruction has them as x, constant, z.
const std::string kChoice = R"(
using namespace damo;
typedef u32 V __attribute__((vector_size(64), aligned(4), may_alias));
typedef i32 I __attribute__((vector_size(64), aligned(4), may_alias));
extern "C" void choice(void* const* a, const LaunchFrame*, i64 first, i64 last) {
  for (i64 i = first; i < last; ++i) {
    const V x = (*(const V* const*)a[0])[i], z = (*(const V* const*)a[1])[i];
    const I w = (*(const I* const*)a[2])[i];
    (*(V* const*)a[3])[i] = w < 77 ? (z & 0x7fffffffu) | (x & 0x80000000u) : x;
  }
})";

/// Here the memory that instruction selection reads is a constant, which leaves the loop afterwards: the object has no trace of it.
const std::string kChoiceOfAConstant = R"(
using namespace damo;
extern "C" void choice(void* const* a, const LaunchFrame*, i64 first, i64 last) {
  const u32* __restrict x = *(const u32* const*)a[0];
  const u32* __restrict z = *(const u32* const*)a[1];
  const i32* __restrict w = *(const i32* const*)a[2];
  u32* __restrict y = *(u32* const*)a[3];
#pragma clang loop interleave_count(1)
  for (i64 i = first; i < last; ++i) y[i] = w[i] < 77 ? (x[i] & 0x7fffffffu) | (z[i] & 0x80000000u) : x[i];
})";

TEST_F(Miscompilations, NoMaskedChoiceOfBitsReadsMemory) {
  for (const char* cpu : {"x86-64-v4", "sapphirerapids"}) {
    EXPECT_TRUE(has(instructions(compile_for(cpu, kChoice, {kUnguarded})), kMaskedTernaryOfMemory)) << cpu;
    EXPECT_TRUE(has(instructions(compile_for(cpu, kChoiceOfAConstant, {kUnguarded})), "vpternlog.*%k")) << cpu;
    for (const std::string& source : {kChoice, kChoiceOfAConstant}) {
      const std::string text = instructions(compile_for(cpu, source));
      EXPECT_FALSE(has(text, "%zmm|%k[0-7]")) << "is not compiled again without AVX-512: " << cpu << text;
      EXPECT_TRUE(has(text, "%ymm")) << text;
    }
  }
}

/// What llvm-objdump says of one function.
std::string instructions_of(const std::string& text, const std::string& function) {
  const std::size_t begin = text.find("<" + function + ">:");
  EXPECT_NE(begin, text.npos) << text;
  return begin == text.npos ? std::string() : text.substr(begin, text.find("\n\n", begin) - begin);
}

TEST_F(Miscompilations, KernelsWithoutTheDangerousInstructionKeepAvx512) {
  const std::string sum = R"(
extern "C" void sum(void* const* a, const LaunchFrame*, i64 first, i64 last) {
  const f32* __restrict x = *(const f32* const*)a[0];
  f32* __restrict y = *(f32* const*)a[1];
  for (i64 i = first; i < last; ++i) y[i] = x[i] < 0.5f ? x[i] * x[i] : y[i];
})";
  const std::string text = instructions(compile_for("x86-64-v4", "using namespace damo;\n" + sum));
  EXPECT_TRUE(has(text, "%zmm.*\\{%k")) << text;
  const std::string beside_another = instructions(compile_for("x86-64-v4", kChoice + sum));
  EXPECT_TRUE(has(instructions_of(beside_another, "sum"), "%zmm.*\\{%k")) << beside_another;
  EXPECT_FALSE(has(instructions_of(beside_another, "choice"), "%zmm|%k[0-7]")) << beside_another;
}

/// Of the SLP vectoriser's work only that of a function with integer code is undone.
TEST_F(Miscompilations, KernelsBesideAnUndoneOneKeepTheirVectors) {
  const std::string integers = R"(
extern "C" __global__ void integers(unsigned* y, const unsigned* x, int n) {
  unsigned a = x[0], b = x[1], c = x[2], d = x[3];
  for (int i = 0; i < n; ++i) a = (a ^ 77u) * a, b = (b ^ 77u) * b, c = (c ^ 77u) * c, d = (d ^ 77u) * d;
  y[0] = a; y[1] = b; y[2] = c; y[3] = d;
})", floats = R"(
extern "C" __global__ void floats(float* y, const float* x, int n) {
  float a = x[0], b = x[1], c = x[2], d = x[3];
  for (int i = 0; i < n; ++i) a = (a + 77.0f) * a, b = (b + 77.0f) * b, c = (c + 77.0f) * c, d = (d + 77.0f) * d;
  y[0] = a; y[1] = b; y[2] = c; y[3] = d;
})";
  const auto compiled = [](const std::string& source, std::vector<std::string> flags) {
    return instructions(compile({.source = source, .file_name = "k.cu", .language = SourceLanguage::kCudaC, .flags = std::move(flags), .cpu = "x86-64-v3"}));
  };
  constexpr const char *kIntegerVectors = "vpmul\\w+.*%xmm", *kFloatVectors = "vmulps.*%xmm";
  EXPECT_TRUE(has(instructions_of(compiled(integers, {kUnguarded}), "integers"), kIntegerVectors));
  const std::string both = compiled(integers + floats, {});
  EXPECT_FALSE(has(instructions_of(both, "integers"), kIntegerVectors)) << both;
  EXPECT_TRUE(has(instructions_of(both, "floats"), kFloatVectors)) << both;
}

TEST(MiscompilationsOnCpu, ChoosesBitsUnderAMask) {
  constexpr std::size_t kElements = 13 * 16;
  std::vector<std::uint32_t> x(kElements), z(kElements), y(kElements);
  std::vector<std::int32_t> w(kElements);
  for (std::size_t i = 0; i < kElements; ++i) {
    x[i] = 0x9e3779b9u * static_cast<std::uint32_t>(i);
    z[i] = 0x85ebca6bu * static_cast<std::uint32_t>(i + 5);
    w[i] = static_cast<std::int32_t>(i * 37 % 150);
  }
  const void *px = x.data(), *pz = z.data(), *pw = w.data(), *py = y.data(), *arguments[] = {&px, &pz, &pw, &py};
  const auto with_bits_of = [](std::uint32_t magnitude, std::uint32_t sign) { return (magnitude & 0x7fffffffu) | (sign & 0x80000000u); };
  load(compile_loops(kChoice))->kernel("choice")(const_cast<void* const*>(arguments), nullptr, 0, kElements / 16);
  for (std::size_t i = 0; i < kElements; ++i) ASSERT_EQ(y[i], w[i] < 77 ? with_bits_of(z[i], x[i]) : x[i]) << i;
  load(compile_loops(kChoiceOfAConstant))->kernel("choice")(const_cast<void* const*>(arguments), nullptr, 0, kElements);
  for (std::size_t i = 0; i < kElements; ++i) ASSERT_EQ(y[i], w[i] < 77 ? with_bits_of(x[i], z[i]) : x[i]) << i;
}

/// Where x is odd, z at an index that is the same for all, and not known to be one before the branch.
const std::string kRemainderInABranch = R"(
using namespace damo;
extern "C" void remainder(void* const* a, const LaunchFrame*, i64 first, i64 last) {
  const u32* __restrict x = *(const u32* const*)a[0];
  const u32* __restrict z = *(const u32* const*)a[1];
  u32* __restrict y = *(u32* const*)a[2];
  const u32 n = **(const u32* const*)a[3];
#pragma clang loop interleave_count(1)
  for (i64 i = first; i < last; ++i) {
    if (x[i] & 1u) y[i] = z[3u % n];
  }
})";

TEST_F(Miscompilations, NoGatherReadsAtTheFirstLanesQuotient) {
  for (const char* cpu : {"x86-64-v4", "sapphirerapids"}) {
    // One register and a step of 0: the first lane's address for all. That each lane divides for itself is not worth a vector.
    EXPECT_TRUE(has(instructions(compile_for(cpu, kRemainderInABranch, {kUnguarded})), "vpgather")) << "this LLVM has mended the bug: its guard can go: " << cpu;
    EXPECT_FALSE(has(instructions(compile_for(cpu, kRemainderInABranch)), "vpgather")) << cpu;
  }
}

TEST(MiscompilationsOnCpu, DividesInABranchThatTheFirstLaneDoesNotTake) {
  std::vector<std::uint32_t> x(64), z = {10, 11, 12, 13}, y(64), n = {2};
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = i % 8 == 5;
  const void *px = x.data(), *pz = z.data(), *py = y.data(), *pn = n.data(), *arguments[] = {&px, &pz, &py, &pn};
  load(compile_loops(kRemainderInABranch))->kernel("remainder")(const_cast<void* const*>(arguments), nullptr, 0, 64);
  for (std::size_t i = 0; i < x.size(); ++i) ASSERT_EQ(y[i], x[i] ? 11u : 0u) << i;
}

/// More pairs of arrays than the vectoriser makes checks for: then it makes none, of the stride neither, which it takes for 1.
TEST(MiscompilationsOnCpu, ChecksStridesOfLoopsOfManyArrays) {
  constexpr int kArrays = 18, kElements = 100;
  std::string text = "using namespace damo;\nextern \"C\" void many(void* const* a, const LaunchFrame*, i64 first, i64 last) {\n  const float* x = *(const float* const*)a[0];\n  const i64 stride = *(const i64*)a[1];\n";
  std::string body;
  for (int i = 0; i < kArrays; ++i) {
    const std::string n = std::to_string(i);
    text += "  float* y" + n + " = *(float* const*)a[" + std::to_string(i + 2) + "];\n";
    body += " y" + n + "[k] = v + " + n + ".0f;";
  }
  text += "#pragma clang loop vectorize(enable)\n  for (i64 k = first; k < last; ++k) { const float v = x[k * stride];" + body + " }\n}\n";
  const auto wrong = [&](std::vector<std::string> flags) {
    std::vector<float> x(kElements), y(kArrays * kElements);
    std::iota(x.begin(), x.end(), 0.0f);
    const float* last = x.data() + kElements - 1;
    const std::int64_t stride = -1;
    std::vector<float*> outputs;
    for (int i = 0; i < kArrays; ++i) outputs.push_back(y.data() + i * kElements);
    std::vector<const void*> arguments = {&last, &stride};
    for (float*& output : outputs) arguments.push_back(&output);
    load(compile({.source = text, .file_name = "generated.cpp", .language = SourceLanguage::kLoops, .flags = std::move(flags)}))->kernel("many")(const_cast<void* const*>(arguments.data()), nullptr, 0, kElements);
    int count = 0;
    for (int i = 0; i < kArrays * kElements; ++i) count += y[static_cast<std::size_t>(i)] != static_cast<float>(kElements - 1 - i % kElements + i / kElements);
    return count;
  };
  EXPECT_EQ(wrong({}), 0);
  EXPECT_NE(wrong({kUnguarded}), 0) << "this LLVM has mended the bug: its guard can go";
}

/// A kernel on 64 ints x, of one block in CUDA C: what it should give, which LLVM alone does not.
struct Kernel {
  const char* name;
  SourceLanguage language;
  const char* text;
  std::vector<int> (*expected)(const std::vector<int>& x);
  int first = -3;  ///< of x, which counts
};

std::vector<int> run(const Kernel& kernel, const std::vector<int>& x, std::vector<std::string> flags) {
  const auto object = load(compile({.source = kernel.text, .file_name = "kernel", .language = kernel.language, .flags = std::move(flags)}));
  std::vector<int> y(x.size(), -77);
  launch(object->kernel("k"), {1}, {1}, x.data(), y.data(), static_cast<int>(x.size()));
  return y;
}

template <class Element>
std::vector<int> each(const std::vector<int>& x, Element element) {
  std::vector<int> y;
  for (std::size_t i = 0; i < x.size(); ++i) y.push_back(element(x, static_cast<int>(i)));
  return y;
}

class MiscompiledOnCpu : public ::testing::TestWithParam<Kernel> {};

TEST_P(MiscompiledOnCpu, IsRightAndWrongWithoutTheGuard) {
  std::vector<int> x(64);
  std::iota(x.begin(), x.end(), GetParam().first);
  const std::vector<int> expected = GetParam().expected(x);
  EXPECT_EQ(run(GetParam(), x, {}), expected);
  EXPECT_NE(run(GetParam(), x, {kUnguarded}), expected) << "this LLVM has mended the bug: its guard can go";
}

constexpr auto kLoops = SourceLanguage::kLoops, kCudaC = SourceLanguage::kCudaC;

INSTANTIATE_TEST_SUITE_P(, MiscompiledOnCpu, ::testing::Values(
  // The product of step and count wraps the index, which the vectoriser's run-time check does not see.
  Kernel{"MaskedIndex_156849", kCudaC, R"(
__global__ void k(const int* x, int* y, int n) {
  for (long long k = 0; k < 64; ++k) y[k] = x[(k * 3) & 63];
})", [](const std::vector<int>& x) { return each(x, [](const auto& x, int i) { return x[i * 3 & 63]; }); }},
  Kernel{"NarrowIndex_156849", kCudaC, R"(
__global__ void k(const int* x, int* y, int n) {
  for (long long k = 0; k < 64; ++k) y[k] = x[(unsigned char)(k * 12) / 4];
})", [](const std::vector<int>& x) { return each(x, [](const auto& x, int i) { return x[static_cast<unsigned char>(i * 12) / 4]; }); }},
  // Coefficients of more than 64 bits: with x = 1 the loop is left at once with b = -1, c = -1.
  Kernel{"LargeCoefficients_140481", kCudaC, R"(
__global__ void k(const int* x, int* y, int n) {
  const int a = x[0];
  int b = -5001001 * a + 5001000;
  while (b >= 5001001) b = a + 5001000;
  const int c = -5001000 * b - 5001001;
  for (int i = 2; i < n; ++i) y[i] = 0;
  y[0] = b; y[1] = c; y[2] = 5001000 * c >= b;
})", [](const std::vector<int>& x) { return each(x, [](const auto&, int i) { return i < 2 ? -1 : 0; }); }, 1},
  // The range of a rotation whose operands were simplified.
  Kernel{"RangeOfARotation_124387", kLoops, R"(
using namespace damo;
static int is_negative(int d) { if (d < 0) return 1; return 0; }
static int is_zero(int b) { if (b) return 0; return 1; }
int g(int d, int b) { int h = 0; if (3 + d) h = is_zero(b) - 1 - 1; return is_negative(h) + h + h; }
static void store(int* y, char value) { *y = value; }
extern "C" void k(void* const* a, const LaunchFrame*, i64, i64) {
  int i = g(0, **(const int* const*)a[0]);
  store(*(int* const*)a[1], i);
}
)", [](const std::vector<int>& x) { return each(x, [](const auto&, int i) { return i == 0 ? -3 : -77; }); }},
  // Two unsigned values become a vector of signed ones.
  Kernel{"UnsignedToDouble_129244", kCudaC, R"(
__device__ int c(int e, unsigned long long p) { double g = -p / 1000000.0; if (g > 3) g = 3; int f = e * 10 + g; return f; }
__device__ int first(int e, int d) { if (0 >= d) return 0; return e; }
__device__ int value(int e, int d) { int j = first(e, d); return c(67, j + 2) - 673 + j; }
__global__ void k(const int* x, int* y, int n) {
  for (int i = 2; i < n; ++i) y[i] = 0;
  const int p = value(9, x[0]), q = value(5, x[0]);
  y[0] = p; y[1] = q;
})", [](const std::vector<int>& x) { return std::vector<int>(x.size(), 0); }},
  // The zero that a comparison with zero keeps.
  Kernel{"SignOfZero_157254", kCudaC, R"(
__global__ void k(const int* x, int* y, int n) {
  for (int i = 0; i < n; ++i) {
    const float v = __int_as_float(x[i] & 1 ? 0x80000000 : 0x3f800000);
    const double limited = v < 0.0f ? 0.0 : (double)v;
    y[i] = __double2hiint(limited);
  }
})", [](const std::vector<int>& x) { return each(x, [](const auto& x, int i) { return x[i] & 1 ? int(0x80000000) : 0x3ff00000; }); }}),
  [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace damo::cpu_backend::testing
