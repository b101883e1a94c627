// Pooling in graphs and of Arrays, and its gradients, against loops in double precision.
#include <cmath>
#include <limits>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <damo/damo.hpp>
#include "conv/window_reference.hpp"
#include "support/devices.hpp"
#include "support/errors.hpp"

namespace damo {
namespace {

using ::testing::HasSubstr;
using testing::error_of;
using testing::Triple;
using testing::WindowCase;

class Pooling : public testing::OnEachDevice {
 protected:
  using Doubles = std::vector<double>;
  /// Few values, so that windows have several greatest ones.
  Array whole(const Shape& shape, DType dtype) {
    Doubles values(static_cast<std::size_t>(shape.size()));
    for (double& value : values) value = std::uniform_int_distribution<int>(-3, 3)(random_);
    const Array array = Array::from(values, shape, device());
    return dtype == float64 ? array : astype(array, dtype);
  }
  static Shape shape_of(const WindowCase& c, const Triple& extents, int axes) {
    Shape shape{c.n, c.channels};
    for (int i = 3 - axes; i < 3; ++i) shape.push_back(extents[static_cast<std::size_t>(i)]);
    return shape;
  }
  static PerAxis last(const Triple& numbers, int axes) { return std::vector<std::int64_t>(numbers.end() - axes, numbers.end()); }

  /// Forward in graph and eager, the gradient, and the gradient's own, for which both are linear.
  void expect_pooling(const WindowCase& c, int axes, DType dtype, bool is_max, bool counts_padding) {
    const auto pooled = [&](const auto& x) {
      const PerAxis window = last(c.window, axes);
      const PoolOptions max{.stride = last(c.stride, axes), .padding = last(c.before, axes)};
      const AvgPoolOptions mean{.stride = max.stride, .padding = max.padding, .count_include_pad = counts_padding};
      if (is_max) return axes == 1 ? max_pool1d(x, window, max) : axes == 2 ? max_pool2d(x, window, max) : max_pool3d(x, window, max);
      return axes == 1 ? avg_pool1d(x, window, mean) : axes == 2 ? avg_pool2d(x, window, mean) : avg_pool3d(x, window, mean);
    };
    const Array x = whole(shape_of(c, c.in, axes), dtype), g = whole(shape_of(c, c.out(), axes), dtype), v = whole(x.shape(), dtype);
    const Doubles xs = x.to_doubles(), gs = g.to_doubles(), vs = v.to_doubles();
    Doubles y(gs.size()), dx(xs.size()), dg(gs.size());
    const double all = static_cast<double>(c.window[0] * c.window[1] * c.window[2]);
    testing::for_each_window(c, [&](std::size_t k, const std::vector<std::size_t>& has) {
      std::size_t best = has[0];
      for (const std::size_t i : has) best = xs[i] > xs[best] ? i : best;
      const double share = 1 / (counts_padding ? all : static_cast<double>(has.size()));
      for (const std::size_t i : has) {
        const double weight = is_max ? i == best : share;
        y[k] += weight * xs[i];
        dx[i] += weight * gs[k];
        dg[k] += weight * vs[i];
      }
    });
    const Variable vx = input({dtype, Shape::filled(axes + 2, kUnknown)}, "x"), vg = input({dtype, Shape::filled(axes + 2, kUnknown)}, "g"), vv = input({dtype, Shape::filled(axes + 2, kUnknown)}, "v");
    const Variable vy = pooled(vx), by_x = lop(vy, vg, vx), by_g = lop(by_x, vv, vg), again = lop(by_g, vg, vv);
    const auto found = function({vx, vg, vv}, {vy, by_x, by_g, again}, options())(x, g, v);
    const double tolerance = dtype == float64 ? 1e-13 : dtype == float32 ? 1e-5 : dtype == float16 ? 1e-2 : 1e-1;
    const auto near = [&](const Array& got, const Doubles& want) { EXPECT_THAT(got.to_doubles(), ::testing::Pointwise(::testing::DoubleNear(tolerance), want)); };
    near(found[0], y);
    near(found[1], dx);
    near(found[2], dg);
    near(found[3], dx);
    near(pooled(x), y);
  }

  std::mt19937 random_{3};
};
DAMO_ON_EACH_DEVICE(Pooling);

TEST_P(Pooling, AgreesWithLoopsOfEveryKind) {
  const std::pair<WindowCase, int> cases[] = {
      {{.n = 2, .channels = 3, .in = {1, 1, 11}, .window = {1, 1, 2}, .stride = {1, 1, 2}}, 1},                                                               // what is left over
      {{.n = 2, .channels = 3, .in = {1, 7, 9}, .window = {1, 3, 3}, .stride = {1, 2, 2}, .before = {0, 1, 1}, .after = {0, 1, 1}}, 2},                      // overlapping
      {{.n = 2, .channels = 2, .in = {1, 8, 7}, .window = {1, 2, 2}, .stride = {1, 2, 3}, .before = {0, 1, 1}, .after = {0, 1, 1}}, 2},                      // with gaps
      {{.n = 1, .channels = 2, .in = {5, 4, 5}, .window = {2, 2, 3}, .stride = {1, 2, 1}, .before = {1, 0, 1}, .after = {1, 0, 1}}, 3},
  };
  for (const auto& [c, axes] : cases) {
    if (c.before[2] == 0 || axes == 2) expect_pooling(c, axes, axes == 2 ? float32 : float64, true, true);
    if (c.stride[2] != 3) expect_pooling(c, axes, axes == 2 ? float32 : float64, false, axes != 2);
  }
  expect_pooling(cases[0].first, 1, float16, true, true);
  EXPECT_EQ(avg_pool1d(Array::from(Doubles{1, 2, 3, 5}, {1, 1, 4}, device()), 2).to_doubles(), (Doubles{1.5, 4}));
  EXPECT_EQ(avg_pool1d(astype(Array::from(Doubles{1, 2, 3, 5}, {1, 1, 4}, device()), bfloat16), 2).to_doubles(), (Doubles{1.5, 4}));
}

TEST_P(Pooling, TakesANaNForTheGreatestAndTheFirstOfEquals) {
  const double nan = std::numeric_limits<double>::quiet_NaN(), infinite = std::numeric_limits<double>::infinity();
  const Array x = Array::from(Doubles{1, nan, nan, 2, -infinite, -infinite, 5, 5}, {1, 1, 8}, device());
  const Variable v = input({float64, {kUnknown, kUnknown, kUnknown}}, "x"), apart = max_pool1d(v, 2), over = max_pool1d(v, 3, {.stride = 1});
  const auto found = function({v}, {apart, grad(sum(apart), v), over, grad(sum(over), v)}, options())(x);
  const Doubles values = Array(found[0]).to_doubles();
  EXPECT_TRUE(std::isnan(values[0]) && std::isnan(values[1]));
  EXPECT_EQ(values[2], -infinite);
  EXPECT_EQ(values[3], 5);
  EXPECT_EQ(Array(found[1]).to_doubles(), (Doubles{0, 1, 1, 0, 1, 0, 1, 0}));
  const Doubles sliding = Array(found[2]).to_doubles();
  EXPECT_TRUE(std::isnan(sliding[0]) && std::isnan(sliding[1]) && std::isnan(sliding[2]));
  EXPECT_EQ(sliding[3], 2);
  EXPECT_EQ(Array(found[3]).to_doubles(), (Doubles{0, 2, 1, 1, 0, 0, 2, 0}));
}

TEST_P(Pooling, ReadsAnyStridesAndNoPictures) {
  const Array x = whole({6, 4, 3, 2}, float32);
  const Array turned = swap_axes(x, 0, -1);
  EXPECT_EQ(max_pool2d(turned, {2, 3}).to_doubles(), max_pool2d(turned.contiguous(), {2, 3}).to_doubles());
  EXPECT_EQ(avg_pool2d(whole({0, 4, 3, 2}, float32), 2).shape(), (Shape{0, 4, 1, 1}));
  EXPECT_EQ(global_avg_pool(Array::from(Doubles{1, 2, 3, 4, 5, 6, 7, 8}, {1, 2, 2, 2}, device())).to_doubles(), (Doubles{2.5, 6.5}));
  const Variable v = tensor4("x");
  EXPECT_EQ(Array(function({v}, {global_avg_pool(v)}, options())(x)[0]).shape(), (Shape{6, 4}));
}

TEST(PoolingOptions, StrideIsANumberAListOrTheWindow) {
  const Variable x = input({float32, {1, 2, 9, 9}}, "x");
  EXPECT_EQ(max_pool2d(x, {3, 2}).dims(), (Shape{1, 2, 3, 4}));
  EXPECT_EQ(max_pool2d(x, {3, 2}, {.stride = 1}).dims(), (Shape{1, 2, 7, 8}));
  EXPECT_EQ(max_pool2d(x, {3, 2}, {.stride = {2, 1}, .padding = {1, 0}}).dims(), (Shape{1, 2, 5, 8}));
  EXPECT_EQ(avg_pool2d(x, 3, {.stride = {1, 4}}).dims(), (Shape{1, 2, 7, 2}));
}

TEST(PoolingErrors, SayWhatDoesNotFit) {
  const Variable x = input({float32, {1, 2, 5, 5}}, "x");
  EXPECT_THAT(error_of([&] { max_pool2d(x, 6); }), HasSubstr("max_pool2d: a window that reaches over 6 elements does not fit into axis 2, which has 5"));
  EXPECT_THAT(error_of([&] { avg_pool2d(x, 3, {.padding = 2}); }), HasSubstr("avg_pool2d: padding is 2 where the window is 3"));
  EXPECT_THAT(error_of([&] { max_pool2d(x, {2, 2, 2}); }), HasSubstr("max_pool2d: window has 3 numbers"));
  EXPECT_THAT(error_of([&] { max_pool2d(x, 0); }), HasSubstr("max_pool2d: window is 0"));
  EXPECT_THAT(error_of([&] { max_pool3d(x, 2); }), HasSubstr("max_pool3d: operands have 5 axes, x has 4"));
  EXPECT_THAT(error_of([&] { max_pool2d(tensor4("x", int32), 2); }), HasSubstr("max_pool2d: takes floating dtypes, not int32"));
  EXPECT_THAT(error_of([&] { global_avg_pool(matrix("x")); }), HasSubstr("global_avg_pool: x has no spatial axes"));
}

}  // namespace
}  // namespace damo
