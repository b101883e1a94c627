#include "graph/base/characters.hpp"

#include <gtest/gtest.h>

namespace damo {
namespace {

TEST(Characters, AreTheOnesThatUtf8Has) {
  const std::pair<std::string_view, std::size_t> cases[] = {{"", 0}, {"ab", 1}, {"\xC3\xA9x", 2}, {"\xE2\x82\xAC", 3}, {"\xF0\x9F\x98\x80", 4}, {"\xF4\x8F\xBF\xBD", 4},
                                                            {"\x80", 0}, {"\xC3", 0}, {"\xC3x", 0}, {"\xC0\x80", 0}, {"\xC1\xBF", 0}, {"\xE0\x9F\xBF", 0}, {"\xF0\x8F\xBF\xBF", 0},
                                                            {"\xED\xA0\x80", 0}, {"\xEF\xBF\xBE", 0}, {"\xEF\xBF\xBD", 3}, {"\xF4\x90\x80\x80", 0}, {"\xF5\x80\x80\x80", 0}, {"\xFF", 0}};
  for (const auto& [text, bytes] : cases) EXPECT_EQ(character_bytes(text), bytes) << printable(text);
}

TEST(Characters, ThatATerminalObeysAreShownAsBytes) {
  EXPECT_EQ(printable("layer/w \xC3\xA9 \xE2\x82\xAC \\ '\""), "layer/w \xC3\xA9 \xE2\x82\xAC \\ '\"");
  EXPECT_EQ(printable(std::string_view("\x1b[31m\0\n\t\x7f", 9)), "\\x1b[31m\\x00\\x0a\\x09\\x7f");
  EXPECT_EQ(printable("a\xFF" "b\xC3"), "a\\xffb\\xc3");
  EXPECT_EQ(printable("\xC2\x9B" "31m \xC2\xA0"), "\\xc2\\x9b31m \xC2\xA0") << "C1 controls; a space that keeps words together is none";
  EXPECT_EQ(printable(printable("\x1b")), printable("\x1b"));
}

TEST(Characters, OfALongTextTheFirstAreShown) {
  EXPECT_EQ(printable("abcdef", 6), "abcdef");
  EXPECT_EQ(printable("abcdef", 5), "abcde...");
  EXPECT_EQ(printable("abc\xC3\xA9", 4), "abc...") << "no character is cut";
  EXPECT_EQ(printable("abc\xFF\xFF", 4), "abc\\xff...");
}

}  // namespace
}  // namespace damo
