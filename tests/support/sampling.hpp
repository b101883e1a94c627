// What walks all pairs of two lists in a test: scripts/test takes a third of the pairs, those in which every entry of both lists stands, so that it stays within its
// time. DAMO_TEST_THOROUGH=1 takes all; scripts/isa-check and scripts/gpu-check set it.
#pragma once
#include <cstddef>
#include <cstdlib>

namespace damo::testing {

inline bool is_thorough() {
  const char* value = std::getenv("DAMO_TEST_THOROUGH");
  return value && value[0] == '1';
}

/// Whether the pair of the entries with these numbers is taken. A list of which every entry is to stand in some pair needs a second one of three entries at least.
inline bool takes_pair(std::size_t first, std::size_t second) { return is_thorough() || (first + second) % 3 == 0; }

/// The GPU that NVRTC compiles for where only its text is looked at: sm_90; or one that does not exist, for which it stops at PTX, in half of the time.
inline int nvrtc_architecture() { return is_thorough() ? 90 : 99; }

}  // namespace damo::testing
