// What the texts quote is what the examples are.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

namespace {

std::string text_of(const std::string& file) {
  std::ifstream in(std::string(DAMO_SOURCE_DIR) + "/" + file);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

TEST(Readme, QuotesTheFirstExampleWordForWord) {
  const std::string readme = text_of("README.md"), begin = "```cpp\n";
  const std::size_t from = readme.find(begin);
  ASSERT_NE(from, std::string::npos);
  const std::size_t first = from + begin.size();
  EXPECT_EQ(readme.substr(first, readme.find("```", first) - first), text_of("examples/01_first_graph.cpp"));
}

TEST(UserGuide, HasARowForEachEnvironmentVariable) {
  const std::string guide = text_of("docs/user_guide.md");
  for (const char* name : {"DAMO_DEVICE", "DAMO_LOG", "DAMO_CACHE_DIR", "DAMO_CACHE_LIMIT", "DAMO_DUMP", "DAMO_DISABLE",
                           "DAMO_NUM_THREADS", "DAMO_NVRTC_PATH", "DAMO_PLUGIN_DIR", "DAMO_POISON",
                           "DAMO_CUDA_SCHEDULE", "DAMO_CUDA_TILE"}) {
    EXPECT_NE(guide.find("| `" + std::string(name) + "` |"), std::string::npos) << name;
  }
}

}  // namespace
