#include <damo/parameter_type.hpp>

#include <algorithm>
#include <cctype>
#include <utility>

namespace damo {
namespace {

constexpr std::pair<std::string_view, DType> kNumbers[] = {
    {"float", float32}, {"double", float64}, {"bool", bool_}, {"__nv_bool", bool_}, {"char", int8}, {"signed char", int8},
    {"unsigned char", uint8}, {"short", int16}, {"unsigned short", uint16}, {"int", int32}, {"unsigned int", uint32},
    {"unsigned", uint32}, {"long", int64}, {"unsigned long", uint64}, {"long long", int64}, {"unsigned long long", uint64},
    {"damo::half", float16}, {"half", float16}, {"__half", float16}, {"_Float16", float16},
    {"damo::bfloat16", bfloat16}, {"__nv_bfloat16", bfloat16}, {"__bf16", bfloat16},
    {"__nv_fp8_e4m3", float8_e4m3}, {"__nv_fp8_e5m2", float8_e5m2}};

/// CUDA's vector types, without the number of lanes.
constexpr std::pair<std::string_view, DType> kVectors[] = {
    {"float", float32}, {"double", float64}, {"char", int8}, {"uchar", uint8}, {"short", int16}, {"ushort", uint16},
    {"int", int32}, {"uint", uint32}, {"long", int64}, {"ulong", uint64}, {"longlong", int64}, {"ulonglong", uint64},
    {"__half", float16}, {"__nv_bfloat16", bfloat16}};

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front()))) text.remove_prefix(1);
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back()))) text.remove_suffix(1);
  return text;
}

bool drop_front(std::string_view& text, std::string_view word) {
  if (!text.starts_with(word) || text.size() == word.size() || text[word.size()] != ' ') return false;
  text = trimmed(text.substr(word.size()));
  return true;
}

bool drop_back(std::string_view& text, std::string_view word) {
  if (!text.ends_with(word) || text.size() == word.size()) return false;
  const char before = text[text.size() - word.size() - 1];
  if (before != ' ' && before != '*' && before != '>') return false;
  text = trimmed(text.substr(0, text.size() - word.size()));
  return true;
}

/// Takes const, volatile and restrict off the end: whether const was there.
bool drop_qualifiers_behind(std::string_view& text) {
  bool is_const = false;
  for (bool again = true; again;) {
    const bool found = drop_back(text, "const");
    is_const |= found;
    again = found || drop_back(text, "volatile") || drop_back(text, "__restrict") || drop_back(text, "__restrict__");
  }
  return is_const;
}

/// The same on either side. Not for a pointer, in front of which the pointee's stand.
bool drop_qualifiers(std::string_view& text) {
  bool is_const = drop_qualifiers_behind(text);
  for (bool again = true; again;) {
    const bool found = drop_front(text, "const");
    is_const |= found;
    again = found || drop_front(text, "volatile");
  }
  return is_const;
}

ElementType element_named(std::string_view name) {
  if (name == "void" || name == "char" || name == "unsigned char") return {};
  for (const auto& [text, dtype] : kNumbers) {
    if (text == name) return ElementType::of(dtype);
  }
  for (const auto& [text, dtype] : kVectors) {
    if (name.size() != text.size() + 1 || !name.starts_with(text) || name.back() < '1' || name.back() > '4') continue;
    return {ElementType::Kind::kNumber, dtype, name.back() - '0'};
  }
  if (name.starts_with("__nv_bfloat162")) return {ElementType::Kind::kNumber, bfloat16, 2};
  return {ElementType::Kind::kOther};
}

/// "damo::Strided<const float, 2>".
bool read_strided(std::string_view name, ParameterType& type) {
  constexpr std::string_view kBegin = "damo::Strided<";
  if (!name.starts_with(kBegin) || !name.ends_with('>')) return false;
  const std::vector<std::string> parts = split_parameters(name.substr(kBegin.size(), name.size() - kBegin.size() - 1));
  if (parts.size() != 2 || parts[1].empty() || !std::isdigit(static_cast<unsigned char>(parts[1][0]))) return false;
  std::string_view element = parts[0];
  type.is_const = drop_qualifiers(element);
  type.element = element_named(element);
  if (element == "char" || element == "unsigned char") type.element = ElementType::of(element == "char" ? int8 : uint8);
  type.rank = parts[1][0] - '0';
  type.kind = ParameterType::Kind::kStrided;
  if (type.bytes == 0) type.bytes = 8 + 16 * static_cast<std::size_t>(type.rank);
  return true;
}

}  // namespace

std::vector<std::string> split_parameters(std::string_view text) {
  std::vector<std::string> parts;
  text = trimmed(text);
  if (text.empty() || text == "void") return parts;
  int depth = 0;
  std::size_t begin = 0;
  for (std::size_t at = 0; at <= text.size(); ++at) {
    const char c = at < text.size() ? text[at] : ',';
    if (c == '<' || c == '(' || c == '[') ++depth;
    if (c == '>' || c == ')' || c == ']') --depth;
    if (c != ',' || (depth > 0 && at < text.size())) continue;
    parts.emplace_back(trimmed(text.substr(begin, at - begin)));
    begin = at + 1;
  }
  return parts;
}

ParameterType ParameterType::of_bytes(std::size_t bytes) {
  ParameterType type;
  type.bytes = bytes;
  return type;
}

ParameterType ParameterType::parse(std::string_view text, std::size_t bytes) {
  ParameterType type = of_bytes(bytes);
  type.text = std::string(trimmed(text));
  std::string_view rest = type.text;
  drop_qualifiers_behind(rest);
  if (rest.ends_with('*') || rest.ends_with('&')) {  // a reference is passed as the address of what it refers to
    rest = trimmed(rest.substr(0, rest.size() - 1));
    type.kind = Kind::kPointer;
    type.is_const = drop_qualifiers(rest);
    type.element = element_named(rest);
    type.bytes = sizeof(void*);
    return type;
  }
  drop_qualifiers(rest);
  if (read_strided(rest, type)) return type;
  for (const auto& [name, dtype] : kNumbers) {
    if (name != rest) continue;
    type.kind = Kind::kNumber;
    type.element = ElementType::of(dtype);
    type.bytes = itemsize(dtype);
    return type;
  }
  type.kind = Kind::kOther;
  type.element = {ElementType::Kind::kOther};
  return type;
}

}  // namespace damo
