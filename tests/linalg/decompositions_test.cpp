// Factors of matrices, in graphs and of Arrays: that they multiply to what they were made of, gradients against central differences, what is refused.
#include <cmath>
#include <functional>
#include <limits>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <damo/damo.hpp>
#include "support/devices.hpp"

namespace damo {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using testing::error_of;

class DecompositionsOf : public testing::OnEachDevice {
 protected:
  std::vector<double> numbers(std::int64_t count) {
    std::vector<double> values(static_cast<std::size_t>(count));
    std::uniform_real_distribution<double> uniform(-1, 1);
    for (double& value : values) value = uniform(random_);
    return values;
  }
  Array noise(const Shape& shape, DType dtype = float64) { return astype(Array::from(numbers(shape.size()), shape, device()), dtype); }
  /// Symmetric, with eigenvalues of at least 1.
  Array positive(const Shape& shape, DType dtype = float64) {
    const Array x = noise(shape, dtype);
    return matmul(x, swap_axes(x, -1, -2)) + eye(shape[-1], {}, 0, dtype, device());
  }
  static Array turned(const Array& x) { return swap_axes(x, -1, -2); }
  static void expect_near(const Array& got, const Array& want, double bound, const std::string& what) {
    ASSERT_EQ(got.shape(), want.shape()) << what;
    const std::vector<double> a = got.to_doubles(), b = want.to_doubles();
    for (std::size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], b[i], bound) << what << " [" << i << "]";
  }
  Array identity(std::int64_t n, DType dtype) const { return eye(n, {}, 0, dtype, device()); }

  std::mt19937 random_{5};
};

TEST_P(DecompositionsOf, MultiplyToWhatTheyWereMadeOf) {
  for (const DType dtype : {float64, float32}) {
    const double bound = dtype == float64 ? 1e-12 : 2e-5;
    for (const Shape& batches : {Shape{}, Shape{2, 3}}) {
      const auto shape = [&](std::int64_t m, std::int64_t n) {
        Shape all = batches;
        all.push_back(m);
        all.push_back(n);
        return all;
      };
      const Array p = positive(shape(5, 5), dtype), l = cholesky(p), u = cholesky(p, false);
      expect_near(matmul(l, turned(l)), p, bound, "cholesky");
      expect_near(matmul(turned(u), u), p, bound, "cholesky, upper");
      expect_near(triu(l, 1), l * 0, 0, "the triangle above L");
      const Array x = noise(shape(5, 5), dtype) + 3 * identity(5, dtype), b = noise(shape(5, 2), dtype), v = noise({5}, dtype);
      expect_near(matmul(x, solve(x, b)), b, bound, "solve");
      expect_near(squeeze(matmul(x, expand_dims(solve(x, v), -1)), -1), v + 0 * sum(x, -1), bound, "solve of a vector");
      expect_near(matmul(turned(x), solve(turned(x), b)), b, bound, "solve of a transposed view");
      expect_near(matmul(x, inv(x)), identity(5, dtype) + 0 * x, bound, "inv");
      expect_near(matmul(tril(x), solve_triangular(x, b)), b, bound, "solve_triangular");
      expect_near(matmul(turned(triu(x)), solve_triangular(x, b, false, true)), b, bound, "solve_triangular, upper, transposed");
      const Array unit = tril(x, -1) + identity(5, dtype);
      expect_near(matmul(unit, solve_triangular(x, b, true, false, true)), b, 20 * bound, "solve_triangular, unit diagonal");
      expect_near(matmul(p, cholesky_solve(l, b)), b, 4 * bound, "cholesky_solve");
      const auto [values, vectors] = eigh(p);
      expect_near(matmul(vectors * expand_dims(values, -2), turned(vectors)), p, 4 * bound, "eigh");
      expect_near(matmul(turned(vectors), vectors), identity(5, dtype) + 0 * p, bound, "eigenvectors");
      for (const auto& [m, n] : {std::pair{6, 3}, {3, 6}, {4, 4}, {1, 5}}) {
        const Array z = noise(shape(m, n), dtype);
        for (const bool full : {false, true}) {
          const std::int64_t k = std::min(m, n), width = full ? m : k;
          const auto [q, r] = qr(z, full);
          ASSERT_EQ(q.shape(), shape(m, width));
          expect_near(matmul(q, r), z, bound, "qr");
          expect_near(matmul(turned(q), q), identity(width, dtype) + Array::zeros(shape(width, width), dtype, device()), bound, "q");
          expect_near(tril(r, -1), 0 * r, 0, "the triangle below R");
          const auto [left, s, right] = svd(z, full);
          ASSERT_EQ(left.shape(), shape(m, width));
          ASSERT_EQ(right.shape(), shape(full ? n : k, n));
          const Array used = left.slice(full && batches.empty() ? std::vector<Slice>{{}, {0, k}} : full ? std::vector<Slice>{{}, {}, {}, {0, k}} : std::vector<Slice>{});
          const Array rows = right.slice(full && batches.empty() ? std::vector<Slice>{{0, k}} : full ? std::vector<Slice>{{}, {}, {0, k}} : std::vector<Slice>{});
          expect_near(matmul(used * expand_dims(s, -2), rows), z, bound, "svd");
          expect_near(matmul(turned(left), left), identity(width, dtype) + Array::zeros(shape(width, width), dtype, device()), bound, "left singular vectors");
        }
        expect_near(matmul(matmul(z, pinv(z)), z), z, 4 * bound, "pinv");
      }
    }
  }
}

TEST_P(DecompositionsOf, HaveTheValuesOfSmallMatrices) {
  const Array x = Array::from(std::vector<double>{2, 1, 0, 4}, {2, 2}, device());
  EXPECT_EQ(det(x).to_doubles(), (std::vector<double>{8}));
  EXPECT_EQ(inv(x).to_doubles(), (std::vector<double>{0.5, -0.125, 0, 0.25}));
  EXPECT_EQ(trace(x).to_doubles(), (std::vector<double>{6}));
  EXPECT_EQ(diagonal(stack({x, 2 * x})).to_doubles(), (std::vector<double>{2, 4, 4, 8}));
  const Array exchanged = Array::from(std::vector<double>{0, 3, 2, 1}, {2, 2}, device());
  EXPECT_EQ(det(exchanged).to_doubles(), (std::vector<double>{-6}));
  EXPECT_EQ(slogdet(exchanged).sign.to_doubles(), (std::vector<double>{-1}));
  EXPECT_NEAR(slogdet(exchanged).logarithm.to_doubles()[0], std::log(6.0), 1e-15);
  EXPECT_EQ(cholesky(Array::from(std::vector<double>{4, 99, 2, 5}, {2, 2}, device())).to_doubles(), (std::vector<double>{2, 0, 1, 2}));  // above the diagonal nothing is read
  EXPECT_EQ(eigh(Array::from(std::vector<double>{5, 99, 0, 3}, {2, 2}, device())).values.to_doubles(), (std::vector<double>{3, 5}));
  EXPECT_EQ(tril(Array::from(std::vector<int>{1, 2, 3, 4, 5, 6}, {2, 3}, device()), 1).to_doubles(), (std::vector<double>{1, 2, 0, 4, 5, 6}));
  EXPECT_EQ(triu(Array::from(std::vector<int>{1, 2, 3, 4, 5, 6}, {2, 3}, device()), 1).to_doubles(), (std::vector<double>{0, 2, 3, 0, 0, 6}));
  for (DType dtype : kAllDTypes) {
    const Variable x = input({dtype, {2, 2}});
    const Array ones = Array::ones({2, 2}, dtype, device());
    EXPECT_EQ(tril(x).dtype(), dtype);
    EXPECT_EQ(Array(function({x}, {triu(x)}, {.device = device()})(ones)).to_doubles(), (std::vector<double>{1, 1, 0, 1})) << name(dtype);
    EXPECT_EQ(tril(ones).dtype(), dtype);
  }
  EXPECT_EQ(solve(Array::from(std::vector<int>{2, 0, 0, 4}, {2, 2}, device()), Array::from(std::vector<int>{1, 1}, device())).to_doubles(), (std::vector<double>{0.5, 0.25}));
  EXPECT_EQ(inv(astype(x, float16)).dtype(), float16);
  EXPECT_EQ(inv(astype(x, int32)).dtype(), float64);
}

TEST_P(DecompositionsOf, InvertNoInfinity) {
  const Variable x = matrix("x", float64), y = vector("y", float64);
  const Array infinite = Array::from(std::vector<double>{std::numeric_limits<double>::infinity(), 0, 0, 1}, {2, 2}, device()), ones = Array::ones({2}, float64, device());
  const auto is_nan = [](const Array& values) { return all(isnan(values)).item().as_double() == 1; };
  EXPECT_TRUE(is_nan(pinv(infinite)));
  EXPECT_TRUE(is_nan(lstsq(infinite, ones).solution));
  EXPECT_TRUE(is_nan(function({x}, {pinv(x)}, {.device = device()})(infinite)));
  EXPECT_TRUE(is_nan(function({x, y}, {lstsq(x, y).solution}, {.device = device()})(infinite, ones)));
}

TEST_P(DecompositionsOf, GiveNaNForWhatIsNotFinite) {  // each library would give, or refuse, something else
  const double nan = std::numeric_limits<double>::quiet_NaN(), infinity = std::numeric_limits<double>::infinity();
  for (const DType dtype : {float32, float64}) {
    const Array x = astype(Array::from(std::vector<double>{3, 0, 0, 2, nan, 1, 1, 1, 1, 5, infinity, 2}, {3, 2, 2}, device()), dtype);
    const auto [u, s, vt] = svd(x);
    const auto [values, vectors] = eigh(x);
    const std::vector<double> singular = s.to_doubles(), eigen = values.to_doubles();
    EXPECT_NEAR(singular[0], 3, 1e-6);
    EXPECT_NEAR(eigen[0], 2, 1e-6);
    for (const Array& made : {u, s, vt, values, vectors}) {
      const std::vector<double> all_values = made.to_doubles();
      const std::size_t size = all_values.size() / 3;
      for (std::size_t i = 0; i < all_values.size(); ++i) EXPECT_EQ(std::isnan(all_values[i]), i >= size) << i << " of " << 3 * size;
    }
  }
  const Array above = Array::from(std::vector<double>{5, nan, 0, 3}, {2, 2}, device());
  EXPECT_EQ(eigh(above).values.to_doubles(), (std::vector<double>{3, 5})) << "above the diagonal nothing is read";
}

TEST_P(DecompositionsOf, GiveWhatTheyShouldForSingularAndEmptyMatrices) {
  const Array singular = Array::from(std::vector<double>{1, 2, 2, 4}, {2, 2}, device());
  EXPECT_EQ(det(singular).to_doubles(), (std::vector<double>{0}));
  EXPECT_EQ(slogdet(singular).sign.to_doubles(), (std::vector<double>{0}));
  EXPECT_EQ(slogdet(singular).logarithm.to_doubles(), (std::vector<double>{-std::numeric_limits<double>::infinity()}));
  expect_near(pinv(singular), Array::from(std::vector<double>{0.04, 0.08, 0.08, 0.16}, {2, 2}, device()), 1e-15, "pinv");
  const Array none = Array::zeros({0, 0}, float64, device());
  EXPECT_EQ(det(none).to_doubles(), (std::vector<double>{1}));
  EXPECT_EQ(inv(none).shape(), (Shape{0, 0}));
  EXPECT_EQ(cholesky(none).size() + solve(none, Array::zeros({0, 3}, float64, device())).size() + eigh(none).values.size(), 0);
  const Array flat = Array::zeros({2, 0}, float64, device());
  EXPECT_EQ(pinv(flat).shape(), (Shape{0, 2}));
  EXPECT_EQ(pinv(none).shape(), (Shape{0, 0}));
  const Variable x = tensor3("x", float64);
  const Array stack = Array::zeros({3, 0, 2}, float64, device());
  EXPECT_EQ(Array(function({x}, {pinv(x)}, {.device = device()})(stack)).shape(), (Shape{3, 2, 0}));
  EXPECT_EQ(qr(flat, true).q.to_doubles(), (std::vector<double>{1, 0, 0, 1}));
  EXPECT_EQ(svd(flat).u.to_doubles(), (std::vector<double>{1, 0, 0, 1}));
  EXPECT_EQ(svd(flat).vt.shape(), (Shape{0, 0}));
  EXPECT_EQ(det(Array::zeros({0, 3, 3}, float64, device())).shape(), (Shape{0}));
}

TEST_P(DecompositionsOf, MatricesWithNaNGiveNaNWhereOthersAreSingular) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Array x = Array::from(std::vector<double>{0, nan, 0, 1, 2, 0, 0, 4, nan, 1, 1, 1}, {3, 2, 2}, device()), b = Array::ones({2, 1}, float64, device());
  const std::vector<double> inverse = inv(x).to_doubles(), solution = solve(x, b).to_doubles(), determinant = det(x).to_doubles();
  for (const std::size_t i : {0, 2}) {
    EXPECT_TRUE(std::isnan(determinant[i])) << i;
    for (std::size_t k = 0; k < 4; ++k) EXPECT_TRUE(std::isnan(inverse[4 * i + k])) << i << " " << k;
    for (std::size_t k = 0; k < 2; ++k) EXPECT_TRUE(std::isnan(solution[2 * i + k])) << i << " " << k;
  }
  EXPECT_EQ(std::vector<double>(inverse.begin() + 4, inverse.begin() + 8), (std::vector<double>{0.5, 0, 0, 0.25}));
  const Array singular = Array::from(std::vector<double>{0, nan, 0, 1, 1, 2, 2, 4}, {2, 2, 2}, device());
  EXPECT_THAT(error_of<LinalgError>([&] { inv(singular); }), StartsWith("inv: matrix 1 of 2 is singular"));
}

TEST_P(DecompositionsOf, AreTheSameInGraphs) {
  const Variable x = input({float64, {kUnknown, kUnknown}}, "x"), b = input({float64, {kUnknown, kUnknown}}, "b");
  const auto [q, r] = qr(x);
  const auto [values, vectors] = eigh(x);
  const auto [u, s, vt] = svd(x);
  const auto [sign, logarithm] = slogdet(x);
  const std::vector<Variable> results = {cholesky(x), solve(x, b), solve_triangular(x, b), inv(x), pinv(x), det(x), sign, logarithm, q, r, values, vectors, u, s, vt, trace(x)};
  const Function f = function(std::vector{x, b}, results, {.device = device()});
  const Array p = positive({4, 4}), right = noise({4, 2});
  const auto [aq, ar] = qr(p);
  const auto [avalues, avectors] = eigh(p);
  const auto [au, as, avt] = svd(p);
  const auto [asign, alogarithm] = slogdet(p);
  const std::vector<Array> want = {cholesky(p), solve(p, right), solve_triangular(p, right), inv(p), pinv(p), det(p), asign, alogarithm, aq, ar, avalues, avectors, au, as, avt, trace(p)};
  for (int call = 0; call < 3; ++call) {
    const auto got = f(p, right);
    for (std::size_t i = 0; i < want.size(); ++i) expect_near(got[i], want[i], 1e-12, "result " + std::to_string(i));
  }
}

/// Costs of one matrix each, of which the gradient is held against central differences. Signs of vectors are the method's choice.
struct Costs {
  std::vector<Variable> of_square, of_tall;
};
Costs costs(const Variable& x, const Variable& z, const Variable& b, const std::function<Variable(const Variable&)>& weighted) {
  const auto [q, r] = qr(z);
  const auto [u, s, vt] = svd(z, false);
  const auto [wide_u, wide_s, wide_vt] = svd(transpose(z), false);
  const auto [values, vectors] = eigh(x);
  return {{weighted(cholesky(x)), weighted(cholesky(x, false)), weighted(solve(x, b)), weighted(solve_triangular(x, b)), weighted(solve_triangular(x, b, false, true)),
           weighted(solve_triangular(x, b, true, true, true)), weighted(inv(x)), det(x), slogdet(x).logarithm, weighted(values) + weighted(sqr(vectors)), weighted(triu(x, -1)), trace(x)},
          {weighted(q) + weighted(r), weighted(sqr(u)) + weighted(s) + weighted(sqr(vt)), weighted(sqr(wide_u)) + weighted(wide_s) + weighted(sqr(wide_vt)), weighted(pinv(z))}};
}

TEST_P(DecompositionsOf, HaveTheGradientsOfCentralDifferences) {
  const Variable x = input({float64, {3, 3}}, "x"), z = input({float64, {4, 3}}, "z"), b = input({float64, {3, 2}}, "b");
  const Array right = noise({3, 2});
  const auto weighted = [](const Variable& y) {  // unlike weights: no direction is left out
    return sum(y * sin(1.0 + cast(index_along(y, Axes()), float64)));
  };
  const Costs all = costs(x, z, b, weighted);
  std::vector<Variable> values = all.of_square, gradients;
  values.insert(values.end(), all.of_tall.begin(), all.of_tall.end());
  for (const Variable& cost : all.of_square) gradients.push_back(grad(cost, x));
  for (const Variable& cost : all.of_tall) gradients.push_back(grad(cost, z));
  const Function f = function(std::vector{x, z, b}, values, {.device = device()}), g = function(std::vector{x, z, b}, gradients, {.device = device()});
  std::vector<double> at_x = numbers(9), at_z = numbers(12);
  for (std::size_t i = 0; i < 9; i += 4) at_x[i] += 4;
  const auto evaluated = [&](const Function& function, const std::vector<double>& square, const std::vector<double>& tall) {
    std::vector<std::vector<double>> results;
    for (const Array& result : function.call(std::vector{Array::from(square, {3, 3}, device()), Array::from(tall, {4, 3}, device()), right})) results.push_back(result.to_doubles());
    return results;
  };
  const auto got = evaluated(g, at_x, at_z);
  const double step = 1e-6;
  for (std::size_t i = 0; i < 12; ++i) {
    const auto moved = [&](double by) {
      std::vector<double> square = at_x, tall = at_z;
      if (i < 9) square[i] += by;
      tall[i] += by;
      return evaluated(f, square, tall);
    };
    const auto above = moved(step), below = moved(-step);
    for (std::size_t k = 0; k < got.size(); ++k) {
      if (k < all.of_square.size() && i >= 9) continue;
      EXPECT_NEAR(got[k][i], (above[k][0] - below[k][0]) / (2 * step), 2e-7 * (1 + std::abs(got[k][i]))) << "cost " << k << ", element " << i;
    }
  }
}

TEST_P(DecompositionsOf, HaveGradientsOfTheirGradients) {
  const auto of_gradient = [this](std::string name, auto f) {
    return GradientCase{std::move(name), [f](std::span<const Variable> in) {
      const Variable y = f(in);
      const auto by = lop(std::vector{y}, std::vector{cos(y)}, std::vector(in.begin(), in.end()), Disconnected::kZero);
      std::vector<Variable> flat;
      for (const Variable& gradient : by) flat.push_back(flatten(gradient));
      return concatenate(flat);
    }, {noise({2, 3, 3}) + 4 * identity(3, float64), noise({2, 3, 2})}};
  };
  const auto symmetric = [](const Variable& x) { return x + swap_axes(x, -1, -2); };
  std::vector<GradientCase> cases = {
      of_gradient("cholesky", [=](auto x) { return cholesky(symmetric(x[0])); }),
      of_gradient("solve", [](auto x) { return solve(x[0], x[1]); }),
      of_gradient("solve of one vector", [](auto x) { return solve(x[0], subtensor(x[1], {0, {}, 0})); }),
      of_gradient("solve_triangular", [](auto x) { return solve_triangular(x[0], x[1]); }),
      of_gradient("solve_triangular, transposed", [](auto x) { return solve_triangular(x[0], x[1], false, true); }),
      of_gradient("cholesky_solve", [=](auto x) { return cholesky_solve(cholesky(symmetric(x[0])), x[1]); }),
      of_gradient("inv", [](auto x) { return inv(x[0]); }),
      of_gradient("det", [](auto x) { return log(det(x[0])); }),
      of_gradient("slogdet", [](auto x) { return slogdet(x[0]).logarithm; }),
      of_gradient("qr", [](auto x) { return qr(x[1]).r; }),
      of_gradient("svd", [](auto x) { return svd(x[1], false).values; }),
      of_gradient("eigh", [=](auto x) { return eigh(symmetric(x[0])).values; }),
      of_gradient("lu", [](auto x) { return lu(x[0]).u; }),
      of_gradient("pinv", [](auto x) { return pinv(x[1]); })};
  verify_grad(cases, {.tolerance = 1e-5, .device = device()});
}

TEST_P(DecompositionsOf, HaveGradientsForBroadcastSystems) {
  const Variable a = input({float64, {3, 3}}, "a"), b = input({float64, {2, 3, 1}}, "b");
  const Variable cost = sum(sqr(solve(a, b)));
  const auto gradients = grad(cost, std::vector{a, b});
  const Function f = function(std::vector{a, b}, std::vector{gradients[0], gradients[1]}, {.device = device()});
  const Array at = noise({3, 3}) + 3 * identity(3, float64), right = noise({2, 3, 1});
  const auto got = f(at, right);
  ASSERT_EQ(got[0].shape(), (Shape{3, 3}));
  ASSERT_EQ(got[1].shape(), (Shape{2, 3, 1}));
  const Array y = solve(at, right), of_b = solve(turned(at), 2 * y);
  expect_near(got[1], of_b, 1e-13, "b");
  expect_near(got[0], sum(-matmul(of_b, turned(y)), 0), 1e-13, "a");
}

TEST_P(DecompositionsOf, RefuseWhatHasNoSuchFactors) {
  const Array singular = Array::from(std::vector<double>{1, 2, 2, 4}, {2, 2}, device()), b = Array::ones({2}, float64, device());
  EXPECT_THAT(error_of<LinalgError>([&] { inv(singular); }), StartsWith("inv: the matrix is singular: there is no pivot in column 1"));
  EXPECT_THAT(error_of<LinalgError>([&] { solve(singular, b); }), AllOf(HasSubstr("solve: the matrix is singular"), HasSubstr("pinv")));
  const Array two = stack({eye(2, {}, 0, float64, device()), neg(eye(2, {}, 0, float64, device()))});
  EXPECT_THAT(error_of<LinalgError>([&] { cholesky(two); }), StartsWith("cholesky: matrix 1 of 2 is not positive definite: its leading minor of order 1 is not positive"));
  for (const DType dtype : {float32, float64}) {
    for (const int place : {0, 7, 8}) {  // (0, 0), (2, 1), (2, 2)
      std::vector<double> values{4, 1, 1, 1, 4, 1, 1, 1, 4};
      values[static_cast<std::size_t>(place)] = std::numeric_limits<double>::quiet_NaN();
      const Array broken = astype(stack({identity(3, float64), Array::from(values, {3, 3}, device())}), dtype);
      EXPECT_THAT(error_of<LinalgError>([&] { cholesky(broken); }),
                  StartsWith("cholesky: matrix 1 of 2 is not positive definite: its leading minor of order " + std::to_string(place == 0 ? 1 : 3) + " ")) << name(dtype) << " " << place;
    }
  }
  EXPECT_THAT(error_of<ShapeError>([&] { trace(noise({2, 3})); }), HasSubstr("diagonal: a matrix of (2, 3) is not square"));
  EXPECT_THAT(error_of<ShapeError>([&] { det(noise({2, 3})); }), HasSubstr("det: the matrix of (2, 3) is not square: 2 rows, 3 columns"));
  EXPECT_THAT(error_of<ShapeError>([&] { solve(noise({2, 2}), noise({3, 1})); }), HasSubstr("solve: the matrix has 2 rows, the right side 3"));
  EXPECT_THAT(error_of<ShapeError>([&] { svd(b); }), HasSubstr("svd: x is no matrix: float64 (2,)"));
  const Variable x = matrix("x", float64);
  const Function f = function({x}, {inv(x)}, {.device = device()});
  EXPECT_THAT(error_of<LinalgError>([&] { f(singular); }), AllOf(HasSubstr("inv: the matrix is singular"), HasSubstr("decompositions_test.cpp")));
  EXPECT_THAT(error_of<ShapeError>([&] { f(noise({2, 3})); }), HasSubstr("is not square"));
  EXPECT_NO_THROW(f(eye(2, {}, 0, float64, device())));  // the next call is right
  EXPECT_THAT(error_of<GraphError>([&] { grad(sum(svd(x).u), x); }), HasSubstr("full matrices are not determined by x"));
}

DAMO_ON_EACH_DEVICE(DecompositionsOf);

}  // namespace
}  // namespace damo
