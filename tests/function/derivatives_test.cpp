// rop, jacobian, hessian and products with it against closed forms in float64.
#include <damo/damo.hpp>

#include <cmath>

#include <gmock/gmock.h>

#include "support/devices.hpp"

namespace damo {
namespace {

using damo::testing::error_of;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class DerivativesOnEachDevice : public damo::testing::OnEachDevice {
 protected:
  Array doubles(const std::vector<double>& values, const Shape& shape) const { return Array::from(values, shape, device()); }
  Options options() const { return {.device = device(), .allow_unused_inputs = true}; }
};

TEST_P(DerivativesOnEachDevice, RopIsTheJacobianTimesTheDirection) {
  const auto x = vector("x", float64), v = vector("v", float64), a = matrix("a", float64), b = matrix("b", float64);
  const Variable product = dot(a, tanh(x));
  const Function f = function({x, v, a, b}, {rop(product, x, v), rop(cumsum(sqr(x)), x, v), rop(dot(a, x), a, b), rop(sum(x * x), x, v)}, options());
  const std::vector<double> at{0.5, -1, 2}, by{1, 3, -2}, m{1, 2, 3, 4, 5, 6}, n{1, 0, -1, 2, 2, 0};
  const auto results = f.call<4>(doubles(at, {3}), doubles(by, {3}), doubles(m, {2, 3}), doubles(n, {2, 3}));
  for (int i = 0; i < 2; ++i) {
    double want = 0, of_matrix = 0;
    for (int j = 0; j < 3; ++j) want += m[3 * i + j] * (1 - std::tanh(at[j]) * std::tanh(at[j])) * by[j], of_matrix += n[3 * i + j] * at[j];
    EXPECT_NEAR(results[0].to_vector<double>()[i], want, 1e-12);
    EXPECT_NEAR(results[2].to_vector<double>()[i], of_matrix, 1e-12);
  }
  EXPECT_THAT(results[1].to_vector<double>(), ElementsAre(1, 1 - 6, -5 - 8));
  EXPECT_EQ(results[3].item().as_double(), 2 * (0.5 - 3 - 4));
}

TEST_P(DerivativesOnEachDevice, RopSumsOverInputsAndReadsNoDummy) {
  const auto x = vector("x"), y = vector("y"), v = vector("v"), w = vector("w");
  const Variable outputs[] = {x * y, exp(x)}, inputs[] = {x, y}, directions[] = {v, w};
  const std::vector<Variable> moved = rop(outputs, inputs, directions);
  const auto results = function({x, y, v, w}, {moved[0], moved[1]}, {.device = device()}).call<2>(array({1, 2}), array({3, 4}), array({5, 6}), array({7, 8}));
  EXPECT_THAT(results[0].to_vector<float>(), ElementsAre(5 * 3 + 7 * 1, 6 * 4 + 8 * 2));
  EXPECT_FLOAT_EQ(results[1].to_vector<float>()[0], 5 * std::exp(1.0f));
  EXPECT_EQ(function({x, v}, {rop(exp(x), x, v)}, {.device = device()}).graph().node_count(), 1) << "one kernel: exp(x) v";
  EXPECT_EQ(rop(sqr(y), x, v, Disconnected::kZero).type(), y.type());
}

TEST_P(DerivativesOnEachDevice, JacobianOfNoElementsHasItsShape) {
  const auto x = input({float64, {3}}, "x"), y = matrix("y", float32), empty = subtensor(x, {{0, 0}}) * 2.0;
  const auto results = function({x, y}, {jacobian(empty, x), jacobian(reshape(empty, {2, 0}), x), jacobian(reshape(subtensor(exp(y), {{0, 0}, {0, 2}}), {0, 2}), y), jacobian(reshape(empty, {0}), sum(x), Disconnected::kZero)}, options()).call<4>(doubles({1, 2, 3}, {3}), Array::ones({4, 5}, float32, device()));
  EXPECT_EQ(results[0].shape(), (Shape{0, 3}));
  EXPECT_EQ(results[0].dtype(), float64);
  EXPECT_EQ(results[1].shape(), (Shape{2, 0, 3}));
  EXPECT_EQ(results[2].shape(), (Shape{0, 2, 4, 5}));
  EXPECT_EQ(results[3].shape(), (Shape{0}));
  EXPECT_THROW(jacobian(empty, sum(y)), GraphError);
}

TEST_P(DerivativesOnEachDevice, JacobianHasTheOutputsAxesThenTheInputs) {
  const auto x = input({float64, {3}}, "x"), a = input({float64, {2, 3}}, "a");
  const Variable y = dot(a, sqr(x)), outside = outer(x, x);
  const Function f = function({x, a}, {jacobian(y, x), jacobian(y, a), jacobian(outside, x), jacobian(sum(x), x)}, options());
  const std::vector<double> at{1, 2, 3}, m{1, 2, 3, 4, 5, 6};
  const auto results = f.call<4>(doubles(at, {3}), doubles(m, {2, 3}));
  EXPECT_EQ(results[0].shape(), (Shape{2, 3}));
  EXPECT_THAT(results[0].to_vector<double>(), ElementsAre(2, 8, 18, 8, 20, 36));
  EXPECT_EQ(results[1].shape(), (Shape{2, 2, 3}));
  EXPECT_THAT(results[1].to_vector<double>(), ElementsAre(1, 4, 9, 0, 0, 0, 0, 0, 0, 1, 4, 9));
  ASSERT_EQ(results[2].shape(), (Shape{3, 3, 3}));
  const std::vector<double> cube = results[2].to_vector<double>();
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) {
      for (int k = 0; k < 3; ++k) EXPECT_EQ(cube[9 * i + 3 * j + k], (i == k ? at[j] : 0) + (j == k ? at[i] : 0)) << i << " " << j << " " << k;
    }
  }
  EXPECT_THAT(results[3].to_vector<double>(), ElementsAre(1, 1, 1));
}

TEST_P(DerivativesOnEachDevice, HessianAndItsProductsAreSecondDerivatives) {
  const auto x = input({float64, {3}}, "x"), v = input({float64, {3}}, "v"), free = vector("free", float64), direction = vector("direction", float64);
  const auto cost_of = [](const Variable& z) { return sum(sqr(z) * z) + sqr(sum(z)); };  // Hessian: 6 z on the diagonal, 2 everywhere
  const Function f = function({x, v, free, direction}, {hessian(cost_of(x), x), hessian_vector_product(cost_of(x), x, v), hessian_vector_product(cost_of(free), free, direction), hessian(sum(x), x)}, options());
  const Array at = doubles({1, -2, 0.5}, {3}), by = doubles({1, 10, 100}, {3});
  const auto results = f.call<4>(at, by, at, by);
  EXPECT_THAT(results[0].to_vector<double>(), ElementsAre(8, 2, 2, 2, -10, 2, 2, 2, 5));
  EXPECT_THAT(results[1].to_vector<double>(), ElementsAre(6 + 222, -120 + 222, 300 + 222));
  EXPECT_THAT(results[2].to_vector<double>(), ElementsAre(6 + 222, -120 + 222, 300 + 222)) << "extents need not be known";
  EXPECT_THAT(results[3].to_vector<double>(), ::testing::Each(0));
}

// Where a gradient is 0 by choice, or by a power 0, what it leaves out is infinite; the second derivative multiplies that with 0.
TEST_P(DerivativesOnEachDevice, SecondDerivativesAreFiniteWhereTheFirstLeaveInfinitiesOut) {
  const auto x = input({float64, {4}}, "x"), powers = input({float64, {4}}, "powers");
  const Variable shares = sum(subtensor(logcumsumexp(x, 0), {{1, 4}}));
  const Function f = function({x, powers}, {hessian(sum(pow(x, powers)), x), jacobian(grad(sum(pow(x, powers)), x), powers), hessian(sum(hypot(x, 0.0 * x)), x), hessian(shares, x)}, options());
  const auto results = f.call<4>(doubles({0, 0, 0, 2}, {4}), doubles({0, 1, 2, 3}, {4}));
  EXPECT_THAT(results[0].to_vector<double>(), ElementsAre(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 12));
  const auto mixed = results[1].to_vector<double>();  // of x y^(y - 1) by y: x^(y - 1) (1 + y log x)
  for (int i = 0; i < 15; ++i) EXPECT_EQ(mixed[static_cast<std::size_t>(i)], i == 5 ? 1 : 0) << i;
  EXPECT_NEAR(mixed[15], 4 * (1 + 3 * std::log(2.0)), 1e-12);
  EXPECT_THAT(results[2].to_vector<double>(), ::testing::Each(0));
  const double infinity = std::numeric_limits<double>::infinity();
  const auto second = function({x}, {hessian(shares, x)}, options())(doubles({-infinity, 1, 2, -infinity}, {4}));
  const double share = 1 / (1 + std::exp(-1.0)), both = 2 * share * (1 - share);  // two sums have both elements
  const double want[] = {0, 0, 0, 0, 0, both, -both, 0, 0, -both, both, 0, 0, 0, 0, 0};
  for (std::size_t i = 0; i < 16; ++i) EXPECT_NEAR(Array(second).to_vector<double>()[i], want[i], 1e-12) << i;
}

TEST(Derivatives, SayWhatTheyCannotDo) {
  const Variable x = vector("x"), m = matrix("m"), n = vector("n", int32), known = input({float32, {2}}, "known");
  EXPECT_THAT(error_of([&] { jacobian(sqr(x), x); }), HasSubstr("jacobian: the extents of sqr float32 (?,) are not known, a row is built for each of its elements"));
  EXPECT_THAT(error_of([&] { jacobian(sqr(x), x); }), AllOf(HasSubstr("in the Jacobian asked for at "), HasSubstr("derivatives_test.cpp:" + std::to_string(__LINE__))));
  EXPECT_THAT(error_of([&] { hessian(sum(sqr(x)), x); }), HasSubstr("hessian: the extents of x float32 (?,) are not known"));
  EXPECT_THAT(error_of([&] { hessian(sqr(known), known); }), HasSubstr("grad: the cost must be 0-d"));
  EXPECT_THAT(error_of([&] { rop(sqr(x), x, m); }), HasSubstr("rop: input 0 is float32 (?,), its direction float32 (?, ?)"));
  EXPECT_THAT(error_of([&] { rop(sqr(x), x, n); }), HasSubstr("its direction int32 (?,)"));
  EXPECT_THAT(error_of([&] { rop(sqr(x), m, m); }), HasSubstr("m float32 (?, ?) is not part of the graph of the outputs"));
  EXPECT_THAT(error_of([&] { rop(std::span(&x, 1), std::span(&x, 1), {}); }), HasSubstr("rop: 0 directions for 1 inputs"));
  EXPECT_THAT(error_of([&] { rop(Variable(), x, x); }), HasSubstr("rop: an output is an empty Variable"));
  EXPECT_THAT(error_of([&] { jacobian(Variable(), x); }), HasSubstr("jacobian: the output is an empty Variable"));
}

DAMO_ON_EACH_DEVICE(DerivativesOnEachDevice);

}  // namespace
}  // namespace damo
