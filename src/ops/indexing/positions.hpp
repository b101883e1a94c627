// Positions on an axis, checked and counted from its beginning.
#pragma once
#include <cstdint>
#include <string>

#include <damo/error.hpp>
#include <damo/scalar.hpp>
#include <damo/variable.hpp>

namespace damo {

/// Whether -1 is the last position, or none.
enum class CountsFromEnd : bool { kNo, kYes };

/// int64, in C order, each in [0, extent of x along the axis): what kernels may follow without looking. One that is not is reported
/// (data_report.hpp) and 0. Negative ones count from the end, or are none. user: the op in whose name errors speak, unless
/// a function around it was called (graph/user_line.hpp). Of x only the shape is read.
/// axes: how many axes, from that one on, the positions count through in C order. before: checked ones of axes that come before, of the positions' shape: then
/// the results count through those and these.
Variable checked_positions(const std::string& user, const Variable& x, int axis, const Variable& positions, SourceLine line, CountsFromEnd counts = CountsFromEnd::kYes, int axes = 1,
                           const Variable& before = {});

/// What checked_positions gave, or the positions that it looks at where graphs say that each lies on the axes: places that searchsorted gives, from 0 to the size of its table, in an array known to have more elements
/// than that. In any order of axes.
Variable without_check(const Variable& checked);

/// int64 (count,): where a mask is true, in C order; checked ones of as many axes of x, to which it fits (ShapeError). x: of which only the shape is read, or
/// empty where any mask will do.
Variable true_positions(const std::string& user, const Variable& mask, const Variable& x, SourceLine line);

/// Throws ShapeError unless both shapes stretch to a common one, of unknown extents as far as one can tell.
void require_common(const std::string& user, const Shape& a, const Shape& b);

/// The shape of positions along an axis: x's but for that axis. Throws ShapeError, in that name, for others; extents may be unknown.
Shape positions_in_lines(const std::string& user, const Shape& x, const Shape& positions, int axis);

/// The position, counted from 0 where it is below that. Throws ShapeError, in that name, for one that is not on the axis.
std::int64_t position_on_axis(const std::string& user, std::int64_t position, int axis, std::int64_t extent);

/// Throws ShapeError, in that name: where positions are given on an axis without any.
[[noreturn]] void refuse_empty_axis(const std::string& user, int axis);

/// The position of that dtype whose bits a kernel reported (data_report.hpp): those of uint64 may be beyond int64.
Scalar reported_position(std::int64_t bits, DType dtype);

/// What is said of a position that is not on its axis.
ErrorParts beyond_axis(const std::string& user, Scalar position, int axis, std::int64_t extent, SourceLine line, CountsFromEnd counts = CountsFromEnd::kYes);

}  // namespace damo
