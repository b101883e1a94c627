// The system's LAPACK, by its Fortran interface, opened at the first factorisation. DAMO_LAPACK_PATH names the library's file; else it is
// libopenblas.so.0, which holds one, else liblapack.so.3. Thread-safe.
#pragma once
#include <cstddef>
#include <string>

namespace damo::cpu_backend {

/// Fortran passes everything by address, and the length of each text behind all arguments.
template <class T>
struct LapackFunctions {
  using Length = std::size_t;
  void (*potrf)(const char* triangle, const int* n, T* a, const int* lda, int* info, Length) = nullptr;
  void (*getrf)(const int* m, const int* n, T* a, const int* lda, int* pivots, int* info) = nullptr;
  void (*getrs)(const char* transposed, const int* n, const int* columns, const T* a, const int* lda, const int* pivots, T* b, const int* ldb, int* info, Length) = nullptr;
  void (*trsm)(const char* side, const char* triangle, const char* transposed, const char* diagonal, const int* m, const int* n, const T* alpha, const T* a, const int* lda, T* b,
               const int* ldb, Length, Length, Length, Length) = nullptr;
  void (*geqrf)(const int* m, const int* n, T* a, const int* lda, T* tau, T* work, const int* work_size, int* info) = nullptr;
  void (*orgqr)(const int* m, const int* n, const int* k, T* a, const int* lda, const T* tau, T* work, const int* work_size, int* info) = nullptr;
  void (*gesdd)(const char* job, const int* m, const int* n, T* a, const int* lda, T* s, T* u, const int* ldu, T* vt, const int* ldvt, T* work, const int* work_size, int* integers,
                int* info, Length) = nullptr;
  void (*syevd)(const char* job, const char* triangle, const int* n, T* a, const int* lda, T* w, T* work, const int* work_size, int* integers, const int* integers_size, int* info,
                Length, Length) = nullptr;
};

struct LapackLibrary {
  LapackFunctions<float> single;
  LapackFunctions<double> real;
  std::string name;  ///< "libopenblas.so.0"
};

/// Opened once. Throws DeviceError, saying what to install, if there is none.
const LapackLibrary& lapack();

}  // namespace damo::cpu_backend
