#include "prelude.hpp"

#include <algorithm>
#include <cctype>
#include <cstring>
#include <initializer_list>
#include <set>
#include <string_view>

namespace damo::clang_plugin {
namespace {

bool in_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

std::set<std::string_view> names_in(std::string_view text) {
  std::set<std::string_view> names;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = at;
    while (end < text.size() && in_name(text[end])) ++end;
    if (end > at) names.insert(text.substr(at, end - at));
    at = end + 1;
  }
  return names;
}

std::string_view text_of(const char* name) {
  for (const PreludeFile* file = prelude_files; file->name; ++file) {
    if (std::strcmp(file->name, name) == 0) return file->text;
  }
  return {};
}

/// Whether the source names a function that the file defines ("DAMO_MATH type name(").
bool uses(const std::set<std::string_view>& names, const char* file) {
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
constexpr std::initializer_list<const char*> kFamilies[] = {
    {"math_float_trig.h", "math_double_trig.h"}, {"math_float_wide.h", "math_double_power.h", "math_special.h"}};

/// The files of families of which the source names no function.
std::set<std::string_view> unwanted(const std::string& source) {
  const std::set<std::string_view> names = names_in(source);
  std::set<std::string_view> files;
  for (const auto& family : kFamilies) {
    const bool wanted = std::any_of(family.begin(), family.end(), [&](const char* file) { return uses(names, file); });
    if (!wanted) files.insert(family.begin(), family.end());
  }
  return files;
}

std::string math_includes(const std::string* source) {
  const std::set<std::string_view> left_out = source ? unwanted(*source) : std::set<std::string_view>();
  std::string text;
  for (const PreludeFile* file = prelude_files; file->name; ++file) {
    const bool is_math = std::strncmp(file->name, "math_", 5) == 0;
    if (is_math && !left_out.contains(file->name)) text += std::string("#include \"") + file->name + "\"\n";
  }
  return text;
}

}  // namespace

std::string umbrella_header(bool cuda, const std::string* source) {
  // core and math are written as plain C++: in CUDA C the pragma makes them device functions.
  std::string text = cuda ? "#pragma clang force_cuda_host_device begin\n" : "";
  text += "#include \"core.h\"\n" + math_includes(cuda ? nullptr : source) + "#include \"elementwise.h\"\n";
  text += cuda ? "" : "#include \"strips.h\"\n";
  if (cuda) text += "#pragma clang force_cuda_host_device end\n#include \"cuda_c.h\"\n";
  return text;
}

}  // namespace damo::clang_plugin
