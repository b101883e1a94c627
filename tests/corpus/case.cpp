#include "case.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace damo::corpus {
namespace {

const std::filesystem::path kFolder = std::filesystem::path(DAMO_SOURCE_DIR) / "tests" / "corpus";

std::string trim(const std::string& text) {
  const std::size_t begin = text.find_first_not_of(" \t\r"), end = text.find_last_not_of(" \t\r");
  return begin == std::string::npos ? "" : text.substr(begin, end - begin + 1);
}

/// Text between the first open bracket and its partner; empty if there is none.
std::string inside(const std::string& text, char open, char close) {
  const std::size_t begin = text.find(open), end = text.rfind(close);
  return begin == std::string::npos || end == std::string::npos ? "" : text.substr(begin + 1, end - begin - 1);
}

/// In [0, 1), the same everywhere: a mix of name and index.
double random_unit(std::uint64_t seed, std::uint64_t index) {
  std::uint64_t x = seed + (index + 1) * 0x9e3779b97f4a7c15ull;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return static_cast<double>((x ^ (x >> 31)) >> 11) * 0x1p-53;
}

std::uint64_t seed_of(const std::string& name) {
  std::uint64_t seed = 1469598103934665603ull;
  for (const char c : name) seed = (seed ^ static_cast<unsigned char>(c)) * 1099511628211ull;
  return seed;
}

double stored(double value, DType dtype) {
  return visit(dtype, [&](auto zero) {
    using T = decltype(zero);
    return static_cast<double>(static_cast<T>(value));
  });
}

void fill(CorpusArray& array, const std::string& rule, const std::string& name) {
  const std::string text = inside(rule, '(', ')');
  std::vector<double> numbers;
  if (!rule.starts_with("text")) {
    for (const std::string& number : split(text)) numbers.push_back(std::stod(number));
  }
  for (std::size_t i = 0; i < array.values.size(); ++i) {
    double value = 0;
    const double unit = random_unit(seed_of(name), i);
    if (rule.starts_with("uniform")) value = numbers.at(0) + (numbers.at(1) - numbers.at(0)) * unit;
    else if (rule.starts_with("integers")) value = std::floor(numbers.at(0) + (numbers.at(1) - numbers.at(0)) * unit);
    else if (rule.starts_with("iota")) value = static_cast<double>(i);
    else if (rule.starts_with("constant")) value = numbers.at(0);
    else if (rule.starts_with("text")) value = static_cast<unsigned char>(text[i % text.size()]);
    else if (!rule.empty() && !rule.starts_with("zeros")) throw std::runtime_error("no such rule: " + rule);
    array.values[i] = stored(value, array.dtype);
  }
}

// "float32 x[4096] = uniform(-1, 1)"
void read_array(Case& c, const std::string& text) {
  std::istringstream words(text);
  std::string dtype, name;
  words >> dtype;
  std::getline(words, name, '[');
  name = trim(name);
  CorpusArray& array = c.arrays[name];
  array.dtype = dtype_named(dtype);
  array.values.resize(std::stoul(inside(text.substr(0, text.find(']') + 1), '[', ']')));
  const std::size_t equals = text.find('=');
  fill(array, equals == std::string::npos ? "" : trim(text.substr(equals + 1)), name);
}

Dim3 read_extent(const std::string& text) {
  const std::vector<std::string> parts = split(text.starts_with("(") ? inside(text, '(', ')') : text);
  Dim3 extent;
  for (std::size_t i = 0; i < parts.size(); ++i) extent[static_cast<int>(i)] = std::stoll(parts[i]);
  return extent;
}

// "scale<float><<<16, 256, 0>>>(x, y)"
void read_launch(Case& c, const std::string& text) {
  const std::size_t open = text.find("<<<"), close = text.find(">>>");
  if (open == std::string::npos || close == std::string::npos) throw std::runtime_error("a launch needs <<<grid, block>>>");
  Launch launch;
  launch.kernel = trim(text.substr(0, open));
  const std::vector<std::string> shape = split(text.substr(open + 3, close - open - 3));
  launch.config.grid = read_extent(shape.at(0));
  launch.config.block = read_extent(shape.at(1));
  if (shape.size() > 2) launch.config.shared_bytes = std::stoul(shape[2]);
  launch.arguments = split(inside(text.substr(close), '(', ')'));
  c.launches.push_back(std::move(launch));
}

void read_check(Case& c, const std::string& text) {
  std::istringstream words(text);
  Check check;
  std::string within;
  words >> check.array >> within;
  if (!within.empty()) words >> check.within;
  if (!c.arrays.contains(check.array)) throw std::runtime_error("no array is named " + check.array);
  c.checks.push_back(check);
}

void read_line(Case& c, const std::string& line) {
  std::istringstream words(line);
  std::string verb, rest;
  words >> verb;
  std::getline(words, rest);
  rest = trim(rest);
  if (verb == "array") return read_array(c, rest);
  if (verb == "launch") return read_launch(c, rest);
  if (verb == "check") return read_check(c, rest);
  if (verb != "flags") throw std::runtime_error("no such line: " + verb);
  std::istringstream flags(rest);
  for (std::string flag; flags >> flag;) c.flags.push_back(flag);
}

}  // namespace

std::vector<std::string> split(const std::string& list) {
  std::vector<std::string> parts;
  int depth = 0;
  std::string part;
  for (const char c : list) {
    depth += (c == '(' || c == '{') - (c == ')' || c == '}');
    if (c == ',' && depth == 0) {
      parts.push_back(trim(part));
      part.clear();
    } else {
      part += c;
    }
  }
  if (!trim(part).empty()) parts.push_back(trim(part));
  return parts;
}

std::vector<std::string> case_names() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(kFolder)) {
    if (entry.path().extension() == ".cu") names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

Case read_case(const std::string& name) {
  Case c;
  c.name = name;
  c.file = name + ".cu";
  std::ifstream file(kFolder / c.file);
  int number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    c.source += line + "\n";
    if (!line.starts_with("//:")) continue;
    try {
      read_line(c, trim(line.substr(3)));
    } catch (const std::exception& error) {
      throw std::runtime_error(c.file + ":" + std::to_string(number) + ": " + error.what());
    }
  }
  return c;
}

std::vector<std::byte> to_bytes(const CorpusArray& array) {
  std::vector<std::byte> bytes(array.values.size() * itemsize(array.dtype));
  visit(array.dtype, [&](auto zero) {
    using T = decltype(zero);
    for (std::size_t i = 0; i < array.values.size(); ++i) {
      const T value = static_cast<T>(array.values[i]);
      std::memcpy(bytes.data() + i * sizeof(T), &value, sizeof(T));
    }
  });
  return bytes;
}

std::vector<double> from_bytes(const std::vector<std::byte>& bytes, DType dtype) {
  std::vector<double> values(bytes.size() / itemsize(dtype));
  visit(dtype, [&](auto zero) {
    using T = decltype(zero);
    for (std::size_t i = 0; i < values.size(); ++i) {
      T value;
      std::memcpy(&value, bytes.data() + i * sizeof(T), sizeof(T));
      values[i] = static_cast<double>(value);
    }
  });
  return values;
}

}  // namespace damo::corpus
