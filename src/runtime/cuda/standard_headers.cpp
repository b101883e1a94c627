#include "runtime/cuda/standard_headers.hpp"

#include <cctype>
#include <string_view>

#include "runtime/cuda/prelude.hpp"

namespace damo::cuda_backend {
namespace {

constexpr const char* kEmpty[] = {"stdio.h",  "stdlib.h", "string.h", "math.h",   "stdint.h",    "inttypes.h", "stddef.h",
                                  "float.h",  "limits.h", "assert.h", "stdbool.h", "time.h",     "sys/time.h", "sys/types.h",
                                  "memory.h", "cstdio",   "cstdlib",  "cstring",  "cassert",     "ctime",      "cfloat",
                                  "climits",  "device_launch_parameters.h",
                                  "math_constants.h", "cuda_profiler_api.h", "omp.h",
                                  // Of the host code that was once around the kernels.
                                  "iostream", "iomanip", "fstream", "sstream", "string", "vector", "map", "set", "memory",
                                  "chrono", "random", "thread", "stdexcept", "iterator"};
constexpr const char* kStd[] = {"cmath", "cstdint", "cstddef", "type_traits", "limits", "utility", "algorithm", "numeric", "array",
                                "tuple", "functional", "initializer_list", "concepts", "bit", "numbers"};
constexpr const char* kCuda[] = {"cuda.h", "cuda_runtime.h", "cuda_runtime_api.h", "device_functions.h", "vector_types.h",
                                 "vector_functions.h", "math_functions.h", "builtin_types.h", "driver_types.h"};

void add(HeaderSet& set, const char* name, const char* text) {
  set.names.push_back(name);
  set.texts.push_back(text);
}

/// NVIDIA's C++ library or what is built on it.
bool includes_nvidia(const std::string& source) {
  for (const char* header : {"<cooperative_groups", "\"cooperative_groups", "<cuda/", "<cub/", "<thrust/", "<cuda_awbarrier", "<cuda_pipeline", "<curand"}) {
    if (source.find(header) != std::string::npos) return true;
  }
  return false;
}

}  // namespace

HeaderSet standard_headers(bool with_cuda) {
  HeaderSet set;
  for (const char* name : kEmpty) add(set, name, "\n");
  for (const char* name : kStd) add(set, name, kIncludeStd);
  for (const PreludeFile* file = prelude_files; file->name; ++file) {
    if (std::string_view(file->name).starts_with("cuda_std")) add(set, file->name, file->text);
  }
  if (with_cuda) {
    for (const char* name : kCuda) add(set, name, "\n");
  }
  return set;
}

bool needs_std(const std::string& source) {
  if (includes_nvidia(source)) return false;  // its own parts name std too
  for (std::size_t at = 0; (at = source.find("std::", at)) != std::string::npos; ++at) {
    const bool inner = at >= 2 && source.compare(at - 2, 2, "::") == 0;  // cuda::std::
    const bool longer = at >= 1 && (std::isalnum(static_cast<unsigned char>(source[at - 1])) || source[at - 1] == '_');
    if (!longer && (!inner || at == 2 || std::isspace(static_cast<unsigned char>(source[at - 3])))) return true;
  }
  return false;
}

}  // namespace damo::cuda_backend
