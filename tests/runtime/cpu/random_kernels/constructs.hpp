// Statements about one part of the language each, which need nothing of the kernel around them but its variables
// (v0 to v3, u0, q0, s, t, B, live, given) and values to work on:
//   - 16-bit floats hold whole numbers small enough that sums and products are exact;
//   - groups and named barriers are used where all threads of the block are there and warps are whole;
//   - what was taken from the heap is written before it is read, and given back.
#pragma once
#include <functional>
#include <random>

#include "runtime/cpu/random_kernels/program.hpp"

namespace damo::random_kernels {

struct Values {
  std::mt19937_64& random;
  std::function<Node(unsigned depth)> any;   ///< of a thread
  std::function<Node(unsigned depth)> same;  ///< which all threads of a block agree on
};

/// Of a thread by itself: half, half2, bfloat16, the heap, templates, lambdas, the struct that the kernel was given.
Node own_construct(const Values& values);

/// Tiles of a warp, their reductions and scans, labeled groups, 64-bit shuffles: all lanes of the warp come to it, and all warps
/// that do have come with their whole block.
Node warp_construct(const Values& values);

/// Named barriers of the block or of its first warps, and the block as a group. The block's threads have shared memory s.
Node block_construct(const Values& values);

/// The headers that a text needs.
std::string headers_of(const std::string& text);

}  // namespace damo::random_kernels
