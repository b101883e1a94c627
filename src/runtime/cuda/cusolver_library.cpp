#include "runtime/cuda/cusolver_library.hpp"

#include <dlfcn.h>

#include <type_traits>

#include <damo/error.hpp>

#include "runtime/cuda/nvrtc_library.hpp"

namespace damo::cuda_backend {
namespace {

class Symbols {
 public:
  explicit Symbols(void* handle) : handle_(handle) {}
  template <class Function>
  void find(const std::string& symbol, Function& function) {
    function = reinterpret_cast<Function>(dlsym(handle_, symbol.c_str()));
    if (!function && missing_.empty()) missing_ = symbol;
  }
  /// The first that is not there; empty if all are.
  const std::string& missing() const { return missing_; }

 private:
  void* handle_;
  std::string missing_;
};

template <class T>
void find_all(Symbols& solver, Symbols& blas, const std::string& letter, CusolverFunctions<T>& f) {
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

constexpr const char* kVariable = "DAMO_CUSOLVER_PATH";

void* open(const char* file, std::string& path) {
  const char* remedy = "install libcusolver and libcublas of the CUDA toolkit, or name their directory with DAMO_CUSOLVER_PATH";
  path = find_toolkit_library(file, kVariable);
  if (path.empty()) throw DeviceError(std::string("there is no ") + file + ", which factors matrices on a GPU, where NVRTC is looked for", remedy);
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    const char* reason = dlerror();
    throw DeviceError(path + ", which factors matrices on a GPU, cannot be opened" + (reason ? std::string(": ") + reason : ""), remedy);
  }
  return handle;
}

/// Never closed: its handles and kernels live as long as the process.
CusolverLibrary open_cusolver() {
  CusolverLibrary library;
  std::string path, blas_path;
  Symbols blas(open("libcublas.so", blas_path)), solver(open("libcusolver.so", path));
  solver.find("cusolverDnCreate", library.create);
  solver.find("cusolverDnSetStream", library.set_stream);
  blas.find("cublasCreate_v2", library.blas_create);
  blas.find("cublasSetStream_v2", library.blas_set_stream);
  find_all(solver, blas, "S", library.single);
  find_all(solver, blas, "D", library.real);
  int (*version)(int*) = nullptr;
  solver.find("cusolverGetVersion", version);
  for (const Symbols* symbols : {&solver, &blas}) {
    if (!symbols->missing().empty()) throw DeviceError((symbols == &solver ? path : blas_path) + " has no " + symbols->missing(), "install the library of CUDA 12 or later");
  }
  int number = 0;  // 11604 is 11.6.4
  version(&number);
  library.name = "cuSOLVER " + std::to_string(number / 1000) + "." + std::to_string(number / 100 % 10) + "." + std::to_string(number % 100) + ", " + path;
  return library;
}

}  // namespace

const CusolverLibrary& cusolver() {
  static const CusolverLibrary opened = open_cusolver();
  return opened;
}

}  // namespace damo::cuda_backend
