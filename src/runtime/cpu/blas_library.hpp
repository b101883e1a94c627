// The system's BLAS, by its C interface: opened at the first matrix product, so that a process that multiplies nothing loads nothing.
// DAMO_BLAS_PATH names the library's file, or is `none`; else libopenblas.so.0 is taken, else libblas.so.3 where that is a fast library too
// (distributions let the administrator choose which one the name stands for). The reference BLAS is not taken: Damo's own kernel is
// faster, and uses all threads. One log line says what is missing and what to install. Thread-safe.
#pragma once
#include <string>

#include "runtime/library/dynamic_library.hpp"

namespace damo::cpu_backend {

/// Values of the C interface's enumerations.
inline constexpr int kRowMajor = 101, kNoTranspose = 111, kTranspose = 112;

template <class T>
struct BlasFunctions {
  void (*gemm)(int order, int transpose_a, int transpose_b, int m, int n, int k, T alpha, const T* a, int lda, const T* b, int ldb, T beta, T* c, int ldc) = nullptr;
  void (*gemv)(int order, int transpose, int m, int n, T alpha, const T* a, int lda, const T* x, int incx, T beta, T* y, int incy) = nullptr;
};

struct BlasLibrary {
  BlasFunctions<float> single;
  BlasFunctions<double> real;
  void (*set_threads)(int count) = nullptr;  ///< null: the library has none, or no such function
  std::string name;                          ///< "OpenBLAS 0.3.21, libopenblas.so.0"
};

/// Null if there is none.
const BlasLibrary* blas();

/// Of a library that was opened: whether it says that its integers have 64 bits, which Damo's calls have not.
bool takes_wide_integers(DynamicLibrary& opened);

}  // namespace damo::cpu_backend
