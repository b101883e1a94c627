#include "runtime/cpu/fuzz/source_mutator.hpp"

#include <algorithm>
#include <random>
#include <string_view>
#include <vector>

#include "runtime/cpu/fuzz/seed_sources.hpp"

namespace damo::cpu_backend::testing {
namespace {

constexpr std::string_view kWords[] = {
    "__global__", "__device__", "__shared__", "__constant__", "extern \"C\"", "template <class T>", "template <>", "struct", "class",
    "namespace", "using", "typedef", "static", "constexpr", "inline", "virtual", "volatile", "const", "auto", "decltype(x)",
    "sizeof...", "operator", "requires", "concept", "co_yield", "goto", "asm(\"nop\");", "return", "throw", "new int[3]", "delete",
    "__syncthreads();", "__damo_wait(0, 0, 0, 0);", "__damo_thread_loop();", "__damo_indices", "damo::cuda", "threadIdx", "blockDim.x",
    "\n#pragma damo_entries\n", "\n#pragma unroll 1000000\n", "\n#pragma clang loop vectorize(enable)\n", "\n#pragma pack(push, 3)\n",
    "\n#undef __shared__\n", "\n#define i\n", "\n#define x(y) y##y\n", "\n#define if while\n", "\n#if\n", "\n#else\n", "\n#endif\n",
    "\n#include \"user.cu\"\n", "\n#include <damo.h>\n", "\n#line 1 \"<damo-entry>\"\n", "\n#line 2000000000\n", "__FILE__", "__COUNTER__",
    "{", "}", "(", ")", "[", "]", "<", ">", "<<<", ">>>", "::", "->*", "...", ";", ",", "?", ":", "#", "##", "\\", "\"", "'", "/*", "*/",
    "//", "0", "1", "-1", "0x7fffffff", "18446744073709551615", "1e400", "1.0f", "0.0 / 0", "1 / 0", "INT_MIN", "nullptr", "(int*)0", "void",
    "float", "double", "long long", "float4", "half", "_BitInt(999)", "__int128", "_Complex", "__attribute__((aligned(1 << 28)))",
    "__attribute__((noinline))", "__attribute__((address_space(9)))", "__attribute__((opencl_local))", "alignas(4096)", "[[noreturn]]",
    "__launch_bounds__(0)", "__restrict__", "&&", "&", "*", "!", "~", "%", "<<", "printf(\"%n\", 0);", "assert(0);", "__trap();"};

class Mutator {
 public:
  explicit Mutator(std::uint64_t number) : random_(number) {}

  std::string make() {
    std::string text = source();
    const int changes = 1 + static_cast<int>(below(6));
    for (int i = 0; i < changes; ++i) change(text);
    if (text.size() > kLargest) text.resize(kLargest);
    return text;
  }

 private:
  static constexpr std::size_t kLargest = 20000;

  std::uint64_t below(std::uint64_t limit) { return limit == 0 ? 0 : random_() % limit; }
  std::size_t place(const std::string& text) { return below(text.size() + 1); }

  std::string source() {
    const auto seeds = seed_sources();
    const auto hostile = hostile_sources();
    return std::string(below(4) ? seeds[below(seeds.size())] : hostile[below(hostile.size())]);
  }

  /// Where a word of the text begins and how long it is.
  std::pair<std::size_t, std::size_t> word(const std::string& text) {
    const auto in_word = [](char c) { return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
    std::size_t begin = place(text);
    while (begin < text.size() && !in_word(text[begin])) ++begin;
    while (begin > 0 && begin <= text.size() && in_word(text[begin - 1])) --begin;
    std::size_t end = begin;
    while (end < text.size() && in_word(text[end])) ++end;
    return {begin, end - begin};
  }

  std::string junk() {
    std::string bytes(1 + below(8), '\0');
    for (char& byte : bytes) byte = static_cast<char>(below(256));
    return bytes;
  }

  std::string nesting() {
    static constexpr std::string_view kOpen[] = {"(", "{", "[", "<", "((", "R<", "if (1) ", "-", "~", "x ? ", "[] { ", "*", "struct { ", "namespace a { "};
    const std::string_view open = kOpen[below(std::size(kOpen))];
    std::string text;
    for (std::uint64_t i = below(below(8) ? 60 : 5000); i > 0; --i) text += open;
    return text;
  }

  std::string literal() {
    switch (below(5)) {
      case 0: return std::string(1 + below(3000), '9');
      case 1: return "0x" + std::string(1 + below(300), 'f') + "p" + std::to_string(below(100000));
      case 2: return "\"" + std::string(below(2000), 'a') + "\"";
      case 3: return "1e" + std::string(1 + below(30), '9');
      default: return "u8R\"x(" + junk() + ")x\"";
    }
  }

  void change(std::string& text) {
    const std::size_t at = place(text);
    const auto [begin, length] = word(text);
    switch (below(14)) {
      case 0: if (at < text.size()) text[at] = static_cast<char>(text[at] ^ (1 << below(8))); break;
      case 1: text.erase(at, 1 + below(20)); break;
      case 2: text.insert(at, text.substr(place(text), below(80))); break;
      case 3: text = text.substr(0, at) + tail(source()); break;
      case 4: text.insert(at, junk()); break;
      case 5: text.insert(at, nesting()); break;
      case 6: text.insert(at, literal()); break;
      case 7: text.replace(begin, length, kWords[below(std::size(kWords))]); break;
      case 8: text.insert(begin, std::string(kWords[below(std::size(kWords))]) + " "); break;
      case 9: text.erase(begin, length); break;
      case 10: text.replace(begin, length, text.substr(word(text).first, word(text).second)); break;
      case 11: text += "\n" + source(); break;
      case 12: text.insert(at, std::string(1, '\0')); break;
      default: text.insert(at, "\xf0\x9f\x92\xa9\xe2\x80\xae\xcc\x81"); break;
    }
  }

  std::string tail(const std::string& text) { return text.substr(std::min(place(text), text.size())); }

  std::mt19937_64 random_;
};

}  // namespace

std::string mutated_source(std::uint64_t number) {
  const auto hostile = hostile_sources();
  return number < hostile.size() ? std::string(hostile[number]) : Mutator(number).make();
}

}  // namespace damo::cpu_backend::testing
