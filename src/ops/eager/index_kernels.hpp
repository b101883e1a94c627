// Kernels that work with positions: ranges, gathers, scatters.
#pragma once
#include <cstdint>

#include <damo/array.hpp>

namespace damo {

/// out[i] = start + i step; out in C order, of any dtype.
void fill_range(const Array& out, double start, double step);
void fill_range(const Array& out, std::int64_t start, std::int64_t step);

/// int64, each in [0, extent): what gather and scatter follow. One that is not on the axis is `otherwise` and an IndexError: at once on
/// a CPU, from whoever waits for the device on a GPU.
Array checked_positions(const char* user, const Array& positions, int axis, std::int64_t extent, std::int64_t otherwise);

/// out[o, j, k] = x[o, positions[j], k] for x of shape (outer, extent, inner), everything in C order; positions are checked ones.
void gather(const Array& x, const Array& positions, const Array& out, std::int64_t extent, std::int64_t inner);
/// x[positions[j]] = values[j], but where a position is below 0; x and positions, which are checked ones, in C order.
void scatter(const Array& x, const Array& positions, const Array& values);

}  // namespace damo
