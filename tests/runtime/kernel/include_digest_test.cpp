#include "runtime/kernel/include_digest.hpp"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "support/scratch_directory.hpp"

namespace damo {
namespace {

constexpr const char* kUnknown = "can't be told";

class IncludeDigest : public ::testing::Test {
 protected:
  void write(const std::string& name, const std::string& text) {
    const auto path = std::filesystem::path(scratch_.path()) / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  static std::string digest(const std::string& source, std::vector<std::string> directories, std::vector<std::string> flags = {}) {
    CompileRequest request;
    request.source = source;
    request.kind = SourceKind::kCudaC;
    request.flags = std::move(flags);
    request.options.include_directories = std::move(directories);
    return include_digest(request).value_or(kUnknown);
  }
  std::string digest(const std::string& source) { return digest(source, {scratch_.path()}); }
  /// Whether the digest looks at name, which is written twice.
  void expect_follows(const std::string& name, const std::string& source, const std::vector<std::string>& flags) {
    write(name, "int x = 1;\n");
    const std::string first = digest(source, {}, flags);
    write(name, "int x = 2;\n");
    EXPECT_NE(digest(source, {}, flags), first) << (flags.empty() ? source : flags.front());
    EXPECT_EQ(first.size(), 64u) << (flags.empty() ? source : flags.front());
  }
  damo::testing::ScratchDirectory scratch_;
};

TEST_F(IncludeDigest, IsEmptyWhereNothingOfTheCallersIsIncluded) {
  EXPECT_EQ(digest("#include <cuda_fp16.h>\nint x;"), "");
  EXPECT_EQ(digest("#include \"a.h\"", {}), "");
  CompileRequest generated;
  write("a.h", "");
  generated.source = "#include \"" + scratch_ / "a.h" + "\"";
  EXPECT_EQ(include_digest(generated), std::string());
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

TEST_F(IncludeDigest, FollowsLinksToWhereTheyLead) {
  write("a.h", "int a;\n");
  write("other/deep/b.h", "");
  std::filesystem::create_directory_symlink(scratch_ / "other/deep", scratch_ / "link");
  expect_follows("other/a.h", "#include \"a.h\"\n#include \"link/../a.h\"", {"-I" + scratch_.path()});  // the second is other/a.h
}

TEST_F(IncludeDigest, FollowsDirectoriesAndFilesThatFlagsName) {
  const std::string directory = scratch_.path(), file = scratch_ / "a.h";
  for (const std::string flag : {"-I", "-isystem", "-iquote", "-idirafter", "--include-path", "-internal-isystem"}) {
    expect_follows("a.h", "#include \"a.h\"", {flag, directory});
  }
  for (const std::string flag : {"-I", "--include-path=", "-I=", "-isystem"}) expect_follows("a.h", "#include \"a.h\"", {flag + directory});
  for (const std::string flag : {"-include", "--pre-include", "-imacros"}) expect_follows("a.h", "int x;", {flag, file});
  expect_follows("a.h", "int x;", {"--pre-include=" + file});
  expect_follows("a.h", "int x;", {"-include", "a.h", "-I", directory});
}

TEST_F(IncludeDigest, FollowsAbsolutePaths) {
  expect_follows("a.h", "#include \"" + scratch_ / "a.h" + "\"", {});
  expect_follows("a.h", "#include <" + scratch_ / "a.h" + ">", {});
}

TEST_F(IncludeDigest, FollowsEveryWayToWriteAnInclude) {
  const std::vector<std::string> flags = {"-I" + scratch_.path()};
  for (const char* text : {"#/* why */include/**/\"a.h\"", "#inc\\\nlude \"a.h\"", "%:include \"a.h\"", "#include_next <a.h>", "#import \"a.h\"",
                           "#define HEADER \"a.h\"\n#include HEADER", "#define HEADER <a.h>\n#include HEADER", "\xEF\xBB\xBF#include \"a.h\"",
                           "int x;\r#include \"a.h\"\rint y;", "/* a comment\n */ #include \"a.h\"", "# /*\n*/ include /*\n*/ \"a.h\"", "#inc\\ \nlude \"a.h\"",
                           "?\?=include \"a.h\"", "const char* quote = R\"(\n/* )\";\n#include \"a.h\"\n", "#embed \"a.h\""}) {
    expect_follows("a.h", text, flags);
  }
  expect_follows("a.h", "#include HEADER", {"-I" + scratch_.path(), "-DHEADER=\"a.h\""});
}

TEST_F(IncludeDigest, ChangesWhereAFileComesBeforeAnother) {
  write("second/a.h", "int x = 2;\n");
  const std::vector<std::string> both = {scratch_ / "first", scratch_ / "second"};
  const std::string before = digest("#include \"a.h\"", both);
  write("first/a.h", "int x = 1;\n");
  EXPECT_NE(digest("#include \"a.h\"", both), before);
}

TEST_F(IncludeDigest, FollowsMacrosFromFileToFile) {
  const std::vector<std::string> flags = {"-I" + scratch_.path()};
  write("sub/which.h", "#include HEADER\n");
  expect_follows("sub/b.h", "#define HEADER \"b.h\"\n#include \"sub/which.h\"", flags);
  expect_follows("sub/b.h", "#include \"sub/which.h\"", {"-DHEADER=\"b.h\"", "-I" + scratch_.path()});
  expect_follows("c.h", "#if 0\n#define HEADER <sub/b.h>\n#else\n#define HEADER <c.h>\n#endif\n#include \"sub/which.h\"", flags);
}

TEST_F(IncludeDigest, ChangesWhereAFileAppearsThatIsAskedFor) {
  const char* const source = "#if defined(__has_include) && __has_include(\"a.h\")\nint x;\n#endif";
  EXPECT_EQ(digest(source), "");
  write("a.h", "");
  EXPECT_EQ(digest(source).size(), 64u);
}

TEST_F(IncludeDigest, IsUnknownWhereOnlyAPreprocessorCanTell) {
  for (const char* source : {"#define TEXT(x) #x\n#include TEXT(a.h)", "#define HEADER() \"a.h\"\n#include HEADER()", "#define ONE TWO\n#define TWO \"a.h\"\n#include ONE",
                             "#include NOWHERE", "#define HAS(x) __has_include(x)\n#if HAS(<a.h>)\n#endif", "/* a comment\n */ #include ANY(a)"}) {
    EXPECT_EQ(digest(source), kUnknown) << source;
  }
  for (const char* source : {"#define HAS __has_include\n#if HAS(<a.h>)\n#endif", "#define JOIN(a, b) a##b\n#if JOIN(__has_, include)(<a.h>)\n#endif",
                             "#define CALL(f, x) f(x)\n#if CALL(__has_include, <a.h>)\n#endif", "%:define HAS __has_\\\ninclude\nint x;", "#define HAS __has_include_next"}) {
    EXPECT_EQ(digest(source), kUnknown) << source;
  }
  EXPECT_EQ(digest("int x;", {}, {"-DHAS=__has_include"}), kUnknown);
  EXPECT_EQ(digest("#ifdef __has_include // __has_include\n#endif // __has_include\n#define HAS (defined( __has_include) && defined __has_embed)\n#if HAS\n#endif\nint __has_include_x;"), "");
  EXPECT_EQ(digest("#include HEADER", {}, {"-DHEADER=a.h"}), kUnknown);
  for (const std::string flag : {"-isysroot", "-iprefix", "-ivfsoverlay", "-c-isystem", "--use-pch=a.pch"}) EXPECT_EQ(digest("int x;", {}, {flag, "a"}), kUnknown) << flag;
  EXPECT_EQ(digest("// #include what it needs\n#define TILE 16\n#if 1 /* % _ */\n#endif\nint x = 7 % 3;", {}, {"-DTILE=4", "-DEMPTY", "-fno-inline"}), "");
}

}  // namespace
}  // namespace damo
