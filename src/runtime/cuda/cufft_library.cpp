#include "runtime/cuda/cufft_library.hpp"

#include <dlfcn.h>

#include <damo/error.hpp>

#include "runtime/cuda/nvrtc_library.hpp"

namespace damo::cuda_backend {
namespace {

/// Never closed: its plans and kernels live as long as the process.
CufftLibrary open_cufft() {
  const char* remedy = "install libcufft of the CUDA toolkit, or name its directory with DAMO_CUFFT_PATH";
  const std::string path = find_toolkit_library("libcufft.so", "DAMO_CUFFT_PATH");
  if (path.empty()) throw DeviceError("there is no libcufft.so, which transforms on a GPU, where NVRTC is looked for", remedy);
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    const char* reason = dlerror();
    throw DeviceError(path + ", which transforms on a GPU, cannot be opened" + (reason ? std::string(": ") + reason : ""), remedy);
  }
  const auto find = [&]<class Function>(const char* symbol, Function& function) {
    function = reinterpret_cast<Function>(dlsym(handle, symbol));
    if (!function) throw DeviceError(path + " has no " + symbol, "install the library of CUDA 12 or later");
  };
  CufftLibrary library;
  find("cufftCreate", library.create);
  find("cufftSetAutoAllocation", library.set_auto_allocation);
  find("cufftMakePlanMany64", library.make_plan);
  find("cufftSetWorkArea", library.set_work_area);
  find("cufftSetStream", library.set_stream);
  find("cufftDestroy", library.destroy);
  find("cufftExecC2C", library.complex);
  find("cufftExecR2C", library.real_to_complex);
  find("cufftExecC2R", library.complex_to_real);
  find("cufftExecZ2Z", library.complex64);
  find("cufftExecD2Z", library.real_to_complex64);
  find("cufftExecZ2D", library.complex_to_real64);
  int (*version)(int*) = nullptr;
  find("cufftGetVersion", version);
  int number = 0;  // 11303 is 11.3.3
  version(&number);
  library.name = "cuFFT " + std::to_string(number / 1000) + "." + std::to_string(number / 100 % 10) + "." + std::to_string(number % 100) + ", " + path;
  return library;
}

}  // namespace

const CufftLibrary& cufft() {
  static const CufftLibrary opened = open_cufft();
  return opened;
}

}  // namespace damo::cuda_backend
