#include "runtime/kernel/kernel_scan.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "runtime/kernel/variable_symbol.hpp"

namespace damo {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(ScanNames, FindsKernelsTemplatesAndVariables) {
  const ScannedNames names = scan_names(R"(
    #include <cuda_fp16.h>
    #define KERNEL __global__ void hidden_by_a_macro() {}
    __constant__ float table[4], other[2] = {1, 2};
    __device__ int counter = 3;
    __device__ float helper(float x) { return x; }
    template <class T, int N> __global__ void scale(T* x, T by) { x[0] = by; }
    extern "C" __global__ void first(const float* __restrict__ x) { if (x) { int n = 0; } }
    static __global__ __launch_bounds__(256, 2) void second(float* x) {}
    __global__ void __launch_bounds__(128) third(float* x);
    __global__ void __launch_bounds__(128) third(float* x) {}
    __global__ void only_declared(float* x);
  )");
  EXPECT_THAT(names.kernels, ElementsAre("first", "second", "third"));
  EXPECT_THAT(names.templates, ElementsAre("scale"));
  EXPECT_THAT(names.variables, ElementsAre("table", "other", "counter"));
}

TEST(ScanNames, TellsTheParametersAndLinesOfEveryDefinition) {
  const ScannedNames names = scan_names(R"(__global__ void k(float* x);
__global__ void k(float* x) { x[0] = 1; }
namespace space {
__global__ void __launch_bounds__(128)
k(const float *__restrict__ x, /* how many */ unsigned int n,  // of them
  std::vector<int> list, float (*f)(int)) {}
}
template <class T> __global__ void k(T x) {}
#line 40 "other.cu"
__global__ void k() {}
)");
  EXPECT_THAT(names.kernels, ElementsAre("k", "space::k"));
  ASSERT_EQ(names.definitions.size(), 4u);
  EXPECT_EQ(names.definitions[1].parameters, "const float* __restrict__ x, unsigned int n, std::vector<int> list, float(* f)(int)");
  EXPECT_TRUE(names.definitions[2].is_template);
  EXPECT_EQ(kernels_of_name(names, "space::k"), "space::k(" + names.definitions[1].parameters + ") in line 5");
  EXPECT_EQ(names.definitions[3].line, 40u);
  EXPECT_EQ(kernels_of_name(names, "k").substr(0, 50), "k(float* x) in line 2, space::k(const float* __res");
  EXPECT_EQ(kernels_of_name(names, "other"), "");
}

TEST(ScanNames, FollowsNamespacesAndLinkageBlocks) {
  const ScannedNames names = scan_names(R"(
    namespace a::b { namespace { __global__ void inner() {} } __constant__ int n; }
    extern "C" { __global__ void c_name(int x) {} __device__ double d; }
    inline namespace v1 { __global__ void versioned() {} }
    using namespace a; namespace alias = a::b;
    extern "C" __constant__ float single;
    extern __constant__ float elsewhere;
    __global__ void last() {}
  )");
  EXPECT_THAT(names.kernels, ElementsAre("a::b::inner", "c_name", "v1::versioned", "last"));
  EXPECT_THAT(names.variables, ElementsAre("a::b::n", "d", "single"));
}

TEST(ScanNames, ReadsNeitherCommentsNorLiteralsNorBodies) {
  const ScannedNames names = scan_names(R"__(
    // __global__ void a() {}
    /* __global__ void b() {} */
    #if 0 /* over
       lines __global__ void c() {} */
    #endif
    const char* text = "__global__ void d() {}";
    const char* raw = R"x(__global__ void e() {} )" )x";
    struct S { __device__ int member; };
    __device__ int big = 1'000'000;
    __global__ void f() { const char* s = "}"; char q = '}'; }
    __global__ void g(int x = (1 < 2)) {}
  )__");
  EXPECT_THAT(names.kernels, ElementsAre("f", "g"));
  EXPECT_THAT(names.variables, ElementsAre("big"));
}

TEST(ScanNames, SkipsInstantiations) {
  const ScannedNames names = scan_names("template <class T> __global__ void k(T* x) {}\ntemplate __global__ void k<float>(float*);");
  EXPECT_THAT(names.kernels, IsEmpty());
  EXPECT_THAT(names.templates, ElementsAre("k"));
}

TEST(ScanNames, ComesToAnEndForAnyBytes) {
  std::mt19937 random(7);
  const std::string words[] = {"__global__", "void", "k", "(", ")", "{", "}", "<", ">", "namespace", "extern", "\"", "C", "R\"",
                               "'", "//", "/*", "*/", "\n", "#", "\\", "template", ";", ",", "=", "[", "::", "__device__", "\0x"};
  for (int round = 0; round < 2000; ++round) {
    std::string text;
    for (int i = 0; i < 60; ++i) text += words[random() % std::size(words)] + " ";
    scan_names(text);
    for (char& c : text) c = static_cast<char>(random());
    scan_names(text);
  }
  scan_names(std::string(1000000, '('));
  scan_names(std::string(1000000, '<'));
  scan_names("__global__ void k" + std::string(1000000, '{'));
}

TEST(VariableSymbol, IsTheCompilersName) {
  EXPECT_EQ(variable_symbol("table"), "table");
  EXPECT_EQ(variable_symbol("space::table"), "_ZN5space5tableE");
}

}  // namespace
}  // namespace damo
