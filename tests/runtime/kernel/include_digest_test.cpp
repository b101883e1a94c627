#include "runtime/kernel/include_digest.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "support/scratch_directory.hpp"

namespace damo {
namespace {

class IncludeDigest : public ::testing::Test {
 protected:
  void write(const std::string& name, const std::string& text) {
    const auto path = std::filesystem::path(scratch_.path()) / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  std::string digest(const std::string& source) { return include_digest(source, {scratch_.path()}); }
  damo::testing::ScratchDirectory scratch_;
};

TEST_F(IncludeDigest, IsEmptyWhereNothingOfTheCallersIsIncluded) {
  EXPECT_EQ(digest("#include <cuda_fp16.h>\nint x;"), "");
  EXPECT_EQ(include_digest("#include \"a.h\"", {}), "");
}

TEST_F(IncludeDigest, ChangesWithAHeaderAndWithWhatThatIncludes) {
  write("a.h", "#include \"deep/b.h\"\n");
  write("deep/b.h", "  #  include \"c.h\"\nint b = 1;\n");
  write("deep/c.h", "int c = 1;\n");
  const std::string first = digest("#include \"a.h\"");
  EXPECT_EQ(first.size(), 64u);
  EXPECT_EQ(digest("#include <a.h>"), first);
  write("deep/c.h", "int c = 2;\n");
  EXPECT_NE(digest("#include \"a.h\""), first);
}

TEST_F(IncludeDigest, EndsForHeadersThatIncludeEachOther) {
  write("a.h", "#include \"b.h\"\n");
  write("b.h", "#include \"a.h\"\n");
  EXPECT_EQ(digest("#include \"a.h\"").size(), 64u);
}

}  // namespace
}  // namespace damo
