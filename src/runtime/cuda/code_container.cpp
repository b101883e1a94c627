#include "runtime/cuda/code_container.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <damo/error.hpp>

namespace damo::cuda_backend {
namespace {

constexpr char kMagic[8] = {'D', 'a', 'm', 'o', 'C', 'u', 'd', '2'};

void put(std::vector<std::byte>& bytes, const void* from, std::size_t count) {
  const auto* begin = static_cast<const std::byte*>(from);
  bytes.insert(bytes.end(), begin, begin + count);
}

void put_text(std::vector<std::byte>& bytes, const std::string& text) {
  const auto size = static_cast<std::uint32_t>(text.size());
  put(bytes, &size, sizeof size);
  put(bytes, text.data(), text.size());
}

class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : rest_(bytes) {}

  std::span<const std::byte> take(std::size_t count) {
    if (count > rest_.size())
      throw DeviceError("compiled CUDA code is damaged: it is cut short", "clear the kernel cache");
    const auto taken = rest_.first(count);
    rest_ = rest_.subspan(count);
    return taken;
  }
  std::uint32_t number() {
    std::uint32_t value;
    std::memcpy(&value, take(sizeof value).data(), sizeof value);
    return value;
  }
  std::string text() {
    const auto bytes = take(number());
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  std::span<const std::byte> rest() const { return rest_; }

 private:
  std::span<const std::byte> rest_;
};

}  // namespace

std::vector<std::byte> pack(const CodeContainer& container) {
  if (container.names.empty()) return container.code;
  std::vector<std::byte> bytes;
  put(bytes, kMagic, sizeof kMagic);
  const auto count = static_cast<std::uint32_t>(container.names.size());
  put(bytes, &count, sizeof count);
  for (const auto& [name, known] : container.names) {
    put_text(bytes, name);
    put_text(bytes, known.lowered);
    put_text(bytes, !known.is_kernel ? "variable" : known.parameters ? "typed" : "kernel");
    put_text(bytes, known.parameters.value_or(""));
  }
  put(bytes, container.code.data(), container.code.size());
  return bytes;
}

CodeContainer unpack(std::span<const std::byte> bytes) {
  CodeContainer container;
  Reader reader(bytes);
  if (bytes.size() >= sizeof kMagic && std::memcmp(bytes.data(), kMagic, sizeof kMagic) == 0) {
    reader.take(sizeof kMagic);
    for (std::uint32_t left = reader.number(); left > 0; --left) {
      CodeName& known = container.names[reader.text()];
      known.lowered = reader.text();
      const std::string kind = reader.text();
      std::string parameters = reader.text();
      known.is_kernel = kind != "variable";
      if (kind == "typed") known.parameters = std::move(parameters);
    }
  }
  // A copy, so that the code is aligned as the driver likes it wherever it stood before.
  container.code.assign(reader.rest().begin(), reader.rest().end());
  return container;
}

}  // namespace damo::cuda_backend
