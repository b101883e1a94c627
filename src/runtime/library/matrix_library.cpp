#include "runtime/library/matrix_library.hpp"

#include <algorithm>

#include "runtime/library/generated_product.hpp"

namespace damo {

std::optional<MatrixOrder> order_of(const MatrixStrides& strides, std::int64_t rows, std::int64_t columns) {
  const std::int64_t least_rows = std::max<std::int64_t>(rows, 1), least_columns = std::max<std::int64_t>(columns, 1);
  if (strides.column == 1 || columns <= 1) {
    if (rows <= 1) return MatrixOrder{false, least_columns};
    if (strides.row >= least_columns) return MatrixOrder{false, strides.row};
  }
  if (strides.row == 1 || rows <= 1) {
    if (columns <= 1) return MatrixOrder{true, least_rows};
    if (strides.column >= least_rows) return MatrixOrder{true, strides.column};
  }
  return std::nullopt;
}

DType MatrixLibrary::computes_as(DType operands) const {
  if (const std::optional<DType> own = engine_ ? engine_->computes_as(operands) : std::nullopt) return *own;
  return is_float8(operands) ? float32 : operands;  // Damo's own kernels do not read them
}

std::vector<CompileRequest> MatrixLibrary::code(const MatrixProduct& product) const {
  if (has(product.operands)) return engine_->code(product);
  return {generated_product_code(product)};
}

std::shared_ptr<PreparedProduct> MatrixLibrary::prepare(const MatrixProduct& product) {
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = prepared_.find(product); found != prepared_.end()) return found->second;
  }
  std::shared_ptr<PreparedProduct> made = engine_ ? engine_->prepare(product) : nullptr;
  if (!made && !is_float8(product.operands) && !product.has_bias && product.activation == Activation::kNone) made = generated_product(backend_, product);
  const std::lock_guard lock(mutex_);
  if (prepared_.size() >= kMost) prepared_.clear();
  return prepared_.try_emplace(product, std::move(made)).first->second;
}

}  // namespace damo
