#include "runtime/cuda/cublas_library.hpp"

#include <dlfcn.h>

#include <optional>
#include <type_traits>

#include <damo/error.hpp>
#include <damo/log.hpp>

#include "graph/base/environment.hpp"
#include "runtime/cuda/nvrtc_library.hpp"

namespace damo::cuda_backend {
namespace {

bool look_up_all(void* handle, CublasLibrary& library) {
  bool complete = true;
  const auto look_up = [&](const char* symbol, auto& function) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(handle, symbol));
    complete = complete && function;
  };
  look_up("cublasLtGetVersion", library.version);
  look_up("cublasLtGetStatusName", library.status_name);
  look_up("cublasLtCreate", library.create);
  look_up("cublasLtMatmulDescCreate", library.desc_create);
  look_up("cublasLtMatmulDescDestroy", library.desc_destroy);
  look_up("cublasLtMatmulDescSetAttribute", library.desc_set);
  look_up("cublasLtMatrixLayoutCreate", library.layout_create);
  look_up("cublasLtMatrixLayoutDestroy", library.layout_destroy);
  look_up("cublasLtMatrixLayoutSetAttribute", library.layout_set);
  look_up("cublasLtMatmulPreferenceCreate", library.preference_create);
  look_up("cublasLtMatmulPreferenceDestroy", library.preference_destroy);
  look_up("cublasLtMatmulPreferenceSetAttribute", library.preference_set);
  look_up("cublasLtMatmulAlgoGetHeuristic", library.heuristics);
  look_up("cublasLtMatmulAlgoCheck", library.check);
  look_up("cublasLtMatmul", library.matmul);
  return complete;
}

/// Why there is none; empty if there is.
std::string open(CublasLibrary& library) {
  library.path = find_toolkit_library("libcublasLt.so", "DAMO_CUBLASLT_PATH");
  if (library.path.empty()) return "libcublasLt.so is not where NVRTC is looked for";
  void* handle = dlopen(library.path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    const char* reason = dlerror();
    return library.path + " cannot be opened" + (reason ? std::string(": ") + reason : "");
  }
  if (!look_up_all(handle, library)) return library.path + " is too old, or no cuBLASLt at all";
  const std::size_t version = library.version();  // 120805 is 12.8.5, 130000 is 13.0.0
  library.name = "cuBLASLt " + std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." + std::to_string(version % 100) + ", " + library.path;
  return {};
}

/// Never closed: its handles and kernels live as long as the process.
std::optional<CublasLibrary> open() {
  const std::string chosen = environment("DAMO_CUBLASLT_PATH");
  if (chosen == "none") return std::nullopt;
  CublasLibrary library;
  const std::string problem = open(library);
  if (problem.empty()) return library;
  if (!chosen.empty()) throw DeviceError("DAMO_CUBLASLT_PATH is '" + chosen + "', which holds no cuBLASLt: " + problem, "give libcublasLt.so or its directory, or none");
  log(LogLevel::kInfo, "cuda: no cuBLASLt (" + problem + "): matrix products run as kernels of Damo's own, which are much slower; install libcublas of the CUDA toolkit, "
                       "or name its directory with DAMO_CUBLASLT_PATH");
  return std::nullopt;
}

}  // namespace

const CublasLibrary* cublas() {
  static const std::optional<CublasLibrary> opened = open();
  return opened ? &*opened : nullptr;
}

void check_cublas(int status, const char* call) {
  if (status == 0) return;
  const char* name = cublas()->status_name(status);
  throw DeviceError(std::string(call) + " failed: " + (name ? name : "status " + std::to_string(status)), cublas()->name);
}

}  // namespace damo::cuda_backend
