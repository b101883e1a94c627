#include "runtime/cpu/lapack_solver.hpp"

#include <algorithm>
#include <limits>

#include <damo/error.hpp>

#include "runtime/cpu/blas_library.hpp"
#include "runtime/cpu/lapack_library.hpp"
#include "runtime/cpu/library_calls.hpp"
#include "runtime/memory/workspace.hpp"
#include "runtime/stream/work_log.hpp"

namespace damo::cpu_backend {
namespace {

int narrow(std::int64_t extent) {
  if (extent > std::numeric_limits<int>::max()) {
    throw DeviceError("LAPACK takes matrices of up to 2^31 - 1 rows and columns, not of " + std::to_string(extent), "split the matrix");
  }
  return static_cast<int>(extent);
}

/// One matrix of a stack after another.
template <class T>
class Lapack {
 public:
  Lapack(Backend& backend, const LapackFunctions<T>& functions) : backend_(backend), f_(functions) {}

  DenseSolver::Result cholesky(const MatrixStack& a) const {
    const int n = narrow(a.rows);
    return each(a.count, [&](std::int64_t i) {
      int info = 0;
      f_.potrf("L", &n, at(a, i), &n, &info, 1);
      return info;
    });
  }
  DenseSolver::Result lu(const MatrixStack& a, std::int32_t* pivots) const {
    const int n = narrow(a.rows);
    return each(a.count, [&](std::int64_t i) {
      int info = 0;
      f_.getrf(&n, &n, at(a, i), &n, pivots + i * n, &info);
      return info;
    });
  }
  void lu_solve(const MatrixStack& lu, const std::int32_t* pivots, const MatrixStack& b) const {
    const int n = narrow(lu.rows), columns = narrow(b.columns);
    for (std::int64_t i = 0; i < lu.count; ++i) {
      int info = 0;
      f_.getrs("N", &n, &columns, at(lu, i), &n, pivots + i * n, at(b, i), &n, &info, 1);
    }
  }
  void triangular_solve(const MatrixStack& a, DenseSolver::Triangle triangle, const MatrixStack& b) const {
    const int n = narrow(a.rows), columns = narrow(b.columns);
    const T one = 1;
    for (std::int64_t i = 0; i < a.count; ++i) {
      f_.trsm("L", triangle.lower ? "L" : "U", triangle.transposed ? "T" : "N", triangle.unit_diagonal ? "U" : "N", &n, &columns, &one, at(a, i), &n, at(b, i), &n, 1, 1, 1, 1);
    }
  }
  void qr(const MatrixStack& a, T* tau) const { with_work(geqrf(a, tau), a.count); }
  void qr_vectors(const MatrixStack& q, std::int64_t reflections, const T* tau) const { with_work(orgqr(q, reflections, tau), q.count); }
  DenseSolver::Result svd(const MatrixStack& a, T* values, const MatrixStack& u, const MatrixStack& vt) const {
    const Scratch integers(backend_, svd_integers(a));
    return with_work(gesdd(a, values, u, vt, static_cast<int*>(integers.data())), a.count);
  }
  DenseSolver::Result eigh(const MatrixStack& a, T* values) const {
    const Scratch integers(backend_, eigh_integers(a));
    return with_work(syevd(a, values, static_cast<int*>(integers.data())), a.count);
  }

  std::size_t workspace_bytes(SolverMethod method, const MatrixStack& a, std::int64_t vectors) const {
    const auto bytes = [](std::int64_t elements, std::size_t integers) { return WorkspacePieces::rounded(static_cast<std::size_t>(elements) * sizeof(T)) + WorkspacePieces::rounded(integers); };
    switch (method) {
      case SolverMethod::kQr: return bytes(work_size(geqrf(a, nullptr)), 0);
      case SolverMethod::kQrVectors: return bytes(work_size(orgqr(a, vectors, nullptr)), 0);
      case SolverMethod::kSvd: return bytes(work_size(gesdd(a, nullptr, {nullptr, a.dtype, a.rows, vectors}, {nullptr, a.dtype, a.columns, a.columns}, nullptr)), svd_integers(a));
      case SolverMethod::kEigh: {
        int integers = 0;  // where it says how many
        return bytes(work_size(syevd(a, nullptr, &integers)), eigh_integers(a));
      }
      case SolverMethod::kCholesky:
      case SolverMethod::kLu:
      case SolverMethod::kLuSolve:
      case SolverMethod::kTriangularSolve: return 0;
    }
    return 0;
  }

 private:
  static T* at(const MatrixStack& stack, std::int64_t i) { return static_cast<T*>(stack.data) + i * stack.rows * stack.columns; }

  /// The first that gave an info other than 0; the others are computed all the same.
  template <class Method>
  static DenseSolver::Result each(std::int64_t count, Method&& method) {
    DenseSolver::Result failure;
    for (std::int64_t i = 0; i < count; ++i) {
      const int info = method(i);
      if (info != 0 && !failure) failure = {i, info};
    }
    return failure;
  }
  // Calls for matrix i of a stack, with memory of their own.
  auto geqrf(const MatrixStack& a, T* tau) const {
    return [this, a, tau, m = narrow(a.rows), n = narrow(a.columns)](T* work, const int* size, std::int64_t i) {
      int info = 0;
      f_.geqrf(&m, &n, at(a, i), &m, tau + i * std::min(m, n), work, size, &info);
      return info;
    };
  }
  auto orgqr(const MatrixStack& q, std::int64_t reflections, const T* tau) const {
    return [this, q, tau, m = narrow(q.rows), n = narrow(q.columns), k = narrow(reflections)](T* work, const int* size, std::int64_t i) {
      int info = 0;
      f_.orgqr(&m, &n, &k, at(q, i), &m, tau + i * k, work, size, &info);
      return info;
    };
  }
  auto gesdd(const MatrixStack& a, T* values, const MatrixStack& u, const MatrixStack& vt, int* integers) const {
    return [this, a, values, u, vt, integers, m = narrow(a.rows), n = narrow(a.columns)](T* work, const int* size, std::int64_t i) {
      int info = 0;
      f_.gesdd(u.columns == u.rows ? "A" : "S", &m, &n, at(a, i), &m, values + i * n, at(u, i), &m, at(vt, i), &n, work, size, integers, &info, 1);
      return info;
    };
  }
  auto syevd(const MatrixStack& a, T* values, int* integers) const {
    return [this, a, values, integers, n = narrow(a.rows), integer_count = narrow(eigh_integer_count(a))](T* work, const int* size, std::int64_t i) {
      int info = 0;
      f_.syevd("V", "L", &n, at(a, i), &n, values + i * n, work, size, integers, &integer_count, &info, 1, 1);
      return info;
    };
  }
  static std::size_t svd_integers(const MatrixStack& a) { return 8 * static_cast<std::size_t>(a.columns) * sizeof(int); }
  static std::int64_t eigh_integer_count(const MatrixStack& a) { return 3 + 5 * a.rows; }
  static std::size_t eigh_integers(const MatrixStack& a) { return static_cast<std::size_t>(eigh_integer_count(a)) * sizeof(int); }

  /// LAPACK tells how much memory a method wants if it is given -1 elements.
  template <class Method>
  static std::int64_t work_size(const Method& method) {
    T wanted = 0;
    const int query = -1;
    method(&wanted, &query, 0);
    return static_cast<std::int64_t>(std::max(wanted, T(1))) + 1;  // + 1: float32 holds large sizes rounded
  }
  template <class Method>
  DenseSolver::Result with_work(const Method& method, std::int64_t count) const {
    const std::int64_t elements = work_size(method);
    const int size = narrow(elements);
    const Scratch work(backend_, static_cast<std::size_t>(elements) * sizeof(T));
    return each(count, [&](std::int64_t i) { return method(static_cast<T*>(work.data()), &size, i); });
  }

  Backend& backend_;
  const LapackFunctions<T>& f_;
};

class LapackSolver final : public DenseSolver {
  template <class Method>
  auto of(const MatrixStack& a, Method&& method) {
    enter_default_stream(backend_);
    const LibraryCall call;
    return a.dtype == float64 ? method(real_, double{}) : method(single_, float{});
  }

 public:
  LapackSolver(Backend& backend, const LapackLibrary& library) : backend_(backend), library_(library), single_(backend, library.single), real_(backend, library.real) {}

  const std::string& name() const override { return library_.name; }
  Result cholesky(const MatrixStack& a) override {
    return of(a, [&](const auto& lapack, auto) { return lapack.cholesky(a); });
  }
  Result lu(const MatrixStack& a, std::int32_t* pivots) override {
    return of(a, [&](const auto& lapack, auto) { return lapack.lu(a, pivots); });
  }
  void lu_solve(const MatrixStack& lu, const std::int32_t* pivots, const MatrixStack& b) override {
    of(lu, [&](const auto& lapack, auto) { lapack.lu_solve(lu, pivots, b); });
  }
  void triangular_solve(const MatrixStack& a, Triangle triangle, const MatrixStack& b) override {
    of(a, [&](const auto& lapack, auto) { lapack.triangular_solve(a, triangle, b); });
  }
  void qr(const MatrixStack& a, void* tau) override {
    of(a, [&](const auto& lapack, auto zero) { lapack.qr(a, static_cast<decltype(zero)*>(tau)); });
  }
  void qr_vectors(const MatrixStack& q, std::int64_t reflections, const void* tau) override {
    of(q, [&](const auto& lapack, auto zero) { lapack.qr_vectors(q, reflections, static_cast<const decltype(zero)*>(tau)); });
  }
  Result svd(const MatrixStack& a, void* values, const MatrixStack& u, const MatrixStack& vt) override {
    return of(a, [&](const auto& lapack, auto zero) { return lapack.svd(a, static_cast<decltype(zero)*>(values), u, vt); });
  }
  Result eigh(const MatrixStack& a, void* values) override {
    return of(a, [&](const auto& lapack, auto zero) { return lapack.eigh(a, static_cast<decltype(zero)*>(values)); });
  }
  std::size_t workspace_bytes(SolverMethod method, const MatrixStack& a, std::int64_t vectors) override {
    const LibraryCall call;
    return a.dtype == float64 ? real_.workspace_bytes(method, a, vectors) : single_.workspace_bytes(method, a, vectors);
  }

 private:
  Backend& backend_;
  const LapackLibrary& library_;
  Lapack<float> single_;
  Lapack<double> real_;
};

}  // namespace

std::unique_ptr<DenseSolver> make_lapack_solver(Backend& backend, int threads) {
  const LapackLibrary& library = lapack();
  if (const BlasLibrary* also = blas(); also && also->set_threads) {
    const LibraryCall call;
    also->set_threads(threads);
  }
  return std::make_unique<LapackSolver>(backend, library);
}

}  // namespace damo::cpu_backend
