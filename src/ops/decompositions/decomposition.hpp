// Decomposition: what a DenseSolver (runtime/library/dense_solver.hpp) computes of matrices in the last two axes, as ops and Arrays have it: rows first,
// axes of batches before, which are the same for all inputs. Raw: the triangles that decompositions.hpp cuts out have anything beside them.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <damo/array.hpp>
#include <damo/shape.hpp>

namespace damo {

enum class DecompositionKind : std::uint8_t {
  kCholesky,         ///< (n, n) -> L
  kSolve,            ///< (n, n), (n, k) -> (n, k)
  kSolveTriangular,  ///< the same
  kInverse,          ///< (n, n) -> (n, n)
  kDeterminant,      ///< (n, n) -> ()
  kLogDeterminant,   ///< (n, n) -> sign (), logarithm ()
  kQr,               ///< (m, n) -> Q (m, k), R (k, n)
  kSvd,              ///< (m, n) -> U (m, k), values (k), V^T (k, n)
  kEigh,             ///< (n, n) -> values (n), vectors (n, n)
  kLu                ///< (n, n) -> L below the diagonal and U (n, n), which row of x each of their product's is (n), in x's dtype
};

/// Host memory of compute(): a caller that keeps it asks for none in the next call of the same shapes.
struct DecompositionNumbers {
  std::vector<double> read, first, second;
  std::vector<float> singles;
  std::vector<std::int32_t> pivots;
};

struct Decomposition {
  DecompositionKind kind;
  bool full = false;                                            ///< of QR and SVD: square Q, U and V
  bool lower = true, transposed = false, unit_diagonal = false;  ///< of a triangle
  bool operator==(const Decomposition&) const = default;

  /// Of the function that users call.
  const char* name() const;
  int input_count() const;
  /// Of extents that may be unknown; batches broadcast. Throws ShapeError.
  std::vector<Shape> shapes(std::span<const Shape> inputs) const;
  /// inputs: float32 or float64, of one dtype, any strides; outputs: of shapes(). In order of the default stream; methods that can fail wait for the device.
  /// Throws LinalgError and DeviceError.
  void compute(std::span<const Array> inputs, std::span<const Array> outputs, DecompositionNumbers& numbers) const;
  /// What that takes of the device's memory for itself where no matrix has NaN: copies in the order that solvers take, and their workspaces.
  std::size_t workspace_bytes(Backend& backend, DType dtype, std::span<const Shape> inputs, std::span<const Shape> outputs) const;
};

/// Throws ShapeError unless the right side, of one axis or more, has as many rows as the matrix, as far as both are known.
void require_rows(const std::string& user, const Shape& matrix, const Shape& right);

}  // namespace damo
