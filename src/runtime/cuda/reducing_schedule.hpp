// How a generated CUDA kernel that reduces shares rows out: from the spec, the number and length of rows, and how many
// multiprocessors there are.
#pragma once
#include <cstdint>

#include "runtime/kernel/dialect.hpp"

namespace damo {

/// Threads of a block.
int reducing_block(const Layout& layout);
/// Elements of one access.
int reducing_vector(const KernelSpec& spec, const Layout& layout);
/// The layout with lanes, items, whole and chunked.
Layout share_cuda_rows(const KernelSpec& spec, Layout layout, const Geometry& geometry, int multiprocessors);
Work reducing_cuda_work(const KernelSpec& spec, const Layout& layout, const Geometry& geometry, int multiprocessors);

}  // namespace damo
