// Every built-in row in every dtype that its code runs in compiles under NVRTC, on the CUDA prelude, one source a
// dtype.
#include <cuda.h>
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <nvrtc.h>

#include <fstream>
#include <sstream>
#include <string>

#include "support/row_source.hpp"

namespace damo::testing {
namespace {

/// NVRTC, looked up at run time as the library does.
class Nvrtc {
 public:
  Nvrtc() {
    const std::string versioned = "libnvrtc.so." + std::to_string(CUDA_VERSION / 1000);
    for (const std::string& name : {versioned, std::string("libnvrtc.so")}) {
      if (!library_) library_ = dlopen(name.c_str(), RTLD_NOW);
    }
  }
  explicit operator bool() const { return library_ != nullptr; }

  /// The compiler's log; empty if it has nothing to say.
  std::string compile(const std::string& source) const {
    nvrtcProgram program = nullptr;
    call<decltype(nvrtcCreateProgram)>("nvrtcCreateProgram")(&program, source.c_str(), "rows.cu", 0, nullptr, nullptr);
    const char* options[] = {"-arch=sm_90", "-default-device", "-std=c++20", "-minimal"};
    const nvrtcResult result = call<decltype(nvrtcCompileProgram)>("nvrtcCompileProgram")(program, 4, options);
    std::size_t size = 0;
    call<decltype(nvrtcGetProgramLogSize)>("nvrtcGetProgramLogSize")(program, &size);
    std::string log(size, '\0');
    call<decltype(nvrtcGetProgramLog)>("nvrtcGetProgramLog")(program, log.data());
    while (!log.empty() && (log.back() == '\0' || log.back() == '\n')) log.pop_back();
    call<decltype(nvrtcDestroyProgram)>("nvrtcDestroyProgram")(&program);
    return result == NVRTC_SUCCESS || !log.empty() ? log : "error " + std::to_string(result);
  }

 private:
  template <class Function>
  Function* call(const char* name) const {
    return reinterpret_cast<Function*>(dlsym(library_, name));
  }
  void* library_ = nullptr;
};

std::string file(const std::string& path) {
  std::ifstream stream(std::string(DAMO_SOURCE_DIR "/src/runtime/") + path);
  std::stringstream text;
  text << stream.rdbuf();
  EXPECT_FALSE(text.str().empty()) << path;
  return text.str();
}

/// One kernel for each row, so that no function is left out.
std::string kernels_of(DType dtype) {
  std::string text = file("cuda/prelude/math.h") + file("kernel/prelude/elementwise.h") + "namespace damo {\n";
  for (const ElementwiseRow* row : rows_computed_in(dtype)) {
    text += row_function(*row, dtype) + "extern \"C\" __global__ void k_" + std::string(row->name) + "(";
    for (int i = 0; i < arity(*row); ++i)
      text += "const " + input_type(*row, dtype, i) + "* x" + std::to_string(i) + ", ";
    text += c_type(result_of(*row, dtype)) + "* y) { int i = threadIdx.x; y[i] = " + row_call(*row) + "; }\n";
  }
  return text + "}\n";
}

class RowsNvrtc : public ::testing::TestWithParam<DType> {};

TEST_P(RowsNvrtc, Compile) {
  const Nvrtc nvrtc;
  if (!nvrtc) GTEST_SKIP() << "needs NVRTC: libnvrtc.so is not there";
  EXPECT_EQ(nvrtc.compile(kernels_of(GetParam())), "");
}

INSTANTIATE_TEST_SUITE_P(EachDType, RowsNvrtc, ::testing::ValuesIn(kRowDTypes),
                         [](const auto& info) { return std::string(name(info.param)); });

}  // namespace
}  // namespace damo::testing
