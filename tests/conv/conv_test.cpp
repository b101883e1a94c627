// Convolutions in graphs and of Arrays, and their gradients of first and second order, against loops in double precision.
#include <cmath>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <damo/damo.hpp>
#include "conv/window_reference.hpp"
#include "support/devices.hpp"
#include "support/errors.hpp"

namespace damo {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::error_of;
using testing::Triple;
using testing::WindowCase;
using Doubles = std::vector<double>;

Variable pictures(DType dtype, int rank, std::string name) { return input({dtype, Shape::filled(rank, kUnknown)}, std::move(name)); }

class Convolutions : public testing::OnEachDevice {
 protected:
  Array noise(const Shape& shape, DType dtype = float64) {
    Doubles values(static_cast<std::size_t>(shape.size()));
    for (double& value : values) value = std::uniform_real_distribution<double>(-1, 1)(random_);
    const Array array = Array::from(values, shape, device());
    return dtype == float64 ? array : astype(array, dtype);
  }
  std::int64_t pick(std::int64_t least, std::int64_t most) { return std::uniform_int_distribution<std::int64_t>(least, most)(random_); }

  static Shape shape_of(std::int64_t first, std::int64_t second, const Triple& extents, int axes) {
    Shape shape{first, second};
    for (int i = 3 - axes; i < 3; ++i) shape.push_back(extents[static_cast<std::size_t>(i)]);
    return shape;
  }
  static std::vector<std::int64_t> last(const Triple& numbers, int axes) { return {numbers.end() - axes, numbers.end()}; }
  static ConvOptions options_of(const WindowCase& c, int axes) {
    return {.stride = last(c.stride, axes), .padding = PerAxis(last(c.before, axes)), .dilation = last(c.dilation, axes), .groups = c.groups};
  }
  static Variable convolve(int axes, const Variable& x, const Variable& w, const ConvOptions& o) { return axes == 1 ? conv1d(x, w, o) : axes == 2 ? conv2d(x, w, o) : conv3d(x, w, o); }
  static Array convolve(int axes, const Array& x, const Array& w, const ConvOptions& o) { return axes == 1 ? conv1d(x, w, o) : axes == 2 ? conv2d(x, w, o) : conv3d(x, w, o); }

  WindowCase random_case(int axes) {
    WindowCase c{.n = pick(1, 3), .groups = pick(0, 2) == 0 ? pick(2, 3) : 1};
    c.channels = c.groups * pick(1, 4);
    c.filters = c.groups * pick(1, 9);
    for (std::size_t i = static_cast<std::size_t>(3 - axes); i < 3; ++i) {
      c.window[i] = pick(1, 4);
      c.dilation[i] = pick(0, 2) == 0 ? 2 : 1;
      c.stride[i] = pick(0, 2) == 0 ? pick(2, 3) : 1;
      c.before[i] = c.after[i] = pick(0, 1) * pick(0, 2);
      c.in[i] = std::max<std::int64_t>(c.dilation[i] * (c.window[i] - 1) + 1 - 2 * c.before[i], 1) + pick(0, axes == 1 ? 40 : axes == 2 ? 14 : 4);
    }
    return c;
  }

  /// got against sums whose products add up to `magnitude`.
  static void expect_sums(const Array& got, const Doubles& want, const Doubles& magnitude, DType dtype, const std::string& what) {
    const double sum = dtype == float64 ? 1e-14 : 2e-6, last = dtype == float16 ? 0x1p-11 : dtype == bfloat16 ? 0x1p-8 : 0;
    const Doubles values = got.to_doubles();
    ASSERT_EQ(values.size(), want.size()) << what;
    for (std::size_t i = 0; i < values.size(); ++i) ASSERT_NEAR(values[i], want[i], sum * magnitude[i] + last * std::fabs(want[i]) + last * 1e-3) << what << " element " << i;
  }

  /// Forward in graph and eager, and both gradients, against the loops. permute: x is a view whose axes lie in another order.
  void expect_convolution(const WindowCase& c, int axes, DType dtype, const ConvOptions& o, const std::string& what, bool permute = false) {
    const Shape x_shape = shape_of(c.n, c.channels, c.in, axes), w_shape = shape_of(c.filters, c.channels / c.groups, c.window, axes), y_shape = shape_of(c.n, c.filters, c.out(), axes);
    Array x = noise(x_shape, dtype);
    if (permute) x = swap_axes(noise(swapped(x_shape), dtype), 0, -1);
    const Array w = noise(w_shape, dtype), g = noise(y_shape, dtype);
    const Doubles xs = x.contiguous().to_doubles(), ws = w.to_doubles(), gs = g.to_doubles();
    Doubles y(gs.size()), dx(xs.size()), dw(ws.size()), y_size(gs.size()), dx_size(xs.size()), dw_size(ws.size());
    testing::for_each_product(c, [&](std::size_t i, std::size_t j, std::size_t k) {
      const auto add = [](double& sum, double& size, double product) { sum += product, size += std::fabs(product); };
      add(y[k], y_size[k], xs[i] * ws[j]);
      add(dx[i], dx_size[i], gs[k] * ws[j]);
      add(dw[j], dw_size[j], gs[k] * xs[i]);
    });
    const Variable vx = pictures(dtype, axes + 2, "x"), vw = pictures(dtype, axes + 2, "w"), vg = pictures(dtype, axes + 2, "g");
    const Variable vy = convolve(axes, vx, vw, o);
    const std::vector<Variable> by = lop({vy}, {vg}, {vx, vw});
    const auto found = function({vx, vw, vg}, {vy, by[0], by[1]}, options())(x, w, g);
    ASSERT_EQ(Array(found[0]).shape(), y_shape) << what;
    expect_sums(found[0], y, y_size, dtype, what + ", forward");
    expect_sums(found[1], dx, dx_size, dtype, what + ", by x");
    expect_sums(found[2], dw, dw_size, dtype, what + ", by w");
    expect_sums(convolve(axes, x, w, o), y, y_size, dtype, what + ", of Arrays");
  }

  static Shape swapped(Shape shape) {
    std::swap(shape[0], shape[-1]);
    return shape;
  }
  static std::string text_of(const WindowCase& c, int axes) {
    return "x " + to_string(shape_of(c.n, c.channels, c.in, axes)) + " w " + to_string(shape_of(c.filters, c.channels / c.groups, c.window, axes)) + " stride " +
           to_string(shape_of(0, 0, c.stride, axes)) + " dilation " + to_string(shape_of(0, 0, c.dilation, axes)) + " padding " + to_string(shape_of(0, 0, c.before, axes)) + " groups " + std::to_string(c.groups);
  }

  std::mt19937 random_{7};
};
DAMO_ON_EACH_DEVICE(Convolutions);

TEST_P(Convolutions, AgreeWithLoopsForRandomSizesAndOptions) {
  for (int axes = 1; axes <= 3; ++axes) {
    for (int i = 0; i < 15; ++i) {
      const WindowCase c = random_case(axes);
      expect_convolution(c, axes, float64, options_of(c, axes), text_of(c, axes), i % 5 == 4);
      if (HasFatalFailure()) return;
    }
  }
}

TEST_P(Convolutions, SumInFloat32ForSixteenBits) {
  const WindowCase padded{.n = 2, .groups = 2, .channels = 6, .filters = 10, .in = {1, 9, 11}, .window = {1, 3, 3}, .stride = {1, 2, 1}, .before = {0, 1, 1}, .after = {0, 1, 1}};
  const WindowCase plain{.n = 2, .channels = 3, .filters = 5, .in = {1, 8, 20}, .window = {1, 3, 3}};
  expect_convolution(padded, 2, float16, options_of(padded, 2), "float16");
  const Array x = noise({2, 3, 8, 20}, bfloat16), w = noise({5, 3, 3, 3}, bfloat16);
  const Doubles xs = x.to_doubles(), ws = w.to_doubles();
  Doubles y(2 * 5 * 6 * 18), size(y.size());
  testing::for_each_product(plain, [&](std::size_t i, std::size_t j, std::size_t k) { y[k] += xs[i] * ws[j], size[k] += std::fabs(xs[i] * ws[j]); });
  expect_sums(conv2d(x, w), y, size, bfloat16, "bfloat16");
}

TEST_P(Convolutions, TakeBlocksThatAreWholeAndDepthwiseOnes) {
  const WindowCase lenet{.n = 5, .channels = 6, .filters = 20, .in = {1, 12, 12}, .window = {1, 5, 5}};
  const WindowCase depthwise{.n = 2, .groups = 6, .channels = 6, .filters = 6, .in = {1, 9, 9}, .window = {1, 3, 3}, .before = {0, 1, 1}, .after = {0, 1, 1}};
  const WindowCase two_a_channel{.n = 2, .groups = 3, .channels = 3, .filters = 6, .in = {1, 11, 37}, .window = {1, 3, 2}, .stride = {1, 2, 1}, .before = {0, 1, 0}, .after = {0, 1, 0}};
  const WindowCase one_filter{.n = 1, .channels = 1, .filters = 1, .in = {1, 71, 50}, .window = {1, 3, 3}, .stride = {1, 1, 2}};
  const WindowCase pointwise{.n = 1, .channels = 17, .filters = 33, .in = {1, 6, 7}};
  expect_convolution(lenet, 2, float32, options_of(lenet, 2), text_of(lenet, 2));
  for (const WindowCase& c : {depthwise, two_a_channel, one_filter, pointwise}) expect_convolution(c, 2, float64, options_of(c, 2), text_of(c, 2));
}

TEST_P(Convolutions, SamePaddingKeepsTheExtentOverTheStride) {
  for (const std::int64_t stride : {1, 2, 3}) {
    for (const std::int64_t extent : {7, 8, 9}) {
      for (const std::int64_t window : {1, 2, 5}) {
        WindowCase c{.n = 2, .channels = 3, .filters = 4, .in = {1, 1, extent}, .window = {1, 1, window}, .stride = {1, 1, stride}};
        const std::int64_t out = (extent + stride - 1) / stride, zeros = std::max<std::int64_t>((out - 1) * stride + window - extent, 0);
        c.before[2] = zeros / 2;
        c.after[2] = zeros - zeros / 2;
        expect_convolution(c, 1, float64, {.stride = stride, .padding = Border::kSame}, "same, " + text_of(c, 1));
      }
    }
  }
}

TEST_P(Convolutions, TransposedConvolutionIsTheGradientByX) {
  for (const std::int64_t more : {0, 1}) {
    // That of y (2, 4, 5, 6): of all x that convolve to y's extents the one that output_padding says.
    const WindowCase c{.n = 2, .groups = 2, .channels = 6, .filters = 4, .in = {1, (5 - 1) * 2 - 2 + 2 + 1 + more, (6 - 1) * 2 - 2 + 4 + 1 + more}, .window = {1, 3, 3}, .stride = {1, 2, 2},
                       .dilation = {1, 1, 2}, .before = {0, 1, 1}, .after = {0, 1, 1}};
    ASSERT_EQ(c.out(), (Triple{1, 5, 6}));
    const Array y = noise({2, 4, 5, 6}), w = noise({4, 3, 3, 3}), v = noise(shape_of(2, 6, c.in, 2));
    const Doubles ys = y.to_doubles(), ws = w.to_doubles(), vs = v.to_doubles();
    Doubles x(vs.size()), dy(ys.size()), dw(ws.size());
    testing::for_each_product(c, [&](std::size_t i, std::size_t j, std::size_t k) { x[i] += ys[k] * ws[j], dy[k] += vs[i] * ws[j], dw[j] += vs[i] * ys[k]; });
    const ConvTransposeOptions o{.stride = 2, .padding = 1, .output_padding = more, .dilation = {1, 2}, .groups = 2};
    const Variable vy = pictures(float64, 4, "y"), vw = pictures(float64, 4, "w"), vv = pictures(float64, 4, "v"), vx = conv_transpose2d(vy, vw, o);
    const std::vector<Variable> by = lop({vx}, {vv}, {vy, vw});
    const auto found = function({vy, vw, vv}, {vx, by[0], by[1]}, options())(y, w, v);
    EXPECT_THAT(Array(found[0]).to_doubles(), ::testing::Pointwise(::testing::DoubleNear(1e-12), x));
    EXPECT_THAT(Array(found[1]).to_doubles(), ::testing::Pointwise(::testing::DoubleNear(1e-12), dy));
    EXPECT_THAT(Array(found[2]).to_doubles(), ::testing::Pointwise(::testing::DoubleNear(1e-12), dw));
    EXPECT_THAT(conv_transpose2d(y, w, o).to_doubles(), ::testing::Pointwise(::testing::DoubleNear(1e-12), x));
  }
}

TEST_P(Convolutions, HaveSecondDerivatives) {
  // Of sum(conv(x, w)^3): its gradients along fixed directions, against differences of the first gradients.
  const Array x = noise({2, 3, 9}), w = noise({4, 3, 3}), along_x = noise({2, 3, 9}), along_w = noise({4, 3, 3});
  const Variable vx = pictures(float64, 3, "x"), vw = pictures(float64, 3, "w"), dx = pictures(float64, 3, "dx"), dw = pictures(float64, 3, "dw");
  const Variable y = conv1d(vx, vw, {.stride = 2, .padding = 1}), cost = sum(y * y * y);
  const Variable slope = sum(grad(cost, vx) * dx) + sum(grad(cost, vw) * dw);
  const Function first = function({vx, vw, dx, dw}, {slope}, options()), second = function({vx, vw, dx, dw}, {grad(slope, vx), grad(slope, vw)}, options());
  const auto found = second(x, w, along_x, along_w);
  const auto check = [&](const Array& of, const Array& got, bool is_x) {
    Doubles at = of.to_doubles();
    const Doubles values = got.to_doubles();
    for (std::size_t i = 0; i < at.size(); i += 5) {
      constexpr double kStep = 1e-5;
      const auto value = [&](double change) {
        Doubles moved = at;
        moved[i] += change;
        const Array array = Array::from(moved, of.shape(), device());
        return Array(is_x ? first(array, w, along_x, along_w)[0] : first(x, array, along_x, along_w)[0]).item().as_double();
      };
      EXPECT_NEAR(values[i], (value(kStep) - value(-kStep)) / (2 * kStep), 1e-6 * (1 + std::fabs(values[i]))) << (is_x ? "x " : "w ") << i;
    }
  };
  check(x, found[0], true);
  check(w, found[1], false);
}

TEST_P(Convolutions, OfNoPicturesAndNoChannels) {
  const Variable x = pictures(float32, 4, "x"), w = pictures(float32, 4, "w"), y = conv2d(x, w);
  const Function f = function({x, w}, {y, grad(sum(y), x), grad(sum(y), w)}, options());
  const auto none = f(noise({0, 3, 5, 5}, float32), noise({4, 3, 3, 3}, float32));
  EXPECT_EQ(Array(none[0]).shape(), (Shape{0, 4, 3, 3}));
  EXPECT_EQ(Array(none[1]).shape(), (Shape{0, 3, 5, 5}));
  EXPECT_EQ(Array(none[2]).to_doubles(), Doubles(4 * 3 * 3 * 3, 0.0));
  const auto empty = f(noise({2, 0, 5, 5}, float32), noise({4, 0, 3, 3}, float32));
  EXPECT_EQ(Array(empty[0]).to_doubles(), Doubles(2 * 4 * 3 * 3, 0.0));
}

TEST_P(Convolutions, GiveTheSameBitsAtEveryCall) {
  const Variable x = pictures(float32, 4, "x"), w = pictures(float32, 4, "w"), y = conv2d(x, w, {.padding = 1});
  const Function f = function({x, w}, {y, grad(sum(y * y), x), grad(sum(y * y), w)}, options());
  const Array a = noise({9, 5, 13, 13}, float32), b = noise({7, 5, 3, 3}, float32);
  const auto once = f(a, b), other = f(flip(a, 2), b);
  // On a GPU later calls are replayed as graphs.
  for (int call = 0; call < 6; ++call) {
    const bool is_first = call % 2 == 0;
    const auto again = f(is_first ? a : flip(a, 2).contiguous(), b);
    for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(Array(again[i]).to_doubles(), Array((is_first ? once : other)[i]).to_doubles()) << "result " << i << " of call " << call;
  }
}

TEST_P(Convolutions, SumManyProductsOfSixteenBitsInFloat32) {
  // 1,026 products an element of the result, 1,024 one of the weight's gradient.
  const WindowCase c{.n = 1, .channels = 1026, .filters = 5, .in = {1, 32, 32}};
  expect_convolution(c, 2, float16, options_of(c, 2), "float16 " + text_of(c, 2));
}

TEST_P(Convolutions, KeepANanInTheElementsThatReadIt) {
  const WindowCase c{.n = 2, .channels = 3, .filters = 4, .in = {1, 16, 16}, .window = {1, 3, 3}, .before = {0, 1, 1}, .after = {0, 1, 1}};
  Doubles xs(2 * 3 * 16 * 16, 0.5), gs(2 * 4 * 16 * 16, 0.25);
  xs[16 * 16 + 5 * 16 + 6] = gs[7 * 16 + 3] = std::nan("");
  const Array x = astype(Array::from(xs, {2, 3, 16, 16}, device()), float32), g = astype(Array::from(gs, {2, 4, 16, 16}, device()), float32), w = noise({4, 3, 3, 3}, float32);
  Doubles y(gs.size()), dx(xs.size()), dw(4 * 3 * 3 * 3);
  testing::for_each_product(c, [&](std::size_t i, std::size_t j, std::size_t k) { y[k] += xs[i], dx[i] += gs[k], dw[j] += gs[k] * xs[i]; });
  const Variable vx = pictures(float32, 4, "x"), vw = pictures(float32, 4, "w"), vg = pictures(float32, 4, "g"), vy = conv2d(vx, vw, {.padding = 1});
  const std::vector<Variable> by = lop({vy}, {vg}, {vx, vw});
  const auto found = function({vx, vw, vg}, {vy, by[0], by[1]}, options())(x, w, g);
  const auto nans = [](const Doubles& values) {
    std::vector<bool> are;
    for (const double value : values) are.push_back(std::isnan(value));
    return are;
  };
  EXPECT_EQ(nans(Array(found[0]).to_doubles()), nans(y));
  EXPECT_EQ(nans(Array(found[1]).to_doubles()), nans(dx));
  EXPECT_EQ(nans(Array(found[2]).to_doubles()), nans(dw));
}

TEST_P(Convolutions, RoundTheirOperandsOnlyWhereTf32IsAllowed) {
  const WindowCase c{.n = 2, .channels = 16, .filters = 16, .in = {1, 12, 12}, .window = {1, 3, 3}};
  const Array x = noise({2, 16, 12, 12}, float32), w = noise({16, 16, 3, 3}, float32);
  const Doubles xs = x.to_doubles(), ws = w.to_doubles();
  Doubles y(2 * 16 * 10 * 10), size(y.size());
  testing::for_each_product(c, [&](std::size_t i, std::size_t j, std::size_t k) { y[k] += xs[i] * ws[j], size[k] += std::fabs(xs[i] * ws[j]); });
  const Variable vx = pictures(float32, 4, "x"), vw = pictures(float32, 4, "w");
  const Function exact = function({vx, vw}, {conv2d(vx, vw)}, options()), rounded = function({vx, vw}, {conv2d(vx, vw)}, {.device = device(), .tf32 = true});
  expect_sums(exact(x, w), y, size, float32, "float32");
  EXPECT_EQ(debugprint(exact.graph()).find("tf32"), std::string::npos);
  EXPECT_THAT(debugprint(rounded.graph()), HasSubstr("tf32=true"));
  const Doubles found = Array(rounded(x, w)).to_doubles();
  for (std::size_t i = 0; i < y.size(); ++i) ASSERT_NEAR(found[i], y[i], 0x1p-9 * size[i]) << i;
}

TEST_P(Convolutions, PromoteTheirOperands) {
  EXPECT_EQ(conv1d(noise({1, 1, 4}, float32), noise({1, 1, 2}, float64)).dtype(), float64);
  EXPECT_EQ(conv1d(noise({1, 1, 4}, float32), noise({1, 1, 2}, float16)).dtype(), float32);
  const Variable x = pictures(uint8, 3, "x"), w = pictures(float32, 3, "w");
  EXPECT_EQ(conv1d(x, w).dtype(), float32);
}

std::string convolution_error(const Shape& x, const Shape& w, const ConvOptions& options) {
  return error_of([&] { conv2d(input({float32, x}, "x"), input({float32, w}, "w"), options); });
}

TEST(ConvolutionErrors, AreOfTheGraphWhereExtentsAreKnown) {
  EXPECT_THAT(convolution_error({1, 3, 5, 5}, {4, 3, 7, 7}, {}),
              AllOf(HasSubstr("conv2d: a window that reaches over 7 elements does not fit into axis 2, which has 5"), HasSubstr("conv_test.cpp:"), HasSubstr("give a smaller window or dilation, or more padding")));
  EXPECT_THAT(convolution_error({1, 3, 5, 5}, {4, 3, 3, 3}, {.padding = 1, .dilation = 4}), HasSubstr("a window that reaches over 9 elements does not fit into axis 2, which has 7 with its padding"));
  EXPECT_THAT(convolution_error({1, 3, 5, 5}, {4, 2, 3, 3}, {}), HasSubstr("conv2d: x has 3 channels, w is for 2"));
  EXPECT_THAT(convolution_error({1, 3, 5, 5}, {4, 3, 3, 3}, {.dilation = std::int64_t{1} << 62}), HasSubstr("conv2d: dilation is 4611686018427387904"));
  EXPECT_THAT(convolution_error({1, 4, 5, 5}, {4, 2, 3, 3}, {.groups = 3}), HasSubstr("conv2d: 3 groups do not divide 4 filters of w"));
  EXPECT_THAT(convolution_error({1, 4, 5, 5}, {3, 2, 3, 3}, {.groups = 3}), HasSubstr("conv2d: 3 groups do not divide 4 channels of x"));
  EXPECT_THAT(convolution_error({1, 4, 5, 5}, {3, 4, 0, 3}, {}), HasSubstr("conv2d: the window has no elements along axis 2"));
  EXPECT_THAT(convolution_error({1, 4, 5, 5}, {3, 4, 3, 3}, {.stride = 0}), HasSubstr("conv2d: stride is 0"));
  EXPECT_THAT(convolution_error({1, 4, 5, 5}, {3, 4, 3, 3}, {.padding = -1}), HasSubstr("conv2d: padding is -1"));
  EXPECT_THAT(convolution_error({1, 4, 5, 5}, {3, 4, 3, 3}, {.stride = {1, 2, 3}}), HasSubstr("conv2d: stride has 3 numbers"));
  EXPECT_THAT(convolution_error({1, 4, 5, 5}, {3, 4, 3, 3}, {.groups = 0}), HasSubstr("conv2d: 0 groups"));
  EXPECT_THAT(convolution_error({4, 5, 5}, {3, 4, 3, 3}, {}), AllOf(HasSubstr("conv2d: operands have 4 axes, x has 3"), HasSubstr("x float32 (4, 5, 5)")));
  EXPECT_THAT(error_of([] { conv1d(tensor3("x", int32), tensor3("w", int32)); }), HasSubstr("conv1d: takes floating dtypes, not int32"));
  EXPECT_THAT(error_of([] { conv_transpose1d(tensor3("x"), tensor3("w"), {.stride = 2, .output_padding = 2}); }), HasSubstr("conv_transpose1d: output_padding is 2 where the stride is 2"));
  EXPECT_THAT(error_of([] { conv_transpose1d(input({float32, {1, 2, 1}}, "x"), input({float32, {2, 2, 2}}, "w"), {.padding = 1}); }), HasSubstr("axis 2 of the result would have 0 elements"));
}

TEST_P(Convolutions, ReportAtTheCallWhatTheGraphCouldNotKnow) {
  const Variable x = pictures(float32, 4, "x"), w = pictures(float32, 4, "w");
  const Function f = function({x, w}, {conv2d(x, w)}, options());
  EXPECT_THAT(error_of([&] { f(noise({1, 3, 5, 5}, float32), noise({4, 3, 7, 7}, float32)); }),
              AllOf(HasSubstr("conv2d: a window that reaches over 7 elements does not fit into axis 2, which has 5"), HasSubstr("conv_test.cpp:")));
  EXPECT_THAT(error_of([&] { f(noise({1, 3, 5, 5}, float32), noise({4, 2, 3, 3}, float32)); }), HasSubstr("conv2d: x has 3 channels, w is for 2"));
  EXPECT_THAT(error_of([&] { conv2d(noise({1, 3, 5, 5}, float32), noise({4, 2, 3, 3}, float32)); }), HasSubstr("conv2d: x has 3 channels, w is for 2"));
  EXPECT_THAT(error_of([&] { conv2d(Array(), noise({4, 2, 3, 3}, float32)); }), HasSubstr("conv2d: an operand is an empty Array"));
}

}  // namespace
}  // namespace damo
