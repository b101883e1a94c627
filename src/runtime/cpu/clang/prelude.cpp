#include "prelude.hpp"

#include <algorithm>
#include <initializer_list>

#include "prelude_parts.hpp"

namespace damo::clang_plugin {
namespace {

std::string include(std::string_view name) { return "#include \"" + std::string(name) + "\"\n"; }

/// The math files but those of families of which the source names no function.
std::string math_includes(const std::string* source, bool cuda) {
  const std::vector<std::string_view> left_out = source ? unwanted_math(*source, cuda) : std::vector<std::string_view>();
  std::string text;
  for (const PreludeFile* file = prelude_files; file->name; ++file) {
    const std::string_view name = file->name;
    const bool wanted = name.starts_with("math_") && std::find(left_out.begin(), left_out.end(), name) == left_out.end();
    if (wanted) text += include(name);
  }
  return text;
}

std::string loops_header(const std::string* source) {
  return include("core.h") + math_includes(source, false) + include("convert.h") + include("elementwise.h") + include("strips.h");
}

/// core.h, math_*.h and elementwise.h are written as plain C++: in CUDA C the pragma makes them device functions.
std::string cuda_header(const std::string* source) {
  std::string text = "#pragma clang force_cuda_host_device begin\n" + include("core.h");
  const bool functions = !source || wants(*source, "cuda_math.h");
  if (functions) text += math_includes(source, true);
  if (!source || wants(*source, "elementwise.h")) text += include("convert.h") + include("elementwise.h");
  text += "#pragma clang force_cuda_host_device end\n" + include("cuda_c.h");
  for (const char* part : kBaseParts) {
    if (!source || wants(*source, part)) text += include(part);
  }
  return text;
}

struct Provided {
  const char* part;  ///< of the prelude; empty: everything is declared already
  std::initializer_list<const char*> names;
};

const Provided kProvided[] = {
    {"", {"cuda.h", "cuda_runtime.h", "cuda_runtime_api.h", "cuda_device_runtime_api.h", "device_launch_parameters.h",
          "device_functions.h", "device_types.h", "builtin_types.h", "vector_types.h", "vector_functions.h", "driver_types.h",
          "host_defines.h", "math_functions.h", "math_constants.h", "sm_20_atomic_functions.h", "sm_60_atomic_functions.h",
          "device_atomic_functions.h", "crt/host_defines.h", "nvrtc.h", "cuda_texture_types.h", "texture_types.h"}},
    {"", {"math.h", "stdint.h", "inttypes.h", "stddef.h", "float.h", "limits.h", "stdio.h", "stdlib.h", "string.h", "assert.h",
          "stdbool.h", "time.h", "sys/types.h", "sys/time.h", "memory.h", "cuda_profiler_api.h", "omp.h"}},
    {"cuda_std.h", {"cmath", "cstdint", "cstddef", "cfloat", "climits", "cstdio", "cstdlib", "cstring", "cassert", "ctime",
                    "type_traits", "limits", "utility", "algorithm", "numeric", "array", "tuple", "functional",
                    "initializer_list", "concepts", "bit", "numbers",
                    // Of the host code that was once around the kernels: there, but with nothing for a kernel.
                    "iostream", "iomanip", "fstream", "sstream", "string", "vector", "map", "set", "memory", "chrono", "random",
                    "thread", "stdexcept", "iterator", "cuda/std/cmath", "cuda/std/cstdint",
                    "cuda/std/cstddef", "cuda/std/cfloat", "cuda/std/climits", "cuda/std/cassert", "cuda/std/type_traits",
                    "cuda/std/limits", "cuda/std/utility", "cuda/std/array", "cuda/std/tuple", "cuda/std/functional",
                    "cuda/std/bit", "cuda/std/concepts", "cuda/std/numbers", "cuda/std/algorithm", "cuda/std/numeric",
                    "cuda/std/initializer_list"}},
    {"cuda_new.h", {"new", "cuda/std/new"}},
    {"cuda_half.h", {"cuda_fp16.h", "cuda_fp16.hpp", "cuda_bf16.h", "cuda_bf16.hpp", "cublas.h", "cublas_v2.h", "cublasLt.h", "cudnn.h"}},
    {"cuda_complex.h", {"cuComplex.h"}},
    {"cuda_groups.h", {"cooperative_groups.h"}},
    {"cuda_groups_reduce.h", {"cooperative_groups/reduce.h", "cooperative_groups/scan.h"}},
    {"cuda_groups_copy.h", {"cooperative_groups/memcpy_async.h"}},
    {"cuda_atomic.h", {"atomic", "cuda/atomic", "cuda/std/atomic"}},
    {"cuda_pipeline.h", {"cuda_pipeline.h", "cuda_pipeline_primitives.h", "cuda_awbarrier.h", "cuda_awbarrier_primitives.h",
                         "cuda/pipeline", "cuda/barrier", "cuda/std/barrier"}},
    {"cuda_random.h", {"curand_kernel.h", "curand.h", "curand_philox4x32_x.h", "curand_uniform.h", "curand_normal.h"}},
};

struct Refused {
  const char* what;
  std::initializer_list<const char*> names;
};

const Refused kRefused[] = {
    {"wmma, the matrix units' interface,", {"mma.h", "crt/mma.h"}},
    {"8-bit and smaller floating point", {"cuda_fp8.h", "cuda_fp6.h", "cuda_fp4.h"}},
    {"CUB", {"cub/cub.cuh", "cub/block/block_reduce.cuh", "cub/block/block_scan.cuh", "cub/block/block_load.cuh",
             "cub/block/block_store.cuh", "cub/block/block_radix_sort.cuh", "cub/warp/warp_reduce.cuh",
             "cub/warp/warp_scan.cuh", "cub/device/device_reduce.cuh"}},
    {"Thrust", {"thrust/device_vector.h", "thrust/host_vector.h", "thrust/sort.h", "thrust/reduce.h", "thrust/transform.h",
                "thrust/scan.h", "thrust/complex.h", "thrust/copy.h"}},
    {"texture and surface memory", {"texture_fetch_functions.h", "texture_indirect_functions.h", "surface_functions.h",
                                    "surface_indirect_functions.h", "cuda_surface_types.h"}},
    {"inline PTX", {"cuda/ptx"}},
};

}  // namespace

std::string umbrella_header(bool cuda, const std::string* source) { return cuda ? cuda_header(source) : loops_header(source); }

std::string extra_header(const std::string& source) {
  std::string text;
  for (const char* part : kExtraParts) {
    if (wants(source, part)) text += include(part);
  }
  // The user's functions need no annotation to be called by a kernel, as under NVRTC; trailer() ends it. Behind a user's
  // __device__ there may be an alignas (cuda_entries.cpp).
  return text + "#undef __device__\n#define __device__ _Pragma(\"damo_variable\") __attribute__((device))\n"
                "#pragma clang force_cuda_host_device begin\n";
}

std::vector<std::pair<std::string, std::string>> provided_headers() {
  std::vector<std::pair<std::string, std::string>> headers;
  for (const Provided& provided : kProvided) {
    // By its whole path: "cuda_pipeline.h" is the name of a user's header and of a part.
    const std::string text = *provided.part ? include(std::string(kPreludeDirectory) + provided.part) : "\n";
    for (const char* name : provided.names) headers.emplace_back(name, text);
  }
  for (const Refused& refused : kRefused) {
    for (const char* name : refused.names) headers.emplace_back(name, std::string("#error ") + refused.what + " is not supported on the CPU\n");
  }
  return headers;
}

}  // namespace damo::clang_plugin
