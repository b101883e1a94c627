// What NVRTC tells of a module's names: compiled here, loaded nowhere.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <damo/error.hpp>

#include "runtime/cuda/code_container.hpp"
#include "runtime/cuda/cuda_backend.hpp"
#include "runtime/cuda/nvrtc.hpp"

namespace damo::cuda_backend {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class SignaturesNvrtc : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const auto problem = nvrtc_problem()) GTEST_SKIP() << "needs NVRTC: " << *problem;
  }
  CompiledCode compile(const std::string& source, std::vector<std::string> kernels = {kAllKernels},
                       const CompileOptions& options = {}) const {
    return NvrtcCompiler(90).compile({source, SourceKind::kCudaC, "k.cu", std::move(kernels), {}, options});
  }
  CodeContainer names_of(const std::string& source, std::vector<std::string> kernels = {kAllKernels}) const {
    return unpack(compile(source, std::move(kernels)).bytes);
  }
};

TEST_F(SignaturesNvrtc, TellTheParametersOfEveryKernel) {
  const CodeContainer code = names_of(R"(
    struct Big { float a[10]; };
    namespace space { enum class Mode { on, off }; __global__ void inner(Big big, const Big* more, Mode mode) {} }
    extern "C" __global__ void c_name(const float* __restrict__ x, float* y, const int n) {}
    __global__ void plain(double* x, unsigned long long n, bool b) {}
    __global__ void view(damo::Strided<const float, 2> x) {}
    __global__ void nothing() {}
    template <class T, int N> __global__ void scale(T* x, T by) { x[0] = by * N; }
  )", {kAllKernels, "scale<float, 4>"});
  EXPECT_EQ(code.names.at("c_name").parameters, "float const*, float*, int");
  EXPECT_EQ(code.names.at("c_name").lowered, "c_name");
  EXPECT_EQ(code.names.at("plain").parameters, "double*, unsigned long long, bool");
  EXPECT_EQ(code.names.at("plain").lowered, "_Z5plainPdyb");
  EXPECT_EQ(code.names.at("view").parameters, "damo::Strided<float const, 2>");
  EXPECT_EQ(code.names.at("nothing").parameters, "");
  EXPECT_EQ(code.names.at("scale<float, 4>").parameters, "float*, float");
  EXPECT_EQ(code.names.at("space::inner").parameters, "Big, Big const*, space::Mode");
}

TEST_F(SignaturesNvrtc, NameVariablesThatNoKernelUses) {
  const CodeContainer code = names_of(R"(
    __constant__ float table[4];
    namespace space { __device__ int counter; static __constant__ double hidden; }
    __global__ void k(float* x) {})");
  EXPECT_EQ(code.names.at("table").lowered, "table");
  EXPECT_FALSE(code.names.at("table").is_kernel);
  EXPECT_EQ(code.names.at("space::counter").lowered, "_ZN5space7counterE");
  EXPECT_TRUE(code.names.contains("space::hidden"));
}

TEST_F(SignaturesNvrtc, LeaveOutWhatIsCompiledOut) {
  const CodeContainer code = names_of(R"(
    #if 0
    __global__ void absent() {}
    __constant__ int also_absent;
    #endif
    __global__ void two(float*) {}
    __global__ void two(int*) {}
    __global__ void present(float* x) {})");
  EXPECT_EQ(code.names.at("present").parameters, "float*");
  EXPECT_FALSE(code.names.contains("absent"));
  EXPECT_FALSE(code.names.contains("also_absent"));
  EXPECT_FALSE(code.names.contains("two")) << "an overloaded name is no name of a kernel";
  EXPECT_EQ(code.names.at("(void (*)(float*))two").lowered, "_Z3twoPf");
  EXPECT_EQ(code.names.at("(void (*)(int*))two").parameters, "int*");
}

TEST_F(SignaturesNvrtc, TellKernelsOfOneNameApart) {
  const CodeContainer code = names_of(R"(
    namespace space {
    namespace { struct P { float x; }; }
    static __global__ void k(::space::P* x, int n) { x->x = n; }
    static __global__ void k(const float* __restrict__ x,  // read
                             float* y, int n[3]) { y[0] = x[0]; }
    }
    __device__ void device_too(float* x, int n) {}
    static __global__ void device_too(float* x) {}
    #ifdef TWICE
    __global__ void once(float* x, int n) {}
    #else
    __global__ void once(float* x) {}
    #endif
  )", {kAllKernels, "static_cast<void (*)(const float*, float*, int*)>(space::k)"});
  EXPECT_EQ(code.names.at("(void (*)(space::P*, int))space::k").parameters, "space::(anonymous namespace)::P*, int");
  EXPECT_EQ(code.names.at("static_cast<void (*)(const float*, float*, int*)>(space::k)").parameters, "float const*, float*, int*");
  EXPECT_EQ(code.names.at("once").parameters, "float*");
  EXPECT_EQ(code.names.at("device_too").parameters, "float*");
  EXPECT_EQ(code.names.size(), 4u);
}

TEST_F(SignaturesNvrtc, AreNoPartOfAnErrorsLog) {
  try {
    compile("__global__ void k(float* x) {\n  x[0] = nowhere;\n}\n__global__ void two() {}\n__global__ void two(int) {}");
    FAIL() << "it compiles";
  } catch (const CompileError& error) {
    EXPECT_THAT(error.log(), HasSubstr("k.cu(2)"));
    EXPECT_THAT(error.log(), HasSubstr("nowhere"));
    EXPECT_THAT(error.log(), Not(HasSubstr("damo_signature")));
    EXPECT_THAT(error.what(), HasSubstr("   2 |   x[0] = nowhere;"));
  }
}

TEST_F(SignaturesNvrtc, FollowTheOptions) {
  const std::string source = "#if BY == 3\n__global__ void k(TYPE* x) { x[0] = BY; }\n#endif";
  const CodeContainer code =
      unpack(compile(source, {kAllKernels}, {.defines = {{"BY", "3"}, {"TYPE", "long long"}}}).bytes);
  EXPECT_EQ(code.names.at("k").parameters, "long long*");
}

TEST_F(SignaturesNvrtc, StandForRelocatableCodeToo) {
  const std::string source = "extern __device__ float f(float x);\n__global__ void k(float* x) { x[0] = f(x[0]); }";
  EXPECT_EQ(unpack(compile(source, {kAllKernels}, {.relocatable = true}).bytes).names.at("k").parameters, "float*");
}

TEST_F(SignaturesNvrtc, TakeEveryOption) {
  const CompileOptions options{.standard = "c++20", .fast_math = true, .line_info = false, .max_registers = 32};
  EXPECT_NO_THROW(compile("__global__ void k(float* x) { x[0] = sinf(x[1]) / x[2]; }", {kAllKernels}, options));
}

TEST_F(SignaturesNvrtc, RefuseASourceWithANul) {
  try {
    compile(std::string("__global__ void k() {}\n\n\0 more", 31));
    FAIL() << "it compiles";
  } catch (const CompileError& error) {
    EXPECT_EQ(error.log(), "k.cu(3): error: a byte of value 0 in the source");
  }
}

}  // namespace
}  // namespace damo::cuda_backend
