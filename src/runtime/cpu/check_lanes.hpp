// What a checked kernel's warp operations are held to: a shuffle, a vote, a match or a reduction whose mask names lanes that have
// returned, or leaves its own lane out, and a shuffle that reads a lane which takes no part, give values that CUDA leaves open.
#pragma once
#include <span>

#include "runtime/cpu/launch_report.hpp"
#include "runtime/cpu/kernel_abi.hpp"

namespace damo::cpu_backend {

/// lanes: one warp's, each of which waits or has returned. False: something is wrong with an operation, as report says now.
bool are_lanes_there(std::span<const ThreadState> lanes, LaunchReport& report);

}  // namespace damo::cpu_backend
