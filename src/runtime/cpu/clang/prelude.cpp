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

struct Headers {
  const char* what;
  std::initializer_list<const char*> names;
};

/// what: the part of the prelude that has them; empty: everything is declared already. Those of C++ that have something for a kernel are there as "cuda/std/..." too.
const Headers kProvided[] = {
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
                    "thread", "stdexcept", "iterator"}},
    {"cuda_new.h", {"new"}},
    {"cuda_half.h", {"cuda_fp16.h", "cuda_fp16.hpp", "cuda_bf16.h", "cuda_bf16.hpp", "cublas.h", "cublas_v2.h", "cublasLt.h", "cudnn.h"}},
    {"cuda_float8.h", {"cuda_fp8.h", "cuda_fp8.hpp"}},
    {"cuda_complex.h", {"cuComplex.h"}},
    {"cuda_groups.h", {"cooperative_groups.h", "cooperative_groups/memcpy_async.h"}},
    {"cuda_groups_reduce.h", {"cooperative_groups/reduce.h", "cooperative_groups/scan.h"}},
    {"cuda_atomic.h", {"atomic", "cuda/atomic"}},
    {"cuda_pipeline.h", {"cuda_pipeline.h", "cuda_pipeline_primitives.h", "cuda_awbarrier.h", "cuda_awbarrier_primitives.h",
                         "cuda/pipeline", "cuda/barrier", "cuda/std/barrier"}},
    {"cuda_random.h", {"curand_kernel.h", "curand.h", "curand_philox4x32_x.h", "curand_uniform.h", "curand_normal.h"}},
};

/// What the names of headers begin with that the back end has nothing for, and what they are.
constexpr std::pair<std::string_view, const char*> kRefused[] = {
    {"mma.h", "wmma, the matrix units' interface,"}, {"crt/mma.h", "wmma, the matrix units' interface,"},
    {"cuda_fp6.h", "floating point of 6 and 4 bits"}, {"cuda_fp4.h", "floating point of 6 and 4 bits"},
    {"cub/", "CUB"}, {"thrust/", "Thrust"}, {"cuda/ptx", "inline PTX"},
    {"texture_", "texture and surface memory"}, {"surface_", "texture and surface memory"}, {"cuda_surface_types.h", "texture and surface memory"}};

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

/// Whether a row may name a function of float_names.h, which call those of all families.
bool wants_float_names(const std::string* source) { return !source || uses(names_in(*source), "float_names.h"); }

/// Files that are read together or not at all: a function is there for float and for double, or for neither, so that
/// what a call means never depends on which were left out. A math file in no family is always read.
struct Family {
  std::initializer_list<const char*> files;
  std::initializer_list<const char*> cuda_words;  ///< parts of CUDA's names that need it
};
const Family kFamilies[] = {
    {{"math_trig.h", "math_inverse_trig.h"}, {"sin", "cos", "tan", "normal"}},
    {{"math_float_wide.h", "math_double_power.h", "math_special.h"},
     {"pow", "hypot", "cbrt", "sinh", "cosh", "tanh", "exp10", "erf", "norm", "gamma"}}};

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
  if (part == "cuda_special.h") return any(names, is_special);
  if (part == "cuda_atomics.h") return any(names, [](auto name) { return holds(name, {"atomic", "__threadfence"}); });
  if (part == "cuda_unsupported.h") return any(names, [](auto name) { return holds(name, {"tex", "surf", "Tex", "Surf", "__is", "luster", "cudaLaunchD", "cudaGetP", "cudaDeviceS"}); });
  if (part == "cuda_rounding.h") return any(names, is_directed);
  if (part == "cuda_simd.h") return any(names, [](auto name) { return name.starts_with("__v") || name.starts_with("__dp"); });
  return part != "elementwise.h" || names.contains("damo");
}

/// Whether the source may name a function of the family.
bool wants(const Family& family, const std::string& source, bool cuda) {
  const Names names = names_in(source);
  if (!cuda) return std::any_of(family.files.begin(), family.files.end(), [&](const char* file) { return uses(names, file); });
  return is_open(source) || any(names, [&](auto name) { return holds(name, family.cuda_words); }) || any(names, is_half) || source.find("#include") != std::string::npos;
}

std::string include(std::string_view name) { return "#include \"" + std::string(name) + "\"\n"; }

/// The math files but those of families of which the source names no function.
std::string math_includes(const std::string* source, bool cuda) {
  std::string left_out, text;
  for (const Family& family : kFamilies) {
    for (const char* file : family.files) left_out += source && !wants(family, *source, cuda) ? include(file) : "";
  }
  for (const PreludeFile* file = prelude_files; file->name; ++file) {
    if (std::string_view(file->name).starts_with("math_") && left_out.find(include(file->name)) == std::string::npos) text += include(file->name);
  }
  return text;
}

}  // namespace

std::string umbrella_header(bool cuda, const std::string* source) {
  const bool has_float_names = !cuda && wants_float_names(source);
  std::string text = include("number_types.h") + include("core.h") + math_includes(has_float_names ? nullptr : source, cuda);
  if (has_float_names) text += include("float_names.h");
  if (!cuda || !source || wants(*source, "elementwise.h")) text += include("convert.h") + include("float8.h") + include("elementwise.h") + include("ordinals.h") + include("table.h") + include("random.h");
  if (!cuda) return text + include("strips.h");
  // So far it is written as plain C++: in CUDA C the pragma makes device functions of it.
  text = "#pragma clang force_cuda_host_device begin\n" + text + "#pragma clang force_cuda_host_device end\n" + include("cuda_c.h");
  for (const char* part : kBaseParts) text += !source || wants(*source, part) ? include(part) : "";
  return text;
}

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
  for (const Headers& provided : kProvided) {
    // By its whole path: "cuda_pipeline.h" is the name of a user's header and of a part.
    const std::string text = *provided.what ? include(std::string(kPreludeDirectory) + provided.what) : "\n";
    for (const std::string name : provided.names) {
      headers.emplace_back(name, text);
      if (*provided.what && name.find('/') == std::string::npos && !name.ends_with(".h")) headers.emplace_back("cuda/std/" + name, text);
    }
  }
  return headers;
}

std::string_view refused_header(std::string_view name) {
  const auto* const found = std::find_if(std::begin(kRefused), std::end(kRefused), [&](const auto& refused) { return name.starts_with(refused.first); });
  return found == std::end(kRefused) ? std::string_view() : found->second;
}

}  // namespace damo::clang_plugin
