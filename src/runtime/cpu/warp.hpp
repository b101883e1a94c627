// Operations of a warp: 32 consecutive threads of a block, called lanes, that exchange values.
#pragma once
#include <cstdint>
#include <span>

#include "runtime/cpu/kernel_abi.hpp"

namespace damo::cpu_backend {

constexpr int kWarpSize = 32;

inline bool is_warp_operation(Wait kind) {
  return (kind >= Wait::kWarp && kind <= Wait::kActiveMask) || kind == Wait::kReduceXor || kind == Wait::kLockstep;
}

/// One operation of each group of lanes: those of lanes whose masks are the same; without masks, of all of them. values[i]
/// is what lane i brings, then what it gets; operands[i] the lane that it reads in a shuffle. All three have kWarpSize
/// elements, those of lanes that take no part mean nothing and stay. Costs about as much for many groups as for one.
void operate_on_warp(Wait kind, std::uint64_t* values, const std::int32_t* operands, const std::uint32_t* masks, std::uint32_t lanes);

/// What the lanes of a warp wait for, kWarpSize of each: see ThreadState. Lanes that are not there have exited.
struct WarpWaits {
  Wait* kinds;
  const std::uint32_t* masks;
  std::uint64_t* values;
  std::int32_t* operands;
};

/// Finishes every operation for which all of its lanes have arrived: gives them their results, and they wait for nothing any more.
/// A lane that has exited takes part in nothing. True if any was finished.
bool finish_warp_operations(const WarpWaits& waits);
/// The same, of up to kWarpSize threads.
bool finish_warp_operations(std::span<ThreadState> lanes);

}  // namespace damo::cpu_backend
