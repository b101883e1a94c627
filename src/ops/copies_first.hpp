// Which arrays a kernel that reduces, or scans, does not read where they lie: those that lie across the others.
//
// A kernel goes through its space in one order. Where neighbours of that order lie in one array beside each other and in another rows apart, as in softmax(transpose(x)), loops over
// both take an element at a time, and a row touches more lines of the other one than the caches nearest to a core hold until the next row wants their neighbours. A copy into C order
// goes through both in squares (Access::kTransposed) and costs a reading and a writing; the kernel then reads it as often as it likes. Values are the same but for the order in which
// rows are joined, which follows from where arrays lie as before.
//
// Inputs are copied that have neighbours in one line along another axis than the last, as many as a line holds, and no axis that repeats, where (figures: as arrays lie, then with the copies)
//   - an output is written element by element along the last axis, as outputs in C order are. Softmax of a transposed array, on one thread of an AMD EPYC (Zen 3): of 2^10 floats 4.4 us, 1.7;
//     of 2^16 270, 80; of 2048 x 2048 120 ms, 5.3;
//   - or another input is read so, and a sweep along that axis touches more than kNearBytes of lines. Sums of products of transposed and other floats, 2^22: along 256 elements 3.6 ms, 3.6, across 10.6,
//     4.9; along 2,048 7.4, 3.8, across 29.8, 3.9. With fewer lines the copy gains nothing.
// The figures are of a program that was not kept; damo-bench --compositions has transpose_softmax (docs/performance.md).
//
// Rows that take a kernel a pass (Dialect::prefers_passes), or that are split at joins across rows, are read where they lie; where prefix joins alone are split off all parts read the copies. Tests: tests/function/copies_first_test.cpp.
#pragma once
#include <span>
#include <vector>

#include "runtime/kernel/layout.hpp"
#include "runtime/kernel/spec.hpp"

namespace damo {

inline constexpr std::int64_t kNearBytes = 12 << 10;  ///< of a first-level cache, beside what else a sweep reads

/// arrays: inputs without the spec's ordinals, then outputs, which broadcast to the space; some inputs, by their numbers.
std::vector<int> copies_first(const KernelSpec& spec, const Shape& space, std::span<const ArrayLayout> arrays);

}  // namespace damo
