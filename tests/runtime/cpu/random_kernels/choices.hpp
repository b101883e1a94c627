// Choices: what a seed decides.
#pragma once
#include <cstdint>
#include <initializer_list>
#include <random>
#include <string>

namespace damo::random_kernels {

inline std::string text_of(unsigned number) { return std::to_string(number) + "u"; }

class Choices {
 public:
  explicit Choices(std::uint64_t seed) : random_(seed * 0x9e3779b97f4a7c15u + 1) {}

 protected:
  unsigned below(unsigned n) { return static_cast<unsigned>(random_() % n); }
  bool one_in(unsigned n) { return below(n) == 0; }
  template <class T>
  T pick(std::initializer_list<T> choices) { return *(choices.begin() + below(static_cast<unsigned>(choices.size()))); }
  std::string choice(std::initializer_list<const char*> choices) { return pick(choices); }
  std::string number() { return text_of(pick({0u, 1u, 2u, 3u, 5u, 7u, 8u, 17u, 31u, 255u, 4096u, 0x80000000u, ~0u})); }
  std::string name(const char* prefix) { return prefix + std::to_string(names_++); }

  std::mt19937_64 random_;

 private:
  unsigned names_ = 0;
};

}  // namespace damo::random_kernels
