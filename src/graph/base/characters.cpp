#include "graph/base/characters.hpp"

namespace damo {

std::size_t character_bytes(std::string_view text) {
  if (text.empty()) return 0;
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t bytes = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < bytes) return 0;
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  const bool is_overlong = (first == 0xE0 && byte(1) < 0xA0) || (first == 0xF0 && byte(1) < 0x90);
  const bool is_none = (first == 0xED && byte(1) > 0x9F) || (first == 0xF4 && byte(1) > 0x8F) || (first == 0xEF && byte(1) == 0xBF && byte(2) >= 0xBE);
  return is_overlong || is_none ? 0 : bytes;
}

std::string printable(std::string_view text, std::size_t most_bytes) {
  std::string shown;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t bytes = character_bytes(text.substr(at));
    if (at + (bytes == 0 ? 1 : bytes) > most_bytes) return shown + "...";
    const auto first = static_cast<unsigned char>(text[at]);
    const bool is_control = bytes == 1 ? first < 0x20 || first == 0x7F : bytes == 2 && first == 0xC2 && static_cast<unsigned char>(text[at + 1]) < 0xA0;
    if (bytes > 0 && !is_control) {
      shown += text.substr(at, bytes);
      at += bytes;
      continue;
    }
    for (const std::size_t end = at + (bytes == 0 ? 1 : bytes); at < end; ++at) {
      constexpr std::string_view kDigits = "0123456789abcdef";
      const auto byte = static_cast<unsigned char>(text[at]);
      shown += {'\\', 'x', kDigits[byte >> 4], kDigits[byte & 15]};
    }
  }
  return shown;
}

}  // namespace damo
