#include "ops/raw_parameter.hpp"

#include <cctype>
#include <utility>
#include <vector>

#include <damo/error.hpp>

#include "runtime/kernel/given_names.hpp"

namespace damo {
namespace {

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

/// Words and single signs.
std::vector<std::string> tokens_of(std::string_view text) {
  std::vector<std::string> tokens;
  for (std::size_t at = 0; at < text.size();) {
    if (std::isspace(static_cast<unsigned char>(text[at]))) {
      ++at;
      continue;
    }
    std::size_t end = at + 1;
    if (is_word(text[at])) {
      while (end < text.size() && is_word(text[end])) ++end;
    }
    tokens.emplace_back(text.substr(at, end - at));
    at = end;
  }
  return tokens;
}

/// The words of a type, in the order in which C's programmers write them.
const DType* dtype_of_words(const std::string& words) {
  static const std::pair<const char*, DType> kTypes[] = {{"bool", bool_},
                                                         {"float", float32},
                                                         {"double", float64},
                                                         {"half", float16},
                                                         {"__half", float16},
                                                         {"__nv_bfloat16", bfloat16},
                                                         {"nv_bfloat16", bfloat16},
                                                         {"__nv_fp8_e4m3", float8_e4m3},
                                                         {"__nv_fp8_e5m2", float8_e5m2},
                                                         {"char", int8},
                                                         {"signed char", int8},
                                                         {"int8_t", int8},
                                                         {"unsigned char", uint8},
                                                         {"uint8_t", uint8},
                                                         {"short", int16},
                                                         {"int16_t", int16},
                                                         {"unsigned short", uint16},
                                                         {"uint16_t", uint16},
                                                         {"int", int32},
                                                         {"int32_t", int32},
                                                         {"unsigned", uint32},
                                                         {"unsigned int", uint32},
                                                         {"uint32_t", uint32},
                                                         {"long", int64},
                                                         {"long long", int64},
                                                         {"int64_t", int64},
                                                         {"unsigned long", uint64},
                                                         {"unsigned long long", uint64},
                                                         {"uint64_t", uint64},
                                                         {"size_t", uint64}};
  for (const auto& [name, dtype] : kTypes) {
    if (words == name) return &dtype;
  }
  return nullptr;
}

[[noreturn]] void refuse(std::string_view declaration, const std::string& what) {
  throw GraphError("cannot read the declaration \"" + std::string(declaration) + "\": " + what,
                   "write it as C does: const float* x, double* y, int n; types: bool, char, short, int, long, their "
                   "unsigned forms, int8_t to uint64_t, half, __nv_bfloat16, __nv_fp8_e4m3, __nv_fp8_e5m2, float, double");
}

}  // namespace

RawParameter parse_parameter(std::string_view text) {
  std::vector<std::string> tokens = tokens_of(text);
  RawParameter parameter;
  if (!tokens.empty() && tokens.front() == "strided") {
    parameter.is_strided = true;
    tokens.erase(tokens.begin());
  }
  for (const std::string& token : tokens) parameter.declaration += (parameter.declaration.empty() ? "" : " ") + token;
  if (tokens.size() < 2 || !is_word(tokens.back().front()) ||
      std::isdigit(static_cast<unsigned char>(tokens.back().front()))) {
    refuse(text, "it has no name");
  }
  parameter.name = tokens.back();
  tokens.pop_back();
  if (dtype_of_words(parameter.name)) refuse(text, "it has no name");

  std::string words;
  for (const std::string& token : tokens) {
    if (token == "*") {
      if (parameter.is_pointer) refuse(text, "a pointer to a pointer");
      parameter.is_pointer = true;
    } else if (token == "const") {
      if (!parameter.is_pointer) parameter.is_const = true;
    } else if (token != "__restrict__" && token != "__restrict") {
      words += (words.empty() ? "" : " ") + token;
    }
  }
  const DType* dtype = dtype_of_words(words);
  if (!dtype) refuse(text, "\"" + words + "\" is no type of an array's elements");
  parameter.dtype = *dtype;
  return parameter;
}

void require_parameter_name(const std::string& name) {
  if (const std::string why = why_no_name(name); !why.empty()) throw GraphError("a parameter is called " + name + ", which is " + why, "give it another name");
}

std::string in_kernel(const std::string& kernel, SourceLine where) { return "in " + kernel + (where ? " at " + to_string(where) : ""); }

}  // namespace damo
