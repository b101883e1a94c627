// Positions on an axis, checked and counted from its beginning.
#pragma once
#include <cstdint>
#include <string>

#include <damo/error.hpp>
#include <damo/variable.hpp>

namespace damo {

/// Whether -1 is the last position, or none.
enum class CountsFromEnd : bool { kNo, kYes };

/// int64, in C order, each in [0, extent of x along the axis): what kernels may follow without looking. One that is not is reported
/// (kernel_report.hpp) and 0. Negative ones count from the end, or are none. user: the op in whose name errors speak. Of x only the shape is read.
Variable checked_positions(const std::string& user, const Variable& x, int axis, const Variable& positions, SourceLine line, CountsFromEnd counts = CountsFromEnd::kYes);

/// What is said of a position that is not on its axis.
ErrorParts beyond_axis(const std::string& user, std::int64_t position, int axis, std::int64_t extent, SourceLine line, CountsFromEnd counts = CountsFromEnd::kYes);

}  // namespace damo
