// Convolution of vectors against NumPy 2.3 (values written down), upsampling against its definition, separable convolution against the two that it is made of.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include <damo/damo.hpp>
#include "support/devices.hpp"

namespace damo {
namespace {

using testing::error_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Values = std::vector<double>;

class Signal : public testing::OnEachDevice {
 protected:
  Array of(const Values& values) const { return Array::from(values, device()); }
  Array some(const Shape& shape) const { return astype(RandomGenerator(3, device()).randint(shape, -8, 8), float64) * 0.25; }
  static void expect_near(const Array& got, const Values& want) {
    const Values values = got.to_doubles();
    ASSERT_EQ(values.size(), want.size());
    for (std::size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(values[i], want[i], 1e-12) << i;
  }
};

constexpr ConvolveMode kModes[] = {ConvolveMode::kFull, ConvolveMode::kSame, ConvolveMode::kValid};

TEST_P(Signal, ConvolutionsOfVectorsAreNumPys) {
  struct Case {
    Values x, w, want[3];
  };
  const Case cases[] = {{{1, 2, 3}, {0, 1, 0.5}, {{0, 1, 2.5, 4, 1.5}, {1, 2.5, 4}, {2.5}}},
                        {{1, 2, 3, 4, 5}, {1, -1, 2, 0.5}, {{1, 1, 3, 5.5, 8, 4.5, 12, 2.5}, {1, 3, 5.5, 8, 4.5}, {5.5, 8}}},
                        {{1, 2, 3}, {2}, {{2, 4, 6}, {2, 4, 6}, {2, 4, 6}}}};
  for (const Case& one : cases) {
    const Array x = of(one.x), w = of(one.w);
    const Variable a = vector("a", float64), b = input({float64, w.shape()}, "b");
    for (std::size_t i = 0; i < 3; ++i) {
      expect_near(convolve(x, w, kModes[i]), one.want[i]);
      if (one.x.size() != 5) continue;  // a kernel takes its time
      expect_near(convolve(w, x, kModes[i]), one.want[i]);  // they change places
      EXPECT_EQ(convolve(astype(x * 2, int32), astype(w * 2, int32), kModes[i]).to_doubles(), (Array::from(one.want[i], device()) * 4).to_doubles());
      expect_near(function({a, b}, {convolve(a, b, kModes[i])}, options())(x, w), one.want[i]);
    }
  }
  const Variable a = vector("a", float64), b = vector("b", float64);
  expect_near(function({a, b}, {convolve(a, b)}, options())(of({1, 2, 3}), of({0, 1, 0.5})), cases[0].want[0]);
  EXPECT_THAT(error_of([&] { convolve(a, b, ConvolveMode::kSame); }), HasSubstr("convolve: no operand's extent is known"));
  EXPECT_THAT(error_of([&] { convolve(matrix("m"), b); }), HasSubstr("convolve: an operand has 2 axes, not 1"));
  EXPECT_THAT(error_of([&] { convolve(of({1}), Array::zeros({0}, float64, device())); }), HasSubstr("convolve: an operand has no elements"));
  const auto bools = astype(of({1, 0, 1}), bool_);
  EXPECT_EQ(convolve(bools, bools).dtype(), bool_);
  EXPECT_THAT(convolve(bools, bools).to_doubles(), ElementsAre(1, 0, 1, 0, 1));
  const GradientCase gradients[] = {{"full", [](std::span<const Variable> v) { return convolve(v[0], v[1]); }, {some({5}), some({3})}},
                                    {"same", [](std::span<const Variable> v) { return convolve(v[0], v[1], ConvolveMode::kSame); }, {some({5}), some({4})}},
                                    {"upsampling", [](std::span<const Variable> v) { return bilinear_upsampling(v[0], 3); }, {some({1, 2, 2, 3})}}};
  verify_grad(gradients, {.device = device()});
}

/// At the place (i + 0.5) / ratio - 0.5 of the line, whose ends go on.
double between(const Values& line, std::int64_t i, double ratio) {
  const double place = (static_cast<double>(i) + 0.5) / ratio - 0.5, below = std::floor(place), last = static_cast<double>(line.size() - 1);
  const double low = line[static_cast<std::size_t>(std::clamp(below, 0.0, last))], high = line[static_cast<std::size_t>(std::clamp(below + 1, 0.0, last))];
  return low + (high - low) * (place - below);
}

TEST_P(Signal, UpsamplingIsLinearBetweenCentres) {
  for (std::int64_t ratio : {1, 2, 3}) {
    const Array x = some({2, 1, 4, 3});
    const Array eager = bilinear_upsampling(x, ratio);
    ASSERT_EQ(eager.shape(), (Shape{2, 1, 4 * ratio, 3 * ratio}));
    const Variable v = tensor4("x", float64);
    const Values got = eager.to_doubles(), from = x.to_doubles();
    if (ratio == 3) {
      const Values fused = Array(function({v}, {bilinear_upsampling(v, ratio)}, options())(x)).to_doubles();
      ASSERT_EQ(fused.size(), got.size());
      for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(fused[i], got[i], 1e-14);
    }
    for (std::int64_t n = 0; n < 2; ++n) {
      for (std::int64_t i = 0; i < 4 * ratio; ++i) {
        for (std::int64_t j = 0; j < 3 * ratio; ++j) {
          Values column;
          for (std::int64_t row = 0; row < 4; ++row) {
            const auto begin = from.begin() + n * 12 + row * 3;
            column.push_back(between(Values(begin, begin + 3), j, static_cast<double>(ratio)));
          }
          EXPECT_NEAR(got[static_cast<std::size_t>((n * 4 * ratio + i) * 3 * ratio + j)], between(column, i, static_cast<double>(ratio)), 1e-13);
        }
      }
    }
  }
  const Array row = Array::from(Values{0, 1}, {1, 1, 1, 2}, device());
  const Variable v = tensor4("x", float64);
  const Values wide = bilinear_upsampling(row, 1000).to_doubles(), wide_of_graph = Array(function({v}, {bilinear_upsampling(v, 1000)}, options())(row)).to_doubles();
  for (const Values* y : {&wide, &wide_of_graph}) {
    ASSERT_EQ(y->size(), 2000000u);
    for (std::size_t i = 0; i < 2000; ++i) ASSERT_NEAR((*y)[i], std::clamp((static_cast<double>(i) - 499.5) / 1000, 0.0, 1.0), 1e-12) << i;
  }
  const auto nodes = [&](std::int64_t ratio) { return function({v}, {bilinear_upsampling(v, ratio)}, options()).graph().node_count(); };
  EXPECT_EQ(nodes(100000), nodes(1000000)) << "the graph does not grow with the ratio";
  EXPECT_EQ(bilinear_upsampling(Array::from(Values{1, INFINITY}, {1, 1, 1, 2}, device()), 3).to_doubles()[1], 1) << "an element at its own place is itself";
  EXPECT_THROW(bilinear_upsampling(Array::ones({1, 1, 5, 5}, float32, device()), 2147483647), ShapeError);
  EXPECT_THROW(bilinear_upsampling(tensor4("m"), std::numeric_limits<std::int64_t>::max()), ShapeError);
  EXPECT_THAT(error_of([&] { bilinear_upsampling(matrix("m"), 2); }), HasSubstr("bilinear_upsampling: x has 2 axes, not 4"));
  EXPECT_THAT(error_of([&] { bilinear_upsampling(tensor4("m"), 0); }), HasSubstr("bilinear_upsampling: the ratio is 0"));
  EXPECT_THAT(error_of([&] { bilinear_upsampling(tensor4("m", int32), 2); }), HasSubstr("bilinear_upsampling takes floating dtypes, not int32"));
}

TEST_P(Signal, SeparableConvolutionSeesEachChannelAloneFirst) {
  const Array x = some({2, 3, 5, 4}), depthwise = some({6, 1, 3, 3}), pointwise = some({4, 6, 1, 1});
  const ConvOptions options{.padding = 1};
  std::vector<Array> alone;
  for (std::int64_t c = 0; c < 3; ++c) alone.push_back(conv2d(x.slice({{}, {c, c + 1}}).contiguous(), depthwise.slice({{2 * c, 2 * c + 2}}).contiguous(), options));
  const Values want = conv2d(concatenate(alone, 1), pointwise).to_doubles(), got = separable_conv2d(x, depthwise, pointwise, options).to_doubles();
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(got[i], want[i], 1e-12);
  const Variable v = input({float64, {kUnknown, 3, kUnknown, kUnknown}}, "x");
  const Array graph = function({v}, {separable_conv2d(v, constant(depthwise), constant(pointwise), options)}, this->options())(x);
  for (std::size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(graph.to_doubles()[i], want[i], 1e-12);
  EXPECT_THAT(error_of([&] { separable_conv2d(tensor4("x"), tensor4("d"), tensor4("p")); }), HasSubstr("separable_conv2d: the channels of x are not known"));
}

TEST_P(Signal, WindowsBecomeRows) {
  const Array x = some({2, 3, 7, 5});
  const Values from = x.to_doubles();
  struct Case {
    PerAxis window, step;
    std::int64_t height, width, down, across;
  };
  const Case cases[] = {{2, {}, 2, 2, 2, 2}, {{3, 2}, {2, 1}, 3, 2, 2, 1}, {1, 3, 1, 1, 3, 3}, {{7, 5}, {}, 7, 5, 7, 5}, {{8, 1}, {}, 8, 1, 8, 1}};
  const Variable v = tensor4("x", float64);
  for (const Case& one : cases) {
    Values want;
    for (std::int64_t plane = 0; plane < 6; ++plane) {
      for (std::int64_t i = 0; i + one.height <= 7; i += one.down) {
        for (std::int64_t j = 0; j + one.width <= 5; j += one.across) {
          for (std::int64_t a = 0; a < one.height; ++a) {
            for (std::int64_t b = 0; b < one.width; ++b) want.push_back(from[static_cast<std::size_t>((plane * 7 + i + a) * 5 + j + b)]);
          }
        }
      }
    }
    const Array eager = images2neibs(x, one.window, one.step), graph = function({v}, {images2neibs(v, one.window, one.step)}, options())(x);
    EXPECT_EQ(eager.shape(), (Shape{static_cast<std::int64_t>(want.size()) / (one.height * one.width), one.height * one.width}));
    EXPECT_EQ(graph.shape(), eager.shape());
    EXPECT_EQ(eager.to_doubles(), want);
    EXPECT_EQ(graph.to_doubles(), want);
  }
  const GradientCase gradients[] = {{"overlapping windows", [](std::span<const Variable> g) { return images2neibs(g[0], {3, 2}, 1); }, {some({1, 2, 4, 3})}}};
  verify_grad(gradients, {.device = device()});
  EXPECT_EQ(images2neibs(x, 2147483647).shape(), (Shape{0, std::int64_t{2147483647} * 2147483647})) << "no window has room";
  EXPECT_EQ(Array(function({v}, {images2neibs(v, 2147483647)}, options())(x)).shape()[0], 0);
  EXPECT_EQ(images2neibs(x, {2, 1000000}).shape(), (Shape{0, 2000000}));
  EXPECT_THAT(error_of([&] { images2neibs(matrix("m"), 2); }), HasSubstr("images2neibs: x has 2 axes, not 4"));
  EXPECT_THAT(error_of([&] { images2neibs(x, {}); }), HasSubstr("images2neibs: window has 0 numbers"));
  EXPECT_THAT(error_of([&] { images2neibs(x, 2, 0); }), HasSubstr("images2neibs: step is 0"));
}

TEST_P(Signal, PicturesAreTurnedAndStretched) {
  const Array x = some({2, 2, 4, 5});
  const Values from = x.to_doubles(), thetas = {1, 0, 0, 0, 1, 0, 0.5, -0.25, 0.125, 0.5, 0.75, -0.5};
  const Array theta = Array::from(thetas, {2, 2, 3}, device());
  const auto at = [&](std::int64_t plane, double row, double column) {
    return row < 0 || row > 3 || column < 0 || column > 4 ? 0.0 : from[static_cast<std::size_t>((plane * 4 + static_cast<std::int64_t>(row)) * 5 + static_cast<std::int64_t>(column))];
  };
  for (const auto& [height, width] : {std::pair<std::int64_t, std::int64_t>{4, 5}, {3, 7}, {1, 1}}) {
    Values want;
    for (std::int64_t n = 0; n < 2; ++n) {
      for (std::int64_t c = 0; c < 2; ++c) {
        for (std::int64_t i = 0; i < height; ++i) {
          for (std::int64_t j = 0; j < width; ++j) {
            const double u = width > 1 ? 2.0 * static_cast<double>(j) / static_cast<double>(width - 1) - 1 : 0, v = height > 1 ? 2.0 * static_cast<double>(i) / static_cast<double>(height - 1) - 1 : 0;
            const double* t = thetas.data() + 6 * n;
            const double across = (t[0] * u + t[1] * v + t[2] + 1) * 2, down = (t[3] * u + t[4] * v + t[5] + 1) * 1.5;
            const double left = std::floor(across), top = std::floor(down), a = across - left, b = down - top;
            const std::int64_t plane = 2 * n + c;
            want.push_back((1 - b) * ((1 - a) * at(plane, top, left) + a * at(plane, top, left + 1)) + b * ((1 - a) * at(plane, top + 1, left) + a * at(plane, top + 1, left + 1)));
          }
        }
      }
    }
    expect_near(spatial_transformer(x, theta, height, width), want);
    const Variable v = tensor4("x", float64), t = tensor3("theta", float64);
    expect_near(function({v, t}, {spatial_transformer(v, t, height, width)}, options())(x, theta), want);
  }
  const Array same = Array::from(Values{1, 0, 0, 0, 1, 0, 1, 0, 0, 0, 1, 0}, {2, 2, 3}, device()), half = astype(x, float16);
  expect_near(spatial_transformer(x, same, 4, 5), from);
  EXPECT_EQ(spatial_transformer(half, astype(same, float16), 4, 5).dtype(), float16);
  const GradientCase gradients[] = {{"turned", [](std::span<const Variable> g) { return spatial_transformer(g[0], g[1], 3, 2); }, {some({1, 2, 3, 4}), Array::from(Values{0.55, -0.2, 0.1, 0.3, 0.47, -0.15}, {1, 2, 3}, device())}}};
  verify_grad(gradients, {.device = device()});
  EXPECT_THAT(error_of([&] { spatial_transformer(x, some({2, 3, 2}), 4, 5); }), HasSubstr("spatial_transformer: x of shape (2, 2, 4, 5) and theta of shape (2, 3, 2) do not fit\n  float64 (2, 2, 4, 5) on "));
  EXPECT_THAT(error_of([&] { spatial_transformer(tensor4("x", int32), tensor3("t"), 4, 5); }), HasSubstr("spatial_transformer takes floating dtypes, not int32"));
  EXPECT_THAT(error_of([&] { spatial_transformer(tensor4("x"), tensor3("t"), 0, 5); }), HasSubstr("spatial_transformer: the result has 0 x 5 elements"));
}

DAMO_ON_EACH_DEVICE(Signal);

}  // namespace
}  // namespace damo
