// MatrixProduct: one product of matrices as a library of matrix work is asked for it,
//
//   C[b] = activation(alpha A[b] B[b] + beta C0[b] + bias),   A[b]: (m, k), B[b]: (k, n), C[b], C0[b]: (m, n), 0 <= b < batches
//
// and MatrixEngine: what one kind of device has to compute it. Sizes, strides and dtypes alone: an engine works them out once
// (prepare) and runs with other addresses at each call. matrix_library.hpp has the one that a device uses.
#pragma once
#include <compare>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <damo/dtype.hpp>
#include "runtime/backend.hpp"

namespace damo {


/// What a product's elements become. No relu: cuBLASLt's gives 0 for NaN.
enum class Activation : std::uint8_t {
  kNone,
  kGeluTanh  ///< 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3)))
};

/// Elements between neighbours; batch is 0 where all products read one matrix.
struct MatrixStrides {
  std::int64_t row = 0, column = 1, batch = 0;
  auto operator<=>(const MatrixStrides&) const = default;
};

struct MatrixProduct {
  DType operands = float32, result = float32;  ///< of A and B; of C, C0 and bias. 8-bit floats are an engine's alone
  std::optional<DType> b_operands = {};  ///< of B, where it is the other dtype of 8 bits
  std::int64_t m = 0, n = 0, k = 0, batches = 1;
  MatrixStrides a, b, c;  ///< c.column is 1
  double alpha = 1, beta = 0;  ///< beta 0: C0 is not read
  bool has_bias = false;  ///< one element a column
  Activation activation = Activation::kNone;
  bool tf32 = false;  ///< float32 operands may be rounded to 10 bits of fraction before they are multiplied
  auto operator<=>(const MatrixProduct&) const = default;
};

/// The nearest that libraries take without a copy: rows or columns lie one after another, each without gaps and none
/// in another. Strides along axes of extent 1 mean nothing. `leading`: elements from one of them to the next.
struct MatrixOrder {
  bool is_transposed = false;  ///< columns lie in memory as rows do in C order
  std::int64_t leading = 1;
};
std::optional<MatrixOrder> order_of(const MatrixStrides& strides, std::int64_t rows, std::int64_t columns);

/// On the device. start (C0) may be result itself, which then is computed in place; else it has result's strides.
struct MatrixAddresses {
  const void *a = nullptr, *b = nullptr, *start = nullptr, *bias = nullptr;
  void* result = nullptr;
};

/// A product that an engine has worked out. Thread-safe.
class PreparedProduct : public std::enable_shared_from_this<PreparedProduct> {
 public:
  virtual ~PreparedProduct() = default;
  /// Memory on the device that a run needs for itself.
  virtual std::size_t workspace_bytes() const { return 0; }
  /// In order of the stream. Throws DeviceError.
  virtual void run(const MatrixAddresses& addresses, void* workspace, void* stream) = 0;
};

/// Thread-safe.
class MatrixEngine {
 public:
  virtual ~MatrixEngine() = default;
  /// "OpenBLAS 0.3.21, libopenblas.so.0": what multiplies operands of a dtype that it computes in; for explain().
  virtual const std::string& name(DType operands) const = 0;
  /// What operands of this dtype must be converted to for it, and its result from; none if it has no such product.
  virtual std::optional<DType> computes_as(DType operands) const = 0;
  /// Whether a bias and activations cost nothing there; else they are better left to a kernel that does more beside.
  virtual bool has_epilogues(DType operands) const = 0;
  /// Code of Damo's own that prepare() would begin to compile beside what the library has. Opens no library.
  virtual std::vector<CompileRequest> code(const MatrixProduct&) { return {}; }
  /// Null for a product that it does not take.
  virtual std::shared_ptr<PreparedProduct> prepare(const MatrixProduct& product) = 0;
};

}  // namespace damo
