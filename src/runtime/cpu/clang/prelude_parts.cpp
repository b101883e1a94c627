#include "prelude_parts.hpp"

#include <algorithm>
#include <cctype>
#include <cstring>
#include <initializer_list>
#include <set>

#include "prelude.hpp"

namespace damo::clang_plugin {
namespace {

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

}  // namespace

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

}  // namespace damo::clang_plugin
