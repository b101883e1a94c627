// Native kernels that sort lines (library/line_sort.hpp).
//
// A run is sorted as words of 64 bits: 32 bits of a key, from the highest bit on that differs among the run's keys, and
// the place. Their upper halves are sorted by radix from the least digit on (Knuth, The Art of Computer Programming
// 3, 5.2.5), which keeps places in order, with digits of 8 bits where the counters would be more work than the
// elements, else of 11. Elements that are then still equal are few, or equal in all 64 bits, or differ in lower bits
// alone: each such group is sorted again by those. So a run costs 2 to 4 reads and writes of 8 bytes an element, and
// less where few bits differ; a run in order is only read. Runs are merged in pieces of equal length, whose ends in
// both runs a binary search finds. The first of a run are selected by a buffer of twice as many: what is behind the
// last of those kept is passed over, and where the buffer is full half of it goes. Reason for a method of its own:
// NumPy's and the standard library's stable sorts compare, at 5 to 8 times the cost. See
// tests/ops/cpu/host_sort_test.cpp.
#pragma once
#include <span>

#include "runtime/cpu/native_kernel.hpp"

namespace damo::cpu_backend {

std::span<const NativeKernel> line_sort_kernels();

}  // namespace damo::cpu_backend
