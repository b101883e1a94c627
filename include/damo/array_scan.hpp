// Scans of Arrays along an axis, or of all elements in C order, at once: each element gets what those of its line up to it give.
//
//   cumsum(a, 1)                             1 2 3 -> 1 3 6
//   cumsum(a, -1, {.reverse = true})         1 2 3 -> 6 5 3
//   cumsum(a)                                of all elements, flattened, as NumPy has it
//
// Meaning, dtypes, rounding and cost are those of the graph's (ops/scan.hpp): one read, one write, the same bits at every call. Scans of one's own: scan_kernel.hpp.
// ShapeError for an axis that does not exist, TypeError for a dtype that it does not take. See tests/ops/eager/scan_test.cpp.
#pragma once
#include <optional>

#include <damo/array.hpp>
#include <damo/axes.hpp>
#include <damo/reduce_options.hpp>

namespace damo {

/// Running sum, of bools and integers in 64 bits as sum().
Array cumsum(const Array& x, std::optional<int> axis = {}, CumulativeOptions options = {});
/// Running product, likewise.
Array cumprod(const Array& x, std::optional<int> axis = {}, CumulativeOptions options = {});
/// The greatest so far; NaN from the first one on.
Array cummax(const Array& x, std::optional<int> axis = {}, ScanOptions options = {});
Array cummin(const Array& x, std::optional<int> axis = {}, ScanOptions options = {});
/// log(cumsum(exp(x))), which does not overflow; floats alone.
Array logcumsumexp(const Array& x, std::optional<int> axis = {}, CumulativeOptions options = {});

}  // namespace damo
