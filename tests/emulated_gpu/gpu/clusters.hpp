// Blocks of a cluster, side by side, each on a thread of its own, and what they call to meet each other: the functions of ptx.cpp that are about clusters end here.
#pragma once
#include <cstdint>

#include "emulated_gpu/gpu/kernels.hpp"

namespace damo::emulated_gpu {

/// What a block asks of its cluster.
enum class ClusterCall : std::uint32_t {
  kArrive,   ///< a: the place in its shared memory from which all blocks count. Does not wait
  kWait,     ///< until all blocks wait
  kAddress,  ///< of what lies b bytes behind that place in block a
  kExpect,   ///< the meeting at address a completes when b bytes more have come to it
  kSent,     ///< b bytes came to the meeting at address a
  kMeet,     ///< waits until the meeting at address a has completed a phase of parity b
};
/// What kernels have the address of, in their variable emulated_cluster_call.
std::uint64_t call_cluster(std::uint32_t what, std::uint64_t a, std::uint64_t b);

/// One cluster after the other. False: the kernel has faulted.
bool run_clusters(const Launch& launch);

}  // namespace damo::emulated_gpu
