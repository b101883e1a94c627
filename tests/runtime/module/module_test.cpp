#include <damo/cuda_c.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <numeric>

#include "support/devices.hpp"
#include "support/scratch_directory.hpp"

namespace damo {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using damo::testing::error_of;

constexpr const char* kModuleSource = R"(__constant__ float factor = 2;
__device__ int unused[3];
__global__ void scale(float* x, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] *= factor;
}
extern "C" __global__ void fill(float* x, float value) { x[threadIdx.x] = value; }
namespace space {
__global__ void shift(float* x, float by) { x[threadIdx.x] += by; }
}
template <class T, int times> __global__ void repeat(T* x) { x[threadIdx.x] *= times; }
)";

class ModuleOnEachDevice : public damo::testing::OnEachDevice {
 protected:
  void write(const std::string& name, const std::string& text) const { std::ofstream(path(name)) << text; }
  std::string path(const std::string& name) const { return (std::filesystem::path(scratch_.path()) / name).string(); }
  damo::testing::ScratchDirectory scratch_;
};

TEST_P(ModuleOnEachDevice, FindsKernelsByTheirPlainNames) {
  const Module module(device(), kModuleSource, {.kernels = {"repeat<float, 3>"}});
  EXPECT_THAT(module.kernel_names(), ElementsAre("fill", "repeat<float, 3>", "scale", "space::shift"));
  const Array x = array({1, 2, 3, 4});
  module.kernel("scale")({.block = {4}}, x, 4);
  module.kernel("space::shift")({.block = {4}}, x, 1.0f);
  module.kernel("shift")({.block = {4}}, x, 1.0f);
  module.kernel("repeat<float, 3>")({.block = {4}}, x);
  EXPECT_THAT(x.to_vector<float>(), ElementsAre(12, 18, 24, 30));
  EXPECT_EQ(module.device(), device());
  EXPECT_EQ(module.source(), kModuleSource);
  EXPECT_EQ(module.kernel("scale").name(), "scale");
}

TEST_P(ModuleOnEachDevice, FindsInstancesHoweverTheyAreSpaced) {
  const Module module(device(), R"(template <class T> struct Box { T value; };
    template <class T, int times> __global__ void repeat(T* x) { x[0] *= times; }
    template <class T> __global__ void put(T* x, const Box<T> box) { x[0] = box.value; })",
                      {.kernels = {"repeat<float,3>", "repeat< unsigned  int , 2 >", "put<float>"}});
  const Array x = array({2});
  module.kernel("repeat<float, 3>")({}, x);
  module.kernel("repeat < float,3 >")({}, x);
  EXPECT_THAT(x.to_vector<float>(), ElementsAre(18));
  module.kernel("put<float>")({}, x, std::array<float, 1>{4});
  EXPECT_THAT(x.to_vector<float>(), ElementsAre(4)) << "of a class that nothing else needs";
  EXPECT_TRUE(module.kernel("repeat<unsigned int, 2>"));
  EXPECT_THAT(error_of([&] { module.kernel("repeat<unsignedint, 2>"); }), HasSubstr("has no kernel"));
}

TEST_P(ModuleOnEachDevice, AsksForTheWholeNameWhereSeveralFit) {
  const Module module(device(), R"(
    namespace a { __global__ void f(float* x) { x[0] = 1; } __device__ float v = 1; }
    namespace b { __global__ void f(float* x) { x[0] = 2; } __device__ float v = 2; __device__ int w = 3; })");
  EXPECT_EQ(error_of([&] { module.kernel("f"); }),
            "module 'kernel.cu' has several kernels 'f': a::f(float* x) in line 2, b::f(float* x) in line 3\n"
            "  ask for one by its whole name: a::f, b::f");
  EXPECT_THAT(error_of([&] { module.global("v"); }), HasSubstr("has several variables 'v': a::v, b::v\n"));
  EXPECT_EQ(module.global("b::v").get<float>(), 2);
  EXPECT_EQ(module.global("w").get<int>(), 3) << "no other has the name";
  EXPECT_TRUE(module.has_global("w"));
}

constexpr const char* kOverloads = R"(
struct Pair { float a, b; };
__global__ void fill(float* x) { x[0] = 1; }
__global__ void fill(const double* x, float* y, int n) { y[0] = x[0] + n; }
__global__ void alone(float* x) { x[0] = 3; }
__device__ void alone(float* x, int n) {}
namespace space {
__global__ void fill(float* x, Pair p) { x[0] = p.a - p.b; }
namespace {
__global__ void hidden(float* x) { x[0] = 5; }
__global__ void hidden(int* x) { x[0] = 6; }
}
}
template <class T> __global__ void fill(T* x, long n) { x[0] = T(n); }
template <class T, int n> __global__ void fill(T* x, long) { x[0] = T(n); }
)";

TEST_P(ModuleOnEachDevice, ChoosesAmongKernelsOfOneNameByAnExpression) {
  const Module module(device(), kOverloads, {.kernels = {"fill<float>", "fill<float, 7>", "static_cast<void (*)(const double*, float*, int)>(fill)"}});
  EXPECT_THAT(module.kernel_names(), ElementsAre("(void (*)(float*))fill", "(void (*)(float*))space::hidden", "(void (*)(int*))space::hidden", "alone", "fill<float, 7>",
                                                 "fill<float>", "space::fill", "static_cast<void (*)(const double*, float*, int)>(fill)"));
  const Array y = array({0});
  const auto value = [&] { return y.to_vector<float>().front(); };
  module.kernel("(void(*)(float*))fill")({}, y);
  EXPECT_EQ(value(), 1);
  module.kernel("static_cast<void (*)(const double*, float*, int)>(fill)")({}, Array::from(std::vector<double>{0.5}, device()), y, 2);
  EXPECT_EQ(value(), 2.5f);
  module.kernel("space::fill")({}, y, std::array<float, 2>{7, 3});
  EXPECT_EQ(value(), 4);
  module.kernel("(void (*)(float*))space::hidden")({}, y);
  EXPECT_EQ(value(), 5);
  module.kernel("fill<float, 7>")({}, y, 9L);
  EXPECT_EQ(value(), 7);
  module.kernel("fill<float>")({}, y, 9L);
  EXPECT_EQ(value(), 9);
  module.kernel("alone")({}, y);
  EXPECT_EQ(value(), 3);
}

TEST_P(ModuleOnEachDevice, CallsTypesOf16BitsAsCudaDoes) {
  const Module module(device(), "#include <cuda_fp16.h>\n#include <cuda_bf16.h>\n__global__ void k(__half* x) {}\n__global__ void k(__nv_bfloat16* x) {}");
  EXPECT_THAT(module.kernel_names(), ElementsAre("(void (*)(__half*))k", "(void (*)(__nv_bfloat16*))k"));
}

TEST_P(ModuleOnEachDevice, ListsTheKernelsOfANameThatSeveralHave) {
  const Module module(device(), kOverloads);
  EXPECT_EQ(error_of([&] { module.kernel("fill"); }),
            "module 'kernel.cu' has several kernels 'fill': fill(float* x) in line 3, fill(const double* x, float* y, int n) in line 4, "
            "space::fill(float* x, Pair p) in line 8\n"
            "  ask for one by its whole name: (void (*)(double const*, float*, int))fill, (void (*)(float*))fill");
  EXPECT_THAT(error_of([&] { module.kernel("hidden"); }), HasSubstr("has several kernels 'hidden': space::hidden(float* x) in line 10, "));
  EXPECT_THAT(error_of([&] { module.kernel("(void (*)(int*))fill"); }), HasSubstr("or name the expression in ModuleOptions::kernels too"));
  const std::string error = error_of([&] { Module(device(), kOverloads, {.kernels = {"fill"}}); });
  EXPECT_THAT(error, HasSubstr("several __global__ functions are named 'fill': "));
  EXPECT_THAT(error, HasSubstr("in line 3, "));
  EXPECT_THAT(error, HasSubstr("name one by "));
}

TEST_P(ModuleOnEachDevice, TakesTheBranchThatIsCompiledOfAKernelWrittenTwice) {
  const char* source = "#if WIDE\n__global__ void k(float* x, int n) { x[0] = n; }\n#else\n__global__ void k(float* x) { x[0] = 1; }\n#endif";
  const Module wide(device(), source, {.defines = {{"WIDE", "1"}}}), narrow(device(), source, {.defines = {{"WIDE", "0"}}});
  EXPECT_THAT(wide.kernel_names(), ElementsAre("k"));
  const Array y = array({0});
  wide.kernel("k")({}, y, 4);
  EXPECT_THAT(y.to_vector<float>(), ElementsAre(4));
  narrow.kernel("k")({}, y);
  EXPECT_THAT(y.to_vector<float>(), ElementsAre(1));
}

TEST_P(ModuleOnEachDevice, RefusesAKernelThatIsAMemberOfAClass) {
  const char* source = "struct S {\n  static __global__ void k(float* x) {}\n};";
  EXPECT_THAT(error_of([&] { Module(device(), source); }), HasSubstr("cannot be a member "));
}

TEST_P(ModuleOnEachDevice, RefusesAnInstanceThatIsNoName) {
  for (const char* name : {"repeat<float> x", "repeat<float", "repeat<float>); int x = (3", "repeat<float>;", "repeat<(3>", " "}) {
    EXPECT_THAT(error_of([&] { Module(device(), std::string(kModuleSource), {.kernels = {name}}); }),
                HasSubstr("ModuleOptions::kernels: '" + std::string(name) + "' names no kernel"));
  }
}

TEST_P(ModuleOnEachDevice, ATextWithoutKernelsCompilesAndHasNone) {
  for (const char* source : {"template <class T> __global__ void scale(T* y) { y[0] *= 2; }", "__device__ void f() {}"}) {
    const Module module(device(), source);
    EXPECT_TRUE(module.kernel_names().empty());
    EXPECT_THAT(error_of([&] { module.kernel("scale"); }), HasSubstr("has no kernel 'scale'; it has none"));
  }
  const Module module(device(), "template <class T> __global__ void scale(T* y) { y[0] *= 2; }");
  EXPECT_THAT(error_of([&] { module.kernel("scale<int>"); }), HasSubstr("'scale' is a template: name the instance in ModuleOptions::kernels"));
}

TEST_P(ModuleOnEachDevice, RefusesAStandardThatThereIsNot) {
  for (const char* standard : {"c++99", "17", "-std=c++17", "gnu++", "c++ 17"}) {
    const std::string error = error_of([&] { Module(device(), std::string(kModuleSource), {.standard = standard}); });
    EXPECT_THAT(error, HasSubstr("ModuleOptions::standard is '" + std::string(standard) + "'\n"));
    EXPECT_THAT(error, HasSubstr("write \"c++17\" or \"c++20\""));
  }
  EXPECT_NO_THROW(Module(device(), std::string(kModuleSource), {.standard = "c++17"}));
}

TEST_P(ModuleOnEachDevice, NamesTheFieldForAnOptionOfNvrtcsOnTheCpu) {
  if (!device().is_host()) GTEST_SKIP() << "NVRTC's options are for GPUs";
  const auto message = [this](const char* flag) {
    return error_of([&] { Module(this->device(), std::string(kModuleSource), {.flags = {flag}}); });
  };
  EXPECT_THAT(message("-use_fast_math"), HasSubstr("ModuleOptions::flags has '-use_fast_math', an option of NVRTC: on "
                                                   "the CPU flags are clang -cc1's\n"));
  EXPECT_THAT(message("-use_fast_math"), HasSubstr("say .fast_math = true, which both compilers are told"));
  EXPECT_THAT(message("--maxrregcount=32"), HasSubstr("say .max_registers"));
  EXPECT_THAT(message("-arch=sm_90"), HasSubstr("leave it out"));
  EXPECT_THAT(message("-lineinfo"), HasSubstr("ModuleOptions::line_info"));
  EXPECT_NO_THROW(Module(device(), std::string(kModuleSource), {.flags = {"-DN=1"}}));
}

TEST_P(ModuleOnEachDevice, NamesTheKernelsItHas) {
  const Module module(device(), kModuleSource);
  EXPECT_EQ(error_of([&] { module.kernel("shrink"); }),
            "module 'kernel.cu' has no kernel 'shrink'; it has fill, scale, space::shift\n"
            "  ask for one of these; a kernel is a __global__ function with a body");
  EXPECT_THAT(error_of([&] { module.kernel("repeat<int, 2>"); }),
              HasSubstr("'repeat' is a template: name the instance in ModuleOptions::kernels, as in {\"repeat<int, 2>\"}"));
}

TEST_P(ModuleOnEachDevice, GivesTheParametersOfAKernel) {
  const std::vector<ParameterType> parameters = Module(device(), kModuleSource).kernel("scale").parameters();
  ASSERT_EQ(parameters.size(), 2u);
  EXPECT_EQ(parameters[0].kind, ParameterType::Kind::kPointer);
  EXPECT_EQ(parameters[0].element.dtype, float32);
  EXPECT_EQ(parameters[1].element.dtype, int32);
}

TEST_P(ModuleOnEachDevice, ReportsAnErrorAtTheUsersLineWithTheNumberedSource) {
  try {
    Module(device(), "__global__ void k(float* x) {\n  int unused;\n  x[0] = nowhere;\n}\n", {.file_name = "mine.cu"});
    FAIL() << "it compiles";
  } catch (const CompileError& error) {
    EXPECT_THAT(error.log(), HasSubstr("nowhere"));
    EXPECT_TRUE(error.log().find("mine.cu(3)") != std::string::npos || error.log().find("mine.cu:3:10") != std::string::npos)
        << error.log();
    EXPECT_THAT(error.what(), HasSubstr("   3 |   x[0] = nowhere;"));
    EXPECT_THAT(error.what(), HasSubstr("module_test.cpp:"));
  }
}

TEST_P(ModuleOnEachDevice, TakesAnyNameForItsMessages) {
  const ModuleOptions options{.fast_math = true, .file_name = "a \"b\"\\\n c.cu"};
  EXPECT_THAT(error_of([&] { Module(device(), "\n__global__ void k() { nowhere(); }", options); }), HasSubstr("a _b___ c.cu"));
}

TEST_P(ModuleOnEachDevice, KeepsWarningsAlsoOfCodeFromTheDisk) {
  const char* source = "__global__ void k(float* x) {\n\n  x[0] = 1 / 0;\n}\n";
  EXPECT_THAT(Module(device(), source).log(), HasSubstr("kernel.cu"));
  EXPECT_THAT(Module(device(), source).log(), HasSubstr("3"));
  EXPECT_EQ(Module(device(), "__global__ void k(float* x) { x[0] = 1; }").log(), "");
}

TEST_P(ModuleOnEachDevice, DefinesMacros) {
  const Module module(device(), "__global__ void k(TYPE* x) { x[threadIdx.x] = TWICE(BY); }",
                      {.defines = {{"TYPE", "float"}, {"BY", "21"}, {"TWICE(x)", "(2 * (x))"}}});
  const Array x = array({0, 0});
  module.kernel("k")({.block = {2}}, x);
  EXPECT_THAT(x.to_vector<float>(), Each(42));
}

TEST_P(ModuleOnEachDevice, SeesAChangedHeader) {
  const std::string source = "#include \"by.h\"\n__global__ void k(float* x) { x[0] = kBy; }";
  const auto value = [&] {
    const Array x = array({0});
    Module(device(), source, {.include_directories = {scratch_.path()}}).kernel("k")({}, x);
    return x.to_vector<float>()[0];
  };
  write("by.h", "constexpr float kBy = 3;");
  EXPECT_EQ(value(), 3);
  write("by.h", "constexpr float kBy = 4;");
  EXPECT_EQ(value(), 4);
}

TEST_P(ModuleOnEachDevice, CompilesAFileThatIncludesItsNeighbour) {
  write("add.cuh", "__device__ float add(float a, float b) { return a + b; }\n");
  write("main.cu", "#include \"add.cuh\"\n__global__ void k(float* x) { x[0] = add(x[0], 5); }\n");
  const Module module = Module::from_file(device(), path("main.cu"));
  const Array x = array({1});
  module.kernel("k")({}, x);
  EXPECT_EQ(x.to_vector<float>()[0], 6);
  EXPECT_THAT(error_of([&] { Module::from_file(device(), path("absent.cu")); }),
              HasSubstr("absent.cu' cannot be read: No such file or directory"));
  write("wrong.cu", "\n__global__ void k() { nowhere(); }");
  EXPECT_THAT(error_of([&] { Module::from_file(device(), path("wrong.cu")); }), HasSubstr("wrong.cu"));
}

TEST_P(ModuleOnEachDevice, TakesEveryOption) {
  const char* source = R"(
    template <class T> concept Number = requires(T x) { x + x; };
    __global__ void mean(const float* x, float* y, int n) {
      float sum = 0;
      for (int i = 0; i < n; ++i) sum += x[i];
      y[0] = sum / n;
    })";
  const Module module(device(), source,
                      {.standard = "c++20", .fast_math = true, .line_info = false, .max_registers = 32});
  const Array x = range({1000}), y = array({0});
  module.kernel("mean")({}, x, y, 1000);
  EXPECT_NEAR(y.to_vector<float>()[0], 499.5, 1e-3);
}

TEST_P(ModuleOnEachDevice, RefusesOptionsThatMeanNothing) {
  EXPECT_THAT(error_of([&] { Module(device(), kModuleSource, {.defines = {{"A B", "1"}}}); }),
              HasSubstr("'A B' is no name of a macro"));
  EXPECT_THAT(error_of([&] { Module(device(), kModuleSource, {.standard = "17"}); }), HasSubstr("standard is '17'"));
  EXPECT_THAT(error_of([&] { Module(device(), kModuleSource, {.max_registers = -1}); }), HasSubstr("max_registers is -1"));
  EXPECT_THAT(error_of([&] { Module(device(), kModuleSource, {.flags = {"-no-such-flag"}}); }), HasSubstr("no-such-flag"));
}

TEST_P(ModuleOnEachDevice, LinksSeveralSources) {
  const Module module = Module::link(
      device(), {LinkInput("extern __device__ float twice(float x);\n"
                           "__global__ void k(float* x) { x[threadIdx.x] = twice(x[threadIdx.x]); }"),
                 LinkInput("__device__ float twice(float x) { return 2 * x; }\n"
                           "__global__ void other(float* x) { x[0] = twice(1); }")});
  EXPECT_THAT(module.kernel_names(), ElementsAre("k", "other"));
  const Array x = array({1, 2, 3});
  module.kernel("k")({.block = {3}}, x);
  EXPECT_THAT(x.to_vector<float>(), ElementsAre(2, 4, 6));
  EXPECT_THAT(error_of([&] { Module::link(device(), {}); }), HasSubstr("Module::link of nothing"));
}

TEST_P(ModuleOnEachDevice, TakesPtxOnAGpuOnly) {
  write("one.ptx", R"(.version 7.5
.target sm_75
.address_size 64
.visible .entry one(.param .u64 x) {
  .reg .b64 %rd<3>;
  .reg .b32 %r<2>;
  ld.param.u64 %rd1, [x];
  cvta.to.global.u64 %rd2, %rd1;
  mov.b32 %r1, 1065353216;
  st.global.b32 [%rd2], %r1;
  ret;
}
)");
  if (device().is_host()) {
    const std::string text = "one.ptx' is machine code of a GPU, which cannot run on cpu\n"
                             "  give its CUDA C source, which runs on both";
    EXPECT_THAT(error_of([&] { Module::load(device(), path("one.ptx")); }), HasSubstr(text));
    EXPECT_THAT(error_of([&] { Module::link(device(), {LinkInput::file(path("one.ptx"))}); }), HasSubstr(text));
    return;
  }
  const Array x = array({0});
  Module::load(device(), path("one.ptx")).kernel("one")({}, x);
  EXPECT_EQ(x.to_vector<float>()[0], 1);
  x.copy_from(array({0}));
  Module::link(device(), {LinkInput::file(path("one.ptx")), LinkInput("__global__ void k() {}")}).kernel("one")({}, x);
  EXPECT_EQ(x.to_vector<float>()[0], 1);
}

TEST_P(ModuleOnEachDevice, RefusesAFileThatIsNotWhatItsNameSays) {
  write("noise.cubin", "this is no machine code");
  EXPECT_THAT(error_of([&] { Module::load(device(), path("noise.cubin")); }), HasSubstr("is no cubin"));
  write("source.cu", kModuleSource);
  EXPECT_THAT(error_of([&] { Module::load(device(), path("source.cu")); }), HasSubstr("Module::from_file compiles"));
  EXPECT_THAT(error_of([&] { Module::from_file(device(), scratch_.path()); }), HasSubstr("it is a directory"));
}

TEST_P(ModuleOnEachDevice, StaysLoadedAsLongAsAKernelOfIt) {
  std::optional<Kernel> kernel;
  {
    const Module module(device(), kModuleSource);
    kernel = module.kernel("fill");
  }
  const Array x = array({0, 0});
  (*kernel)({.block = {2}}, x, 3.0f);
  EXPECT_THAT(x.to_vector<float>(), Each(3));
}

TEST_P(ModuleOnEachDevice, TellsAKernelsAttributesAndOccupancy) {
  const Kernel kernel = Module(device(), kModuleSource).kernel("scale");
  const KernelAttributes attributes = kernel.attributes();
  EXPECT_GE(attributes.max_threads_per_block, 256);
  EXPECT_EQ(attributes.shared_bytes, 0u);
  const Occupancy occupancy = kernel.occupancy(256);
  EXPECT_GE(occupancy.blocks_per_multiprocessor, 1);
  EXPECT_GT(occupancy.fraction, 0);
  EXPECT_LE(occupancy.fraction, 1);
  EXPECT_GE(kernel.suggested_block(), 64);
  EXPECT_LE(kernel.suggested_block(), attributes.max_threads_per_block);
  EXPECT_EQ(kernel.device(), device());
  if (!device().is_host()) {
    EXPECT_GT(attributes.registers, 0);
    EXPECT_GT(attributes.binary_version, 0);
    EXPECT_LT(kernel.occupancy(256, 40000).blocks_per_multiprocessor, occupancy.blocks_per_multiprocessor);
  }
  EXPECT_THAT(error_of([&] { kernel.occupancy(0); }), HasSubstr("a block of 0 threads"));
  EXPECT_EQ(kernel.occupancy(5000).blocks_per_multiprocessor, 0) << "no such block fits";
  EXPECT_EQ(kernel.occupancy(256, std::size_t{1} << 30).blocks_per_multiprocessor, 0);
  EXPECT_EQ(kernel.occupancy(256, std::size_t(-1)).fraction, 0);
}

TEST_P(ModuleOnEachDevice, RunsOnAStreamOfTheCallers) {
  const Module module(device(), kModuleSource);
  const Stream stream(device());
  const Array x = array(std::vector<float>(1000, 1));
  device().synchronize();
  module.kernel("scale")({.grid = {4}, .block = {256}, .stream = stream}, x, 1000);
  stream.synchronize();
  EXPECT_THAT(x.to_vector<float>(), Each(2));
}

TEST_P(ModuleOnEachDevice, HasVariablesOfItsOwn) {
  const Module one(device(), kModuleSource), other(device(), kModuleSource);
  one.global("factor").set(5.0f);
  const Array x = array({1}), y = array({1});
  one.kernel("scale")({}, x, 1);
  other.kernel("scale")({}, y, 1);
  EXPECT_EQ(x.to_vector<float>()[0], 5);
  EXPECT_EQ(y.to_vector<float>()[0], 2);
}

DAMO_ON_EACH_DEVICE(ModuleOnEachDevice);

}  // namespace
}  // namespace damo
