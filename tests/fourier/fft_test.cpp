// Fourier transforms in graphs and of Arrays (src/ops/fourier, src/ops/eager/fft.cpp, src/runtime/cpu/fourier.cpp) against NumPy's values and sums in long double.
#include <damo/damo.hpp>

#include <cmath>
#include <complex>
#include <numbers>
#include <random>

#include <gmock/gmock.h>

#include "support/devices.hpp"

namespace damo {
namespace {

using ::testing::HasSubstr;
using testing::error_of;
using Complex = std::complex<long double>;

/// Complex numbers of a shape, on the host.
struct Numbers {
  Shape shape;
  std::vector<Complex> values;

  /// The transform along an axis as a sum, not scaled.
  Numbers along(int axis, bool inverse) const {
    const std::int64_t n = shape[axis];
    std::int64_t inner = 1;
    for (int i = axis + 1; i < shape.rank(); ++i) inner *= shape[i];
    std::vector<Complex> roots;
    for (std::int64_t j = 0; j < n; ++j) {
      const long double angle = (inverse ? 2 : -2) * std::numbers::pi_v<long double> * static_cast<long double>(j) / static_cast<long double>(n);
      roots.emplace_back(std::cos(angle), std::sin(angle));
    }
    Numbers to{shape, std::vector<Complex>(values.size())};
    for (std::int64_t at = 0; at < shape.size(); ++at) {
      const std::int64_t k = at / inner % n, first = at - k * inner;
      for (std::int64_t j = 0; j < n; ++j) to.values[static_cast<std::size_t>(at)] += values[static_cast<std::size_t>(first + j * inner)] * roots[static_cast<std::size_t>(j * k % n)];
    }
    return to;
  }
  Numbers along(const std::vector<int>& axes, bool inverse) const {
    Numbers x = *this;
    for (int axis : axes) x = x.along(axis, inverse);
    return x;
  }
  std::int64_t count(const std::vector<int>& axes) const {
    std::int64_t count = 1;
    for (int axis : axes) count *= shape[axis];
    return count;
  }
};

class FourierTransformsOf : public testing::OnEachDevice {
 protected:
  Numbers noise(const Shape& shape, bool real) const {
    std::mt19937 random(9);
    std::uniform_real_distribution<float> uniform(-1, 1);
    Numbers x{shape, std::vector<Complex>(static_cast<std::size_t>(shape.size()))};
    for (Complex& value : x.values) value = {uniform(random), real ? 0.0f : uniform(random)};
    return x;
  }
  Array reals(const Numbers& x, DType dtype) const {
    std::vector<double> values;
    for (const Complex& value : x.values) values.push_back(static_cast<double>(value.real()));
    return astype(Array::from(values, x.shape, device()), dtype);
  }
  Array pairs(const Numbers& x, DType dtype) const {
    std::vector<double> values;
    for (const Complex& value : x.values) values.push_back(static_cast<double>(value.real())), values.push_back(static_cast<double>(value.imag()));
    Shape shape = x.shape;
    shape.push_back(2);
    return astype(Array::from(values, shape, device()), dtype);
  }
  /// got: pairs, or real numbers; the first `extent` of want along the axis. The difference's norm is at most `bound` of the result's.
  static void expect_numbers(const Array& got, const Numbers& want, int axis, std::int64_t extent, double scale, double bound, const std::string& what) {
    const std::vector<double> values = got.to_doubles();
    const bool real = got.rank() == want.shape.rank();
    std::int64_t inner = 1;
    for (int i = axis + 1; i < want.shape.rank(); ++i) inner *= want.shape[i];
    std::size_t next = 0;
    long double wrong = 0, all = 0;
    for (std::int64_t at = 0; at < want.shape.size(); ++at) {
      if (at / inner % want.shape[axis] >= extent) continue;
      const Complex value = want.values[static_cast<std::size_t>(at)] * static_cast<long double>(scale);
      ASSERT_LT(next, values.size()) << what;
      const Complex found = real ? Complex(values[next], value.imag()) : Complex(values[next], values[next + 1]);
      wrong += std::norm(found - value), all += std::norm(value);
      next += real ? 1 : 2;
    }
    EXPECT_EQ(next, values.size()) << what;
    EXPECT_LE(std::sqrt(wrong), bound * std::sqrt(all)) << what;
  }
  static double scale_of(FftNorm norm, bool inverse, std::int64_t count) {
    const auto n = static_cast<double>(count);
    return norm == FftNorm::kOrtho ? 1 / std::sqrt(n) : norm == (inverse ? FftNorm::kBackward : FftNorm::kForward) ? 1 / n : 1.0;
  }
};

struct Case {
  Shape shape;
  std::vector<int> axes;  // ascending
};

TEST_P(FourierTransformsOf, EqualSumsOverAnyAxes) {
  const std::vector<Case> cases{{{8}, {0}}, {{3, 15}, {1}}, {{6, 5}, {0}}, {{2, 7, 3}, {1}}, {{4, 17}, {1}}, {{5, 4, 6}, {0, 2}}, {{4, 3, 5}, {0, 1}}, {{2, 3, 2, 4}, {0, 1, 2, 3}}, {{20, 1}, {1}}, {{19, 90}, {1}}};
  const FftNorm norms[] = {FftNorm::kBackward, FftNorm::kOrtho, FftNorm::kForward};
  std::size_t turn = 0;
  for (const DType dtype : {float64, float32}) {
    const double bound = dtype == float64 ? 2e-15 : 1e-6;
    for (const Case& c : cases) {
      if (dtype == float32 && turn % 3 != 0 && c.axes.size() < 3) {  // the same code but for its numbers
        ++turn;
        continue;
      }
      const FftNorm norm = norms[turn++ % 3];
      const std::string what = to_string(c.shape) + " " + std::string(name(dtype));
      const int last = c.axes.back();
      const std::int64_t half = c.shape[last] / 2 + 1, extent = c.shape[last];
      const Numbers x = noise(c.shape, false), y = noise(c.shape, true), there = x.along(c.axes, false), back = x.along(c.axes, true), spectrum = y.along(c.axes, false);
      const std::int64_t count = x.count(c.axes);
      const Array given = pairs(x, dtype), real = reals(y, dtype), halves = rfftn(real, c.axes);
      const double forth = scale_of(norm, false, count), inverse = scale_of(norm, true, count);
      const Variable v = input({dtype, Shape::filled(given.rank(), kUnknown)}, "v"), r = input({dtype, Shape::filled(real.rank(), kUnknown)}, "r"), s = input({dtype, Shape::filled(given.rank(), kUnknown)}, "s");
      const Function f = function({v, r, s}, {fftn(v, c.axes, norm), ifftn(v, c.axes, norm), rfftn(r, c.axes, norm), irfftn(s, extent, c.axes, norm)}, {.device = device()});
      const auto results = f.call<4>(given, real, halves);
      const Array eager[] = {fftn(given, c.axes, norm), ifftn(given, c.axes, norm), rfftn(real, c.axes, norm), irfftn(halves, extent, c.axes, norm)};
      for (int i = 0; i < 2; ++i) {
        const std::span<const Array> all = i == 0 ? std::span<const Array>(results) : std::span<const Array>(eager);
        expect_numbers(all[0], there, last, extent, forth, bound, "fftn " + what);
        expect_numbers(all[1], back, last, extent, inverse, bound, "ifftn " + what);
        expect_numbers(all[2], spectrum, last, half, forth, bound, "rfftn " + what);
        expect_numbers(all[3], y, last, extent, inverse * static_cast<double>(count), 4 * bound, "irfftn " + what);
      }
      if (c.axes.size() == 1) {
        expect_numbers(fft(given, last, norm), there, last, extent, forth, bound, "fft " + what);
        expect_numbers(ifft(given, last, norm), back, last, extent, inverse, bound, "ifft " + what);
        expect_numbers(rfft(real, last - c.shape.rank(), norm), spectrum, last, half, forth, bound, "rfft " + what);
        expect_numbers(irfft(halves, extent, last, norm), y, last, extent, inverse * static_cast<double>(count), 4 * bound, "irfft " + what);
      }
    }
  }
}

TEST_P(FourierTransformsOf, GiveWhatNumPyGives) {
  const auto near = [](const Array& got, const std::vector<double>& want) { EXPECT_THAT(got.to_doubles(), ::testing::Pointwise(::testing::DoubleNear(1e-14), want)); };
  const Array x = Array::from(std::vector<double>{1, 2, -1, 3, 0.5}, device()), m = Array::from(std::vector<double>{1, 2, 0, 3, -1, 4}, {2, 3}, device());
  near(rfft(x), {5.5, 0, 0.15450849718747373, 0.9245562347271623, -0.4045084971874737, -4.685903943619324});
  near(rfftn(m, {}, FftNorm::kOrtho), {3.6742346141747677, 0, 0.6123724356957946, 1.0606601717798212, -1.2247448713915892, 0, -0.6123724356957946, -2.474873734152916});
  // The imaginary part of the first pair is not read; of an even extent the last one's neither.
  const Array half = Array::from(std::vector<double>{1, 2, 3, -1, 2, 5}, {3, 2}, device());
  near(irfft(half, 5), {2.2, -0.871541100316906, 1.6136203357573173, -2.6608339312572755, 0.7187546958168639});
  near(irfft(half), {2.25, 0.25, -0.75, -0.75});
}

TEST_P(FourierTransformsOf, ReadsAnyLayoutAndDtype) {
  const Array x = range({4, 6}), turned = x.transpose();
  EXPECT_EQ(rfft(turned, 0).to_doubles(), rfft(turned.copy(), 0).to_doubles());
  EXPECT_EQ(rfft(x.slice({{}, {{}, {}, -2}})).to_doubles(), rfft(x.slice({{}, {{}, {}, -2}}).copy()).to_doubles());
  for (const DType dtype : {int8, uint32, bool_}) {
    const Array numbers = astype(range({5}), dtype);
    EXPECT_EQ(rfft(numbers).dtype(), float64) << name(dtype);
    EXPECT_EQ(rfft(numbers).to_doubles(), rfft(astype(numbers, float64)).to_doubles()) << name(dtype);
  }
  for (const DType dtype : {float16, bfloat16}) {
    const Array numbers = astype(range({5}), dtype);
    EXPECT_EQ(rfft(numbers).dtype(), dtype);
    EXPECT_EQ(rfft(numbers).to_doubles(), astype(rfft(astype(numbers, float32)), dtype).to_doubles()) << name(dtype);
  }
  const Array none = Array::zeros({0, 6}, float32, device());
  EXPECT_EQ(rfft(none).shape(), (Shape{0, 4, 2}));
  const Variable v = matrix("v");
  EXPECT_EQ(Array(function({v}, {irfft(rfft(v, 1, FftNorm::kForward), 6, 1, FftNorm::kForward)}, {.device = device()})(none)).shape(), (Shape{0, 6}));
  EXPECT_TRUE(std::isnan(rfft(array({1, std::nanf(""), 2})).to_doubles()[0]));
}

/// Random points of float64.
Array some_doubles(const Shape& shape) {
  std::mt19937 random(3);
  std::uniform_real_distribution<double> uniform(-1, 1);
  std::vector<double> values(static_cast<std::size_t>(shape.size()));
  for (double& value : values) value = uniform(random);
  return Array::from(values, shape, Device("cpu"));
}

TEST(FourierGradients, AreThoseOfDifferencesOnCpu) {
  using Operands = std::span<const Variable>;
  std::vector<GradientCase> cases;
  for (std::int64_t n : {4, 5}) {
    const std::string of = " of " + std::to_string(n);
    cases.push_back({"rfft" + of, [](Operands x) { return sqr(rfft(x[0])); }, {some_doubles({2, n})}});
    cases.push_back({"rfftn" + of, [](Operands x) { return sqr(rfftn(x[0], {0, 2}, FftNorm::kOrtho)); }, {some_doubles({3, 2, n})}});
    cases.push_back({"fftn" + of, [](Operands x) { return sqr(fftn(x[0], {0, 1}, FftNorm::kForward)); }, {some_doubles({2, n, 2})}});
    cases.push_back({"ifft" + of, [](Operands x) { return sqr(ifft(x[0], 0)); }, {some_doubles({n, 2, 2})}});
    cases.push_back({"irfft" + of, [n](Operands x) { return sqr(irfft(x[0], n)); }, {some_doubles({2, n / 2 + 1, 2})}});
    cases.push_back({"irfftn" + of, [n](Operands x) { return sqr(irfftn(x[0], n)); }, {some_doubles({3, n / 2 + 1, 2})}});
  }
  for (std::size_t i = 0, count = cases.size(); i < count; ++i) {
    cases.push_back({"the gradient of " + cases[i].name, [graph = cases[i].graph](Operands x) {
      const Variable y = graph(x);
      return lop(y, cos(y), x[0], Disconnected::kZero);
    }, cases[i].points});
  }
  verify_grad(cases, {.device = Device("cpu")});
}

TEST_P(FourierTransformsOf, SayWhatDoesNotFit) {
  const Variable x = matrix("x"), three = input({float32, {4, 3}});
  EXPECT_THAT(error_of([&] { rfft(scalar("s")); }), HasSubstr("rfft: x has no axis to transform"));
  EXPECT_THAT(error_of([&] { rfft(x, 2); }), HasSubstr("rfft: axis 2 does not exist"));
  EXPECT_THAT(error_of([&] { rfftn(x, {0, -2}); }), HasSubstr("rfftn: axis 0 is named twice"));
  EXPECT_THAT(error_of([&] { rfftn(x, std::vector<int>{}); }), HasSubstr("rfftn: no axis is named"));
  EXPECT_THAT(error_of([&] { fft(three); }), HasSubstr("fft: complex numbers have a last axis of extent 2, real and imaginary part; x has the shape (4, 3)"));
  EXPECT_THAT(error_of([&] { ifft(vector("v")); }), HasSubstr("ifft: x has no axis to transform"));
  EXPECT_THAT(error_of([&] { irfft(input({float32, {4, 2}}), 9); }), HasSubstr("irfft: the half spectrum of 9 numbers has 5 pairs, x has 4"));
  EXPECT_THAT(error_of([&] { irfft(input({float32, {1, 2}})); }), HasSubstr("irfft: one pair is the half spectrum of one number, or of none"));
  EXPECT_THAT(error_of([&] { irfft(x, 0); }), HasSubstr("irfft: an extent of 0"));
  EXPECT_THAT(error_of([&] { rfft(input({float32, {3, 0}})); }), HasSubstr("rfft: an axis without elements has no spectrum"));
  const Function f = function({x}, {fft(x)}, {.device = device()});
  EXPECT_THAT(error_of([&] { f(range({4, 3})); }), HasSubstr("fft: complex numbers have a last axis of extent 2"));
  EXPECT_THAT(error_of([&] { fft(range({4, 3})); }), HasSubstr("fft: complex numbers have a last axis of extent 2"));
  EXPECT_THAT(error_of([&] { rfft(Array()); }), HasSubstr("rfft: x is an empty Array"));
  EXPECT_THAT(error_of([&] { rfft(range({0}), 0); }), HasSubstr("rfft: an axis without elements"));
}

DAMO_ON_EACH_DEVICE(FourierTransformsOf);

}  // namespace
}  // namespace damo
