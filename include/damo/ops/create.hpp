// Values that a graph makes itself: filled tensors, ranges, matrices of ones and zeros, and extents as numbers.
//
//   symbolic::arange(0, 10, 2)                    what no Variable is given to has a namespace of its own: damo::arange is an Array
//   x + symbolic::linspace(0.0, 1.0, 5)           made on the device of the call, in the kernel of the sum
//   zeros_like(x)  eye_like(x)  diag(v)           extents are those of x at the call
//   arange(n)  arange(0.0, n, 0.5)                n is a Variable: the numbers are those of the call
//   cast(shape_of(x), float32)                    extents as numbers
//
// Arrays have the same names, arguments and values in array_create.hpp and as Array::zeros, ones and full. Extents and numbers are known when the
// graph is built, but for those of arange(n). All are made of other ops: a filled tensor is one number that stretches, the others are elementwise work on the numbers of rows and
// columns (a vector of int64 each, unless a kernel over that axis counts them itself), so what reads them elementwise takes no memory for them.
// See tests/function/create_test.cpp.
#pragma once
#include <cstdint>
#include <optional>

#include <damo/scalar.hpp>
#include <damo/shape.hpp>
#include <damo/variable.hpp>

namespace damo {
namespace symbolic {

/// Every element is the value, cast to dtype; a view of one number. ShapeError for a negative extent, and for more than 2^63 bytes; so in what follows.
Variable full(const Shape& shape, Scalar value, DType dtype = float32, SourceLine where = {__builtin_FILE(), __builtin_LINE()});
Variable zeros(const Shape& shape, DType dtype = float32, SourceLine where = {__builtin_FILE(), __builtin_LINE()});
Variable ones(const Shape& shape, DType dtype = float32, SourceLine where = {__builtin_FILE(), __builtin_LINE()});

/// start, start + step, ... below stop (above it for a negative step): ceil((stop - start) / step) elements, computed as start + i step in float64, or in
/// int64 if all three and the dtype are integers. OptionError for a step of 0, ShapeError for a range without an end.
Variable arange(Scalar start, Scalar stop, Scalar step = 1, DType dtype = float32, SourceLine where = {__builtin_FILE(), __builtin_LINE()});
inline Variable arange(Scalar stop, DType dtype = float32, SourceLine where = {__builtin_FILE(), __builtin_LINE()}) { return arange(0, stop, 1, dtype, where); }
/// count numbers from start to stop, evenly spaced, both ends included, in float64; of integer dtypes rounded down. ShapeError for a negative count.
Variable linspace(double start, double stop, std::int64_t count = 50, DType dtype = float32, SourceLine where = {__builtin_FILE(), __builtin_LINE()});

/// Ones where column = row + diagonal, else zeros; columns: as many as rows unless told.
Variable eye(std::int64_t rows, std::optional<std::int64_t> columns = {}, std::int64_t diagonal = 0, DType dtype = float32,
             SourceLine where = {__builtin_FILE(), __builtin_LINE()});
/// Ones where column <= row + diagonal, else zeros.
Variable tri(std::int64_t rows, std::optional<std::int64_t> columns = {}, std::int64_t diagonal = 0, DType dtype = float32,
             SourceLine where = {__builtin_FILE(), __builtin_LINE()});

}  // namespace symbolic

/// Of x's shape at the call and dtype (unless told). No element of x is read, and no gradient passes to it.
Variable full_like(const Operand& x, Scalar value, std::optional<DType> dtype = {});
Variable zeros_like(const Operand& x, std::optional<DType> dtype = {});
Variable ones_like(const Operand& x, std::optional<DType> dtype = {});
/// eye of a matrix x's rows and columns. ShapeError for another rank.
Variable eye_like(const Operand& x, std::int64_t diagonal = 0, std::optional<DType> dtype = {});

/// The matrix with x, a vector of any dtype, on that diagonal, zeros beside: as many rows and columns as it takes. `diagonal` takes it back out of
/// the main one; its gradient is that of the elements there. ShapeError for another rank.
Variable diag(const Operand& x, std::int64_t diagonal = 0);

/// As symbolic::arange, of numbers that are known at the call, each of rank 0: start, start + step, ... below stop. dtype: unless told, what the three are
/// promoted to. Gradients pass to start and step. Throws ShapeError for another rank, at the call OptionError for a step of 0 and ShapeError for a range without
/// an end. Cost: the call waits for the numbers, as its shapes follow from them; a range along an axis of x is index_along(x, axis), which waits for nothing.
Variable arange(const Variable& stop, std::optional<DType> dtype = {}, SourceLine where = {__builtin_FILE(), __builtin_LINE()});
Variable arange(const Operand& start, const Variable& stop, const Operand& step = 1, std::optional<DType> dtype = {});

/// int64 (rank,): the extents of x at the call, on its device; a constant where the graph knows them. No element of x is read, and no gradient passes to
/// it. Cost: a fill for each extent that the graph does not know; kernels that read one get it as an argument.
Variable shape_of(const Operand& x);
/// int64, rank 0: how many elements x has; otherwise as shape.
Variable size_of(const Operand& x);

}  // namespace damo
