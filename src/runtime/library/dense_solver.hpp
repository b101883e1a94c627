// DenseSolver: what LAPACK does on one kind of device: factors of matrices, systems of equations, eigenvalues, singular values. Made at the
// first use (SolverLibrary), so that a process that factors nothing loads nothing. decompositions/decomposition.hpp says what Damo makes of it.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include <damo/dtype.hpp>

#include "runtime/backend.hpp"

namespace damo {

/// Matrices of float32 or float64 on the device, each column by column, without gaps, one after another.
struct MatrixStack {
  void* data = nullptr;
  DType dtype = float32;
  std::int64_t rows = 0, columns = 0, count = 1;
};

/// The first matrix that a method gave up on, and LAPACK's info of it: a position counted from 1, or less than 0 for NaN among its elements.
struct SolverFailure {
  std::int64_t matrix = 0, info = 0;
};

enum class SolverMethod : std::uint8_t { kCholesky, kLu, kLuSolve, kTriangularSolve, kQr, kQrVectors, kSvd, kEigh };

/// All work is in the order of the default stream; methods that can fail wait for it. No stack is empty. Thread-safe. DeviceError: extents that do not fit
/// in 32 bits, and what the library reports.
class DenseSolver {
 public:
  using Result = std::optional<SolverFailure>;
  virtual ~DenseSolver() = default;
  /// "OpenBLAS 0.3.21, libopenblas.so.0".
  virtual const std::string& name() const = 0;
  /// a: symmetric, of which the lower triangle is read and becomes L of L L^T. Fails where the leading minor of that order is not positive.
  virtual Result cholesky(const MatrixStack& a) = 0;
  /// a = P L U in place, the diagonal of L being ones; pivots: int32, rows a matrix, counted from 1. Fails where U's diagonal is 0 there, with all computed.
  virtual Result lu(const MatrixStack& a, std::int32_t* pivots) = 0;
  /// b becomes the solution.
  virtual void lu_solve(const MatrixStack& lu, const std::int32_t* pivots, const MatrixStack& b) = 0;
  struct Triangle {
    bool lower = true, transposed = false, unit_diagonal = false;
  };
  virtual void triangular_solve(const MatrixStack& a, Triangle triangle, const MatrixStack& b) = 0;
  /// a becomes R on and above its diagonal, and what qr_vectors wants below; tau: min(rows, columns) a matrix.
  virtual void qr(const MatrixStack& a, void* tau) = 0;
  /// q: what qr left in its first columns, becomes Q's first columns.
  virtual void qr_vectors(const MatrixStack& q, std::int64_t reflections, const void* tau) = 0;
  /// a has no more columns than rows, and is lost; u: (rows, columns) or square; vt: square; values: columns a matrix, descending.
  virtual Result svd(const MatrixStack& a, void* values, const MatrixStack& u, const MatrixStack& vt) = 0;
  /// a: symmetric, of which the lower triangle is read; becomes its eigenvectors; values: ascending.
  virtual Result eigh(const MatrixStack& a, void* values) = 0;
  /// What a method takes of the device's memory (workspace.hpp) beside its operands, for a of these extents, whose address is not looked at. vectors: kQrVectors: reflections; kSvd: columns of u.
  virtual std::size_t workspace_bytes(SolverMethod method, const MatrixStack& a, std::int64_t vectors = 0) = 0;
};

class SolverLibrary final : public Companion {
 public:
  explicit SolverLibrary(Backend& backend) : solver_(backend.make_dense_solver()) {}
  /// Throws DeviceError, saying what to install, where there is no library.
  static std::shared_ptr<SolverLibrary> of(Backend& backend) { return backend.companion<SolverLibrary>(); }
  DenseSolver& solver() { return *solver_; }

 private:
  std::unique_ptr<DenseSolver> solver_;
};

}  // namespace damo
