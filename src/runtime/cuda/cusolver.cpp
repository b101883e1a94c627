#include "runtime/cuda/cusolver.hpp"

#include <algorithm>
#include <limits>
#include <mutex>
#include <vector>

#include <damo/array.hpp>

#include "runtime/cuda/backend.hpp"
#include "runtime/cuda/cusolver_library.hpp"
#include "runtime/stream/work_log.hpp"

namespace damo::cuda_backend {
namespace {

int narrow(std::int64_t extent) {
  if (extent > std::numeric_limits<int>::max()) {
    throw DeviceError("cuSOLVER takes matrices of up to 2^31 - 1 rows and columns, not of " + std::to_string(extent), "split the matrix");
  }
  return static_cast<int>(extent);
}

class Cusolver final : public DenseSolver {
  /// Handles belong to one thread at a time. They are made here, since the solver is made under a lock that a reset takes while it holds the
  /// context's; and not destroyed: at a reset their context is gone, and at the end of the process the driver may be.
  template <class Method>
  auto of(const MatrixStack& a, Method&& method) {
    enter_default_stream(backend_);
    const std::lock_guard lock(mutex_);
    backend_.bind();
    const CUstream stream = static_cast<CUstream>(backend_.default_stream());
    if (!solver_) {
      check(library_.create(&solver_), "cusolverDnCreate");
      check(library_.set_stream(solver_, stream), "cusolverDnSetStream");
    }
    if (!blas_) {
      check(library_.blas_create(&blas_), "cublasCreate");
      check(library_.blas_set_stream(blas_, stream), "cublasSetStream");
    }
    return a.dtype == float64 ? method(library_.real, double{}) : method(library_.single, float{});
  }

 public:
  Cusolver(CudaBackend& backend, const CusolverLibrary& library) : backend_(backend), library_(library) {}

  const std::string& name() const override { return library_.name; }

  Result cholesky(const MatrixStack& a) override {
    return of(a, [&](const auto& f, auto zero) {
      using T = decltype(zero);
      const int n = narrow(a.rows);
      Work<T> work(*this, a.count, [&](int* size) { return f.potrf_size(solver_, kTriangleLower, n, at<T>(a, 0), n, size); }, "potrf_bufferSize");
      each(a.count, "potrf", [&](std::int64_t i) { return f.potrf(solver_, kTriangleLower, n, at<T>(a, i), n, work.data(), work.size(), work.info(i)); });
      return work.failure();
    });
  }
  Result lu(const MatrixStack& a, std::int32_t* pivots) override {
    return of(a, [&](const auto& f, auto zero) {
      using T = decltype(zero);
      const int n = narrow(a.rows);
      Work<T> work(*this, a.count, [&](int* size) { return f.getrf_size(solver_, n, n, at<T>(a, 0), n, size); }, "getrf_bufferSize");
      each(a.count, "getrf", [&](std::int64_t i) { return f.getrf(solver_, n, n, at<T>(a, i), n, work.data(), pivots + i * n, work.info(i)); });
      return work.failure();
    });
  }
  void lu_solve(const MatrixStack& lu, const std::int32_t* pivots, const MatrixStack& b) override {
    of(lu, [&](const auto& f, auto zero) {
      using T = decltype(zero);
      const int n = narrow(lu.rows), columns = narrow(b.columns);
      Work<T> work(*this, lu.count, [](int* size) { return *size = 0; }, "getrs");
      each(lu.count, "getrs", [&](std::int64_t i) { return f.getrs(solver_, kAsItIs, n, columns, at<T>(lu, i), n, pivots + i * n, at<T>(b, i), n, work.info(i)); });
    });
  }
  void triangular_solve(const MatrixStack& a, Triangle triangle, const MatrixStack& b) override {
    of(a, [&](const auto& f, auto zero) {
      using T = decltype(zero);
      const int n = narrow(a.rows), columns = narrow(b.columns);
      const T one = 1;
      each(a.count, "trsm", [&](std::int64_t i) {
        return f.trsm(blas_, kFromTheLeft, triangle.lower ? kTriangleLower : kTriangleUpper, triangle.transposed ? kTransposed : kAsItIs,
                      triangle.unit_diagonal ? kUnitDiagonal : kAnyDiagonal, n, columns, &one, at<T>(a, i), n, at<T>(b, i), n);
      });
    });
  }
  void qr(const MatrixStack& a, void* tau) override {
    of(a, [&](const auto& f, auto zero) {
      using T = decltype(zero);
      const int m = narrow(a.rows), n = narrow(a.columns), k = std::min(m, n);
      Work<T> work(*this, a.count, [&](int* size) { return f.geqrf_size(solver_, m, n, at<T>(a, 0), m, size); }, "geqrf_bufferSize");
      each(a.count, "geqrf", [&](std::int64_t i) { return f.geqrf(solver_, m, n, at<T>(a, i), m, static_cast<T*>(tau) + i * k, work.data(), work.size(), work.info(i)); });
    });
  }
  void qr_vectors(const MatrixStack& q, std::int64_t reflections, const void* tau) override {
    of(q, [&](const auto& f, auto zero) {
      using T = decltype(zero);
      const int m = narrow(q.rows), n = narrow(q.columns), k = narrow(reflections);
      const T* scales = static_cast<const T*>(tau);
      Work<T> work(*this, q.count, [&](int* size) { return f.orgqr_size(solver_, m, n, k, at<T>(q, 0), m, scales, size); }, "orgqr_bufferSize");
      each(q.count, "orgqr", [&](std::int64_t i) { return f.orgqr(solver_, m, n, k, at<T>(q, i), m, scales + i * k, work.data(), work.size(), work.info(i)); });
    });
  }
  Result svd(const MatrixStack& a, void* values, const MatrixStack& u, const MatrixStack& vt) override {
    return of(a, [&](const auto& f, auto zero) {
      using T = decltype(zero);
      const int m = narrow(a.rows), n = narrow(a.columns);
      const signed char u_job = u.columns == u.rows ? 'A' : 'S';
      Work<T> work(*this, a.count, [&](int* size) { return f.gesvd_size(solver_, m, n, size); }, "gesvd_bufferSize");
      each(a.count, "gesvd", [&](std::int64_t i) {
        return f.gesvd(solver_, u_job, 'A', m, n, at<T>(a, i), m, static_cast<T*>(values) + i * n, at<T>(u, i), m, at<T>(vt, i), n, work.data(), work.size(), nullptr, work.info(i));
      });
      return work.failure();
    });
  }
  Result eigh(const MatrixStack& a, void* values) override {
    return of(a, [&](const auto& f, auto zero) {
      using T = decltype(zero);
      const int n = narrow(a.rows);
      T* w = static_cast<T*>(values);
      Work<T> work(*this, a.count, [&](int* size) { return f.syevd_size(solver_, kWithVectors, kTriangleLower, n, at<T>(a, 0), n, w, size); }, "syevd_bufferSize");
      each(a.count, "syevd", [&](std::int64_t i) {
        return f.syevd(solver_, kWithVectors, kTriangleLower, n, at<T>(a, i), n, w + i * n, work.data(), work.size(), work.info(i));
      });
      return work.failure();
    });
  }

 private:
  /// Memory that a method wants beside its operands, from the device's pool, and an info for each matrix.
  template <class T>
  class Work {
   public:
    template <class Query>
    Work(Cusolver& solver, std::int64_t count, Query&& query, const char* call) {
      int size = 0;
      solver.check(query(&size), call);
      const Device device(&solver.backend_);
      size_ = size;
      memory_ = Array::empty({std::max(size, 1)}, sizeof(T) == 8 ? float64 : float32, device);
      infos_ = Array::zeros({count}, int32, device);
    }
    T* data() const { return static_cast<T*>(memory_.data()); }
    int size() const { return size_; }
    int* info(std::int64_t i) const { return static_cast<int*>(infos_.data()) + i; }
    /// Waits.
    Result failure() const {
      const std::vector<std::int32_t> infos = infos_.to_vector<std::int32_t>();
      const auto found = std::find_if(infos.begin(), infos.end(), [](std::int32_t info) { return info != 0; });
      return found == infos.end() ? Result() : Result({found - infos.begin(), *found});
    }

   private:
    int size_ = 0;
    Array memory_, infos_;
  };

  template <class T>
  static T* at(const MatrixStack& stack, std::int64_t i) { return static_cast<T*>(stack.data) + i * stack.rows * stack.columns; }

  void check(int status, const char* call) const {
    if (status != 0) throw DeviceError(std::string("cuSOLVER's ") + call + " failed with status " + std::to_string(status), library_.name);
  }
  template <class Method>
  void each(std::int64_t count, const char* call, Method&& method) const {
    for (std::int64_t i = 0; i < count; ++i) check(method(i), call);
  }

  CudaBackend& backend_;
  const CusolverLibrary& library_;
  std::mutex mutex_;
  CusolverHandle solver_ = nullptr;
  CublasV2Handle blas_ = nullptr;
};

}  // namespace

std::unique_ptr<DenseSolver> make_cusolver(CudaBackend& backend) { return std::make_unique<Cusolver>(backend, cusolver()); }

}  // namespace damo::cuda_backend
