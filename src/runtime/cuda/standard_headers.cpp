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
                                  "chrono", "random", "thread", "stdexcept", "iterator", "exception", "list", "complex", "deque", "queue",
                                  "unordered_map", "mutex", "optional", "string_view", "strings.h", "unistd.h",
                                  // Libraries for hosts: their headers ask for more of the host than there is here.
                                  "cufft.h", "cusparse.h", "cusolverDn.h", "nccl.h", "mpi.h",
                                  "nvToolsExt.h", "nvtx3/nvToolsExt.h", "nvml.h"};
constexpr const char* kStd[] = {"cmath", "cstdint", "cstddef", "type_traits", "limits", "utility", "algorithm", "numeric", "array",
                                "tuple", "functional", "initializer_list", "concepts", "bit", "numbers"};
constexpr const char* kCuda[] = {"cuda.h", "cuda_runtime.h", "cuda_runtime_api.h", "device_functions.h", "vector_types.h",
                                 "vector_functions.h", "math_functions.h", "builtin_types.h", "driver_types.h"};

/// NVIDIA's C++ library or what is built on it.
bool includes_nvidia(const std::string& source) {
  for (const char* header : {"<cooperative_groups", "\"cooperative_groups", "<cuda/", "<cub/", "<thrust/", "<cuda_awbarrier", "<cuda_pipeline", "<curand"}) {
    if (source.find(header) != std::string::npos) return true;
  }
  return false;
}

}  // namespace

void HeaderSet::add(const char* name, const char* text) {
  names.push_back(name);
  texts.push_back(text);
}

HeaderSet standard_headers(bool with_cuda) {
  HeaderSet set;
  for (const char* name : kEmpty) set.add(name, "\n");
  for (const char* name : kStd) set.add(name, kIncludeStd);
  for (const char* name : {"cublas.h", "cublas_v2.h", "cublasLt.h", "cudnn.h"}) set.add(name, "#include <cuda_fp16.h>\n#include <cuda_bf16.h>\n");
  for (const char* name : {"new", "cuda/std/new"}) set.add(name, "#include \"cuda_std_new.h\"\n");
  for (const PreludeFile* file = prelude_files; file->name; ++file) {
    if (std::string_view(file->name).starts_with("cuda_std")) set.add(file->name, file->text);
  }
  if (with_cuda) {
    for (const char* name : kCuda) set.add(name, "\n");
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
