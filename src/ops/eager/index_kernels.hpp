// Kernels that work with positions: ranges, gathers, scatters.
#pragma once
#include <cstdint>

#include <damo/array.hpp>
#include "ops/indexing/positions.hpp"
#include "ops/indexing/walks.hpp"

namespace damo {

/// out[i] = start + i step; out in C order, of any dtype.
void fill_range(const Array& out, double start, double step);
void fill_range(const Array& out, std::int64_t start, std::int64_t step);

/// int64, each in [0, extent): what gather and scatter follow. One that is not on the axis is `otherwise` and an IndexError: at once on
/// a CPU, from whoever waits for the device on a GPU.
Array checked_positions(const char* user, const Array& positions, int axis, std::int64_t extent, std::int64_t otherwise, CountsFromEnd counts = CountsFromEnd::kYes);

/// Gather and Scatter (ops/indexing/walks.hpp) by the kernels of x's device; x of gather in C order unless it is called strided.
void gather(const Array& x, const Array& positions, const Array& out, int axis, int axes, bool strided = false);
/// Compiles what such a gather launches, unless that is done.
void prepare_gather(Device device, DType dtype, bool strided = false);
void scatter(ScatterKind kind, const Array& y, const Array& positions, const Array& z, int axis, int axes, bool repeats);
/// x[positions[j]] = values[j], but where a position is below 0; x and positions, which are checked ones and all different, in C order.
void scatter(const Array& x, const Array& positions, const Array& values);

}  // namespace damo
