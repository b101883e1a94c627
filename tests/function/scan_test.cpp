// cumsum and its kin in graphs, against double precision on the host; their fusion and their gradients.
#include <cmath>
#include <limits>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <damo/damo.hpp>
#include "runtime/backend.hpp"
#include "support/devices.hpp"
#include "support/errors.hpp"

namespace damo {
namespace {

using testing::error_of;
using Values = std::vector<double>;
constexpr double kInfinite = std::numeric_limits<double>::infinity(), kNotANumber = std::numeric_limits<double>::quiet_NaN();

Variable tensor_of(DType dtype, int rank, std::string name) { return input({dtype, Shape::filled(rank, kUnknown)}, std::move(name)); }

class Scans : public testing::OnEachDevice {
 protected:
  Array noise(const Shape& shape, unsigned seed = 1) const {
    std::mt19937 random(seed);
    std::vector<double> values(static_cast<std::size_t>(shape.size()));
    for (double& value : values) value = static_cast<double>(random() % 4001) / 1000 - 2;
    return Array::from(values, shape, device());
  }
  Array vector(const Values& values) const { return Array::from(values, {static_cast<std::int64_t>(values.size())}, device()); }
  template <class Work>
  std::uint64_t launches(const Work& work) const {
    const auto before = device().backend().launches.load();
    work();
    return device().backend().launches.load() - before;
  }
  Values run(const std::function<Variable(const Variable&)>& build, const Array& x) const {
    const Variable v = tensor_of(x.dtype(), x.rank(), "x");
    return function({v}, {build(v)}, options())(x)[0].to_doubles();
  }
  /// The gradient of sum(f(x) * weights) against differences of the sums, elements of x in float64.
  void expect_gradient(const std::function<Variable(const Variable&)>& build, const Array& x) const {
    const Variable v = tensor_of(float64, x.rank(), "x"), w = tensor_of(float64, x.rank(), "w");
    const Variable y = sum(build(v) * w);
    const Function gradient = function({v, w}, {grad(y, v)}, options()), value = function({v, w}, {y}, options());
    const Array weights = noise(x.shape(), 9);
    const Values found = gradient(x, weights)[0].to_doubles();
    Values at = x.to_doubles();
    for (std::size_t i = 0; i < at.size(); ++i) {
      constexpr double kStep = 1e-5;
      const double middle = at[i];
      at[i] = middle + kStep;
      const double above = value(Array::from(at, x.shape(), device()), weights)[0].item().as_double();
      at[i] = middle - kStep;
      const double below = value(Array::from(at, x.shape(), device()), weights)[0].item().as_double();
      at[i] = middle;
      ASSERT_NEAR(found[i], (above - below) / (2 * kStep), 1e-5) << "element " << i;
    }
  }
};

TEST_P(Scans, GoEitherWayWithTheirOwnElementOrWithout) {
  const Array x = vector({1, 2, 3, 4});
  EXPECT_EQ(run([](const Variable& v) { return cumsum(v, 0); }, x), (Values{1, 3, 6, 10}));
  EXPECT_EQ(run([](const Variable& v) { return cumsum(v, 0, {.reverse = true}); }, x), (Values{10, 9, 7, 4}));
  EXPECT_EQ(run([](const Variable& v) { return cumsum(v, -1, {.exclusive = true}); }, x), (Values{0, 1, 3, 6}));
  EXPECT_EQ(run([](const Variable& v) { return cumprod(v, 0, {.reverse = true, .exclusive = true}); }, x), (Values{24, 12, 4, 1}));
  EXPECT_EQ(run([](const Variable& v) { return cummax(v, 0, {.exclusive = true}); }, x), (Values{-kInfinite, 1, 2, 3}));
  EXPECT_EQ(run([](const Variable& v) { return cummin(v, 0, {.reverse = true}); }, x), (Values{1, 2, 3, 4}));
  EXPECT_EQ(run([](const Variable& v) { return cumsum(v); }, x.reshape({2, 2})), (Values{1, 3, 6, 10}));
  EXPECT_EQ(run([](const Variable& v) { return cumsum(v, 0); }, x.reshape({2, 2})), (Values{1, 2, 4, 6}));
  EXPECT_EQ(run([](const Variable& v) { return cumsum(v, 1); }, x.reshape({2, 2})), (Values{1, 3, 3, 7}));
}

TEST_P(Scans, HaveTheDtypesOfNumPy) {
  const auto dtype = [](DType x) { return std::pair(cumsum(tensor_of(x, 1, "x"), 0).dtype(), cummax(tensor_of(x, 1, "x"), 0).dtype()); };
  EXPECT_EQ(dtype(int8), std::pair(int64, int8));
  EXPECT_EQ(dtype(bool_), std::pair(int64, bool_));
  EXPECT_EQ(dtype(uint16), std::pair(uint64, uint16));
  EXPECT_EQ(dtype(float16), std::pair(float16, float16));
  const Array bytes = Array::from(std::vector<std::int8_t>{100, 100, 100}, device());
  EXPECT_EQ(run([](const Variable& v) { return cumsum(v, 0); }, bytes), (Values{100, 200, 300}));
  EXPECT_EQ(run([](const Variable& v) { return cumprod(v, 0); }, bytes), (Values{100, 10000, 1000000}));
  // float16 holds no odd number beyond 2,048: each sum is rounded once, from float32.
  const Values halves = run([](const Variable& v) { return cumsum(v, 0); }, Array::ones({5000}, float16, device()));
  EXPECT_EQ(halves[2999], 3000);
  EXPECT_EQ(halves[4998], 5000);
}

TEST_P(Scans, WriteBesideThemWhatAnAxisOfOneElementLeaves) {
  const Variable v = input({float32, Shape{1, kUnknown}}, "v"), doubled = v + v;
  const auto results = function({v}, {cumsum(doubled, 0), doubled}, options())(Array::from(std::vector<float>{1, 2, 3}, {1, 3}, device()));
  EXPECT_EQ(results[0].to_doubles(), (Values{2, 4, 6}));
  EXPECT_EQ(results[1].to_doubles(), (Values{2, 4, 6}));
}

// A draw asks for the shape alone, and is made beside the prefixes in one kernel.
TEST_P(Scans, MayHaveTheirShapeReadAlone) {
  for (const int axis : {0, 1}) {
    const auto drawn = [&](bool fuse) {
      const RandomStream random(3, device());
      const Variable x = tensor_of(float64, 2, "x");
      Options options = this->options();
      options.fuse = fuse;
      const Array values = function({x}, {x - cast(random.randint(cumsum(x, axis), 1, 4), float64)}, options)(noise({5, 40}));
      return values.to_doubles();
    };
    EXPECT_EQ(drawn(true), drawn(false)) << axis;
  }
}

TEST_P(Scans, CarryNanAndInfinity) {
  const Array x = vector({1, kInfinite, 2, -kInfinite, 3, kNotANumber, 4});
  const auto same = [](const Values& found, const Values& expected) {
    for (std::size_t i = 0; i < expected.size(); ++i) {
      if (std::isnan(expected[i]) ? !std::isnan(found[i]) : found[i] != expected[i]) return false;
    }
    return found.size() == expected.size();
  };
  EXPECT_TRUE(same(run([](const Variable& v) { return cumsum(v, 0); }, x), {1, kInfinite, kInfinite, kNotANumber, kNotANumber, kNotANumber, kNotANumber}));
  EXPECT_TRUE(same(run([](const Variable& v) { return cummax(v, 0); }, x), {1, kInfinite, kInfinite, kInfinite, kInfinite, kNotANumber, kNotANumber}));
  EXPECT_TRUE(same(run([](const Variable& v) { return cummin(v, 0); }, x), {1, 1, 1, -kInfinite, -kInfinite, kNotANumber, kNotANumber}));
  const Values zero = run([](const Variable& v) { return cumsum(v, 0); }, vector({-0.0, -0.0}));
  EXPECT_TRUE(std::signbit(zero[0]) && std::signbit(zero[1]));
}

TEST_P(Scans, TakeEmptyAndSingleElements) {
  for (const Shape& shape : {Shape{0}, Shape{3, 0}, Shape{0, 3}, Shape{1, 1}}) {
    const Array x = Array::ones(shape, float64, device());
    for (int axis = 0; axis < shape.rank(); ++axis) {
      const Variable v = tensor_of(float64, shape.rank(), "x");
      const Array y = function({v}, {cumsum(v * 2.0, axis)}, options())(x)[0];
      EXPECT_EQ(y.shape(), shape);
      if (y.size() == 1) EXPECT_EQ(y.to_doubles(), Values{2});
    }
  }
  EXPECT_EQ(run([](const Variable& v) { return cumsum(v); }, Array::scalar(3.0, device())), Values{3});
}

TEST_P(Scans, AreOneKernelWithTheElementwiseWorkAroundThem) {
  const Variable x = tensor_of(float64, 2, "x"), y = tensor_of(float64, 2, "y"), z = tensor_of(float64, 2, "z");
  for (int axis : {0, 1}) {
    const Function f = function({x, y, z}, {cumsum(x * y, axis) * z, cummax(x * y, axis) + 1.0}, options());
    const Array a = noise({70, 90}, 1), b = noise({70, 90}, 2), c = noise({70, 90}, 3);
    const auto results = f(a, b, c);
    EXPECT_EQ(launches([&] { f(a, b, c); }), 1u);
    const Values p = a.to_doubles(), q = b.to_doubles(), r = c.to_doubles(), found = results[0].to_doubles(), greatest = results[1].to_doubles();
    for (std::size_t line = 0; line < (axis == 0 ? 90u : 70u); ++line) {
      double total = 0, most = -kInfinite;
      for (std::size_t k = 0; k < (axis == 0 ? 70u : 90u); ++k) {
        const std::size_t at = axis == 0 ? k * 90 + line : line * 90 + k;
        total += p[at] * q[at], most = std::max(most, p[at] * q[at]);
        ASSERT_NEAR(found[at], total * r[at], 1e-11) << axis << " element " << at;
        ASSERT_EQ(greatest[at], most + 1);
      }
    }
  }
  const Function twice = function({x}, {cumsum(cumsum(x, 0), 0)}, options());
  EXPECT_EQ(twice(vector({1, 2, 3}).reshape({3, 1}))[0].to_doubles(), (Values{1, 4, 10}));
  EXPECT_EQ(launches([&] { twice(vector({1, 2, 3}).reshape({3, 1})); }), 2u);
  const Function around = function({x}, {cumsum(x, 0) + cumsum(x, 0, {.reverse = true}) / sum(x, 0)}, options());
  EXPECT_EQ(around(vector({1, 2, 1}).reshape({3, 1}))[0].to_doubles(), (Values{2, 3.75, 4.25}));
}

TEST_P(Scans, HaveGradients) {
  const Array x = noise({3, 7}, 4);
  const auto finite = [](const Variable& v) { return where(isinf(v), 0.0, v); };  // what an exclusive scan begins with
  for (const bool is_other : {false, true}) {
    const CumulativeOptions way{.reverse = is_other, .exclusive = is_other};
    expect_gradient([&](const Variable& v) { return cumsum(sqr(v), 0, way); }, x);
    expect_gradient([&](const Variable& v) { return cumprod(v, 1, way); }, x);
    expect_gradient([&](const Variable& v) { return finite(cummax(v, 1, {.reverse = is_other, .exclusive = is_other})); }, x);
    expect_gradient([&](const Variable& v) { return finite(logcumsumexp(v, 0, way)); }, x);
  }
  expect_gradient([](const Variable& v) { return cummin(v, 0, {.reverse = true}); }, x);
  expect_gradient([](const Variable& v) { return cumprod(v, 0); }, vector({2, 0, 3, -1, 0, 5}));
  const Variable v = tensor_of(float64, 1, "v");
  const Function first = function({v}, {grad(sum(cummax(v, 0)), v)}, options());
  EXPECT_EQ(first(vector({1, 3, 3, 2, 5}))[0].to_doubles(), (Values{1, 3, 0, 0, 1}));
  // Of higher order: the second derivative of x0 x1 x2 with respect to x0 and x1 is x2.
  const Variable of_first = grad(sum(cumprod(v, 0)), v);
  const Variable w = tensor_of(float64, 1, "w");
  const Function second = function({v, w}, {grad(sum(of_first * w), v)}, options());
  EXPECT_EQ(second(vector({2, 3, 4}), vector({1, 0, 0}))[0].to_doubles(), (Values{0, 5, 3}));
}

TEST_P(Scans, ForgetWhatIsBehindAFactorThatIsZero) {
  constexpr int kZero = 2999, kLength = 5000;
  Values values(kLength, 1.0);
  values[kZero] = 0;
  values[kZero + 1] = kNotANumber;
  const Values gradient = run([](const Variable& x) { return grad(sum(cumprod(x, 0)), x); }, vector(values));
  for (int i = 0; i < kLength; ++i) {
    if (i < kZero) EXPECT_EQ(gradient[static_cast<std::size_t>(i)], kZero - i) << i;
    else if (i == kZero + 1) EXPECT_EQ(gradient[static_cast<std::size_t>(i)], 0);
    else EXPECT_TRUE(std::isnan(gradient[static_cast<std::size_t>(i)])) << i;
  }
}

TEST_P(Scans, OfAUsersOpFuseAsBuiltInOnes) {
  struct Smoothed final : KernelOp {  // y[i] = y[i - 1] / 2 + x[i]
    std::string name() const override { return "smoothed"; }
    std::optional<std::uint32_t> reduced_axes() const override { return 0b1; }
    Scans scans() const override { return Scans::kForward; }
    void lower(KernelBuilder& k) const override { k.output(k.scan({.element = "x0", .neutral = "0", .reduce = "a + b"}, {k.input(0)})); }
  };
  const auto smoothed = make_op<Smoothed>();
  const Variable v = tensor_of(float64, 1, "v");
  const Function f = function({v}, {smoothed(v * 2.0) + 1.0}, options());
  EXPECT_EQ(f(vector({1, 2, 3}))[0].to_doubles(), (Values{3, 7, 13}));
  EXPECT_EQ(launches([&] { f(vector({1, 2, 3})); }), 1u);
}

TEST_P(Scans, SayWhatIsWrong) {
  const Variable x = tensor_of(float32, 2, "x");
  EXPECT_THAT(error_of([&] { cumsum(x, 2); }), ::testing::HasSubstr("cumsum: axis 2 does not exist: x has 2 axes"));
  EXPECT_THAT(error_of([&] { logcumsumexp(tensor_of(int32, 1, "n"), 0); }), ::testing::HasSubstr("logcumsumexp takes floats, it is given int32"));
  struct Both final : KernelOp {
    std::string name() const override { return "both"; }
    std::optional<std::uint32_t> reduced_axes() const override { return 0b1; }
    void lower(KernelBuilder& k) const override { k.output(k.scan({.element = "x0", .neutral = "0", .reduce = "a + b"}, {k.input(0)})); }
  };
  const auto both = make_op<Both>();
  EXPECT_THAT(error_of([&] { function({x}, {both(x)}, options()); }), ::testing::HasSubstr("both: lower has a scan, scans() says that there is none"));
}

DAMO_ON_EACH_DEVICE(Scans);

}  // namespace
}  // namespace damo
