// A text as numbers, for the pages that learn its next character.
#pragma once
#include <cstdint>
#include <damo/data_loader.hpp>
#include <span>
#include <string>
#include <vector>

namespace examples {

struct Text {
  std::string letters;              ///< the characters that there are, in their order
  std::vector<std::int64_t> codes;  ///< of each character of the text its place among the letters
  double entropy = 0;               ///< nats that a guess by the letters' counts alone would cost a character

  std::int64_t size() const { return static_cast<std::int64_t>(codes.size()); }
  /// Rows of `length` characters from these places on, and the characters that follow each: two arrays int64 (places, length).
  damo::Batch rows_at(std::span<const std::int64_t> places, std::int64_t length) const;
};

/// Of a file, or of Damo's own user guide if its name is empty. A missing file is a text without characters.
Text load_text(const std::string& file);

}  // namespace examples
