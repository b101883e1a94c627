// Files that hold a whole program, and files that they include: the kernels compile, and what was left out is said.
#include <damo/cuda_c.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "support/devices.hpp"
#include "support/scratch_directory.hpp"

namespace damo {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using damo::testing::error_of;

class WholeFileOnEachDevice : public damo::testing::OnEachDevice {
 protected:
  void write(const std::string& name, const std::string& text) const {
    const auto path = std::filesystem::path(scratch_.path()) / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  Module module(const std::string& name) const { return Module::from_file(device(), (std::filesystem::path(scratch_.path()) / name).string()); }
  damo::testing::ScratchDirectory scratch_;
};

TEST_P(WholeFileOnEachDevice, PassesOverTheHostCodeOfIncludedFiles) {
  write("lib/check.h", R"(#pragma once
#include <strings.h>
#include <sys/stat.h>
#include "types.h"
cudaDeviceProp properties;
inline void check(cudaError_t error, const char* file) {
  if (error != cudaSuccess) { fprintf(stderr, "%s\n", file); exit(EXIT_FAILURE); }
}
#define CHECK(call) check(call, __FILE__)
__device__ inline float half_of(float x) { return x / 2; }
)");
  write("lib/types.h", "struct Pair { float a, b; };\nstatic FILE* report(cudaEvent_t event);\n");
  write("main.cu", R"(#include <unistd.h>
#include <exception>
#include <complex>
#include <list>
#include "lib/check.h"
__global__ void k(float* y, Pair p) { y[0] = half_of(p.a) + p.b; }
int main(int argc, char** argv) {
  std::list<float> values;
  CHECK(cudaMalloc(0, 4));
  k<<<1, 1>>>(0, {1, 2});
}
)");
  const Module module = this->module("main.cu");
  const Array y = array({0});
  struct Pair { float a, b; };
  module.kernel("k")({}, y, Pair{6, 2});
  EXPECT_THAT(y.to_vector<float>(), ElementsAre(5));
  EXPECT_THAT(module.log(), AllOf(HasSubstr("'main' (line "), HasSubstr("check.h: warning: left out, as it does not compile and is not marked as code of the device: '"),
                                  HasSubstr("'check' (line "), HasSubstr("types.h: warning: left out"), HasSubstr("sys/stat.h")));
  if (device().is_host()) EXPECT_THAT(module.log(), HasSubstr("'properties' (line 5: "));  // NVRTC knows the type, and leaves a variable of the device
}

TEST_P(WholeFileOnEachDevice, SaysWhyWhatAKernelNeedsIsMissing) {
  write("needed.h", "float scale(float x) { return x * factor_of(1); }\n");
  write("main.cu", "#include <sys/nosuch.h>\n#include \"needed.h\"\n__global__ void k(float* y) { y[0] = scale(y[0]); }\nint main() { k<<<1, 1>>>(0); }\n");
  const std::string text = error_of([&] { module("main.cu"); });
  EXPECT_THAT(text, HasSubstr("needed.h: note: errors may come from what does not compile itself and was left out: 'scale' (line 1: "));
  EXPECT_THAT(text, HasSubstr("factor_of"));
  EXPECT_THAT(text, HasSubstr("sys/nosuch.h"));
  EXPECT_THAT(text, HasSubstr("3 | __global__ void k(float* y) { y[0] = scale(y[0]); }"));
}

TEST_P(WholeFileOnEachDevice, ReportsTheErrorsOfKernelsOfIncludedFiles) {
  write("kernels.cuh", "__global__ void k(float* y) { y[0] = nowhere; }\n");
  write("main.cu", "#include \"kernels.cuh\"\nint main() { k<<<1, 1>>>(0); }\n");
  EXPECT_THAT(error_of([&] { module("main.cu"); }), HasSubstr("nowhere"));
}

TEST_P(WholeFileOnEachDevice, SaysThatItsOwnHeaderIsMissing) {
  write("main.cu", "#include \"nosuch.h\"\n__global__ void k(float* y) { y[0] = 1; }\n");
  EXPECT_THAT(error_of([&] { module("main.cu"); }), HasSubstr("nosuch.h"));
}

TEST_P(WholeFileOnEachDevice, LetsAnIncludedFileDefineTypesThatThePreludeHas) {
  write("types.h", "typedef unsigned long long uint64_t;\n");
  write("main.cu", "#include \"types.h\"\n__global__ void k(float* y) { unsigned long long a = 3; uint64_t* p = &a; y[0] = *p; }\n");
  const Array y = array({0});
  module("main.cu").kernel("k")({}, y);
  EXPECT_THAT(y.to_vector<float>(), ElementsAre(3));
}

DAMO_ON_EACH_DEVICE(WholeFileOnEachDevice);

}  // namespace
}  // namespace damo
