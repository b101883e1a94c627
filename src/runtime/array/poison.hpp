// Poisoned memory, for check_function: who reads an element of a new Array before it is written finds what was not computed.
#pragma once
#include <cstdint>
#include <optional>

#include <damo/array.hpp>

namespace damo {

/// The bytes that new Arrays of this thread are filled with. 0xFF: NaN, and -1 of integers; 0x3B: a small number of any dtype.
inline thread_local std::optional<std::uint8_t> poison_of_new_arrays;

/// Each byte of the Array, which is in C order.
void poison(const Array& array, std::uint8_t byte);

class PoisonScope {
 public:
  explicit PoisonScope(std::uint8_t byte) : before_(poison_of_new_arrays) { poison_of_new_arrays = byte; }
  ~PoisonScope() { poison_of_new_arrays = before_; }
  PoisonScope(const PoisonScope&) = delete;
  PoisonScope& operator=(const PoisonScope&) = delete;

 private:
  std::optional<std::uint8_t> before_;
};

}  // namespace damo
