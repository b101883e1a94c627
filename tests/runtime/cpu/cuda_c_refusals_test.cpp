// CUDA C that the CPU back end must refuse, with the user's line and the name of what is wrong.
#include <gtest/gtest.h>

#include "runtime/cpu/compile_support.hpp"

namespace damo::cpu_backend::testing {
namespace {

struct Refused {
  const char* text;
  const char* message;
};

TEST(CudaCRefusals, RefusesGridsPastTheIndexRange) {
  EXPECT_TRUE(fits_index_range({{1u << 20, 1, 1}, {1024, 1, 1}, 0, 0, nullptr}));
  EXPECT_FALSE(fits_index_range({{1, 1u << 21, 1}, {1, 1024, 1}, 0, 0, nullptr}));
}

TEST(CudaCRefusals, NamesWhatIsWrongAtTheUsersLine) {
  const Refused cases[] = {
      {"__global__ void k(float* y) {\n  y[threadIdx.x] = scal * 2;\n}", "user.cu:2:20: error: use of undeclared identifier 'scal'"},
      {"__global__ void k() { threadIdx.x = 1; }", "user.cu:1:33: error: no setter defined for property 'x'"},
      {"__host__ int h(int x) { return x; }\n__global__ void k(int* y) { *y = h(1); }", "user.cu:2:34: error: 'h' is a __host__ function: device code cannot call it"},
      {"__global__ void k(int* y) { *y = 1; ", "user.cu: error: expected '}'\nuser.cu:1:27: note: to match this '{'"},
      {"__global__ void k(float* y) { y[0] = expf(1, 2, 3); }", "user.cu:1:38: error: no matching function for call to 'expf'"},
      {"__global__ int k() { return 1; }", "user.cu:1:12: error: kernel function type 'int ()' must have void return type"},
      {"struct S {\n  static __global__ void k(int* y) {}\n};", "user.cu:2:26: error: a __global__ function cannot be a member of a class"},
      {"#include \"missing.h\"\n__global__ void k() {}", "user.cu:1:10: fatal error: 'missing.h' file not found"},
      {"__device__ float f(float);\n__global__ void k(float* y) { *y = f(1); }", "error: function 'f(float)' is called but has no definition"},
  };
  for (const Refused& refused : cases) {
    const CompileOutput output = compile_cuda(refused.text);
    EXPECT_FALSE(output.ok) << refused.text;
    EXPECT_NE(output.log.find(refused.message), std::string::npos) << refused.text << "\n" << output.log;
    EXPECT_EQ(output.log.find("damo"), std::string::npos) << output.log;
  }
}

// As NVRTC has it: no initialiser may be written, and the constructor that does not run must be one that could.
TEST(CudaCRefusals, NamesWhatIsWrongWithASharedVariablesInitialisation) {
  const std::string classes = "struct A { int n = 1; }; struct W { int n; __device__ W(int k) : n(k) {} }; struct D { int n; D() = delete; };\n"
                              "class P { int n; __device__ P() : n(1) {} }; union U { A a; W w; }; template <class T> __device__ void f() { __shared__ T a; }\n";
  const Refused cases[] = {
      {"__shared__ int a = 3;", "user.cu:3:38: error: initialization is not supported for __shared__ variables"},
      {"__shared__ A a{};", "user.cu:3:36: error: initialization is not supported for __shared__ variables"},
      {"__shared__ A a[2] = {};", "user.cu:3:36: error: initialization is not supported for __shared__ variables"},
      {"__shared__ W a(3);", "user.cu:3:36: error: initialization is not supported for __shared__ variables"},
      {"__shared__ W a;", "user.cu:3:36: error: no matching constructor for initialization of 'W'"},
      {"__shared__ D a[4];", "user.cu:3:36: error: call to deleted constructor of 'D[4]'"},
      {"__shared__ P a;", "user.cu:3:36: error: calling a private constructor of class 'P'"},
      {"__shared__ U a;", "user.cu:3:36: error: call to implicitly-deleted default constructor of 'U'"},
      {"f<D>();", "user.cu:2:123: error: call to deleted constructor of 'D'"},
  };
  for (const Refused& refused : cases) {
    const CompileOutput output = compile_cuda(classes + "__global__ void k() { " + refused.text + " }");
    EXPECT_FALSE(output.ok) << refused.text;
    EXPECT_EQ(output.log.rfind(refused.message, 0), 0u) << refused.text << "\n" << output.log;
  }
  const CompileOutput output = compile_cuda("struct A { int n = 1; };\n__shared__ A a[2];\n__global__ void k(int* y) { *y = a[0].n; }");
  EXPECT_EQ(output.log.rfind("user.cu:2:14: error: initialization is not supported for __shared__ variables", 0), 0u) << output.log;
}

TEST(CudaCRefusals, NamesConstructsThatTheCpuCannotRun) {
  const Refused cases[] = {
      {"__global__ void k(int* y) { asm(\"mov.u32 %0, %%laneid;\" : \"=r\"(*y)); }", "user.cu:1:29: error: inline assembly (PTX) is not supported on the CPU"},
      {"__global__ void k(float* y, unsigned long long t) {\n  *y = tex2D<float>(t, 0, 0);\n}", "user.cu:2:8: error: 'tex2D<float>' is unavailable: texture memory is not supported on the CPU"},
      {"__global__ void k(int* y) {}\n__constant__ unsigned char data[] = {\n  # embed \"user.cu\"\n};", "user.cu:3: error: #embed is not supported in a kernel's text"},
      {"texture<float, 2, cudaReadModeElementType> image;\n__global__ void k(float* y) {}", "user.cu:1:1: error: 'texture<float, 2>' is unavailable: texture and surface references are not supported"},
      {"__global__ void child(int* y) {}\n__global__ void k(int* y) {\n  child<<<1, 1>>>(y);\n}", "user.cu:3:3: error: launching a kernel from a kernel (dynamic parallelism) is not supported on the CPU"},
  };
  for (const Refused& refused : cases) {
    const CompileOutput output = compile_cuda(refused.text);
    EXPECT_FALSE(output.ok) << refused.text;
    EXPECT_NE(output.log.find(refused.message), std::string::npos) << refused.text << "\n" << output.log;
  }
}

TEST(CudaCRefusals, NamesTheKernelsThatSharePlainNames) {
  const std::string text = "__global__ void k(int* y) {}\n__global__ void k(const float* y) {}\ntemplate <class T> __global__ void k(T, T) {}";
  const auto log = [&](const char* name) { return compile_cuda(text, {name}).log; };
  EXPECT_EQ(log("k"), "user.cu: error: several __global__ functions are named 'k': (void (*)(int*))k in line 1, (void (*)(float const*))k in line 2; "
                      "name one by such an expression\n");
  EXPECT_EQ(log("(void (*)(float))k").find("user.cu: error: address of overloaded function 'k' does not match required type 'void (float)'\nuser.cu:"), 0u);
  EXPECT_EQ(log("(3)"), "user.cu: error: '(3)' is no __global__ function\n");
  EXPECT_EQ(log("static_cast<void (*)(int*)>(k)"), "");
}

TEST(CudaCRefusals, NamesTheTemplatesThatShareAnInstancesName) {
  const std::string text = "template <int n> __global__ void k(float* y) {}\ntemplate <int n> __global__ void k(int* y) {}\ntemplate <class T, int n> __global__ void k(T* y) {}";
  const auto log = [&](const char* name) { return compile_cuda(text, {name}).log; };
  EXPECT_NE(log("k<3>").find("user.cu: error: several __global__ templates are named as in 'k<3>': name one by its type, as (void (*)(float*))k<3> in line 1, "
                             "(void (*)(int*))k<3> in line 2, (void (*)(T *))k<3> in line 3"), std::string::npos) << log("k<3>");
  EXPECT_EQ(log("(void (*)(int*))k<3>"), "");
  EXPECT_EQ(log("k<float, 3>"), "");
  const std::string wrong = compile_cuda("template <class T> __global__ void k(T* y) {}", {"k<3>"}).log;
  EXPECT_NE(wrong.find("'k<3>' does not name a kernel"), std::string::npos) << wrong;
}

TEST(CudaCRefusals, NamesTheKernelsThereAreWhenOneIsUnknown) {
  const CompileOutput output = compile_cuda("__global__ void one() {}\n__global__ void two() {}", {"three"});
  EXPECT_FALSE(output.ok);
  EXPECT_NE(output.log.find("user.cu: error: no __global__ function named 'three'; there is one, two"), std::string::npos) << output.log;
}

}  // namespace
}  // namespace damo::cpu_backend::testing
