// libcusolver.so and libcublas.so, found where NVRTC is (nvrtc_library.hpp) or by DAMO_CUSOLVER_PATH, and opened at the first factorisation on a
// GPU. Declared here after NVIDIA's documentation, as cuBLASLt is (cublas_library.hpp); where there are headers,
// tests/runtime/cuda/cusolver_library_test.cpp holds the two against each other. Thread-safe.
#pragma once
#include <cuda.h>

#include <string>

namespace damo::cuda_backend {

inline constexpr int kTriangleLower = 0, kTriangleUpper = 1, kAsItIs = 0, kTransposed = 1, kFromTheLeft = 0, kAnyDiagonal = 0, kUnitDiagonal = 1, kWithVectors = 1;

using CusolverHandle = struct CusolverHandleOpaque*;
using CublasV2Handle = struct CublasV2HandleOpaque*;

/// Sizes of work are in elements; info is one number on the device.
template <class T>
struct CusolverFunctions {
  using Element = T;
  int (*potrf_size)(CusolverHandle, int triangle, int n, T* a, int lda, int* size) = nullptr;
  int (*potrf)(CusolverHandle, int triangle, int n, T* a, int lda, T* work, int size, int* info) = nullptr;
  int (*getrf_size)(CusolverHandle, int m, int n, T* a, int lda, int* size) = nullptr;
  int (*getrf)(CusolverHandle, int m, int n, T* a, int lda, T* work, int* pivots, int* info) = nullptr;
  int (*getrs)(CusolverHandle, int transposed, int n, int columns, const T* a, int lda, const int* pivots, T* b, int ldb, int* info) = nullptr;
  int (*geqrf_size)(CusolverHandle, int m, int n, T* a, int lda, int* size) = nullptr;
  int (*geqrf)(CusolverHandle, int m, int n, T* a, int lda, T* tau, T* work, int size, int* info) = nullptr;
  int (*orgqr_size)(CusolverHandle, int m, int n, int k, const T* a, int lda, const T* tau, int* size) = nullptr;
  int (*orgqr)(CusolverHandle, int m, int n, int k, T* a, int lda, const T* tau, T* work, int size, int* info) = nullptr;
  int (*gesvd_size)(CusolverHandle, int m, int n, int* size) = nullptr;
  int (*gesvd)(CusolverHandle, signed char u_job, signed char vt_job, int m, int n, T* a, int lda, T* s, T* u, int ldu, T* vt, int ldvt, T* work, int size, T* more,
               int* info) = nullptr;
  int (*syevd_size)(CusolverHandle, int vectors, int triangle, int n, const T* a, int lda, const T* w, int* size) = nullptr;
  int (*syevd)(CusolverHandle, int vectors, int triangle, int n, T* a, int lda, T* w, T* work, int size, int* info) = nullptr;
  int (*trsm)(CublasV2Handle, int side, int triangle, int transposed, int diagonal, int m, int n, const T* alpha, const T* a, int lda, T* b, int ldb) = nullptr;
};

struct CusolverLibrary {
  int (*create)(CusolverHandle*) = nullptr;
  int (*set_stream)(CusolverHandle, CUstream) = nullptr;
  int (*blas_create)(CublasV2Handle*) = nullptr;
  int (*blas_set_stream)(CublasV2Handle, CUstream) = nullptr;
  CusolverFunctions<float> single;
  CusolverFunctions<double> real;
  std::string name;  ///< "cuSOLVER 12.0.4, /usr/local/cuda/lib64/libcusolver.so"
};

/// Opened once. Throws DeviceError, saying what to install, if there is none.
const CusolverLibrary& cusolver();

}  // namespace damo::cuda_backend
