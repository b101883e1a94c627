#include "runtime/cuda/cufft_library.hpp"

#include "runtime/cuda/toolkit_library.hpp"

namespace damo::cuda_backend {
namespace {

CufftLibrary open_cufft() {
  DynamicLibrary cufft = open_toolkit_library("libcufft.so", "DAMO_CUFFT_PATH", "transforms", "libcufft");
  CufftLibrary library;
  cufft.find("cufftCreate", library.create);
  cufft.find("cufftSetAutoAllocation", library.set_auto_allocation);
  cufft.find("cufftMakePlanMany64", library.make_plan);
  cufft.find("cufftSetWorkArea", library.set_work_area);
  cufft.find("cufftSetStream", library.set_stream);
  cufft.find("cufftDestroy", library.destroy);
  cufft.find("cufftExecC2C", library.complex);
  cufft.find("cufftExecR2C", library.real_to_complex);
  cufft.find("cufftExecC2R", library.complex_to_real);
  cufft.find("cufftExecZ2Z", library.complex64);
  cufft.find("cufftExecD2Z", library.real_to_complex64);
  cufft.find("cufftExecZ2D", library.complex_to_real64);
  int (*version)(int*) = nullptr;
  cufft.find("cufftGetVersion", version);
  check_complete(cufft);
  int number = 0;
  version(&number);
  library.name = name_with_version("cuFFT", static_cast<std::size_t>(number), 1000, cufft.file());
  return library;
}

}  // namespace

const CufftLibrary& cufft() {
  static const CufftLibrary opened = open_cufft();
  return opened;
}

}  // namespace damo::cuda_backend
