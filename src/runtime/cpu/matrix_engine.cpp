#include "runtime/cpu/matrix_engine.hpp"

#include <utility>

#include "runtime/cpu/blas_engine.hpp"
#include "runtime/cpu/onednn_engine.hpp"

namespace damo::cpu_backend {
namespace {

class CpuMatrixEngine final : public MatrixEngine {
 public:
  CpuMatrixEngine(std::unique_ptr<MatrixEngine> onednn, std::unique_ptr<MatrixEngine> blas) : onednn_(std::move(onednn)), blas_(std::move(blas)) {}

  const std::string& name(DType operands) const override { return onednn_->computes_as(operands) ? onednn_->name(operands) : blas_->name(operands); }
  std::optional<DType> computes_as(DType operands) const override {
    if (const std::optional<DType> own = onednn_->computes_as(operands)) return own;
    return blas_ ? blas_->computes_as(operands) : std::nullopt;
  }
  bool has_epilogues(DType operands) const override { return onednn_->has_epilogues(operands) || (blas_ && blas_->has_epilogues(operands)); }
  std::shared_ptr<PreparedProduct> prepare(const MatrixProduct& product) override {
    if (auto prepared = onednn_->prepare(product)) return prepared;
    return blas_ ? blas_->prepare(product) : nullptr;
  }

 private:
  std::unique_ptr<MatrixEngine> onednn_, blas_;  // the second is null where there is none
};

}  // namespace

std::unique_ptr<MatrixEngine> make_matrix_engine(const Backend& backend, const WorkerPool& workers) {
  return std::make_unique<CpuMatrixEngine>(make_onednn_engine(backend, workers), make_blas_engine(backend, workers));
}

}  // namespace damo::cpu_backend
