#include "runtime/cuda/cusolver_library.hpp"

#include "runtime/cuda/toolkit_library.hpp"

namespace damo::cuda_backend {
namespace {

template <class T>
void find_all(DynamicLibrary& solver, DynamicLibrary& blas, const std::string& letter, CusolverFunctions<T>& f) {
  const auto both = [&](const std::string& method, auto& size, auto& function) {
    solver.find("cusolverDn" + letter + method + "_bufferSize", size);
    solver.find("cusolverDn" + letter + method, function);
  };
  both("potrf", f.potrf_size, f.potrf);
  both("getrf", f.getrf_size, f.getrf);
  both("geqrf", f.geqrf_size, f.geqrf);
  both("orgqr", f.orgqr_size, f.orgqr);
  both("gesvd", f.gesvd_size, f.gesvd);
  both("syevd", f.syevd_size, f.syevd);
  solver.find("cusolverDn" + letter + "getrs", f.getrs);
  blas.find("cublas" + letter + "trsm_v2", f.trsm);
}

DynamicLibrary open(const char* file) { return open_toolkit_library(file, "DAMO_CUSOLVER_PATH", "factors matrices", "libcusolver and libcublas"); }

CusolverLibrary open_cusolver() {
  CusolverLibrary library;
  DynamicLibrary blas = open("libcublas.so"), solver = open("libcusolver.so");
  solver.find("cusolverDnCreate", library.create);
  solver.find("cusolverDnSetStream", library.set_stream);
  blas.find("cublasCreate_v2", library.blas_create);
  blas.find("cublasSetStream_v2", library.blas_set_stream);
  find_all(solver, blas, "S", library.single);
  find_all(solver, blas, "D", library.real);
  int (*version)(int*) = nullptr;
  solver.find("cusolverGetVersion", version);
  check_complete(solver);
  check_complete(blas);
  int number = 0;
  version(&number);
  library.name = name_with_version("cuSOLVER", static_cast<std::size_t>(number), 1000, solver.file());
  return library;
}

}  // namespace

const CusolverLibrary& cusolver() {
  static const CusolverLibrary opened = open_cusolver();
  return opened;
}

}  // namespace damo::cuda_backend
