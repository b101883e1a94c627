// Characters of texts that users and files give, which may hold any bytes: what is UTF-8, and what an error message shows of the rest.
// See tests/graph/base/characters_test.cpp.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace damo {

/// U+FFFD, which stands in texts for what is no character.
inline constexpr std::string_view kNoCharacter = "\xEF\xBF\xBD";

/// How many bytes the character takes that a text in UTF-8 begins with; 0: it begins with none that a page or a picture may hold.
std::size_t character_bytes(std::string_view text);

/// As a message may show it on a terminal, in one line: control characters and bytes that are no UTF-8 as "\x1b". Of more than most_bytes the
/// first characters and "...".
std::string printable(std::string_view text, std::size_t most_bytes = std::string_view::npos);

}  // namespace damo
