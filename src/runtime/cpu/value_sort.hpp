// Native kernels that sort the elements of lines, without places (library/line_sort.hpp).
//
// What moves is the element, and digits are taken of its key (digit_sort.hpp), from the least on; so those with equal keys, both zeros
// and all kinds of NaN among them, stay as they are and in their order. Of elements of 64 bits the digits are those of 32 bits of the key,
// from the highest bit on that differs; few are then still equal, and each such group is sorted again by the lower bits.
// So a run costs one read more than it has digits of 11 bits, of which three reads and writes are the most where groups are few, and less where few bits
// differ; a run in order is only read and copied. Runs are merged as those of line_sort.hpp. See tests/ops/cpu/host_sort_test.cpp.
#pragma once
#include <span>

#include "runtime/cpu/native_kernel.hpp"

namespace damo::cpu_backend {

std::span<const NativeKernel> value_sort_kernels();

}  // namespace damo::cpu_backend
