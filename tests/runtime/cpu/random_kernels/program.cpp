#include "runtime/cpu/random_kernels/program.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <sstream>

namespace damo::random_kernels {
namespace {

const char* name_of(Element element) {
  switch (element) {
    case Element::kUnsigned: return "unsigned";
    case Element::kInt: return "int";
    case Element::kFloat: return "float";
    case Element::kHalf: return "__half";
    case Element::kLong: return "unsigned long long";
    case Element::kByte: return "unsigned char";
    case Element::kUint2: return "uint2";
    case Element::kUint4: return "uint4";
    default: return "Pair_@";
  }
}

std::uint32_t mixed(std::uint64_t value) {
  value = (value ^ (value >> 31)) * 0x9e3779b97f4a7c15u;
  return static_cast<std::uint32_t>((value ^ (value >> 29)) >> 16);
}

/// Of a whole number below 2048.
std::uint32_t half_bits(std::uint32_t number) {
  if (number == 0) return 0;
  const auto exponent = static_cast<std::uint32_t>(std::bit_width(number)) - 1;
  return ((exponent + 15) << 10) | ((number << (10 - exponent)) & 0x3ffu);
}

std::vector<std::byte> contents(Element element, std::size_t count, std::uint64_t salt) {
  std::vector<std::byte> bytes(count * bytes_of(element));
  for (std::size_t at = 0; at + 4 <= bytes.size(); at += 4) {
    std::uint32_t word = mixed(at * 977 + salt);
    if (element == Element::kFloat) {
      const auto value = static_cast<float>(word % 1000);
      std::memcpy(&word, &value, 4);
    }
    if (element == Element::kHalf) word = half_bits(word % 1000) | half_bits((word >> 16) % 1000) << 16;
    std::memcpy(bytes.data() + at, &word, 4);
  }
  return bytes;
}

/// Lines begin where their depth in braces says.
std::string indented(const std::string& text) {
  std::istringstream lines(text);
  std::string result;
  int depth = 0;
  for (std::string line; std::getline(lines, line);) {
    const std::size_t begin = line.find_first_not_of(' ');
    if (begin == std::string::npos) continue;
    const auto opened = std::count(line.begin(), line.end(), '{'), closed = std::count(line.begin(), line.end(), '}');
    const int own = depth - (line[begin] == '}' ? 1 : 0);
    result += std::string(static_cast<std::size_t>(2 * std::max(own, 0)), ' ') + line.substr(begin) + "\n";
    depth += static_cast<int>(opened - closed);
  }
  return result;
}

std::string extent_text(const std::array<unsigned, 3>& v) {
  return "(" + std::to_string(v[0]) + ", " + std::to_string(v[1]) + ", " + std::to_string(v[2]) + ")";
}

template <class T>
std::string difference_in(const char* name, const std::vector<T>& mine, const std::vector<T>& others, std::size_t element_bytes) {
  const auto* a = reinterpret_cast<const std::byte*>(mine.data());
  const auto* b = reinterpret_cast<const std::byte*>(others.data());
  const std::size_t bytes = mine.size() * sizeof(T);
  const std::size_t at = static_cast<std::size_t>(std::mismatch(a, a + bytes, b).first - a);
  if (at == bytes) return {};
  const std::size_t word = at - at % std::min<std::size_t>(element_bytes, 4);
  std::uint32_t left = 0, right = 0;
  std::memcpy(&left, a + word, std::min<std::size_t>(4, bytes - word));
  std::memcpy(&right, b + word, std::min<std::size_t>(4, bytes - word));
  return std::string(name) + "[" + std::to_string(at / element_bytes) + "] (byte " + std::to_string(at % element_bytes) + " of it): word " +
         std::to_string(left) + ", " + std::to_string(right);
}

}  // namespace

std::size_t bytes_of(Element element) {
  switch (element) {
    case Element::kByte: return 1;
    case Element::kHalf: return 2;
    case Element::kLong: case Element::kUint2: case Element::kStruct: return 8;
    case Element::kUint4: return 16;
    default: return 4;
  }
}

std::string Node::print() const {
  std::string result;
  if (kind == Kind::kBlock) {
    for (const Node& kid : kids) result += kid.print() + "\n";
    return result;
  }
  std::size_t next = 0;
  for (const char letter : text) {
    if (letter == '$') result += kids[next++].print();
    else result += letter;
  }
  return result;
}

std::string Program::source(const std::string& kernel) const {
  std::string source = text.print();
  for (std::size_t at; (at = source.find("ELEMENT")) != std::string::npos;) source.replace(at, 7, name_of(element));
  for (std::size_t at; (at = source.find("BLOCK_SIZE")) != std::string::npos;) source.replace(at, 10, std::to_string(launch.block[0]));
  for (std::size_t at; (at = source.find('@')) != std::string::npos;) source.replace(at, 1, kernel);
  return indented(source) + "#undef PART\n";
}

std::string Program::launch_text() const {
  std::string place = "an array of its own";
  if (b_each == 0) place = "a";
  else if (b_each != kOwn) place = "a + " + std::to_string(Arrays(*this).b_offset / bytes_of(element));
  return "grid " + extent_text(launch.grid) + ", block " + extent_text(launch.block) + ", " + std::to_string(launch.shared_bytes * launch.threads()) +
         " bytes of dynamic shared memory; a of " + std::to_string(elements()) + " elements, b is " + place + ", n " + std::to_string(n()) + ", total " +
         std::to_string(launch.total()) + ", e " + std::to_string(each) + ", live " + std::to_string(live());
}

Arrays::Arrays(const Program& program) {
  const unsigned total = program.launch.total(), threads = program.launch.threads();
  a = contents(program.element, program.elements(), program.seed);
  if (program.b_each == Program::kOwn) b = contents(program.element, program.elements(), program.seed + 1);
  else b_offset = std::size_t{program.b_each} * (program.b_is_blocked ? 1 : total) * bytes_of(program.element);
  c.resize(std::size_t{8} * total + 256);
  for (std::size_t i = 0; i < c.size(); ++i) c[i] = mixed(i + 31 * program.seed) >> (i % 3 * 8);
  acc.assign(kCells, 0);
  bounds = {total * program.each, program.each, threads * program.each};
  for (std::uint32_t i = 1; bounds.size() < 16; ++i) bounds.push_back(i);
}

std::string Arrays::difference(const Arrays& other) const {
  std::string found = difference_in("a", a, other.a, a.size() % 16 == 0 ? 4 : 1);
  if (found.empty()) found = difference_in("b", b, other.b, b.size() % 16 == 0 ? 4 : 1);
  if (found.empty()) found = difference_in("acc", acc, other.acc, 4);
  return found;
}

std::uint64_t Arrays::hash() const {
  std::uint64_t hash = 0xcbf29ce484222325u;
  const auto add = [&](const void* data, std::size_t bytes) {
    for (std::size_t i = 0; i < bytes; ++i) hash = (hash ^ static_cast<const unsigned char*>(data)[i]) * 0x100000001b3u;
  };
  add(a.data(), a.size());
  add(b.data(), b.size());
  add(acc.data(), acc.size() * sizeof acc[0]);
  return hash;
}

}  // namespace damo::random_kernels
