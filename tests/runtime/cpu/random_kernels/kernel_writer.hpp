// Writes random programs in which nothing is left to chance but their text:
//   - a thread writes its own elements of a and b, its own place in shared memory, its own variables. What others wrote it
//     reads behind a barrier, which all threads come to, and nobody writes before the next one;
//   - what is shared is changed by atomics of one kind a cell, whose results nobody uses, or under the one lock
//     that guards the cell, by sums;
//   - warp operations name the lanes that come to them, and read lanes that are among these;
//   - floats hold small whole numbers, so that sums are exact in any order; a product or a long sum in 16 bits has one order;
//   - loops end by a counter, numbers wrap, shifts stay below the width, divisors are not 0.
#pragma once
#include "runtime/cpu/random_kernels/program.hpp"

namespace damo::random_kernels {

Program random_program(std::uint64_t seed);

}  // namespace damo::random_kernels
