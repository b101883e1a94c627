#include "arguments.hpp"

#include <cstring>
#include <stdexcept>

namespace damo::corpus {
namespace {

/// A value and its alignment.
struct Value {
  std::vector<std::byte> bytes;
  std::size_t alignment = 1;
};

template <class T>
Value value_of(T value) {
  Value result{std::vector<std::byte>(sizeof(T)), alignof(T)};
  std::memcpy(result.bytes.data(), &value, sizeof(T));
  return result;
}

/// Calls use with the number in the type that its spelling has in C.
template <class Use>
auto with_number(const std::string& text, Use use) {
  const bool hexadecimal = text.starts_with("0x");
  const bool floating = !hexadecimal && text.find_first_of(".e") != std::string::npos;
  if (floating) return text.back() == 'f' ? use(std::stof(text)) : use(std::stod(text));
  const std::string suffix = text.substr(std::min(text.size(), text.find_first_not_of("-0123456789abcdefABCDEFx")));
  if (suffix == "l" || suffix == "ll") return use(static_cast<std::int64_t>(std::stoll(text, nullptr, 0)));
  if (suffix == "ul" || suffix == "ull") return use(static_cast<std::uint64_t>(std::stoull(text, nullptr, 0)));
  if (suffix == "u") return use(static_cast<std::uint32_t>(std::stoul(text, nullptr, 0)));
  if (suffix.empty()) return use(static_cast<std::int32_t>(std::stol(text, nullptr, 0)));
  throw std::runtime_error("'" + text + "' is neither an array nor a number");
}

/// "x" or "x + 8".
Value address(const std::string& text, const DeviceArray& array) {
  const std::size_t plus = text.find('+');
  const std::size_t elements = plus == std::string::npos ? 0 : std::stoul(text.substr(plus + 1));
  return value_of(static_cast<void*>(static_cast<std::byte*>(array.bytes.data()) + elements * itemsize(array.dtype)));
}

Value read(const std::string& text, const DeviceArrays& arrays);

Value structure(const std::vector<std::string>& members, const DeviceArrays& arrays) {
  Value whole;
  for (const std::string& text : members) {
    const Value member = read(text, arrays);
    while (whole.bytes.size() % member.alignment != 0) whole.bytes.emplace_back();
    whole.bytes.insert(whole.bytes.end(), member.bytes.begin(), member.bytes.end());
    whole.alignment = std::max(whole.alignment, member.alignment);
  }
  while (whole.bytes.size() % whole.alignment != 0) whole.bytes.emplace_back();
  return whole;
}

Value read(const std::string& text, const DeviceArrays& arrays) {
  if (text.starts_with("{")) return structure(split(text.substr(1, text.size() - 2)), arrays);
  if (text == "null") return value_of(static_cast<void*>(nullptr));
  const std::string name = text.substr(0, text.find_first_of(" +"));
  const auto array = arrays.find(name);
  if (array != arrays.end()) return address(text, array->second);
  return with_number(text, [](auto value) { return value_of(value); });
}

template <std::size_t Bytes>
KernelArgument argument_of(const Value& value) {
  if constexpr (Bytes > 64) {
    throw std::runtime_error("an argument of more than 64 bytes");
  } else {
    if (value.bytes.size() != Bytes) return argument_of<Bytes + 1>(value);
    std::array<std::byte, Bytes> bytes;
    std::memcpy(bytes.data(), value.bytes.data(), Bytes);
    return KernelArgument(bytes);
  }
}

KernelArgument pointer(const Value& value) {
  void* address;
  std::memcpy(&address, value.bytes.data(), sizeof address);
  return KernelArgument(address);
}

}  // namespace

std::vector<KernelArgument> kernel_arguments(const std::vector<std::string>& texts, const DeviceArrays& arrays) {
  std::vector<KernelArgument> arguments;
  for (const std::string& text : texts) {
    const bool number = !text.starts_with("{") && !arrays.contains(text.substr(0, text.find_first_of(" +"))) && text != "null";
    if (number) arguments.push_back(with_number(text, [](auto value) { return KernelArgument(value); }));
    else if (text.starts_with("{")) arguments.push_back(argument_of<1>(read(text, arrays)));
    else arguments.push_back(pointer(read(text, arrays)));
  }
  return arguments;
}

}  // namespace damo::corpus
