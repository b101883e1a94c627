// MatrixLibrary: matrix products on one device: by its vendor's or the system's library where there is one that takes the product, else by
// a kernel of Damo's own (generated_product.hpp), which takes all. A companion of the device: it is made, and a library opened, at
// the first product, so that a process that multiplies nothing loads nothing; it goes with a reset. Thread-safe.
// See tests/runtime/library/matrix_library_test.cpp.
#pragma once
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "runtime/backend.hpp"
#include "runtime/library/matrix_product.hpp"

namespace damo {

class MatrixLibrary final : public Companion {
 public:
  explicit MatrixLibrary(Backend& backend) : backend_(backend), engine_(backend.make_matrix_engine()) {}
  static std::shared_ptr<MatrixLibrary> of(Backend& backend) { return backend.companion<MatrixLibrary>(); }

  Backend& backend() const { return backend_; }
  /// Null: all products are computed by kernels of Damo's own.
  const MatrixEngine* engine() const { return engine_.get(); }
  /// The dtype that operands are to be converted to, and in which the result then comes; the same where they may stay.
  DType computes_as(DType operands) const;
  /// Whether the library computes in this dtype, so that operands whose order it does not take are better copied.
  bool has(DType operands) const { return engine_ && engine_->computes_as(operands).has_value(); }
  /// Code of Damo's own that prepare() would have compiled, as far as that is known without opening a library.
  std::vector<CompileRequest> code(const MatrixProduct& product) const;
  /// Null only for one with bias or activation, which are left to the caller then. The last kMost are kept.
  std::shared_ptr<PreparedProduct> prepare(const MatrixProduct& product);

 private:
  static constexpr std::size_t kMost = 512;
  Backend& backend_;
  std::unique_ptr<MatrixEngine> engine_;
  std::mutex mutex_;
  std::map<MatrixProduct, std::shared_ptr<PreparedProduct>> prepared_;
};

}  // namespace damo
