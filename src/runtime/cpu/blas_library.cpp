#include "runtime/cpu/blas_library.hpp"

#include <optional>

#include <damo/error.hpp>
#include <damo/log.hpp>

#include "graph/base/environment.hpp"
#include "runtime/cpu/library_calls.hpp"

namespace damo::cpu_backend {
namespace {

constexpr const char* kInstall = "install libopenblas0-pthread (Debian, Ubuntu), or name a library's file with DAMO_BLAS_PATH";

/// "OpenBLAS 0.3.21": the first two words of what the library says of itself, and whether its integers have 64 bits.
struct Configuration {
  std::string name;
  bool has_wide_integers = false;
};
std::optional<Configuration> openblas_configuration(DynamicLibrary& opened) {
  const char* (*configuration)() = nullptr;
  if (!opened.find_optional("openblas_get_config", configuration)) return std::nullopt;
  const std::string text = configuration();
  const std::size_t space = text.find(' ');
  return Configuration{text.substr(0, space == std::string::npos ? space : text.find(' ', space + 1)), text.find("USE64BITINT") != std::string::npos};
}

/// Why it is not taken; empty if it is.
std::string open(const std::string& file, bool only_if_fast, BlasLibrary& library) {
  DynamicLibrary opened(file);
  opened.find("cblas_sgemm", library.single.gemm);
  opened.find("cblas_dgemm", library.real.gemm);
  opened.find("cblas_sgemv", library.single.gemv);
  opened.find("cblas_dgemv", library.real.gemv);
  const std::optional<Configuration> openblas = openblas_configuration(opened);
  void (*mark)() = nullptr;
  const bool is_fast = openblas || opened.find_optional("bli_init", mark) || opened.find_optional("mkl_get_version", mark);
  std::string problem = opened.problem();
  if (problem.empty() && openblas && openblas->has_wide_integers) problem = file + " takes integers of 64 bits";
  else if (problem.empty() && only_if_fast && !is_fast) problem = file + " is the reference BLAS";
  if (!problem.empty()) {
    opened.reject();
    return problem;
  }
  opened.find_optional("openblas_set_num_threads", library.set_threads);
  library.name = (openblas ? openblas->name + ", " : std::string()) + file;
  return {};
}

struct Opened {
  std::optional<BlasLibrary> library;
};

Opened open() {
  BlasLibrary library;
  const std::string chosen = environment("DAMO_BLAS_PATH");
  if (chosen == "none") return {};
  std::string problems;
  if (!chosen.empty()) {
    if (problems = open(chosen, false, library); problems.empty()) return {library};
    throw DeviceError("DAMO_BLAS_PATH is '" + chosen + "', which is no BLAS library: " + problems, "give the file of a library with cblas_sgemm, or none");
  }
  for (const char* file : {"libopenblas.so.0", "libblas.so.3"}) {
    const std::string problem = open(file, true, library);
    if (problem.empty()) return {library};
    problems += (problems.empty() ? "" : "; ") + problem;
  }
  log(LogLevel::kInfo, std::string("cpu: no BLAS library (") + problems + "): matrix products run as kernels of Damo's own, which are slower; " + kInstall);
  return {};
}

}  // namespace

bool takes_wide_integers(DynamicLibrary& opened) {
  const auto openblas = openblas_configuration(opened);
  return openblas && openblas->has_wide_integers;
}

const BlasLibrary* blas() {
  static const Opened opened = [] {
    Opened library = open();
    hold_calls_at_forks();
    return library;
  }();
  return opened.library ? &*opened.library : nullptr;
}

}  // namespace damo::cpu_backend
