// Sha256: FIPS 180-4's digest, for the names of compiled kernels: equal requests must meet, different ones never.
// Feed it with update(), then take hex() once. About 4 ns a byte without optimisation of any kind: the cache only asks
// for it when its memory has not got the kernel. See tests/runtime/kernel/sha256_test.cpp.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace damo {

class Sha256 {
 public:
  using Digest = std::array<std::byte, 32>;

  Sha256& update(std::span<const std::byte> bytes);
  Sha256& update(std::string_view text) { return update(std::as_bytes(std::span(text.data(), text.size()))); }
  /// The length first, so that ("ab", "c") and ("a", "bc") differ.
  Sha256& update_field(std::string_view text);

  /// Ends the message; no update may follow.
  Digest digest();
  /// digest() as 64 lower-case digits.
  std::string hex();

 private:
  void block(const std::byte* bytes);

  std::array<std::uint32_t, 8> state_ = {0x6a09e667u, 0xbb67ae85u, 0x3c6ef372u, 0xa54ff53au,
                                         0x510e527fu, 0x9b05688cu, 0x1f83d9abu, 0x5be0cd19u};
  std::array<std::byte, 64> pending_{};
  std::uint64_t bytes_ = 0;
};

}  // namespace damo
