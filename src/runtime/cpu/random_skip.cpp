#include "runtime/cpu/random_skip.hpp"

#include <algorithm>
#include <array>
#include <memory>

namespace damo::cpu_backend {
namespace {

constexpr int kBits = 160, kPowers = 67 + 64;
using Words = std::array<unsigned, 5>;
using Matrix = std::array<Words, kBits>;  ///< row i: what becomes of a state that has only bit i

Words step(const Words& v) {
  const unsigned t = v[0] ^ (v[0] >> 2);
  return {v[1], v[2], v[3], v[4], (v[4] ^ (v[4] << 4)) ^ (t ^ (t << 1))};
}

Words product(const Matrix& matrix, const Words& v) {
  Words result{};
  for (int i = 0; i < kBits; ++i) {
    const unsigned set = 0u - (v[i / 32] >> (i % 32) & 1u);
    for (int w = 0; w < 5; ++w) result[w] ^= matrix[i][w] & set;
  }
  return result;
}

/// powers[k]: 2^k steps.
struct Powers {
  std::array<Matrix, kPowers> powers;
  Powers() {
    for (int i = 0; i < kBits; ++i) {
      Words one{};
      one[i / 32] = 1u << (i % 32);
      powers[0][i] = step(one);
    }
    for (int k = 1; k < kPowers; ++k) {
      for (int i = 0; i < kBits; ++i) powers[k][i] = product(powers[k - 1], powers[k - 1][i]);
    }
  }
};

}  // namespace

void xorwow_skip(unsigned* words, unsigned long long count, int log2_step) {
  static const auto tables = std::make_unique<const Powers>();
  Words v;
  std::copy_n(words, 5, v.begin());
  for (int k = log2_step; count != 0; ++k, count >>= 1) {
    if (count & 1) v = product(tables->powers[k], v);
  }
  std::copy_n(v.begin(), 5, words);
}

}  // namespace damo::cpu_backend
