#include "runtime/kernel/given_names.hpp"

#include <algorithm>
#include <cctype>
#include <iterator>

namespace damo {
namespace {

constexpr std::string_view kWordsOfCpp[] = {
    "alignas", "alignof", "and", "and_eq", "asm", "auto", "bitand", "bitor", "bool", "break", "case", "catch", "char", "char16_t", "char32_t", "char8_t", "class", "co_await", "co_return",
    "co_yield", "compl", "concept", "const", "const_cast", "consteval", "constexpr", "constinit", "continue", "decltype", "default", "delete", "do", "double", "dynamic_cast", "else", "enum",
    "explicit", "export", "extern", "false", "float", "for", "friend", "goto", "if", "inline", "int", "long", "mutable", "namespace", "new", "noexcept", "not", "not_eq", "nullptr", "operator",
    "or", "or_eq", "private", "protected", "public", "register", "reinterpret_cast", "requires", "return", "short", "signed", "sizeof", "static", "static_assert", "static_cast", "struct",
    "switch", "template", "this", "thread_local", "throw", "true", "try", "typedef", "typeid", "typename", "union", "unsigned", "using", "virtual", "void", "volatile", "wchar_t", "while", "xor",
    "xor_eq"};
static_assert(std::is_sorted(std::begin(kWordsOfCpp), std::end(kWordsOfCpp)));

constexpr std::string_view kMacros[] = {"CHAR_BIT", "HUGE_VAL", "HUGE_VALF", "INFINITY", "INT64_C", "NAN", "NULL", "UINT32_C", "UINT64_C", "assert", "offsetof"};
constexpr std::string_view kFamiliesOfMacros[] = {"CUDART", "CUDA_", "DBL_", "FLT_", "M_"};  // CUDART_PI, FLT_MAX, M_SQRT2
constexpr std::string_view kCudaVariables[] = {"blockDim", "blockIdx", "gridDim", "threadIdx", "warpSize"};

bool is_macro(std::string_view name) {
  const auto begins = [&](std::string_view family) { return name.starts_with(family); };
  return std::ranges::find(kMacros, name) != std::end(kMacros) || std::ranges::any_of(kFamiliesOfMacros, begins) || name.ends_with("_MAX") || name.ends_with("_MIN");
}

bool may_stand_in_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

}  // namespace

bool is_identifier(std::string_view name) { return !name.empty() && !std::isdigit(static_cast<unsigned char>(name.front())) && std::ranges::all_of(name, may_stand_in_name); }

std::string why_no_name(std::string_view name) {
  if (!is_identifier(name)) return "no name: letters, digits and _, and no digit first";
  if (std::ranges::binary_search(kWordsOfCpp, name)) return "a word of C++";
  if (std::ranges::find(kCudaVariables, name) != std::end(kCudaVariables)) return "a variable of CUDA C";
  if (is_macro(name)) return "a macro of CUDA C";
  if (name.starts_with("damo_") || name.starts_with("DAMO_")) return "one of Damo's names, as all that begin with damo_";
  const bool has_capital = name.size() > 1 && name[0] == '_' && std::isupper(static_cast<unsigned char>(name[1]));
  if (has_capital || name.find("__") != std::string_view::npos) return "one of the compiler's names, as all with __ or with _ and a capital at their beginning";
  return {};
}

std::string as_identifier(std::string name) {
  std::ranges::replace_if(name, [](char c) { return !may_stand_in_name(c); }, '_');
  return name;
}

std::string kernel_name(std::string_view given) { return "damo_" + as_identifier(std::string(given.substr(0, 80))); }

}  // namespace damo
