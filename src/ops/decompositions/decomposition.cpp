#include "ops/decompositions/decomposition.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include <damo/array_create.hpp>
#include <damo/array_decompositions.hpp>
#include <damo/array_math.hpp>
#include <damo/array_reduce.hpp>
#include <damo/array_shape.hpp>
#include <damo/linalg_error.hpp>

#include "runtime/library/dense_solver.hpp"
#include "runtime/memory/workspace.hpp"

namespace damo {
namespace {

using enum DecompositionKind;

struct KindFacts {
  const char* name;
  int inputs;
  bool square;
};
const KindFacts& facts(DecompositionKind kind) {
  static constexpr KindFacts all[] = {{"cholesky", 1, true}, {"solve", 2, true},    {"solve_triangular", 2, true}, {"inv", 1, true}, {"det", 1, true},
                                      {"slogdet", 1, true},  {"qr", 1, false}, {"svd", 1, false},             {"eigh", 1, true}, {"lu", 1, true}};
  return all[static_cast<int>(kind)];
}

std::int64_t least(std::int64_t m, std::int64_t n) { return m == kUnknown || n == kUnknown ? (m == 0 || n == 0 ? 0 : kUnknown) : std::min(m, n); }

Shape batches_of(const Shape& shape) { return Shape(std::span(shape.begin(), static_cast<std::size_t>(shape.rank() - 2))); }
Shape joined(Shape batches, std::initializer_list<std::int64_t> extents) {
  for (std::int64_t extent : extents) batches.push_back(extent);
  return batches;
}

/// A copy of x, of matrices (b..., m, n), whose memory has them column by column; and how a solver sees it.
struct Columns {
  Columns(const Array& x, const Shape& batches)
      : columns(swap_axes(x.broadcast_to(joined(batches, {x.shape()[-2], x.shape()[-1]})), -1, -2).copy()) {}
  Columns(const Shape& batches, std::int64_t rows, std::int64_t width, DType dtype, Device device) : columns(Array::empty(joined(batches, {width, rows}), dtype, device)) {}
  MatrixStack stack() const {
    const std::int64_t size = columns.shape()[-1] * columns.shape()[-2];
    return {columns.data(), columns.dtype(), columns.shape()[-1], columns.shape()[-2], size == 0 ? 0 : columns.size() / size};
  }
  /// (b..., m, n) again.
  Array rows() const { return swap_axes(columns, -1, -2); }
  Array columns;  // (b..., n, m)
};

std::string which(const DenseSolver::Result& failure, std::int64_t count) {
  return count == 1 ? std::string("the matrix") : "matrix " + std::to_string(failure->matrix) + " of " + std::to_string(count);
}

class Computation {
 public:
  Computation(const Decomposition& what, std::span<const Array> inputs, std::span<const Array> outputs, DecompositionNumbers& numbers)
      : what_(what), x_(inputs[0]), inputs_(inputs), outputs_(outputs), numbers_(numbers), library_(SolverLibrary::of(x_.device().backend())) {}

  void operator()() {
    switch (what_.kind) {
      case kCholesky: return cholesky();
      case kSolve: return solve();
      case kSolveTriangular: return solve_triangular();
      case kInverse: return solve();
      case kDeterminant:
      case kLogDeterminant: return determinant();
      case kQr: return qr();
      case kSvd: return svd();
      case kEigh: return eigh();
      case kLu: return factors();
    }
  }

 private:
  DenseSolver& solver() const { return library_->solver(); }
  [[noreturn]] void refuse(const std::string& message, const std::string& remedy) const { throw LinalgError(std::string(what_.name()) + ": " + message, remedy); }

  void cholesky() {
    if (x_.size() == 0) return;
    const Columns a(x_, batches_of(x_.shape()));
    if (const auto failure = solver().cholesky(a.stack())) {
      refuse(which(failure, a.stack().count) + " is not positive definite: its leading minor of order " + std::to_string(failure->info) + " is not positive",
             "add a small multiple of the identity, or look whether the lower triangle is what it should be");
    }
    const Array factor = a.rows();
    const std::span<const double> roots = read(diagonal(factor));  // NaN stands there too: LAPACK gives up at it, OpenBLAS goes on
    const auto broken = std::find_if(roots.begin(), roots.end(), [](double root) { return std::isnan(root); }) - roots.begin();
    if (broken < std::ssize(roots)) {
      const SolverFailure at{broken / x_.shape()[-1], broken % x_.shape()[-1] + 1};
      refuse(which(at, a.stack().count) + " is not positive definite: its leading minor of order " + std::to_string(at.info) + " has NaN",
             "look where it comes from: nan_guard, or isnan of what it is made of");
    }
    outputs_[0].copy_from(factor);
  }

  struct Lu {
    Columns a;
    Array pivots;
    DenseSolver::Result failure;
  };
  /// A column with NaN has no greatest element: a solver may say that it has no pivot. Matrices with NaN have factors of NaN then.
  Lu lu(const Shape& batches) const {
    Lu made = lu_of(x_, batches);
    if (!made.failure) return made;
    const Array broken = any(isnan(x_), {-2, -1}, true);
    if (any(broken).to_doubles()[0] == 0) return made;
    made = lu_of(where(broken, eye(x_.shape()[-1], {}, 0, x_.dtype(), x_.device()), x_), batches);
    made.a.columns = where(broken, std::numeric_limits<double>::quiet_NaN(), made.a.columns);
    return made;
  }
  Lu lu_of(const Array& x, const Shape& batches) const {
    Lu made{Columns(x, batches), {}, {}};
    const MatrixStack stack = made.a.stack();
    made.pivots = Array::empty({stack.count, stack.rows}, int32, x_.device());
    if (stack.count > 0) made.failure = solver().lu(stack, static_cast<std::int32_t*>(made.pivots.data()));
    return made;
  }

  void solve() {
    const Array& out = outputs_[0];
    if (out.size() == 0) return;
    const Shape batches = batches_of(out.shape());
    const Lu factors = lu(batches);
    if (factors.failure) {
      const std::string who = which(factors.failure, factors.a.stack().count);
      refuse(factors.failure->info > 0 ? who + " is singular: there is no pivot in column " + std::to_string(factors.failure->info - 1) : who + " has NaN among its elements",
             "use pinv, or add a small multiple of the identity");
    }
    const std::int64_t n = x_.shape()[-1];
    const Columns b(what_.kind == kInverse ? eye(n, {}, 0, x_.dtype(), x_.device()) : inputs_[1], batches);
    solver().lu_solve(factors.a.stack(), static_cast<const std::int32_t*>(factors.pivots.data()), b.stack());
    out.copy_from(b.rows());
  }

  void solve_triangular() {
    const Array& out = outputs_[0];
    if (out.size() == 0) return;
    const Columns a(x_, batches_of(out.shape())), b(inputs_[1], batches_of(out.shape()));
    solver().triangular_solve(a.stack(), {what_.lower, what_.transposed, what_.unit_diagonal}, b.stack());
    out.copy_from(b.rows());
  }

  /// Of L's and U's diagonals and the row exchanges, on the host: so much is little beside the factors.
  void determinant() {
    const std::int64_t n = x_.shape()[-1], count = outputs_[0].size();
    const Lu factors = lu(batches_of(x_.shape()));
    const Array diagonals = factors.a.columns.view(x_.dtype(), {count, n}, {n * n, n + 1}, 0);
    const std::span<const double> u = read(diagonals);
    const std::span<const std::int32_t> pivots = read_pivots(factors);
    std::vector<double>&first = numbers_.first, &logarithm = numbers_.second;
    first.resize(static_cast<std::size_t>(count)), logarithm.resize(first.size());
    for (std::int64_t i = 0; i < count; ++i) {
      double product = 1, sign = 1, sum = 0;
      for (std::int64_t k = i * n; k < (i + 1) * n; ++k) {
        const double factor = u[static_cast<std::size_t>(k)] * (pivots[static_cast<std::size_t>(k)] == k - i * n + 1 ? 1 : -1);
        product *= factor;
        sign *= std::isnan(factor) ? factor : factor > 0 ? 1 : factor < 0 ? -1 : 0;
        sum += std::log(std::abs(factor));
      }
      first[static_cast<std::size_t>(i)] = what_.kind == kDeterminant ? product : sign;
      logarithm[static_cast<std::size_t>(i)] = sum;
    }
    store(first, outputs_[0]);
    if (what_.kind == kLogDeterminant) store(logarithm, outputs_[1]);
  }
  void store(const std::vector<double>& values, const Array& out) const {
    if (out.dtype() == float64) return out.copy_from(Array::from(values, out.shape(), out.device()));
    numbers_.singles.assign(values.begin(), values.end());
    out.copy_from(Array::from(numbers_.singles, out.shape(), out.device()));
  }
  /// Of float32 or float64, until the next call.
  std::span<const double> read(const Array& x) const {
    const auto size = static_cast<std::size_t>(x.size());
    if (x.dtype() == float64) {
      numbers_.read.resize(size);
      x.to_host(numbers_.read.data());
    } else {
      numbers_.singles.resize(size);
      x.to_host(numbers_.singles.data());
      numbers_.read.assign(numbers_.singles.begin(), numbers_.singles.end());
    }
    return numbers_.read;
  }
  std::span<const std::int32_t> read_pivots(const Lu& factors) const {
    numbers_.pivots.resize(static_cast<std::size_t>(factors.pivots.size()));
    factors.pivots.to_host(numbers_.pivots.data());
    return numbers_.pivots;
  }

  /// A pivot that is 0 leaves a 0 in U, and is no failure. The exchanges, from the first row on, are few beside the factors.
  void factors() {
    if (x_.size() == 0) return;
    const std::int64_t n = x_.shape()[-1];
    const Lu made = lu(batches_of(x_.shape()));
    outputs_[0].copy_from(made.a.rows());
    const std::span<const std::int32_t> pivots = read_pivots(made);
    std::vector<double>& order = numbers_.first;
    order.resize(pivots.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<double>(static_cast<std::int64_t>(i) % n);
    for (std::size_t i = 0; i < order.size(); ++i) std::swap(order[i], order[i - i % static_cast<std::size_t>(n) + static_cast<std::size_t>(pivots[i]) - 1]);
    store(order, outputs_[1]);
  }

  void qr() {
    const Array &q_out = outputs_[0], &r_out = outputs_[1];
    const std::int64_t m = x_.shape()[-2], n = x_.shape()[-1], k = std::min(m, n), width = q_out.shape()[-1];
    if (k == 0) {
      if (q_out.size() > 0) q_out.copy_from(eye(m, {}, 0, x_.dtype(), x_.device()).broadcast_to(q_out.shape()));
      return;
    }
    const Shape batches = batches_of(x_.shape());
    const Columns a(x_, batches), q(batches, m, width, x_.dtype(), x_.device());
    if (x_.size() == 0) return;
    const Array tau = Array::empty({a.stack().count, k}, x_.dtype(), x_.device());
    solver().qr(a.stack(), tau.data());
    const auto part = [&](const Array& matrices, std::int64_t rows, std::int64_t columns) {
      Shape shape = joined(batches, {rows, columns});
      return matrices.view(matrices.dtype(), shape, matrices.strides(), 0);
    };
    part(q.rows(), m, k).copy_from(part(a.rows(), m, k));
    part(r_out, k, n).copy_from(part(a.rows(), k, n));
    solver().qr_vectors(q.stack(), k, tau.data());
    q_out.copy_from(q.rows());
  }

  /// Which matrices have NaN or infinity: (b..., 1, 1). What a method that turns a matrix until it settles makes of them is another thing for each library
  /// (zeros, NaN, a refusal), so none is given one: all that is made of such a matrix is NaN.
  static Array with_values_not_finite(const Array& x) { return any(logical_not(isfinite(x)), {-2, -1}, true); }
  /// What is made of matrices, or vectors of them, to where the caller wants it.
  static void give(const Array& made, const Array& broken, const Array& out) {
    const Array which = made.rank() == broken.rank() ? broken : squeeze(broken, {-1});
    out.copy_from(where(which, std::numeric_limits<double>::quiet_NaN(), made));
  }

  /// A solver takes no more columns than rows: a wide matrix, row by row, is its tall transpose column by column, with U and V in each other's place.
  void svd() {
    const Array &u_out = outputs_[0], &values = outputs_[1], &vt_out = outputs_[2];
    const std::int64_t m = x_.shape()[-2], n = x_.shape()[-1], k = std::min(m, n);
    if (x_.size() == 0) {
      for (const Array* vectors : {&u_out, &vt_out}) {
        if (vectors->size() > 0) vectors->copy_from(eye(vectors->shape()[-1], {}, 0, x_.dtype(), x_.device()).broadcast_to(vectors->shape()));
      }
      return;
    }
    const bool tall = m >= n;
    const Shape batches = batches_of(x_.shape());
    const Array broken = with_values_not_finite(x_);
    const auto finite = [&] {
      const Array x = where(broken, 0, x_);
      return Columns(tall ? x : swap_axes(x, -1, -2), batches);
    };
    const Columns a = finite();
    const std::int64_t rows = std::max(m, n);
    const Columns u(batches, rows, what_.full ? rows : k, x_.dtype(), x_.device()), vt(batches, k, k, x_.dtype(), x_.device());
    const Array s = values.is_contiguous() ? values : Array::empty(values.shape(), values.dtype(), values.device());
    if (const auto failure = solver().svd(a.stack(), s.data(), u.stack(), vt.stack())) {
      refuse("the method did not converge for " + which(failure, a.stack().count), "give it in float64, or scaled");
    }
    give(s, broken, values);
    give(tall ? u.rows() : swap_axes(vt.rows(), -1, -2), broken, u_out);
    give(tall ? vt.rows() : swap_axes(u.rows(), -1, -2), broken, vt_out);
  }

  void eigh() {
    if (x_.size() == 0) return;
    const Array broken = with_values_not_finite(tril(x_));
    const Columns a(where(broken, 0, x_), batches_of(x_.shape()));
    const Array& values = outputs_[0];
    const Array w = values.is_contiguous() ? values : Array::empty(values.shape(), values.dtype(), values.device());
    if (const auto failure = solver().eigh(a.stack(), w.data())) {
      refuse("the method did not converge for " + which(failure, a.stack().count), "give it in float64, or scaled");
    }
    give(w, broken, values);
    give(a.rows(), broken, outputs_[1]);
  }

  const Decomposition& what_;
  const Array& x_;
  std::span<const Array> inputs_, outputs_;
  DecompositionNumbers& numbers_;
  std::shared_ptr<SolverLibrary> library_;
};

}  // namespace

const char* Decomposition::name() const { return facts(kind).name; }
int Decomposition::input_count() const { return facts(kind).inputs; }

void require_rows(const std::string& user, const Shape& matrix, const Shape& right) {
  const std::int64_t rows = matrix[-2], others = right[right.rank() == 1 ? -1 : -2];
  if (rows == others || rows == kUnknown || others == kUnknown) return;
  throw ShapeError(user + ": the matrix has " + std::to_string(rows) + " rows, the right side " + std::to_string(others) + ": " + to_string(matrix) + ", " + to_string(right),
                   "give both as many rows; a right side with one axis is a vector");
}

std::vector<Shape> Decomposition::shapes(std::span<const Shape> inputs) const {
  const Shape& x = inputs[0];
  std::int64_t m = x[-2], n = x[-1];
  if (facts(kind).square) {
    if (m != n && m != kUnknown && n != kUnknown) {
      throw ShapeError(std::string(name()) + ": the matrix of " + to_string(x) + " is not square: " + std::to_string(m) + " rows, " + std::to_string(n) + " columns",
                       "give it as many rows as columns");
    }
    m = n = m == kUnknown ? n : m;
  }
  const Shape batches = batches_of(x);
  const std::int64_t k = least(m, n);
  switch (kind) {
    case kCholesky:
    case kInverse: return {joined(batches, {n, n})};
    case kSolve:
    case kSolveTriangular: {
      const Shape& b = inputs[1];
      require_rows(name(), x, b);
      const Shape both[] = {batches, batches_of(b)};
      return {joined(broadcast_shapes(both), {n == kUnknown ? b[-2] : n, b[-1]})};
    }
    case kDeterminant: return {batches};
    case kLogDeterminant: return {batches, batches};
    case kQr: return {joined(batches, {m, full ? m : k}), joined(batches, {full ? m : k, n})};
    case kSvd: return {joined(batches, {m, full ? m : k}), joined(batches, {k}), joined(batches, {full ? n : k, n})};
    case kEigh: return {joined(batches, {n}), joined(batches, {n, n})};
    case kLu: return {joined(batches, {n, n}), joined(batches, {n})};
  }
  return {};
}

void Decomposition::compute(std::span<const Array> inputs, std::span<const Array> outputs, DecompositionNumbers& numbers) const {
  Computation(*this, inputs, outputs, numbers)();
}

namespace {

/// What a Computation has at once, in its order.
class Need {
 public:
  Need(const Decomposition& what, DType dtype, std::span<const Shape> inputs, std::span<const Shape> outputs, DenseSolver& solver)
      : what_(what), dtype_(dtype), x_(inputs[0]), inputs_(inputs), outputs_(outputs), solver_(solver) {}

  std::size_t operator()() {
    const std::int64_t m = x_[-2], n = x_[-1], k = std::min(m, n);
    const bool has_all = std::all_of(outputs_.begin(), outputs_.end(), [](const Shape& out) { return out.size() != 0; });
    if (x_.size() == 0 || !has_all) return 0;
    const std::int64_t count = x_.size() / (m * n);
    switch (what_.kind) {
      case kCholesky:
        take(x_.size());
        solves(SolverMethod::kCholesky, n, n, count);
        pass(count * n);
        break;
      case kSolve:
      case kInverse:
      case kSolveTriangular: {
        const std::int64_t all = outputs_[0].size() / (outputs_[0][-2] * outputs_[0][-1]);
        take(all * n * n);
        if (what_.kind != kSolveTriangular) {
          need_.take(static_cast<std::size_t>(all * n) * sizeof(std::int32_t));
          solves(SolverMethod::kLu, n, n, all);
        }
        const WorkspaceNeed::Piece one = what_.kind == kInverse ? take(n * n) : WorkspaceNeed::Piece();
        take(outputs_[0].size());
        need_.give_back(one);
        solves(what_.kind == kSolveTriangular ? SolverMethod::kTriangularSolve : SolverMethod::kLuSolve, n, n, all);
        break;
      }
      case kDeterminant:
      case kLogDeterminant:
      case kLu:
        take(x_.size());
        need_.take(static_cast<std::size_t>(count * n) * sizeof(std::int32_t));
        solves(SolverMethod::kLu, n, n, count);
        pass(count * n);
        break;
      case kQr:
        take(x_.size());
        take(outputs_[0].size());
        take(count * k);
        solves(SolverMethod::kQr, m, n, count);
        solves(SolverMethod::kQrVectors, m, outputs_[0][-1], count, k);
        break;
      case kSvd: {
        const std::int64_t rows = std::max(m, n), vectors = what_.full ? rows : k;
        look_for_broken(count);
        copy_of_finite();
        take(count * rows * vectors);
        take(count * k * k);
        solves(SolverMethod::kSvd, rows, k, count, vectors);
        for (const Shape& out : outputs_) pass(out.size());
        break;
      }
      case kEigh:
        look_for_broken(count, lower_triangle());
        copy_of_finite();
        solves(SolverMethod::kEigh, n, n, count);
        for (const Shape& out : outputs_) pass(out.size());
        break;
    }
    return need_.bytes();
  }

 private:
  std::size_t bytes(std::int64_t elements) const { return static_cast<std::size_t>(elements) * itemsize(dtype_); }
  WorkspaceNeed::Piece take(std::int64_t elements) { return need_.take(bytes(elements)); }
  void pass(std::int64_t elements) { need_.pass(bytes(elements)); }
  void solves(SolverMethod method, std::int64_t rows, std::int64_t columns, std::int64_t count, std::int64_t vectors = 0) {
    need_.pass(solver_.workspace_bytes(method, {nullptr, dtype_, rows, columns, count}, vectors));
  }
  /// where() of a mask and the matrix.
  WorkspaceNeed::Piece lower_triangle() {
    const std::int64_t rows = x_[-2], columns = x_[-1];
    const WorkspaceNeed::Piece row = need_.take(static_cast<std::size_t>(rows) * sizeof(std::int64_t)), column = need_.take(static_cast<std::size_t>(columns) * sizeof(std::int64_t));
    const WorkspaceNeed::Piece mask = need_.take(static_cast<std::size_t>(rows * columns)), zero = take(1), triangle = take(x_.size());
    for (const WorkspaceNeed::Piece& piece : {row, column, mask, zero}) need_.give_back(piece);
    return triangle;
  }
  /// Which of a copy's numbers are not finite is a bool for each, twice; of a matrix it is one, in front of all that comes. The reduction's scratch is less than what comes later.
  void look_for_broken(std::int64_t count, WorkspaceNeed::Piece copy = {}) {
    const auto flags = static_cast<std::size_t>(x_.size());
    const WorkspaceNeed::Piece are_finite = need_.take(flags), are_not = need_.take(flags);
    need_.take(static_cast<std::size_t>(count));
    for (const WorkspaceNeed::Piece& piece : {copy, are_finite, are_not}) need_.give_back(piece);
  }
  void copy_of_finite() {
    const WorkspaceNeed::Piece finite = take(x_.size());
    take(x_.size());
    need_.give_back(finite);
  }

  const Decomposition& what_;
  DType dtype_;
  const Shape& x_;
  std::span<const Shape> inputs_, outputs_;
  DenseSolver& solver_;
  WorkspaceNeed need_;
};

}  // namespace

std::size_t Decomposition::workspace_bytes(Backend& backend, DType dtype, std::span<const Shape> inputs, std::span<const Shape> outputs) const {
  return Need(*this, dtype, inputs, outputs, SolverLibrary::of(backend)->solver())();
}

}  // namespace damo
