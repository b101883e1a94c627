#include "runtime/cuda/cusolver.hpp"

#include <algorithm>
#include <limits>
#include <mutex>
#include <vector>

#include <damo/array.hpp>

#include "runtime/cuda/backend.hpp"
#include "runtime/cuda/cusolver_library.hpp"
#include "runtime/memory/workspace.hpp"
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
    return with_handles(a, method);
  }
  template <class Method>
  auto with_handles(const MatrixStack& a, Method&& method) {
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
      Work<T> work(backend_, a.count, size_of(f, SolverMethod::kCholesky, a));
      each(a.count, "potrf", [&](std::int64_t i) { return f.potrf(solver_, kTriangleLower, n, at<T>(a, i), n, work.data(), work.size(), work.info(i)); });
      return work.failure();
    });
  }
  Result lu(const MatrixStack& a, std::int32_t* pivots) override {
    return of(a, [&](const auto& f, auto zero) {
      using T = decltype(zero);
      const int n = narrow(a.rows);
      Work<T> work(backend_, a.count, size_of(f, SolverMethod::kLu, a));
      each(a.count, "getrf", [&](std::int64_t i) { return f.getrf(solver_, n, n, at<T>(a, i), n, work.data(), pivots + i * n, work.info(i)); });
      return work.failure();
    });
  }
  void lu_solve(const MatrixStack& lu, const std::int32_t* pivots, const MatrixStack& b) override {
    of(lu, [&](const auto& f, auto zero) {
      using T = decltype(zero);
      const int n = narrow(lu.rows), columns = narrow(b.columns);
      Work<T> work(backend_, lu.count, size_of(f, SolverMethod::kLuSolve, lu));
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
      Work<T> work(backend_, a.count, size_of(f, SolverMethod::kQr, a));
      each(a.count, "geqrf", [&](std::int64_t i) { return f.geqrf(solver_, m, n, at<T>(a, i), m, static_cast<T*>(tau) + i * k, work.data(), work.size(), work.info(i)); });
    });
  }
  void qr_vectors(const MatrixStack& q, std::int64_t reflections, const void* tau) override {
    of(q, [&](const auto& f, auto zero) {
      using T = decltype(zero);
      const int m = narrow(q.rows), n = narrow(q.columns), k = narrow(reflections);
      const T* scales = static_cast<const T*>(tau);
      Work<T> work(backend_, q.count, size_of(f, SolverMethod::kQrVectors, q, reflections));
      each(q.count, "orgqr", [&](std::int64_t i) { return f.orgqr(solver_, m, n, k, at<T>(q, i), m, scales + i * k, work.data(), work.size(), work.info(i)); });
    });
  }
  Result svd(const MatrixStack& a, void* values, const MatrixStack& u, const MatrixStack& vt) override {
    return of(a, [&](const auto& f, auto zero) {
      using T = decltype(zero);
      const int m = narrow(a.rows), n = narrow(a.columns);
      const signed char u_job = u.columns == u.rows ? 'A' : 'S';
      Work<T> work(backend_, a.count, size_of(f, SolverMethod::kSvd, a));
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
      Work<T> work(backend_, a.count, size_of(f, SolverMethod::kEigh, a));
      each(a.count, "syevd", [&](std::int64_t i) {
        return f.syevd(solver_, kWithVectors, kTriangleLower, n, at<T>(a, i), n, w + i * n, work.data(), work.size(), work.info(i));
      });
      return work.failure();
    });
  }
  std::size_t workspace_bytes(SolverMethod method, const MatrixStack& a, std::int64_t vectors) override {
    if (method == SolverMethod::kTriangularSolve) return 0;
    return with_handles(a, [&](const auto& f, auto zero) { return Work<decltype(zero)>::bytes(a.count, size_of(f, method, a, vectors)); });
  }

 private:
  /// Memory that a method wants beside its operands, and an info for each matrix.
  template <class T>
  class Work {
   public:
    Work(CudaBackend& backend, std::int64_t count, int size) : size_(size), memory_(backend, element_bytes(size)), infos_(Array::zeros({count}, int32, Device(&backend))) {}
    static std::size_t bytes(std::int64_t count, int size) { return WorkspacePieces::rounded(element_bytes(size)) + WorkspacePieces::rounded(static_cast<std::size_t>(count) * sizeof(std::int32_t)); }
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
    static std::size_t element_bytes(int size) { return static_cast<std::size_t>(std::max(size, 1)) * sizeof(T); }
    int size_;
    Scratch memory_;
    Array infos_;
  };

  /// Elements that a method wants.
  template <class Functions>
  int size_of(const Functions& f, SolverMethod method, const MatrixStack& a, std::int64_t reflections = 0) const {
    using T = typename Functions::Element;
    const int m = narrow(a.rows), n = narrow(a.columns);
    T* const none = nullptr;  // where the operands lie says nothing about it
    int size = 0;
    switch (method) {
      case SolverMethod::kCholesky: check(f.potrf_size(solver_, kTriangleLower, n, none, n, &size), "potrf_bufferSize"); break;
      case SolverMethod::kLu: check(f.getrf_size(solver_, n, n, none, n, &size), "getrf_bufferSize"); break;
      case SolverMethod::kQr: check(f.geqrf_size(solver_, m, n, none, m, &size), "geqrf_bufferSize"); break;
      case SolverMethod::kQrVectors: check(f.orgqr_size(solver_, m, n, narrow(reflections), none, m, none, &size), "orgqr_bufferSize"); break;
      case SolverMethod::kSvd: check(f.gesvd_size(solver_, m, n, &size), "gesvd_bufferSize"); break;
      case SolverMethod::kEigh: check(f.syevd_size(solver_, kWithVectors, kTriangleLower, n, none, n, none, &size), "syevd_bufferSize"); break;
      case SolverMethod::kLuSolve:
      case SolverMethod::kTriangularSolve: break;
    }
    return size;
  }

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
