// What a kernel that was split at its barriers (clang/fission.cpp) asks of the runtime while it runs a block: memory for
// what its threads keep, operations of whole warps, and, where threads have gone different ways, which region is next.
#pragma once
#include <cstddef>
#include <cstdint>

#include "runtime/cpu/kernel_abi.hpp"

namespace damo::cpu_backend {

/// What damo_next_region reads in next[i], the number of the region that thread i runs next: with kWaiting added, once its
/// wait is over. The compiler plugin writes these (clang/fission/region_exits.cpp).
constexpr std::int32_t kWaitingRegion = 0x40000000, kReturned = 0x7fffffff;

}  // namespace damo::cpu_backend

extern "C" {
/// The worker's memory, 64-aligned, for one block: what an earlier call gave is overwritten.
void* damo_block_memory(std::size_t bytes);

/// One operation of every warp, in which all threads that have not returned take part: values[i] is what thread i brings,
/// then what it gets. operands: the lanes that shuffles read. masks: null for whole warps, else lanes with equal masks go
/// together. next: null where no thread has returned.
void damo_warp_operation(std::int32_t kind, std::uint64_t* values, const std::int32_t* operands, const std::uint32_t* masks, const std::int32_t* next,
                         std::int64_t threads);

/// The region to run now: the lowest number, but one from first_whole on only when all threads that have not returned have
/// come to it. Threads that wait are released when nothing else is left. -1: the block is done, or stuck (block.frame's
/// report then says why). kinds and what follows: what each thread waits for, as in ThreadState; null if no region waits by it. Arrays have room for
/// whole warps.
std::int32_t damo_next_region(const damo::cpu_backend::ThreadState* block, std::int32_t* next, damo::cpu_backend::Wait* kinds, const std::uint32_t* masks,
                              std::uint64_t* values, std::int32_t* operands, std::int64_t threads, std::int32_t first_whole);
}
