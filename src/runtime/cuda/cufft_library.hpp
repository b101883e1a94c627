// libcufft.so, found where NVRTC is (nvrtc_library.hpp) or by DAMO_CUFFT_PATH, and opened at the first Fourier transform on a GPU. Declared here after NVIDIA's
// documentation, as cuSOLVER is (cusolver_library.hpp); where there is a header, tests/runtime/cuda/cufft_library_test.cpp holds the two against each other. Thread-safe.
#pragma once
#include <cuda.h>

#include <cstddef>
#include <string>

namespace damo::cuda_backend {

inline constexpr int kCufftForward = -1, kCufftInverse = 1;
inline constexpr int kCufftRealToComplex = 0x2a, kCufftComplexToReal = 0x2c, kCufftComplex = 0x29, kCufftRealToComplex64 = 0x6a, kCufftComplexToReal64 = 0x6c, kCufftComplex64 = 0x69;

/// Numbers are passed by address: pairs are cufftComplex and cufftDoubleComplex.
struct CufftLibrary {
  int (*create)(int* plan) = nullptr;
  int (*set_auto_allocation)(int plan, int allocates) = nullptr;
  int (*make_plan)(int plan, int rank, long long* extents, long long* in_extents, long long in_stride, long long in_distance, long long* out_extents, long long out_stride,
                   long long out_distance, int type, long long count, std::size_t* work_bytes) = nullptr;
  int (*set_work_area)(int plan, void* work) = nullptr;
  int (*set_stream)(int plan, CUstream stream) = nullptr;
  int (*destroy)(int plan) = nullptr;
  int (*complex)(int plan, void* from, void* to, int direction) = nullptr;
  int (*real_to_complex)(int plan, void* from, void* to) = nullptr;
  int (*complex_to_real)(int plan, void* from, void* to) = nullptr;
  int (*complex64)(int plan, void* from, void* to, int direction) = nullptr;
  int (*real_to_complex64)(int plan, void* from, void* to) = nullptr;
  int (*complex_to_real64)(int plan, void* from, void* to) = nullptr;
  std::string name;  ///< "cuFFT 12.0.0, /usr/local/cuda/lib64/libcufft.so"
};

/// Opened once. Throws DeviceError, saying what to install, if there is none.
const CufftLibrary& cufft();

}  // namespace damo::cuda_backend
