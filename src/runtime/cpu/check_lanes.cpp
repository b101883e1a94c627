#include "runtime/cpu/check_lanes.hpp"

#include "runtime/cpu/elf_loader.hpp"
#include "runtime/cpu/fault_text.hpp"
#include "runtime/cpu/source_place.hpp"
#include "runtime/cpu/warp.hpp"

namespace damo::cpu_backend {
namespace {

/// "lane 3", "lanes 0 to 2, 16 to 31".
std::string lanes_text(std::uint32_t lanes) {
  std::string text = (lanes & (lanes - 1)) == 0 ? "lane " : "lanes ";
  for (int lane = 0, count = 0; lane < kWarpSize; ++lane) {
    if (!(lanes >> lane & 1)) continue;
    const int first = lane;
    while (lane + 1 < kWarpSize && (lanes >> (lane + 1) & 1)) ++lane;
    text += (count++ > 0 ? ", " : "") + std::to_string(first) + (lane > first ? " to " + std::to_string(lane) : "");
  }
  return text;
}

const char* operation_of(Wait kind) {
  switch (kind) {
    case Wait::kShuffle: return "shuffle (__shfl_*_sync)";
    case Wait::kBallot: return "vote (__ballot_sync, __any_sync, __all_sync)";
    case Wait::kMatchAny: case Wait::kMatchAll: return "match (__match_*_sync)";
    default: return "reduction (__reduce_*_sync)";
  }
}

/// The address that a wait returns to, of which the state keeps the low half: code takes less than 4 GiB.
std::uintptr_t address_of(const ThreadState& state, const LoadedObject& object) {
  const std::uintptr_t begin = object.code().first;
  return begin + static_cast<std::uint32_t>(state.place - static_cast<std::uint32_t>(begin));
}

std::string place_text(const char* name, const std::uint32_t (&v)[3]) {
  return std::string(", ") + name + " (" + std::to_string(v[0]) + ", " + std::to_string(v[1]) + ", " + std::to_string(v[2]) + ")";
}

}  // namespace

bool are_lanes_there(std::span<const ThreadState> lanes, LaunchReport& report) {
  std::uint32_t returned = 0;
  for (std::size_t lane = 0; lane < lanes.size(); ++lane) returned |= (lanes[lane].kind == Wait::kExited ? 1u : 0u) << lane;
  for (std::size_t lane = 0; lane < lanes.size(); ++lane) {
    const ThreadState& state = lanes[lane];
    const bool exchanges = is_warp_operation(state.kind) && state.kind != Wait::kWarp && state.kind != Wait::kActiveMask && state.kind != Wait::kLockstep;
    if (!exchanges) continue;
    const auto source = static_cast<std::uint32_t>(state.operand) % kWarpSize;
    const bool is_source_there = source < lanes.size() && (state.mask >> source & 1);
    std::string problem;
    if (!(state.mask >> lane & 1)) problem = "does not name " + lanes_text(1u << lane) + ", which calls it";
    else if (const std::uint32_t absent = state.mask & returned; absent != 0) problem = "names " + lanes_text(absent) + ", which returned before";
    else if (state.kind == Wait::kShuffle && !is_source_there) problem = "is read at " + lanes_text(1u << source) + ", which takes no part";
    else continue;
    report.fail(operation_of(state.kind) + (report.object ? source_place_text(report.object, address_of(state, *report.object) - 1) : std::string()) +
                    place_text("block", state.block) + place_text("thread", state.thread) + ": its mask " + hexadecimal(state.mask) + " " + problem,
                "name the lanes that come to the call, and read no others: __ballot_sync() before a branch tells which will take it");
    return false;
  }
  return true;
}

}  // namespace damo::cpu_backend
