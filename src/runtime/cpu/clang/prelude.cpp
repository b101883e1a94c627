#include "prelude.hpp"

#include <algorithm>
#include <cctype>
#include <initializer_list>
#include <set>

namespace damo::clang_plugin {
namespace {

/// What nvcc declares without an include, in reading order: after cuda_c.h, and in the precompiled prelude.
constexpr const char* kBaseParts[] = {"cuda_math.h", "cuda_intrinsics.h", "cuda_atomics.h", "cuda_unsupported.h"};
/// Rarer, read where named.
constexpr const char* kExtraParts[] = {"cuda_special.h", "cuda_rounding.h", "cuda_simd.h", "cuda_half.h", "cuda_std.h", "cuda_texture_references.h"};

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
    {"cuda_float8.h", {"cuda_fp8.h", "cuda_fp8.hpp"}},
    {"cuda_complex.h", {"cuComplex.h"}},
    {"cuda_groups.h", {"cooperative_groups.h", "cooperative_groups/memcpy_async.h"}},
    {"cuda_groups_reduce.h", {"cooperative_groups/reduce.h", "cooperative_groups/scan.h"}},
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
    {"floating point of 6 and 4 bits", {"cuda_fp6.h", "cuda_fp4.h"}},
    {"CUB", {"cub/cub.cuh", "cub/block/block_reduce.cuh", "cub/block/block_scan.cuh", "cub/block/block_load.cuh",
             "cub/block/block_store.cuh", "cub/block/block_radix_sort.cuh", "cub/warp/warp_reduce.cuh",
             "cub/warp/warp_scan.cuh", "cub/device/device_reduce.cuh"}},
    {"Thrust", {"thrust/device_vector.h", "thrust/host_vector.h", "thrust/sort.h", "thrust/reduce.h", "thrust/transform.h",
                "thrust/scan.h", "thrust/complex.h", "thrust/copy.h"}},
    {"texture and surface memory", {"texture_fetch_functions.h", "texture_indirect_functions.h", "surface_functions.h",
                                    "surface_indirect_functions.h", "cuda_surface_types.h"}},
    {"inline PTX", {"cuda/ptx"}},
};

using Names = std::set<std::string_view>;

bool in_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

Names names_in(std::string_view text) {
  Names names;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = at;
    while (end < text.size() && in_name(text[end])) ++end;
    if (end > at) names.insert(text.substr(at, end - at));
    at = end + 1;
  }
  return names;
}

std::string_view text_of(std::string_view name) {
  for (const PreludeFile* file = prelude_files; file->name; ++file) {
    if (name == file->name) return file->text;
  }
  return {};
}

bool any(const Names& names, auto&& test) { return std::any_of(names.begin(), names.end(), test); }

bool holds(std::string_view name, std::initializer_list<const char*> parts) {
  return std::any_of(parts.begin(), parts.end(), [&](const char* part) { return name.find(part) != std::string_view::npos; });
}

bool is_provided(std::string_view header) {
  static const auto headers = provided_headers();
  return std::any_of(headers.begin(), headers.end(), [&](const auto& provided) { return provided.first == header; });
}

/// A header of the user's own, whose words are not known, or words made by a macro.
bool is_open(const std::string& source) {
  if (source.find("##") != std::string::npos) return true;
  for (std::size_t at = 0; (at = source.find("include", at)) != std::string::npos; ++at) {
    const std::size_t begin = source.find_first_of("<\"\n", at), end = source.find_first_of(">\"\n", begin + 1);
    if (begin == std::string::npos || end == std::string::npos || source[begin] == '\n') continue;
    if (!is_provided(std::string_view(source).substr(begin + 1, end - begin - 1))) return true;
  }
  return false;
}

/// Whether the source names a function that the file defines ("DAMO_MATH type name(").
bool uses(const Names& names, const char* file) {
  constexpr std::string_view kMark = "DAMO_MATH ";
  const std::string_view text = text_of(file);
  for (std::size_t at = 0; (at = text.find(kMark, at)) != std::string_view::npos; at += kMark.size()) {
    const std::size_t end = text.find('(', at);
    if (end == std::string_view::npos) break;
    std::size_t begin = end;
    while (begin > at && in_name(text[begin - 1])) --begin;
    if (names.contains(text.substr(begin, end - begin))) return true;
  }
  return false;
}

/// Files that are read together or not at all: a function is there for float and for double, or for neither, so that
/// what a call means never depends on which were left out. A math file in no family is always read.
struct Family {
  std::initializer_list<const char*> files;
  std::initializer_list<const char*> cuda_words;  ///< parts of CUDA's names that need it
};
const Family kFamilies[] = {
    {{"math_float_trig.h", "math_double_trig.h"}, {"sin", "cos", "tan", "normal"}},
    {{"math_float_wide.h", "math_double_power.h", "math_special.h"},
     {"pow", "hypot", "cbrt", "sinh", "cosh", "tanh", "exp10", "erf", "norm", "gamma"}}};

/// Words of a language's own and of everyone: no sign that a part's functions are used.
const Names kEverydayWords = {
    "int", "float", "double", "unsigned", "long", "short", "char", "bool", "void", "const", "return", "inline", "template",
    "class", "typename", "struct", "if", "for", "x", "y", "a", "b", "c", "n", "i", "s", "e", "A", "B", "T", "f", "define", "undef",
    "include", "value", "result", "shift", "low", "high", "at", "mask", "base", "left", "count", "size", "k", "X", "name", "to",
    "from", "size_t", "auto", "using", "namespace", "once", "pragma", "step", "rest", "__restrict__", "__device__", "p"};

/// Whether a word of the source, with or without CUDA's "__" before and "f" behind, stands in the part.
bool shares_words(const Names& names, std::string_view part) {
  const Names words = names_in(text_of(part));
  return any(names, [&](std::string_view name) {
    if (kEverydayWords.contains(name)) return false;
    std::string_view bare = name;
    if (bare.starts_with("__")) bare.remove_prefix(2);
    if (words.contains(name) || (bare.size() > 2 && words.contains(bare))) return true;
    if (bare.size() < 3 || bare.back() != 'f') return false;
    bare.remove_suffix(1);
    return words.contains(bare);
  });
}

/// CUDA's intrinsics begin with "__"; these words do too and need no part.
const Names kKeywords = {"__global__", "__device__", "__host__", "__shared__", "__constant__", "__restrict__", "__restrict",
                         "__forceinline__", "__inline__", "__noinline__", "__launch_bounds__", "__syncthreads", "__syncwarp",
                         "__shfl_sync", "__shfl_up_sync", "__shfl_down_sync", "__shfl_xor_sync", "__ballot_sync", "__align__",
                         "__any_sync", "__all_sync", "__activemask", "__syncthreads_count", "__syncthreads_and",
                         "__syncthreads_or", "__expf", "__logf", "__sinf", "__cosf", "__powf", "__fdividef"};

bool is_intrinsic(std::string_view name) { return name.starts_with("__") && !kKeywords.contains(name); }

bool is_directed(std::string_view name) {
  if (!name.starts_with("__") || !(name.ends_with("_rz") || name.ends_with("_ru") || name.ends_with("_rd"))) return false;
  return !holds(name, {"float2", "double2int", "double2uint", "double2ll", "double2ull"});
}

bool is_special(std::string_view name) {
  static const Names exact = {"j0", "j1", "y0", "y1", "jn", "yn", "j0f", "j1f", "y0f", "y1f", "jnf", "ynf", "nan", "nanf",
                              "ilogb", "ilogbf", "logb", "logbf", "remquo", "remquof", "norm", "normf"};
  return exact.contains(name) || holds(name, {"erfinv", "erfcinv", "erfcx", "normcdf", "sinpi", "cospi", "cyl_bessel", "rcbrt",
                                              "rhypot", "rnorm", "norm3d", "norm4d"});
}

bool is_half(std::string_view name) {
  return holds(name, {"__half", "half2", "__nv_bfloat16", "nv_bfloat16", "float2bfloat", "__nv_half", "nv_half"}) &&
         !name.starts_with("__half_warp");
}

/// "texture<", and no texture of the source's own.
bool has_reference(const std::string& source, const std::string& name) {
  return source.find(name + "<") != std::string::npos && source.find("struct " + name) == std::string::npos && source.find("class " + name) == std::string::npos;
}

bool wants(const std::string& source, std::string_view part) {
  const Names names = names_in(source);
  if (part == "cuda_half.h") return any(names, is_half);  // user's headers include what they need of these two
  if (part == "cuda_std.h") return names.contains("std");
  if (part == "cuda_texture_references.h") return has_reference(source, "texture") || has_reference(source, "surface");
  if (is_open(source)) return true;
  if (part == "elementwise.h") return names.contains("damo");
  if (part == "cuda_special.h") return any(names, is_special);
  if (part == "cuda_rounding.h") return any(names, is_directed);
  if (part == "cuda_simd.h") return any(names, [](auto name) { return name.starts_with("__v") || name.starts_with("__dp"); });
  if (part == "cuda_atomics.h") return any(names, [](auto name) { return holds(name, {"atomic", "__threadfence"}); });
  if (part == "cuda_unsupported.h") return shares_words(names, part) || any(names, [](auto name) { return holds(name, {"tex", "surf"}); });
  const bool intrinsics = any(names, is_intrinsic) || shares_words(names, "cuda_intrinsics.h");
  if (part == "cuda_intrinsics.h" || intrinsics) return intrinsics;
  // The functions, also for the parts and headers that call them.
  return shares_words(names, part) || any(names, is_special) || any(names, is_half) || names.contains("std") ||
         source.find("#include") != std::string::npos;
}

/// The math_*.h files of families of which the source names no function.
std::vector<std::string_view> unwanted_math(const std::string& source, bool cuda) {
  const Names names = names_in(source);
  std::vector<std::string_view> files;
  for (const Family& family : kFamilies) {
    const bool wanted = cuda ? is_open(source) || any(names, [&](auto name) { return holds(name, family.cuda_words); }) ||
                                   any(names, is_half) || source.find("#include") != std::string::npos
                             : std::any_of(family.files.begin(), family.files.end(), [&](const char* file) { return uses(names, file); });
    if (!wanted) files.insert(files.end(), family.files.begin(), family.files.end());
  }
  return files;
}

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
  return include("core.h") + math_includes(source, false) + include("convert.h") + include("float8.h") + include("elementwise.h") + include("ordinals.h") + include("random.h") + include("strips.h");
}

/// core.h, math_*.h and elementwise.h are written as plain C++: in CUDA C the pragma makes them device functions.
std::string cuda_header(const std::string* source) {
  std::string text = "#pragma clang force_cuda_host_device begin\n" + include("core.h");
  const bool functions = !source || wants(*source, "cuda_math.h");
  if (functions) text += math_includes(source, true);
  if (!source || wants(*source, "elementwise.h")) text += include("convert.h") + include("float8.h") + include("elementwise.h") + include("ordinals.h") + include("random.h");
  text += "#pragma clang force_cuda_host_device end\n" + include("cuda_c.h");
  for (const char* part : kBaseParts) {
    if (!source || wants(*source, part)) text += include(part);
  }
  return text;
}

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
