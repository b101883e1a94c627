// The program around kernels, passed over.
#include "runtime/kernel/host_code.hpp"

#include <gtest/gtest.h>

#include <set>

#include <damo/error.hpp>

namespace damo {
namespace {

using Names = std::vector<std::string>;

CompileRequest request_of(const std::string& source) {
  CompileRequest request;
  request.source = source;
  request.kind = SourceKind::kCudaC;
  request.file_name = "user.cu";
  return request;
}

/// A compiler that finds an error in each line that has one of the words; keeps the last text.
struct Finder {
  Names wrong;
  std::string text;
  int calls = 0;
  std::set<std::string> own_types = {};
  CompiledCode operator()(const CompileRequest& request, const SourceEdits& edits) {
    text = request.source;
    ++calls;
    own_types = edits.own_types;
    std::string log, line;
    int number = 0;
    for (const char c : request.source + "\n") {
      if (c != '\n') {
        line += c;
        continue;
      }
      ++number;
      for (const std::string& word : wrong) {
        if (line.find(word) != std::string::npos) log += "user.cu:" + std::to_string(number) + ":1: error: '" + word + "' is unknown\n";
      }
      line.clear();
    }
    if (!log.empty()) throw CompileError("it does not compile", log, request.source);
    return {};
  }
};

TEST(HostCode, FindsDeclarationsAndWhatIsTheDevices) {
  const std::string source =
      "\xEF\xBB\xBF#include <x.h>\nnamespace a { inline namespace b {\n__device__ int f(int x) { if (x) { return 1; } return 2; }\n} }\n"
      "extern \"C\" {\nvoid host(int, float);\n}\nstruct Timer { int start; Timer() {} } timer;\n"
      "template <class T, int n = (1 > 0)> __global__ void k(T* x) {}\nint values[] = {1, 2}, more;\nint main() { k<<<1, 1>>>(0); }";
  const std::vector<Declaration> found = declarations(source);
  ASSERT_EQ(found.size(), 6u);
  const bool device[] = {true, false, false, true, false, false};
  const Names names[] = {{"f"}, {"host"}, {"Timer", "timer"}, {"k"}, {"more"}, {"main"}};
  for (std::size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(found[i].is_device, device[i]) << i;
    EXPECT_EQ(found[i].names.back(), names[i].back()) << i;
  }
  EXPECT_EQ(source.substr(found[1].begin, 21), "void host(int, float)");
}

TEST(HostCode, IsPassedOverWithItsLinesKept) {
  const std::string source = "__global__ void k(int* x) { *x = 1; }\nvoid check(cudaError_t e) {\n  print(e);\n#define N 3\n}\nint main() {\n  k<<<1, 1>>>(0);\n  check(0);\n}\n";
  Finder compiler{{"cudaError_t", "print", "check"}, "", 0};
  const CompiledCode code = compile_past_host_code(request_of(source), std::ref(compiler));
  EXPECT_EQ(std::count(compiler.text.begin(), compiler.text.end(), '\n'), std::count(source.begin(), source.end(), '\n'));
  EXPECT_EQ(compiler.text.size(), source.size());
  EXPECT_EQ(compiler.text.substr(0, 37), source.substr(0, 37));
  EXPECT_EQ(compiler.text.find("main"), std::string::npos);
  EXPECT_NE(compiler.text.find("#define N 3"), std::string::npos) << "directives stay";
  EXPECT_EQ(code.log, "user.cu: warning: left out, as it does not compile and is not marked as code of the device: "
                      "'check' (line 2: 'cudaError_t' is unknown); 'main' (line 8: 'check' is unknown)");
}

std::string error_of(const std::string& source, Finder compiler) {
  try {
    compile_past_host_code(request_of(source), std::ref(compiler));
  } catch (const CompileError& error) {
    return error.log() + "|" + (error.source() == source ? "" : "other source");
  }
  return "nothing thrown";
}

TEST(HostCode, LosesItsPragmasWithTheFunctionsThatTheyAreIn) {
  const std::string source = "__global__ void k() {}\nint main() {\n  bad();\n  #pragma unroll\n#if 1\n#  pragma omp parallel for\n  for (;;) {}\n#endif\n}\n";
  Finder compiler{{"bad", "pragma"}, "", 0};
  compile_past_host_code(request_of(source), std::ref(compiler));
  EXPECT_EQ(compiler.text.find("pragma"), std::string::npos);
  EXPECT_NE(compiler.text.find("#endif"), std::string::npos);
}

TEST(HostCode, IsFoundBehindABraceThatIsOpenedInEachOfTwoWays) {
  const std::string source = "__global__ void k(int n) {\n#ifdef LINKED\n  while (n) {\n#  if 1\n#  endif\n#else\n  for (;;) {\n#endif\n    --n;\n  }\n}\nvoid host() { bad(); }\nint main() { k<<<1, 1>>>(0); }\n";
  Finder compiler{{"bad"}, "", 0};
  compile_past_host_code(request_of(source), std::ref(compiler));
  EXPECT_EQ(compiler.text.find("host"), std::string::npos);
  EXPECT_NE(compiler.text.find("while (n)"), std::string::npos);
}

TEST(HostCode, OfClassesIsPassedOverFunctionByFunction) {
  const std::string source =
      "class __align__(8) Complex : public Pair<float> {\n"
      " public:\n"
      "  __device__ Complex(float x) : re(x) {}\n"
      "  friend std::ostream& operator<<(std::ostream& out, const Complex& x) { return out << x.re; }\n"
      "  Complex& operator+=(const Complex& x) { check(x); return *this; }\n"
      "  void print() {\n    printf_(re);\n    printf_(re);\n  }\n"
      " private:\n"
      "  float re;\n"
      "};\n__global__ void k(Complex* x) {}\nint main() { k<<<1, 1>>>(0); }\n";
  Finder compiler{{"ostream", "check", "printf_"}, "", 0};
  const CompiledCode code = compile_past_host_code(request_of(source), std::ref(compiler));
  for (const char* stays : {"public:", "Complex(float x) : re(x) {}", "private:", "float re;", "main"}) EXPECT_NE(compiler.text.find(stays), std::string::npos) << stays;
  EXPECT_NE(compiler.text.find("void print() ;"), std::string::npos);
  for (const char* gone : {"friend", "operator", "printf_"}) EXPECT_EQ(compiler.text.find(gone), std::string::npos) << gone;
  EXPECT_EQ(code.log, "user.cu: warning: left out, as it does not compile and is not marked as code of the device: 'operator' of 'Complex' (line 4: 'ostream' is unknown); "
                      "'operator' of 'Complex' (line 5: 'check' is unknown); 'print' of 'Complex' (line 7: 'printf_' is unknown)");
}

TEST(HostCode, InFrontOfTheErrorsLineStays) {
  const std::string source =
      "namespace a {\n  inline float half_of(float x) { return 0.5f * x; }\n  // for the host\n  void host() { bad(); }\n}\n"
      "class Point {\n  float x;\n public:\n  float twice() const { return 2 * x; }\n  friend bad& operator<<(bad& out, const Point& p) { return out << p.x; }\n};\n"
      "__global__ void k(Point* p) {}\nint main() { k<<<1, 1>>>(0); }\n";
  Finder compiler{{"bad"}, "", 0};
  const CompiledCode code = compile_past_host_code(request_of(source), std::ref(compiler));
  for (const char* stays : {"half_of(float x) { return", "twice() const { return 2 * x; }"}) EXPECT_NE(compiler.text.find(stays), std::string::npos) << stays;
  for (const char* gone : {"host()", "friend"}) EXPECT_EQ(compiler.text.find(gone), std::string::npos) << gone;
}

TEST(HostCode, TheBraceBehindMacrosThatEndInNoSemicolonStays) {
  const std::string source = "namespace a {\n__global__ void k(int* x) {}\nBAD(1)\nBAD(2)\n}\nint main() { a::k<<<1, 1>>>(0); }\n";
  Finder compiler{{"BAD"}, "", 0};
  compile_past_host_code(request_of(source), std::ref(compiler));
  EXPECT_EQ(std::count(compiler.text.begin(), compiler.text.end(), '{'), std::count(compiler.text.begin(), compiler.text.end(), '}'));
}

TEST(HostCode, ThatTheCompilerWouldReplaceStaysInItsClass) {
  for (const char* member : {"Value(bad x) {}", "~Value() noexcept(bad) {}", "Value& operator=(bad x) { return *this; }", "virtual void f(bad x) {}", "int f(bad x) override { return 1; }"}) {
    const std::string source = std::string("struct Value {\n  ") + member + "\n  __device__ int get() { return 1; }\n};\n__global__ void k(Value* x) {}\nint main() { k<<<1, 1>>>(0); }\n";
    EXPECT_EQ(error_of(source, {{"bad"}, "", 0}), "user.cu:2:1: error: 'bad' is unknown\n|") << member;
  }
}

TEST(HostCode, OfAMembersBodyLeavesItsDeclaration) {
  const std::string source =
      "struct Value {\n  Value(int n) : count{n},\n    other(bad) {\n  }\n  ~Value() {\n    bad();\n  }\n  int get() const {\n    return bad;\n  }\n  int count, other;\n};\n"
      "__global__ void k(Value* x) {}\nint main() { k<<<1, 1>>>(0); }\n";
  Finder compiler{{"bad"}, "", 0};
  compile_past_host_code(request_of(source), std::ref(compiler));
  for (const char* stays : {"Value(int n) ;", "~Value() ;", "int get() const ;", "int count, other;"}) EXPECT_NE(compiler.text.find(stays), std::string::npos) << stays << compiler.text;
}

TEST(HostCode, OfATextThatCompilesIsLeftAlone) {
  Finder compiler;
  EXPECT_EQ(compile_past_host_code(request_of("__global__ void k() {}\nint main() { k<<<1, 1>>>(); }"), std::ref(compiler)).log, "");
  EXPECT_EQ(compiler.calls, 1);
}

TEST(HostCode, LeavesTheErrorsOfKernels) {
  const std::string launch = "int main() { bad(); k<<<1, 1>>>(); }\n";
  EXPECT_EQ(error_of(launch + "__global__ void k() { wrong(); }", {{"wrong", "bad"}, "", 0}), "user.cu:2:1: error: 'wrong' is unknown\n|");
}

TEST(HostCode, ThatAKernelNeedsIsReportedWithItsErrors) {
  struct NeedsHelper : Finder {
    CompiledCode operator()(const CompileRequest& request, const SourceEdits& edits) {
      if (request.source.find("helper(int") == std::string::npos) throw CompileError("", "user.cu:2:1: error: 'helper' is unknown\n", request.source);
      return Finder::operator()(request, edits);
    }
  } compiler{{{"wrong"}, "", 0}};
  const std::string source = "int helper(int x) { return wrong; }\n__global__ void k(int* y) { *y = helper(1); }\nint main() { k<<<1, 1>>>(0); }";
  try {
    compile_past_host_code(request_of(source), std::ref(compiler));
    FAIL() << "it compiled";
  } catch (const CompileError& error) {
    EXPECT_EQ(error.log(), "user.cu: note: errors may come from what does not compile itself and was left out: 'helper' (line 1: 'wrong' is unknown)\n"
                           "user.cu:2:1: error: 'helper' is unknown\n");
  }
}

TEST(HostCode, TakesTheSourcesOwnMeaningOfATypeNameByTheCompilersWords) {
  const std::string source = "typedef long long ssize_t;\n__global__ void k() {}\n";
  for (const char* log : {"user.cu:1:19: error: typedef redefinition with different types ('long long' vs 'long')\n    1 | typedef long long ssize_t;\n      |                   ^\n",
                          "user.cu(1): error: invalid redeclaration of type name \"ssize_t\" (declared at line 18)\n  typedef long long ssize_t;\n"}) {
    std::set<std::string> types;
    compile_past_host_code(request_of(source), [&](const CompileRequest& request, const SourceEdits& edits) {
      EXPECT_EQ(request.source, source);
      types = edits.own_types;
      if (types.empty()) throw CompileError("it does not compile", log, request.source);
      return CompiledCode{};
    });
    EXPECT_EQ(types, (std::set<std::string>{"ssize_t"}));
  }
}

TEST(HostCode, IsNoneInATextWithoutASignOfIt) {
  EXPECT_EQ(error_of("int helper() { return wrong; }\n__global__ void k() {}", {{"wrong"}, "", 0}), "user.cu:1:1: error: 'wrong' is unknown\n|");
}

TEST(HostCode, InstancesOfFunctionsBecomeBlankAndThoseOfKernelsAndClassesStay) {
  const std::string head = "template <class T> T f() { return {}; }\n", kernel = "template __global__ void k<int>(int*);\n", type = "template struct A<int>;\n";
  EXPECT_EQ(without_function_instances(head + "template int f<int>();\n" + kernel + type + "int x;"), head + std::string(22, ' ') + "\n" + kernel + type + "int x;");
  EXPECT_EQ(without_function_instances("template __device__ int f<int>();\nint x;"), std::string(33, ' ') + "\nint x;");
}

TEST(HostCode, OfAnyBytesEnds) {
  for (const std::string source : {"", "\n\n", "__global__ main( {{{", "main() { \"", "__global__ <<< template <", "struct __global__ main(", "}}} main( ; __global__"}) {
    Finder compiler{{"main", "{"}, "", 0};
    EXPECT_NE(error_of(source, compiler), "other source");
  }
}

}  // namespace
}  // namespace damo
