// What the texts quote is what the examples are.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>
#include <string>

namespace {

std::string project_text(const std::string& file) {
  std::ifstream in(DAMO_SOURCE_DIR "/" + file);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

TEST(Readme, QuotesTheFirstExampleWordForWord) {
  const std::string readme = project_text("README.md"), begin = "```cpp\n";
  const std::size_t from = readme.find(begin);
  ASSERT_NE(from, std::string::npos);
  const std::size_t first = from + begin.size();
  EXPECT_EQ(readme.substr(first, readme.find("```", first) - first), project_text("examples/01_first_graph.cpp"));
}

TEST(Readme, CommandsAreWholeSoThatTheyCanBeCopied) {
  const std::regex code("```[^`]*```|`[^`]*`"), option("(^|\\s)--[a-z]");
  int commands = 0;
  for (const char* page : {"README.md", "docs/performance.md"}) {
    const std::string text = project_text(page);
    for (std::sregex_iterator match(text.begin(), text.end(), code), end; match != end; ++match) {
      const std::string found = match->str();
      if (!std::regex_search(found, option)) continue;
      ++commands;
      EXPECT_EQ(found.find("..."), std::string::npos) << page << ": " << found;
    }
  }
  EXPECT_GE(commands, 40);
}

TEST(UserGuide, HasARowForEachEnvironmentVariable) {
  const std::string guide = project_text("docs/user_guide.md");
  const std::regex literal("\"(DAMO_[A-Z_]+)\"");
  int found = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(DAMO_SOURCE_DIR "/src")) {
    if (entry.path().extension() != ".cpp" || entry.path().filename() == "environment.cpp") continue;  // that one names what only tests read
    const std::string text = project_text(std::filesystem::relative(entry.path(), DAMO_SOURCE_DIR).string());
    for (std::sregex_iterator match(text.begin(), text.end(), literal), end; match != end; ++match, ++found) {
      EXPECT_NE(guide.find("| `" + (*match)[1].str() + "` |"), std::string::npos)
          << (*match)[1] << " in " << entry.path();
    }
  }
  EXPECT_GE(found, 12);
}

}  // namespace
