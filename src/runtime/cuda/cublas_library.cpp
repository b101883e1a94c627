#include "runtime/cuda/cublas_library.hpp"

#include <optional>

#include <damo/error.hpp>
#include <damo/log.hpp>

#include "graph/base/environment.hpp"
#include "runtime/cuda/toolkit_library.hpp"

namespace damo::cuda_backend {
namespace {

void look_up_all(DynamicLibrary& opened, CublasLibrary& library) {
  opened.find("cublasLtGetVersion", library.version);
  opened.find("cublasLtGetStatusName", library.status_name);
  opened.find("cublasLtCreate", library.create);
  opened.find("cublasLtMatmulDescCreate", library.desc_create);
  opened.find("cublasLtMatmulDescDestroy", library.desc_destroy);
  opened.find("cublasLtMatmulDescSetAttribute", library.desc_set);
  opened.find("cublasLtMatrixLayoutCreate", library.layout_create);
  opened.find("cublasLtMatrixLayoutDestroy", library.layout_destroy);
  opened.find("cublasLtMatrixLayoutSetAttribute", library.layout_set);
  opened.find("cublasLtMatmulPreferenceCreate", library.preference_create);
  opened.find("cublasLtMatmulPreferenceDestroy", library.preference_destroy);
  opened.find("cublasLtMatmulPreferenceSetAttribute", library.preference_set);
  opened.find("cublasLtMatmulAlgoGetHeuristic", library.heuristics);
  opened.find("cublasLtMatmulAlgoCheck", library.check);
  opened.find("cublasLtMatmul", library.matmul);
}

/// Why there is none; empty if there is.
std::string open(CublasLibrary& library) {
  library.path = find_toolkit_library("libcublasLt.so", "DAMO_CUBLASLT_PATH");
  if (library.path.empty()) return "libcublasLt.so is not where NVRTC is looked for";
  DynamicLibrary opened(library.path);
  look_up_all(opened, library);
  if (!opened.problem().empty()) return opened.problem();
  library.name = name_with_version("cuBLASLt", library.version(), 10000, library.path);
  return {};
}

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

bool has_cublas_file() { return environment("DAMO_CUBLASLT_PATH").empty() && !find_toolkit_library("libcublasLt.so", "DAMO_CUBLASLT_PATH").empty(); }

void check_cublas(int status, const char* call) {
  if (status == 0) return;
  const char* name = cublas()->status_name(status);
  throw DeviceError(std::string(call) + " failed: " + (name ? name : "status " + std::to_string(status)), cublas()->name);
}

}  // namespace damo::cuda_backend
