// Kernels that work with positions: ranges, gathers, scatters.
#pragma once
#include <cstdint>

#include <damo/array.hpp>

namespace damo {

/// out[i] = start + i step; out in C order, of any dtype.
void fill_range(const Array& out, double start, double step);
void fill_range(const Array& out, std::int64_t start, std::int64_t step);

/// out[o, j, k] = x[o, positions[j], k] for x of shape (outer, extent, inner), everything in C order.
void gather(const Array& x, const Array& positions, const Array& out, std::int64_t extent, std::int64_t inner);
/// x[positions[j]] = values[j]; x and positions in C order.
void scatter(const Array& x, const Array& positions, const Array& values, std::int64_t extent);

}  // namespace damo
