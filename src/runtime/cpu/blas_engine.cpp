#include "runtime/cpu/blas_engine.hpp"

#include <algorithm>
#include <limits>

#include "runtime/cpu/blas_library.hpp"
#include "runtime/cpu/library_calls.hpp"
#include "runtime/stream/capture.hpp"
#include "runtime/stream/work_log.hpp"

namespace damo::cpu_backend {
namespace {

/// Products of so many multiplications a library runs in the calling thread; several of them are shared among the pool's threads.
constexpr std::int64_t kSmall = 64 * 64 * 64, kWorthAShare = 1 << 16;

template <class T>
class BlasProduct final : public PreparedProduct {
 public:
  BlasProduct(const Backend& backend, const WorkerPool& workers, const BlasFunctions<T>& blas, const MatrixProduct& product, MatrixOrder a, MatrixOrder b)
      : backend_(backend), workers_(workers), blas_(blas), p_(product), a_(a), b_(b) {}

  void run(const MatrixAddresses& addresses, void* workspace, void*) override {
    if (WorkLog* log = current_log(backend_); log && log->multiply(*this, addresses, workspace)) return;
    check_default_stream(backend_);
    const std::int64_t work = p_.m * p_.n * p_.k;
    if (p_.batches > 1 && work <= kSmall) {
      void* const arguments[] = {this, const_cast<MatrixAddresses*>(&addresses)};
      workers_.run(run_share, arguments, LaunchFrame{}, p_.batches, std::max<std::int64_t>(kWorthAShare / std::max<std::int64_t>(work, 1), 1));
    } else {
      run_batches(addresses, 0, p_.batches);
    }
  }

 private:
  static void run_share(void* const* arguments, const LaunchFrame*, std::int64_t first, std::int64_t last) {
    static_cast<const BlasProduct*>(arguments[0])->run_batches(*static_cast<const MatrixAddresses*>(arguments[1]), first, last);
  }

  void run_batches(const MatrixAddresses& addresses, std::int64_t first, std::int64_t last) const {
    const LibraryCall call;
    for (std::int64_t batch = first; batch < last; ++batch) {
      const T* a = static_cast<const T*>(addresses.a) + batch * p_.a.batch;
      const T* b = static_cast<const T*>(addresses.b) + batch * p_.b.batch;
      T* c = static_cast<T*>(addresses.result) + batch * p_.c.batch;
      if (p_.beta != 0 && addresses.start != addresses.result) {
        const T* start = static_cast<const T*>(addresses.start) + batch * p_.c.batch;
        for (std::int64_t i = 0; i < p_.m; ++i) std::copy_n(start + i * p_.c.row, p_.n, c + i * p_.c.row);
      }
      multiply(a, b, c);
    }
  }

  static int narrow(std::int64_t value) { return static_cast<int>(value); }

  void multiply(const T* a, const T* b, T* c) const {
    const T alpha = static_cast<T>(p_.alpha), beta = static_cast<T>(p_.beta);
    const int m = narrow(p_.m), n = narrow(p_.n), k = narrow(p_.k), lda = narrow(a_.leading), ldb = narrow(b_.leading), ldc = narrow(std::max(p_.c.row, p_.n));
    if (n == 1 || m == 1) {
      // A library may scale what was there by 0, which leaves NaN.
      const std::int64_t step = n == 1 ? p_.c.row : 1;
      if (p_.beta == 0) {
        for (std::int64_t i = 0; i < std::max(m, n); ++i) c[i * step] = T(0);
      }
      if (n == 1) {
        blas_.gemv(kRowMajor, a_.is_transposed ? kTranspose : kNoTranspose, a_.is_transposed ? k : m, a_.is_transposed ? m : k, alpha, a, lda, b, k > 1 ? ldb : 1, beta, c,
                   m > 1 ? narrow(step) : 1);
      } else {
        blas_.gemv(kRowMajor, b_.is_transposed ? kNoTranspose : kTranspose, b_.is_transposed ? n : k, b_.is_transposed ? k : n, alpha, b, ldb, a,
                   a_.is_transposed && k > 1 ? lda : 1, beta, c, 1);
      }
      return;
    }
    blas_.gemm(kRowMajor, a_.is_transposed ? kTranspose : kNoTranspose, b_.is_transposed ? kTranspose : kNoTranspose, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
  }

  const Backend& backend_;
  const WorkerPool& workers_;
  const BlasFunctions<T>& blas_;
  MatrixProduct p_;
  MatrixOrder a_, b_;
};

class BlasEngine final : public MatrixEngine {
 public:
  BlasEngine(const Backend& backend, const WorkerPool& workers, const BlasLibrary& library) : backend_(backend), workers_(workers), library_(library) {}

  const std::string& name(DType) const override { return library_.name; }
  std::optional<DType> computes_as(DType operands) const override {
    if (!is_floating(operands)) return std::nullopt;
    return is_narrow(operands) ? float32 : operands;
  }
  bool has_epilogues(DType) const override { return false; }
  std::shared_ptr<PreparedProduct> prepare(const MatrixProduct& product) override {
    const auto a = order_of(product.a, product.m, product.k), b = order_of(product.b, product.k, product.n);
    if (!a || !b || product.operands != product.result || product.has_bias || product.activation != Activation::kNone) return nullptr;
    const std::int64_t numbers[] = {product.m, product.n, product.k, a->leading, b->leading, product.c.row};
    if (std::any_of(std::begin(numbers), std::end(numbers), [](std::int64_t number) { return number > std::numeric_limits<int>::max(); })) return nullptr;
    if (product.operands == float32) return std::make_shared<BlasProduct<float>>(backend_, workers_, library_.single, product, *a, *b);
    if (product.operands == float64) return std::make_shared<BlasProduct<double>>(backend_, workers_, library_.real, product, *a, *b);
    return nullptr;
  }

 private:
  const Backend& backend_;
  const WorkerPool& workers_;
  const BlasLibrary& library_;
};

}  // namespace

std::unique_ptr<MatrixEngine> make_blas_engine(const Backend& backend, const WorkerPool& workers) {
  const BlasLibrary* library = blas();
  if (!library) return nullptr;
  if (library->set_threads) {
    const LibraryCall call;
    library->set_threads(workers.threads());
  }
  return std::make_unique<BlasEngine>(backend, workers, *library);
}

}  // namespace damo::cpu_backend
