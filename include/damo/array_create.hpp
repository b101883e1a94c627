// New Arrays beside Array::zeros, ones, full, from: ranges, matrices of ones and zeros, and arrays like others. Those of graphs
// (ops/create.hpp) have the same names and meaning. See tests/ops/eager/create_test.cpp and tests/function/create_test.cpp.
#pragma once
#include <cstdint>
#include <optional>

#include <damo/array.hpp>

namespace damo {

/// start, start + step, ... below stop (above it for a negative step): ceil((stop - start) / step) elements, computed
/// as start + i step in float64, or in int64 if all three and the dtype are integers. OptionError for a step of 0.
Array arange(Scalar start, Scalar stop, Scalar step = 1, DType dtype = float32, Device device = Device());
inline Array arange(Scalar stop, DType dtype = float32, Device device = Device()) {
  return arange(0, stop, 1, dtype, device);
}
/// count numbers from start to stop, evenly spaced, both ends included, in float64; of integer dtypes rounded down. ShapeError for a negative count.
Array linspace(double start, double stop, std::int64_t count = 50, DType dtype = float32, Device device = Device());
/// Ones where column = row + diagonal, else zeros; columns: as many as rows unless told.
Array eye(std::int64_t rows, std::optional<std::int64_t> columns = {}, std::int64_t diagonal = 0, DType dtype = float32,
          Device device = Device());
Array eye_like(const Array& x, std::int64_t diagonal = 0, std::optional<DType> dtype = {});
/// Ones where column <= row + diagonal, else zeros.
Array tri(std::int64_t rows, std::optional<std::int64_t> columns = {}, std::int64_t diagonal = 0, DType dtype = float32,
          Device device = Device());
/// The matrix with x, a vector, on that diagonal, zeros beside: as many rows and columns as it takes. ShapeError for another rank.
Array diag(const Array& x, std::int64_t diagonal = 0);

/// Of x's shape, dtype (unless told) and device, in C order.
Array empty_like(const Array& x, std::optional<DType> dtype = {});
Array full_like(const Array& x, Scalar value, std::optional<DType> dtype = {});
Array zeros_like(const Array& x, std::optional<DType> dtype = {});
Array ones_like(const Array& x, std::optional<DType> dtype = {});

/// int64 (rank,): the extents of x, on its device; and how many elements it has, of rank 0. x.shape() and x.size() are the same on the host.
/// Cost: a copy of so many numbers to the device.
Array shape_of(const Array& x);
Array size_of(const Array& x);

}  // namespace damo
