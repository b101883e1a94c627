// Compiles mutated sources in a process of their own, so that a crash or a hang is counted and the next source is taken.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace damo::cpu_backend::testing {

struct FuzzFailure {
  std::uint64_t number;  ///< of mutated_source
  std::string what;      ///< "signal 11", "hangs"
};

struct FuzzResult {
  std::uint64_t compiled = 0;  ///< sources that gave an object, which was loaded
  std::uint64_t refused = 0;   ///< sources that gave a log
  std::uint64_t ran = 0;       ///< launches in check mode under a time limit
  std::vector<FuzzFailure> failures;
};

/// Sources first ... first + count - 1. seconds_each: a source that takes longer hangs. Says on stderr how far it is.
FuzzResult fuzz_compiler(std::uint64_t first, std::uint64_t count, int seconds_each, bool talk = false);

}  // namespace damo::cpu_backend::testing
