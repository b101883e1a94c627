// Products, powers, exponentials and least squares of matrices, of Variables and of Arrays, against NumPy 2.3 and SciPy 1.17 (values written down) and against what
// defines them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include <damo/damo.hpp>
#include "support/devices.hpp"

namespace damo {
namespace {

using testing::error_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Values = std::vector<double>;

class MatrixFunctions : public testing::OnEachDevice {
 protected:
  Array of(const Values& values, const Shape& shape) const { return Array::from(values, shape, device()); }
  static void expect_near(const Array& got, const Values& want, double bound = 1e-12) {
    const Values values = got.to_doubles();
    ASSERT_EQ(values.size(), want.size());
    for (std::size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(values[i], want[i], bound * std::max(1.0, std::fabs(want[i]))) << i;
  }
  /// Of factors: where the library is.
  bool has_factors() const {
    try {
      (void)inv(of({1}, {1, 1}));
      return true;
    } catch (const DeviceError&) {
      return false;
    }
  }
};

TEST_P(MatrixFunctions, KronPutsTheSecondIntoEachElementOfTheFirst) {
  const Array x = Array::from(std::vector<int>{1, 2, 3, 4, 5, 6}, {2, 3}, device()), y = Array::from(std::vector<int>{1, -1}, {2}, device());
  const Array eager = kron(x, y);
  EXPECT_EQ(eager.shape(), (Shape{2, 6}));
  EXPECT_THAT(eager.to_vector<int>(), ElementsAre(1, -1, 2, -2, 3, -3, 4, -4, 5, -5, 6, -6));
  const Variable a = matrix("a", int32), b = vector("b", int32);
  const Function f = function({a, b}, {kron(a, b), kron(b, a)}, options());
  const Results results = f(x, y);
  EXPECT_EQ(results[0].to_vector<int>(), eager.to_vector<int>());
  EXPECT_THAT(results[1].to_vector<int>(), ElementsAre(1, 2, 3, -1, -2, -3, 4, 5, 6, -4, -5, -6));
  EXPECT_EQ(kron(Array::scalar(2, device()), y).to_doubles(), (Values{2, -2}));
}

TEST_P(MatrixFunctions, PowersAreProducts) {
  const Array x = of({2, 1, 0, 3}, {2, 2});
  expect_near(matrix_power(x, 5), {32, 211, 0, 243});
  expect_near(matrix_power(x, 1), {2, 1, 0, 3});
  expect_near(matrix_power(of({NAN, 1, 0, 3, 1, 2, 3, 4}, {2, 2, 2}), 0), {1, 0, 0, 1, 1, 0, 0, 1});
  const Variable a = tensor3("a", float64);
  const Function f = function({a}, {matrix_power(a, 3), matrix_power(a, 0)}, options());
  const Results results = f(of({2, 1, 0, 3, 1, 1, 1, 0}, {2, 2, 2}));
  expect_near(results[0], {8, 19, 0, 27, 3, 2, 2, 1});
  expect_near(results[1], {1, 0, 0, 1, 1, 0, 0, 1});
  EXPECT_THAT(matrix_power(Array::from(std::vector<int>{1, 1, 1, 0}, {2, 2}, device()), 10).to_vector<int>(), ElementsAre(89, 55, 55, 34));
  EXPECT_THAT(error_of([&] { matrix_power(of({1, 2}, {1, 2}), 2); }), HasSubstr("matrix_power: matrices of 1 x 2 are not square"));
  EXPECT_THAT(error_of([&] { matrix_power(vector("v"), 2); }), HasSubstr("matrix_power: x is no matrix"));
  const Variable any = matrix("any", float64);
  for (const int power : {0, 1, 2}) {
    const Function of_any = function({any}, {matrix_power(any, power)}, options());
    EXPECT_THAT(error_of([&] { of_any(of({1, 2, 3, 4, 5, 6}, {2, 3})); }), HasSubstr("matrix_power: matrices of (2, 3) are not square")) << power;
    expect_near(of_any(x)[0], matrix_power(x, power).to_doubles());
  }
  EXPECT_THAT(error_of([&] { function({any}, {sum(matrix_power(any, 0))}, options())(of({1, 2, 3, 4, 5, 6}, {3, 2})); }), HasSubstr("are not square"));
  if (!has_factors()) GTEST_SKIP() << "needs LAPACK or cuSOLVER";
  expect_near(matrix_power(x, -2), {0.25, -5.0 / 36, 0, 1.0 / 9});
}

TEST_P(MatrixFunctions, ExponentialsAreScipys) {
  if (!has_factors()) GTEST_SKIP() << "needs LAPACK or cuSOLVER";
  const Array x = of({1, 2, -0.5, 0.25, -1, 3, 0, 0.75, 2}, {3, 3});
  const Values want = {3.162843562508917, 3.3312192350994416, 5.410575087286232, 0.4828213394519099, 2.4883817299886637, 9.867550757377675, 0.26567574025791885, 2.511166979387405, 11.8245810068505};
  expect_near(expm(x), want, 1e-12);
  const Variable a = matrix("a", float64);
  expect_near(Array(function({a}, {expm(a)}, options())(x)), want, 1e-12);
  expect_near(expm(of({0, 0, 0, 0, 0, 1, -1, 0, 40, 0, 0, -40}, {3, 2, 2})), {1, 0, 0, 1, std::cos(1.0), std::sin(1.0), -std::sin(1.0), std::cos(1.0), std::exp(40.0), 0, 0, std::exp(-40.0)}, 1e-12);
  EXPECT_EQ(expm(astype(x, float32)).dtype(), float32);
  const double nan = std::nan("");
  const Array beside = expm(of({nan, 0, 0, 1, 0, 0, 0, 0, 1, 1, HUGE_VAL, 1}, {3, 2, 2}));
  for (const std::size_t i : {0, 1, 2, 3, 8, 9, 10, 11}) EXPECT_TRUE(std::isnan(beside.to_doubles()[i])) << i;
  expect_near(beside.slice({{1, 2}}).copy(), {1, 0, 0, 1}, 1e-12);
  expect_near(expm(astype(x, float32)), want, 1e-5);
  EXPECT_EQ(expm(Array::zeros({0, 3, 3}, float64, device())).shape(), (Shape{0, 3, 3}));
  EXPECT_THAT(error_of([&] { expm(of({1, 2}, {1, 2})); }), HasSubstr("expm: matrices of 1 x 2 are not square"));
  const Variable m = matrix("m", float64), three = tensor3("three", float64);
  const Function gradient = function({m}, {grad(sum(expm(m)), m)}, options()), of_batches = function({three}, {grad(sum(expm(three)), three)}, options());
  EXPECT_EQ(Array(gradient(Array::zeros({0, 0}, float64, device()))).shape(), (Shape{0, 0})) << "there is no row to count columns in";
  EXPECT_EQ(Array(of_batches(Array::zeros({0, 3, 3}, float64, device()))).shape(), (Shape{0, 3, 3}));
  EXPECT_THAT(error_of([&] { gradient(Array::zeros({0, 2}, float64, device())); }), HasSubstr("expm: matrices of (0, 2) are not square"));
  const Values points = {0.3, 0.7, -0.2, 0.4, 1, 0.5, 0.1, -0.6, 0.9};
  const GradientCase cases[] = {{"expm", [](std::span<const Variable> v) { return expm(v[0]); }, {of(points, {3, 3})}},
                                {"its gradient", [](std::span<const Variable> v) { return grad(sum(sqr(expm(v[0]))), v[0]); }, {of({0.3, 0.7, -0.2, 0.4}, {2, 2})}},
                                {"kron", [](std::span<const Variable> v) { return kron(v[0], v[1]); }, {of(points, {3, 3}), of({1, 2}, {1, 2})}},
                                {"power", [](std::span<const Variable> v) { return matrix_power(v[0], 3); }, {of(points, {3, 3})}}};
  verify_grad(cases, {.device = device()});
}

TEST_P(MatrixFunctions, LeastSquaresAreNumPys) {
  if (!has_factors()) GTEST_SKIP() << "needs LAPACK or cuSOLVER";
  const Array a = of({1, 1, 1, 2, 1, 3, 1, 4}, {4, 2}), b = of({6, 5, 7, 10}, {4});
  const LeastSquaresArrays eager = lstsq(a, b);
  expect_near(eager.solution, {3.5, 1.4});
  expect_near(eager.residuals, {4.2});
  EXPECT_EQ(eager.rank.to_doubles(), Values{2});
  EXPECT_EQ(eager.residuals.rank(), 0);
  const Variable x = matrix("x", float64), y = matrix("y", float64);
  const LeastSquares parts = lstsq(x, y);
  const Function f = function({x, y}, {parts.solution, parts.residuals, parts.rank, parts.values}, options());
  const Results results = f(a, of({6, 1, 5, 2, 7, 3, 10, 4}, {4, 2}));
  expect_near(results[0], {3.5, 0, 1.4, 1});
  expect_near(results[1], {4.2, 0});
  expect_near(results[3], eager.values.to_doubles());
  const LeastSquaresArrays poor = lstsq(of({1, 2, 2, 4}, {2, 2}), of({1, 2}, {2}));  // of rank 1: the least of all solutions
  expect_near(poor.solution, {0.2, 0.4});
  EXPECT_EQ(poor.rank.to_doubles(), Values{1});
  EXPECT_THAT(error_of([&] { lstsq(b, b); }), HasSubstr("lstsq: a is no matrix"));
}

/// NumPy's, but for residuals, which are those of the solution there is: np.linalg.lstsq(np.ones((3, 0)), b) has rank 0, no values and |b|^2.
TEST_P(MatrixFunctions, LeastSquaresOfNoColumnsOrRowsHaveRank0) {
  if (!has_factors()) GTEST_SKIP() << "needs LAPACK or cuSOLVER";
  for (const Shape& shape : {Shape{1, 0}, Shape{3, 0}, Shape{0, 2}, Shape{0, 0}}) {
    const Array a = Array::zeros(shape, float64, device()), b = Array::full({shape[0]}, 2.0, float64, device());
    const double residual = 4.0 * static_cast<double>(shape[0]);
    const Values zeros(static_cast<std::size_t>(shape[1]), 0.0);
    const auto expect = [&](const Array& solution, const Array& residuals, const Array& rank, const Array& values) {
      EXPECT_EQ(solution.shape(), (Shape{shape[1]}));
      EXPECT_EQ(solution.to_doubles(), zeros);
      EXPECT_EQ(residuals.to_doubles(), Values{residual});
      EXPECT_EQ(rank.to_doubles(), Values{0});
      EXPECT_EQ(values.shape(), Shape{0});
    };
    const LeastSquaresArrays eager = lstsq(a, b);
    expect(eager.solution, eager.residuals, eager.rank, eager.values);
    for (const bool is_known : {false, true}) {
      SCOPED_TRACE(to_string(shape) + (is_known ? ", known" : ""));
      const Variable x = input({float64, is_known ? shape : Shape{kUnknown, kUnknown}}), y = input({float64, {is_known ? shape[0] : kUnknown}});
      const LeastSquares parts = lstsq(x, y);
      const Results r = function({x, y}, {parts.solution, parts.residuals, parts.rank, parts.values}, options())(a, b);
      expect(r[0], r[1], r[2], r[3]);
    }
  }
}

TEST_P(MatrixFunctions, LuFactorsAreThoseOfTheRowsInOrder) {
  if (!has_factors()) GTEST_SKIP() << "needs LAPACK or cuSOLVER";
  const Array x = of({2, 4, 1, 1, 1, 3, 4, 2, -2, 0, 1, 2, 3, 0, 0, 0, 2, 5}, {2, 3, 3});
  const LuArrays eager = lu(x);
  EXPECT_EQ(eager.order.to_doubles(), (Values{2, 0, 1, 1, 2, 0}));
  expect_near(eager.l, {1, 0, 0, 0.5, 1, 0, 0.25, 1.0 / 6, 1, 1, 0, 0, 0, 1, 0, 0, 0.5, 1});
  expect_near(eager.u, {4, 2, -2, 0, 3, 2, 0, 0, 19.0 / 6, 3, 0, 0, 0, 2, 5, 0, 0, -0.5});
  const Variable v = tensor3("x", float64);
  const LuFactors parts = lu(v);
  const Results results = function({v}, {parts.order, parts.l, parts.u, matmul(parts.l, parts.u)}, options())(x);
  for (int i = 0; i < 3; ++i) expect_near(results[static_cast<std::size_t>(i)], (i == 0 ? eager.order : i == 1 ? eager.l : eager.u).to_doubles());
  expect_near(results[3], take_along_axis(x, expand_dims(eager.order, 2).broadcast_to({2, 3, 3}).contiguous(), 1).to_doubles());
  const GradientCase cases[] = {{"l", [](std::span<const Variable> in) { return lu(in[0]).l; }, {x}}, {"u", [](std::span<const Variable> in) { return lu(in[0]).u; }, {x}}};
  verify_grad(cases, {.device = device()});
  EXPECT_EQ(lu(of({0, 0, 0, 0}, {2, 2})).u.to_doubles(), (Values{0, 0, 0, 0})) << "a singular matrix is no error";
  EXPECT_THAT(error_of([&] { lu(of({1, 2}, {1, 2})); }), HasSubstr("lu: the matrix of (1, 2) is not square"));
}

TEST_P(MatrixFunctions, GradientsOfTheInverseBearEqualSingularValues) {
  if (!has_factors()) GTEST_SKIP() << "needs LAPACK or cuSOLVER";
  const Values identity = {1, 0, 0, 0, 1, 0, 0, 0, 1};
  const GradientCase cases[] = {{"pinv, equal values", [](std::span<const Variable> v) { return pinv(v[0]); }, {of(identity, {3, 3})}},
                                {"pinv, tall", [](std::span<const Variable> v) { return pinv(v[0]); }, {of({1, 2, 3, 1, 0.5, 2}, {3, 2})}},
                                {"pinv, wide", [](std::span<const Variable> v) { return pinv(v[0]); }, {of({1, 2, 3, 1, 0.5, 2}, {2, 3})}},
                                {"lstsq", [](std::span<const Variable> v) { return lstsq(v[0], v[1]).solution; }, {of({1, 2, 3, 1, 0.5, 2}, {3, 2}), of({1, -1, 2}, {3})}}};
  verify_grad(cases, {.device = device()});
}

/// Of u diag(values) v^T, u and v turned by these angles: matrices of any singular values.
Values turned(const Values& values, std::size_t rows, std::size_t columns, double by) {
  const auto rotation = [by](std::size_t n, double more) {
    std::vector<Values> r(n, Values(n));
    for (std::size_t i = 0; i < n; ++i) r[i][i] = 1;
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = i + 1; j < n; ++j) {
        const double angle = by * static_cast<double>(1 + i + 2 * j) + more, c = std::cos(angle), s = std::sin(angle);
        for (std::size_t k = 0; k < n; ++k) {
          const double a = r[k][i], b = r[k][j];
          r[k][i] = c * a - s * b, r[k][j] = s * a + c * b;
        }
      }
    }
    return r;
  };
  const auto u = rotation(rows, 0.3), v = rotation(columns, -0.7);
  Values a(rows * columns);
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < columns; ++j) {
      for (std::size_t k = 0; k < values.size(); ++k) a[i * columns + j] += u[i][k] * values[k] * v[j][k];
    }
  }
  return a;
}

TEST_P(MatrixFunctions, GradientsOfTheInverseAreThoseOfWhatIsNotCutOff) {
  if (!has_factors()) GTEST_SKIP() << "needs LAPACK or cuSOLVER";
  struct Case {
    std::string name;
    Values values;
    std::int64_t rows, columns;
  };
  // Up to half of the greatest is cut off: values apart from each other and from 0, equal ones on either side, and 0.
  const Case made[] = {{"square", {3, 2, 0.7, 0.4}, 4, 4}, {"tall", {3, 2, 0.7}, 5, 3}, {"wide", {3, 2, 0.7}, 3, 5}, {"equal", {2, 2, 0.5, 0.5}, 4, 4}, {"a zero", {3, 2, 0.6, 0}, 4, 4}, {"zeros", {3, 0, 0}, 3, 4}, {"all kept", {3, 2.5, 2}, 4, 3}, {"one", {2}, 1, 1}};
  std::vector<GradientCase> first, second;
  for (const Case& c : made) {
    const Array a = of(turned(c.values, static_cast<std::size_t>(c.rows), static_cast<std::size_t>(c.columns), 0.37), {c.rows, c.columns}), b = of(turned({1}, static_cast<std::size_t>(c.rows), 1, 0.2), {c.rows});
    const auto inverse = [](std::span<const Variable> v) { return pinv(v[0], 0.5); };
    const auto weighted = [](const Variable& y) { return sum(y * sin(1.0 + 2.0 * cast(index_along(y, Axes()), float64))); };
    const auto by_a = [inverse, weighted](std::span<const Variable> v) { return grad(weighted(inverse(v)), v[0]); };
    const auto solved = [](std::span<const Variable> v) {
      const LeastSquares parts = lstsq(v[0], v[1], 0.5);
      return concatenate({parts.solution, expand_dims(parts.residuals, 0)});
    };
    first.push_back({c.name, inverse, {a}});
    first.push_back({c.name + ", lstsq", solved, {a, b}});
    second.push_back({c.name + ", second", by_a, {a}});
    second.push_back({c.name + ", lstsq, second", [solved, weighted](std::span<const Variable> v) { return grad(weighted(solved(v)), v[0]); }, {a, b}});
    const Variable x = matrix("x", float64), v = matrix("v", float64), w = matrix("w", float64);
    const auto product = [&](const Variable& direction) { return hessian_vector_product(weighted(pinv(x, 0.5)), x, direction); };
    const Results both = function({x, v, w}, {sum(product(v) * w), sum(product(w) * v)}, options())(a, of(turned({1, 2}, static_cast<std::size_t>(c.rows), static_cast<std::size_t>(c.columns), 0.1), a.shape()), a + 1);
    if (c.rows > 1) EXPECT_NEAR(both[0].item().as_double(), both[1].item().as_double(), 1e-10 * std::max(1.0, std::fabs(both[0].item().as_double()))) << c.name << ": second derivatives are symmetric";
  }
  verify_grad(first, {.device = device()});
  verify_grad(second, {.tolerance = 1e-5, .device = device()});
  const GradientCase third[] = {{"third", [](std::span<const Variable> v) {
                                   const Variable g = grad(sum(sqr(pinv(v[0], 0.5))), v[0]);
                                   return grad(sum(g * sin(g)), v[0]);
                                 },
                                 {of(turned({3, 2, 0.6, 0}, 4, 4, 0.37), {4, 4})}}};
  verify_grad(third, {.tolerance = 1e-5, .device = device()});
}

TEST_P(MatrixFunctions, GradientsOfTheInverseTakeItsFactors) {
  const Variable x = matrix("x", float64);
  const Function f = function({x}, {pinv(x), grad(sum(sqr(pinv(x))), x)}, options());
  int factors = 0;
  for (NodeId node : f.graph().nodes()) factors += f.graph().op(node).name() == "svd";
  EXPECT_EQ(factors, 1);
}

TEST_P(MatrixFunctions, GradientsOfTheInverseOf16BitsAreRoundedOnce) {
  if (!has_factors()) GTEST_SKIP() << "needs LAPACK or cuSOLVER";
  const Array a = astype(of(turned({3, 2, 0.5}, 3, 3, 0.37), {3, 3}), float16);
  const Variable x = matrix("x", float16), y = matrix("y", float64);
  const Array got = function({x}, {grad(cast(sum(sqr(cast(pinv(x, 0.3), float32))), float32), x)}, options())(a), want = function({y}, {grad(sum(sqr(pinv(y, 0.3))), y)}, options())(astype(a, float64));
  expect_near(got, want.to_doubles(), 2e-3);
}

DAMO_ON_EACH_DEVICE(MatrixFunctions);

}  // namespace
}  // namespace damo
