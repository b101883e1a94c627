// CUDA C's library on the CPU: what it gives, which parts a source gets, what it refuses by name.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include <damo/half.hpp>

#include "runtime/cpu/compile_support.hpp"

namespace damo::cpu_backend::testing {
namespace {

/// The values of double expressions of CUDA C.
std::vector<double> evaluate(const std::vector<std::string>& expressions, const std::string& head = "") {
  std::string text = head + "\nextern \"C\" __global__ void values(double* y) {\n";
  for (std::size_t i = 0; i < expressions.size(); ++i) text += "  y[" + std::to_string(i) + "] = " + expressions[i] + ";\n";
  const auto object = load(compile_cuda(text + "}\n"));
  std::vector<double> y(expressions.size());
  launch(object->kernel("values"), {1}, {1}, y.data());
  return y;
}

struct Known {
  const char* expression;
  double value;
};

void expect_values(const std::vector<Known>& known, double ulps, const std::string& head = "") {
  std::vector<std::string> expressions;
  for (const Known& k : known) expressions.emplace_back(k.expression);
  const std::vector<double> values = evaluate(expressions, head);
  for (std::size_t i = 0; i < known.size(); ++i) {
    const double allowed = std::abs(known[i].value) * ulps * 0x1p-52;
    if (std::isnan(known[i].value)) EXPECT_TRUE(std::isnan(values[i])) << known[i].expression;
    else if (std::isinf(known[i].value)) EXPECT_EQ(values[i], known[i].value) << known[i].expression;
    else EXPECT_NEAR(values[i], known[i].value, allowed) << known[i].expression;
  }
}

// Values from tables (Abramowitz and Stegun, DLMF), to 17 digits.
TEST(CudaLibrary, KnowsTheRarerMathFunctions) {
  const double infinity = std::numeric_limits<double>::infinity();
  expect_values({{"erfinv(0.5)", 0.47693627620446987},
                 {"erfcinv(1.5)", -0.47693627620446987},
                 {"erfinv(1.0)", infinity},
                 {"erfcx(1.0)", 0.42758357615580700},
                 {"erfcx(30.0)", 0.018795888861416751},
                 {"erfcx(-2.0)", 108.94090438997797},
                 {"normcdf(-10.0)", 7.6198530241605260e-24},
                 {"normcdf(1.0)", 0.84134474606854293},
                 {"normcdfinv(0.975)", 1.9599639845400545},
                 {"cyl_bessel_i0(1.0)", 1.2660658777520082},
                 {"cyl_bessel_i1(1.0)", 0.56515910399248503},
                 {"jn(2, 1.0)", 0.11490348493190048},
                 {"yn(2, 1.0)", -1.6506826068162546},
                 {"sinpi(1.0 / 6)", 0.5},
                 {"cospi(1.0 / 3)", 0.5},
                 {"norm4d(1.0, 2.0, 4.0, 10.0)", 11.0},
                 {"norm3d(3e200, 4e200, 0.0)", 5e200},
                 {"rnorm3d(2.0, 3.0, 6.0)", 1.0 / 7.0},
                 {"rhypot(3.0, 4.0)", 0.2},
                 {"rcbrt(27.0)", 1.0 / 3.0},
                 {"logb(10.0)", 3.0},
                 {"logb(0.0)", -infinity},
                 {"remainder(7.0, 4.0)", -1.0},
                 {"fdim(5.0, 3.0)", 2.0},
                 {"ldexp(0.75, 4)", 12.0},
                 {"tgamma(5.5)", 52.342777784553520}},
                8);
}

TEST(CudaLibrary, IsExactAtMultiplesOfAHalfTurn) {
  expect_values({{"sinpi(3.0)", 0.0}, {"sinpi(2.5)", 1.0}, {"sinpi(-0.5)", -1.0}, {"cospi(1.0)", -1.0}, {"cospi(7.5)", 0.0},
                 {"sinpi(1e20)", 0.0}, {"cospi(1e300)", 1.0}},
                0);
}

// Failed before: each gave 0.
TEST(CudaLibrary, GivesNaNWhereThereIsNoValue) {
  expect_values({{"isnan(sinpi(INFINITY))", 1}, {"isnan(sinpif(-INFINITY))", 1}, {"isnan(cospi(INFINITY))", 1}, {"isnan(norm3d(0.0, double(NAN), 0.0))", 1}, {"isnan(norm4df(0.0f, 0.0f, 0.0f, NAN))", 1}},
                0);
}

TEST(CudaLibrary, RoundsInTheStatedDirection) {
  expect_values({{"__fadd_ru(1.0f, 1e-10f) > 1.0f", 1},
                 {"__fadd_rd(1.0f, 1e-10f) == 1.0f", 1},
                 {"__dadd_ru(1.0, 1e-30)", 1 + 0x1p-52},
                 {"__dsub_rz(1.0, 1e-30)", 1 - 0x1p-53},
                 {"__ddiv_ru(1.0, 3.0) - __ddiv_rd(1.0, 3.0)", 0x1p-54},
                 {"__dsqrt_rd(2.0)", 1.4142135623730949},
                 {"__dsqrt_ru(2.0)", 1.4142135623730951},
                 {"__fma_ru(1.0 + 0x1p-52, 1.0 + 0x1p-52, 0.0)", 1 + 0x1p-51 + 0x1p-52},
                 {"__fmaf_rz(3.0f, 5.0f, -1e-9f) < 15.0f", 1},
                 {"__double2float_rd(0.1) < 0.1", 1},
                 {"__double2float_ru(0.1) > 0.1", 1},
                 {"__ll2double_ru(9007199254740993ll)", 9007199254740994.0},
                 {"__ll2double_rd(9007199254740993ll)", 9007199254740992.0},
                 {"__ull2float_rz(18446744073709551615ull)", 18446742974197923840.0},
                 {"__ull2double_ru(18446744073709551615ull)", 18446744073709551616.0},
                 {"__int2float_ru(16777217)", 16777218.0},
                 {"__frcp_rd(3.0f) < __frcp_ru(3.0f)", 1}},
                0);
}

TEST(CudaLibrary, ConvertsAsTheHardwareDoes) {
  expect_values({{"(int)3e9f", 2147483647.0}, {"(int)-3e9f", -2147483648.0}, {"(unsigned)-1.5f", 0}, {"(int)NAN", 0},
                 {"(unsigned)5e9", 4294967295.0}, {"__float2int_rn(-2.5f)", -2}, {"__float2uint_ru(2.1f)", 3},
                 {"__double2hiint(-2.0) == (int)0xc0000000", 1}, {"__hiloint2double(0x40080000, 0)", 3},
                 {"(unsigned char)(int)300.0f", 44}},
                0);
}

TEST(CudaLibrary, TakesIntegersForFloatingArguments) {
  expect_values({{"sqrt(16)", 4}, {"pow(2, 10)", 1024}, {"fmax(2, 3.5)", 3.5}, {"min(3u, 5)", 3}, {"max(-1l, 4l)", 4},
                 {"abs(-3ll)", 3}, {"max(1.5f, 2.5)", 2.5}, {"isnan(3)", 0}, {"sizeof(pow(2.0f, 2))", 4}, {"fabs(-2)", 2}},
                0);
}

/// x rounded once, to nearest and even: the best of a candidate and its neighbours.
template <class H>
H nearest(long double x) {
  const auto value = [](std::uint16_t bits) {
    H h;
    h.bits = bits;
    const long double v = static_cast<float>(h);
    return std::isinf(v) ? std::copysign(std::is_same_v<H, Half> ? 0x1p16L : 0x1p128L, v) : v;  // the next step, were there one
  };
  const H guess(static_cast<float>(x));
  if (!std::isfinite(x) || static_cast<float>(guess) == 0) return guess;
  H best = guess;
  for (const int step : {-1, 1}) {
    const auto bits = static_cast<std::uint16_t>(guess.bits + step);
    const long double here = std::abs(value(bits) - x), there = std::abs(value(best.bits) - x);
    if (here < there || (here == there && bits % 2 == 0)) best.bits = bits;
  }
  return best;
}

// Every pair of 200 values, subnormals, large and special ones among them; the reference rounds the exact result once.
template <class H>
void expect_half_arithmetic(const std::string& type, const std::string& header) {
  const std::string text = "#include <" + header + ">\nusing H = " + type + R"(;
extern "C" __global__ void pairs(const H* x, H* sum, H* product, H* quotient, H* fused, int n) {
  int i = threadIdx.x, j = blockIdx.x;
  sum[j * n + i] = x[i] + x[j];
  product[j * n + i] = x[i] * x[j];
  quotient[j * n + i] = x[i] / x[j];
  fused[j * n + i] = __hfma(x[i], x[j], x[(i + j) % n]);
})";
  const int n = 200;
  std::vector<H> x(n), sum(n * n), product(n * n), quotient(n * n), fused(n * n);
  for (int i = 0; i < n; ++i) x[i] = H(static_cast<float>(std::ldexp(1.0 + i * 0.37, i % 23 - 14) * (i % 3 ? 1 : -1)));
  x[0] = H(0.0F), x[1] = H(1.0F), x[2] = H(std::numeric_limits<float>::infinity());
  const auto object = load(compile_cuda(text));
  launch(object->kernel("pairs"), {n}, {n}, x.data(), sum.data(), product.data(), quotient.data(), fused.data(), n);
  const auto same = [](H actual, double exact) {
    const float want = static_cast<float>(nearest<H>(exact)), got = static_cast<float>(actual);
    return got == want || (std::isnan(got) && std::isnan(want));
  };
  int wrong = 0;
  for (int j = 0; j < n; ++j) {
    for (int i = 0; i < n; ++i) {
      const double a = static_cast<float>(x[i]), b = static_cast<float>(x[j]), c = static_cast<float>(x[(i + j) % n]);
      const int at = j * n + i;
      // In double all of these are exact, or off by far less than what could turn a rounding to 11 bits.
      wrong += !same(sum[at], a + b) + !same(product[at], a * b) + !same(quotient[at], a / b);
      wrong += !same(fused[at], a * b + c);
    }
  }
  EXPECT_EQ(wrong, 0);
}

TEST(CudaLibrary, RoundsEachHalfOperationOnce) { expect_half_arithmetic<Half>("__half", "cuda_fp16.h"); }
TEST(CudaLibrary, RoundsEachBfloat16OperationOnce) { expect_half_arithmetic<BFloat16>("__nv_bfloat16", "cuda_bf16.h"); }

// Doubles and integers at each tie between two halves of some size, and next to it: on the way through float, or of an integer
// through double, these would be rounded twice.
template <class H>
void expect_half_conversions(const std::string& type, const std::string& name, const std::string& header) {
  const std::string text = "#include <" + header + ">\nusing H = " + type + R"(;
extern "C" __global__ void numbers(const double* d, const long long* l, H* by_cast, H* by_name, H* of_l, H* of_l_by_name, H* of_u, H* of_u_by_name) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  by_cast[i] = (H)d[i];
  by_name[i] = __double2)" + name + R"((d[i]);
  of_l[i] = (H)l[i];
  of_l_by_name[i] = __ll2)" + name + R"(_rn(l[i]);
  of_u[i] = H((unsigned long)l[i]);
  of_u_by_name[i] = __ull2)" + name + R"(_rn((unsigned long long)l[i]);
})";
  std::vector<double> d;
  std::vector<long long> l;
  for (int i = 1; i < 0x7f00; i += 7) {
    H low, high;
    low.bits = static_cast<std::uint16_t>(i), high.bits = static_cast<std::uint16_t>(i + 1);
    const double tie = (static_cast<double>(static_cast<float>(low)) + static_cast<double>(static_cast<float>(high))) / 2;
    for (const double x : {std::nextafter(tie, 0.0), tie, std::nextafter(tie, 1e300)}) d.push_back(i % 2 ? x : -x);
  }
  for (int bit = 4; bit < 63; ++bit) {
    for (const long long step : {1LL, 3LL, 129LL, 255LL}) {
      const long long whole = 1LL << bit, tie = whole + step * (whole >> 9);
      for (const long long off : {-1LL, 0LL, 1LL}) l.push_back((bit + step) % 2 ? tie + off : -(tie + off));
    }
  }
  d.resize(32768 / 2, 1e308), l.resize(d.size(), -1);
  const std::size_t n = d.size();
  std::vector<H> results[6];
  for (auto& result : results) result.resize(n);
  const auto object = load(compile_cuda(text));
  launch(object->kernel("numbers"), {static_cast<unsigned>(n / 256)}, {256}, d.data(), l.data(), results[0].data(), results[1].data(), results[2].data(),
         results[3].data(), results[4].data(), results[5].data());
  int wrong[6] = {};
  for (std::size_t i = 0; i < n; ++i) {
    const long double numbers[] = {d[i], d[i], static_cast<long double>(l[i]), static_cast<long double>(l[i]),
                                   static_cast<long double>(static_cast<unsigned long long>(l[i])), static_cast<long double>(static_cast<unsigned long long>(l[i]))};
    for (int k = 0; k < 6; ++k) wrong[k] += results[k][i].bits != nearest<H>(numbers[k]).bits;
  }
  EXPECT_THAT(wrong, ::testing::Each(0));
}

TEST(CudaLibrary, RoundsOtherNumbersToHalfOnce) { expect_half_conversions<Half>("__half", "half", "cuda_fp16.h"); }
TEST(CudaLibrary, RoundsOtherNumbersToBfloat16Once) { expect_half_conversions<BFloat16>("__nv_bfloat16", "bfloat16", "cuda_bf16.h"); }

TEST(CudaLibrary, HasTheFunctionsOfHalves) {
  expect_values({{"__half2float(__float2half_rz(1.0009f))", 1.0},
                 {"__half2float(__float2half_ru(1.0001f))", 1 + 0x1p-10},
                 {"(float)__double2half(1.0 + 0x1p-11 + 0x1p-40)", 1 + 0x1p-10},
                 {"(float)__float2bfloat16_rd(1.01f)", 1 + 0x1p-7},
                 {"__half2int_rn(__float2half(2.5f))", 2},
                 {"__half2short_rz(__float2half(65504.f))", 32767},
                 {"(float)__ushort_as_half(0x3c00)", 1},
                 {"__half_as_ushort(__float2half(-2.0f)) == 0xc000", 1},
                 {"(float)__hfma_relu(__float2half(-1.f), __float2half(2.f), __float2half(1.f))", 0},
                 {"(float)__hadd_sat(__float2half(0.7f), __float2half(0.7f))", 1},
                 {"__hlt(__float2half(1.f), __float2half(NAN))", 0},
                 {"__hltu(__float2half(1.f), __float2half(NAN))", 1},
                 {"(float)__hmax(__float2half(NAN), __float2half(3.f))", 3},
                 {"isnan((float)__hmax_nan(__float2half(NAN), __float2half(3.f)))", 1},
                 {"(float)hsqrt(__float2half(9.f))", 3},
                 {"__low2float(__halves2half2(__float2half(3.f), __float2half(4.f)))", 3},
                 {"__high2float(__hfma2(__float2half2_rn(2.f), __float2half2_rn(3.f), __float2half2_rn(1.f)))", 7},
                 {"__hgt2_mask(__floats2half2_rn(1.f, 5.f), __float2half2_rn(2.f))", 4294901760.0},
                 {"__bfloat1622float2(__floats2bfloat162_rn(1.5f, -2.f)).y", -2},
                 {"(float)(__float2half(0.1f) + __float2half(0.2f)) == (float)__float2half(0.3f)", 0},
                 {"(float)__int2half_rn(2049)", 2048}},
                0, "#include <cuda_fp16.h>\n#include <cuda_bf16.h>");
}

// With a language standard given, no precompiled prelude fits and the parts are chosen by the source's words. Of the oldest one, all but those of std.
TEST(CudaLibrary, ReadsThePartsThatASourceNames) {
  std::string all;
  for (const char* body :
       {"y[0] = expf(y[1]);", "y[0] = sinpif(y[1]);", "y[0] = min(3, 4);", "y[0] = __popc(3);",
        "atomicMax((int*)y, 3);", "y[0] = __fadd_rz(y[1], y[2]);", "y[0] = __vadd4(1, 2);", "y[0] = std::max(1.0f, y[1]);",
        "y[0] = __half2float(__float2half(y[1]));", "y[0] = erfinvf(y[1]) + normcdff(y[1]);", "y[0] = j0f(y[1]);", "__threadfence();",
        "y[0] = rsqrtf(y[1]) + cbrtf(y[1]) + tgammaf(y[1]);", "y[0] = __float_as_int(y[1]);", "y[0] = isnan(y[1]) + signbit(y[2]);",
        "float4 v = make_float4(1, 2, 3, 4); y[0] = v.w;", "y[0] = abs(y[1]) + copysignf(y[1], y[2]);", "memcpy(y, y + 1, 4);",
        "y[0] = __ldg(y + 1); __stcs(y, 1.0f);", "y[0] = FLT_MAX; y[1] = CUDART_PI_F; y[2] = INFINITY;", "y[0] = exp10f(y[1]);",
        "y[0] = std::numeric_limits<float>::max();", "y[0] = llrintf(y[1]) + ldexpf(y[1], 2);", "y[0] = normf(3, y);",
        "float s, c; sincosf(y[0], &s, &c); y[0] = s * c;", "y[0] = __dp4a(1, 2, 3);", "y[0] = __fmaf_rn(1, 2, 3) + fma(1.0, 2.0, 3.0);"}) {
    const CompileOutput output = compile_cuda(std::string("__global__ void k(float* y) { ") + body + " }", {}, {"-std=c++20"});
    EXPECT_TRUE(output.ok) << body << "\n" << output.log;
    if (std::string(body).find("std::") == std::string::npos) all += std::string("{ ") + body + " }\n";
  }
  const CompileOutput oldest = compile_cuda("__global__ void k(float* y) {\n" + all + "}", {}, {"-std=c++11"});
  EXPECT_TRUE(oldest.ok) << oldest.log;
}

TEST(CudaLibrary, ProvidesTheHeadersThatProgramsInclude) {
  std::string text;
  for (const char* name :
       {"cuda.h", "cuda_runtime.h", "device_launch_parameters.h", "math_constants.h", "stdio.h", "stdlib.h", "math.h", "stdint.h", "assert.h",
        "float.h", "limits.h", "string.h", "cmath", "cstdint", "cstdio", "cassert", "cfloat", "climits", "type_traits", "limits", "utility",
        "algorithm", "array", "tuple", "functional", "numeric", "initializer_list", "cuda_fp16.h", "cuda_bf16.h", "cooperative_groups.h",
        "cooperative_groups/reduce.h", "cooperative_groups/scan.h", "cooperative_groups/memcpy_async.h", "cuda/atomic", "cuda/barrier",
        "cuda/pipeline", "cuda_pipeline.h", "curand_kernel.h", "cuda/std/type_traits", "cuda/std/limits", "atomic"}) {
    text += std::string("#include <") + name + ">\n";
  }
  const CompileOutput output = compile_cuda(text + "__global__ void k(int* y) { y[threadIdx.x] = 1; }");
  EXPECT_TRUE(output.ok) << output.log;
}

// CUDA's conversions to 8 bits saturate where constructors and __NV_SATFINITE make them.
TEST(CudaLibrary, ConvertsFloatsOf8Bits) {
  expect_values({{"float(__nv_fp8_e4m3(0.3f))", 0.3125},
                 {"double(__nv_fp8_e4m3(1e9))", 448},
                 {"float(__nv_fp8_e5m2(-INFINITY))", -57344},
                 {"float(__nv_fp8_e4m3(NAN))", std::nan("")},
                 {"float(__nv_fp8_e4m3(1.0625 + 1e-12))", 1.125},
                 {"float(__nv_fp8_e5m2(-7))", -7},
                 {"int(__nv_fp8_e4m3(-2.5f))", -2},
                 {"float(__half(__nv_fp8_e4m3(__float2half(17.0f))))", 16},
                 {"bool(__nv_fp8_e5m2(-0.0f))", 0},
                 {"__nv_cvt_float_to_fp8(500.0f, __NV_NOSAT, __NV_E4M3)", 0x7f},
                 {"__nv_cvt_float_to_fp8(500.0f, __NV_SATFINITE, __NV_E4M3)", 0x7e},
                 {"__nv_cvt_double_to_fp8(1e30, __NV_NOSAT, __NV_E5M2)", 0x7c},
                 {"float2(__nv_fp8x2_e4m3(make_float2(1.5f, -448.5f))).y", -448},
                 {"float4(__nv_fp8x4_e5m2(make_float4(1, 2, 3.4f, 1e-9f))).z", 3.5},
                 {"float4(__nv_fp8x4_e4m3(make_double4(1, 2, 3, 500))).w", 448},
                 {"float4(__nv_fp8x4_e4m3(__floats2half2_rn(1, 2), __floats2half2_rn(3, 4.1f))).w", 4},
                 {"float4(__nv_fp8x4_e5m2(__floats2bfloat162_rn(1, 2), __floats2bfloat162_rn(3, 4))).y", 2},
                 {"__half2float(__half(__nv_cvt_fp8_to_halfraw(0x7b, __NV_E5M2)))", 57344},
                 {"float(__float2half(1.5f) + __nv_cvt_fp8_to_halfraw(0x40, __NV_E4M3))", 3.5},
                 {"([] { __half h = __nv_cvt_fp8_to_halfraw(0x40, __NV_E5M2); h *= __half_raw(h); h -= __half_raw(__half(0.5f)); return float(h); })()", 3.5},
                 {"__half_raw(__half(1.0f)) < __half(2.0f)", 1},
                 {"([] { __nv_bfloat16 b = 3.0f; b += __nv_bfloat16_raw(b); b += b; b *= __nv_bfloat16(0.5f); return float(b / __nv_bfloat16_raw(__nv_bfloat16(4.0f))); })()", 1.5},
                 {"sizeof(__nv_fp8_e4m3) + 10 * sizeof(__nv_fp8x2_e5m2) + 100 * sizeof(__nv_fp8x4_e4m3)", 421}},
                0, "#include <cuda_fp8.h>\n#include <cuda_fp16.h>");
}

TEST(CudaLibrary, HasStorageForAType) {
  const auto values = evaluate({"sizeof(Wide)", "alignof(Wide)", "sizeof(std::aligned_storage<12, 4>::type)"},
                               "#include <type_traits>\nusing Wide = std::aligned_storage_t<24, 16>;");
  EXPECT_EQ(values, (std::vector<double>{32, 16, 12}));
}

TEST(CudaLibrary, RefusesHeadersAtTheUsersLine) {
  for (const char* name : {"mma.h", "cub/cub.cuh", "cub/grid/grid_queue.cuh", "thrust/sort.h", "thrust/async/copy.h", "cuda_fp6.h"}) {
    const CompileOutput output = compile_cuda(std::string("// text\n#include <") + name + ">\n__global__ void k() {}");
    EXPECT_FALSE(output.ok);
    EXPECT_NE(output.log.find("user.cu:2:"), std::string::npos) << output.log;
    EXPECT_NE(output.log.find("is not supported on the CPU"), std::string::npos) << output.log;
  }
}

TEST(CudaLibrary, RefusesWhatOnlyAGpuHas) {
  struct Refused {
    const char* text;
    const char* message;
  };
  const Refused cases[] = {
      {"#include <cooperative_groups.h>\n__global__ void k() {\n  cooperative_groups::this_grid().sync();\n}",
       "user.cu:3:35: error: 'sync' is unavailable: synchronising a whole grid is not supported on the CPU"},
      {"__global__ void k(float* y, cudaTextureObject_t t) {\n  y[0] = tex1Dfetch<float>(t, 1);\n}", "texture memory is not supported on the CPU"},
      {"__global__ void k(cudaSurfaceObject_t s) {\n  surf2Dwrite(1.0f, s, 1, 2);\n}", "surface memory is not supported on the CPU"},
      {"#include <curand_kernel.h>\n__global__ void k(unsigned* y) {\n  curandState s; y[0] = curand_poisson(&s, 2.0);\n}",
       "Poisson distribution is not supported on the CPU"},
      {"__global__ void k(int* y) {\n  y[0] = __isShared(y);\n}", "telling memory spaces apart is not supported on the CPU"},
  };
  for (const Refused& refused : cases) {
    const CompileOutput output = compile_cuda(refused.text);
    EXPECT_FALSE(output.ok) << refused.text;
    EXPECT_NE(output.log.find(refused.message), std::string::npos) << refused.text << "\n" << output.log;
  }
}

TEST(CudaLibrary, LetsAKernelHaveTheNameOfAFunction) {
  const auto object = load(compile_cuda(R"(
struct Pair { float a, b; };
__global__ void max(const float* x, float* y, Pair p) { y[threadIdx.x] = max(x[threadIdx.x], p.a) + p.b; }
__global__ void norm(float* y) { y[threadIdx.x] = 7; }
)"));
  const std::vector<float> x = {1, 2, 3, 4};
  std::vector<float> y(4);
  struct { float a, b; } p{2.5F, 10};
  launch(object->kernel("max"), {1}, {4}, x.data(), y.data(), p);
  EXPECT_EQ(y, (std::vector<float>{12.5F, 12.5F, 13, 14}));
  launch(object->kernel("norm"), {1}, {4}, y.data());
  EXPECT_EQ(y, std::vector<float>(4, 7));
}

}  // namespace
}  // namespace damo::cpu_backend::testing
