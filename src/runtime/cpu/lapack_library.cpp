#include "runtime/cpu/lapack_library.hpp"

#include <damo/error.hpp>

#include "graph/base/environment.hpp"
#include "runtime/cpu/blas_library.hpp"
#include "runtime/cpu/library_calls.hpp"

namespace damo::cpu_backend {
namespace {

template <class T>
void look_up(DynamicLibrary& opened, const std::string& letter, LapackFunctions<T>& functions) {
  const auto find = [&](const char* name, auto& function) { opened.find(letter + name + "_", function); };
  find("potrf", functions.potrf);
  find("getrf", functions.getrf);
  find("getrs", functions.getrs);
  find("trsm", functions.trsm);
  find("geqrf", functions.geqrf);
  find("orgqr", functions.orgqr);
  find("gesdd", functions.gesdd);
  find("syevd", functions.syevd);
}

/// Why it is not taken; empty if it is.
std::string open(const std::string& file, LapackLibrary& library) {
  DynamicLibrary opened(file);
  look_up(opened, "s", library.single);
  look_up(opened, "d", library.real);
  std::string problem = opened.problem();
  if (problem.empty() && takes_wide_integers(opened)) problem = file + " takes integers of 64 bits";
  if (problem.empty()) library.name = file;
  else opened.reject();
  return problem;
}

LapackLibrary open() {
  LapackLibrary library;
  const std::string chosen = environment("DAMO_LAPACK_PATH");
  if (!chosen.empty()) {
    const std::string problem = open(chosen, library);
    if (problem.empty()) return library;
    throw DeviceError("DAMO_LAPACK_PATH is '" + chosen + "', which is no LAPACK library: " + problem, "give the file of a library with dpotrf_");
  }
  std::string problems;
  for (const char* file : {"libopenblas.so.0", "liblapack.so.3"}) {
    const std::string problem = open(file, library);
    if (problem.empty()) return library;
    problems += (problems.empty() ? "" : "; ") + problem;
  }
  throw DeviceError("there is no LAPACK, which factors matrices on the CPU (" + problems + ")",
                    "install libopenblas0-pthread (Debian, Ubuntu), or name a library's file with DAMO_LAPACK_PATH");
}

}  // namespace

const LapackLibrary& lapack() {
  static const LapackLibrary opened = [] {
    LapackLibrary library = open();
    hold_calls_at_forks();
    return library;
  }();
  return opened;
}

}  // namespace damo::cpu_backend
