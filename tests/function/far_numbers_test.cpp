// Shifts, counts, bounds, steps and diagonals at the ends of int64: as NumPy has it, or an error that says what is too large; of Variables, of Arrays, and in gradients.
#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <damo/damo.hpp>
#include "support/devices.hpp"

namespace damo {
namespace {

using ::testing::HasSubstr;
using testing::error_of;
using Values = std::vector<double>;
constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min(), kGreatest = std::numeric_limits<std::int64_t>::max();
const std::int64_t kFar[] = {kLeast, kLeast + 1, -(std::int64_t{1} << 62) - 1, -7, -1, 0, 1, 6, (std::int64_t{1} << 62) + 1, kGreatest - 1, kGreatest};
__extension__ using Wide = __int128;

class FarNumbers : public testing::OnEachDevice {
 protected:
  Array numbers(std::int64_t count) const { return range({count}, 1); }

  /// Of x = 1, 2, ...: build selects elements, so the gradient of a weighted sum of what it gives is the sum of the weights of each element. The extents may be known or not.
  template <class Build>
  void expect(const Array& x, const Values& expected, const Build& build, const std::string& what) const {
    EXPECT_EQ(build(x).to_doubles(), expected) << what << " of an Array";
    Values weights(expected.size()), gradient(static_cast<std::size_t>(x.size()));
    for (std::size_t i = 0; i < expected.size(); ++i) {
      weights[i] = static_cast<double>(i + 3);
      if (expected[i] > 0) gradient[static_cast<std::size_t>(expected[i]) - 1] += weights[i];
    }
    for (const bool is_known : {false, true}) {
      const Variable v = input({float32, is_known ? x.shape() : Shape::filled(x.rank(), kUnknown)}, "x"), made = build(v), w = input({float64, Shape::filled(made.rank(), kUnknown)}, "w");
      const Results found = function({v, w}, {made, grad(sum(made * w), v)}, options())(x, Array::from(weights, build(x).shape(), device()));
      EXPECT_EQ(found[0].to_doubles(), expected) << what << " of a Variable, " << is_known;
      EXPECT_EQ(found[1].to_doubles(), gradient) << "the gradient of " << what << ", " << is_known;
    }
  }
};

std::string written(std::optional<std::int64_t> number) { return number ? std::to_string(*number) : ""; }

TEST_P(FarNumbers, RollAroundTheAxis) {
  for (const std::int64_t shift : kFar) {
    Values expected(5);
    for (int i = 0; i < 5; ++i) expected[static_cast<std::size_t>(((i + Wide(shift)) % 5 + 5) % 5)] = i + 1;
    expect(numbers(5), expected, [&](const auto& x) { return roll(x, shift, 0); }, "roll by " + std::to_string(shift));
  }
  const Variable v = vector("v");
  const Variable twice = grad(sum(grad(sum(roll(v, kLeast, 0) * v * v), v) * v), v);  // turned round twice
  EXPECT_EQ(function({v}, {twice}, options())(numbers(1))[0].to_doubles(), Values{9}) << "of v^3: 3 v^2, v 3 v^2, 9 v^2";
  EXPECT_EQ(roll(Array::zeros({0}, float32, device()), kLeast, 0).size(), 0);
}

/// Python's slice(start, stop, step).indices.
Values sliced(int count, std::optional<std::int64_t> start, std::optional<std::int64_t> stop, std::int64_t step) {
  const Wide lowest = step > 0 ? 0 : -1, highest = step > 0 ? count : count - 1;
  const auto clipped = [&](std::int64_t at) { return std::clamp<Wide>(at < 0 ? Wide(at) + count : Wide(at), lowest, highest); };
  const Wide from = start ? clipped(*start) : step > 0 ? lowest : highest, to = stop ? clipped(*stop) : step > 0 ? highest : lowest;
  Values values;
  for (Wide at = from; step > 0 ? at < to : at > to; at += step) values.push_back(static_cast<double>(at) + 1);
  return values;
}

TEST_P(FarNumbers, CutSlicesAsPythonDoes) {
  const std::optional<std::int64_t> ends[] = {std::nullopt, kLeast, -2, 1, kGreatest};
  for (const auto& start : ends) {
    for (const auto& stop : ends) {
      for (const std::int64_t step : {kLeast, kLeast + 1, std::int64_t{-2}, std::int64_t{1}, kGreatest}) {
        const std::string what = "[" + written(start) + ":" + written(stop) + ":" + std::to_string(step) + "]";
        const Values expected = sliced(5, start, stop, step);
        const Array x = numbers(5);
        EXPECT_EQ(x.slice({{start, stop, step}}).to_doubles(), expected) << what;
        EXPECT_EQ(subtensor(x, {Index(start, stop, step)}).to_doubles(), expected) << what;
        const Array set = set_subtensor(x, {Index(start, stop, step)}, 0);
        Values left = x.to_doubles();
        for (double element : expected) left[static_cast<std::size_t>(element) - 1] = 0;
        EXPECT_EQ(set.to_doubles(), left) << what;
      }
    }
  }
  // A Function each: those whose ends are far on both sides.
  for (const std::int64_t step : {kLeast, std::int64_t{1}, kGreatest}) {
    const std::optional<std::int64_t> start = step > 0 ? kLeast : kGreatest, stop = step > 0 ? kGreatest : kLeast;
    expect(numbers(5), sliced(5, start, stop, step), [&](const auto& x) { return subtensor(x, {Index(start, stop, step)}); }, "a slice by " + std::to_string(step));
    expect(numbers(5), sliced(5, stop, start, step), [&](const auto& x) { return subtensor(x, {Index(stop, start, step)}); }, "no slice by " + std::to_string(step));
  }
}

TEST_P(FarNumbers, RefusePositionsThatNoAxisHas) {
  const Array x = numbers(5);
  const Variable v = input({float32, {5}}, "v"), u = vector("u");
  for (const std::int64_t at : {kLeast, kLeast + 3, kGreatest}) {
    const std::string text = "position " + std::to_string(at) + " is not on axis 0, whose extent is 5";
    EXPECT_THAT(error_of<ShapeError>([&] { subtensor(x, {Index(at)}); }), HasSubstr(text));
    EXPECT_THAT(error_of<ShapeError>([&] { subtensor(v, {Index(at)}); }), HasSubstr(text));
    EXPECT_THAT(error_of<ShapeError>([&] { function({u}, {subtensor(u, {Index(at)})}, options())(x); }), HasSubstr(text));
    const Array positions = Array::from(std::vector<std::int64_t>{at}, {1}, device());
    EXPECT_THAT(error_of<IndexError>([&] { take(x, positions, 0).to_doubles(); }), HasSubstr(std::to_string(at)));
  }
}

TEST_P(FarNumbers, RefuseUnsignedPositionsThatNoSignedNumberIs) {
  const Array x = numbers(5);
  const Variable u = vector("u"), p = vector("p", uint64);
  const Function f = function({u, p}, {take(u, p, 0)}, options());
  for (const std::uint64_t at : {std::uint64_t{5}, std::uint64_t{1} << 63, (std::uint64_t{1} << 63) + 7, ~std::uint64_t{0}}) {
    const std::string text = "take: position " + std::to_string(at) + " is not on axis 0, whose extent is 5";
    const Array positions = Array::from(std::vector<std::uint64_t>{at}, {1}, device());
    EXPECT_THAT(error_of<IndexError>([&] { take(x, positions, 0).to_doubles(); }), HasSubstr(text));
    EXPECT_THAT(error_of<IndexError>([&] { f(x, positions)[0].to_doubles(); }), HasSubstr(text));
  }
  const Array signed_ones = Array::from(std::vector<std::int64_t>{-6}, {1}, device());
  EXPECT_THAT(error_of<IndexError>([&] { take(x, signed_ones, 0).to_doubles(); }), HasSubstr("position -6 is"));
}

TEST_P(FarNumbers, RepeatNothingAnyNumberOfTimes) {
  const Array none = Array::zeros({0}, float32, device()), x = numbers(3), flat = Array::zeros({0, 3}, float32, device());
  const Variable u = vector("u"), m = matrix("m");
  EXPECT_EQ(repeat(none, kGreatest, 0).shape(), (Shape{0}));
  EXPECT_EQ(tile(none, {kGreatest}).shape(), (Shape{0}));
  EXPECT_EQ(function({u}, {repeat(u, kGreatest, 0)}, options())(none)[0].shape(), (Shape{0}));
  EXPECT_EQ(function({u}, {tile(u, {kGreatest})}, options())(none)[0].shape(), (Shape{0}));
  for (const std::int64_t count : {kGreatest, (std::int64_t{1} << 62) + 1}) {
    EXPECT_THAT(error_of<ShapeError>([&] { repeat(x, count, 0); }), HasSubstr("more than 2^63"));
    EXPECT_THAT(error_of<ShapeError>([&] { repeat(flat, count, 1); }), HasSubstr("more than 2^63"));
    EXPECT_THAT(error_of<ShapeError>([&] { tile(x, {count}); }), HasSubstr("more than 2^63"));
    EXPECT_THAT(error_of<ShapeError>([&] { tile(x, {count, 1}); }), HasSubstr("more than 2^63"));
    EXPECT_THAT(error_of<ShapeError>([&] { tile(flat, {count}); }), HasSubstr("more than 2^63"));
    EXPECT_THAT(error_of<ShapeError>([&] { function({u}, {repeat(u, count, 0)}, options())(x); }), HasSubstr("more than 2^63"));
    EXPECT_THAT(error_of<ShapeError>([&] { function({m}, {repeat(m, count, 1)}, options())(flat); }), HasSubstr("more than 2^63"));
    EXPECT_THAT(error_of<ShapeError>([&] { function({u}, {tile(u, {count})}, options())(x); }), HasSubstr("more than 2^63"));
    EXPECT_THAT(error_of<ShapeError>([&] { function({u}, {tile(u, {count, 1})}, options())(x); }), HasSubstr("more than 2^63"));
  }
  for (const std::int64_t count : {kLeast, std::int64_t{-1}}) {
    EXPECT_THAT(error_of<ShapeError>([&] { repeat(x, count, 0); }), HasSubstr("repeat: the count is " + std::to_string(count)));
    EXPECT_THAT(error_of<ShapeError>([&] { repeat(u, count, 0); }), HasSubstr("repeat: the count is " + std::to_string(count)));
    EXPECT_THAT(error_of<ShapeError>([&] { tile(x, {count}); }), HasSubstr("tile: a count is " + std::to_string(count)));
    EXPECT_THAT(error_of<ShapeError>([&] { tile(u, {count}); }), HasSubstr("tile: a count is " + std::to_string(count)));
  }
}

TEST_P(FarNumbers, RefuseToPadBeyondWhatIsCounted) {
  const Array x = numbers(3);
  const Variable u = vector("u"), v = input({float32, {3}}, "v");
  for (const PadWidth width : {PadWidth{kGreatest, 0}, PadWidth{0, kGreatest}, PadWidth{kGreatest, kGreatest}}) {
    EXPECT_THAT(error_of<ShapeError>([&] { pad(x, {width}); }), HasSubstr("pad: axis 0 would have more than 2^63 elements"));
    EXPECT_THAT(error_of<ShapeError>([&] { pad(v, {width}); }), HasSubstr("pad: axis 0 would have more than 2^63 elements"));
    EXPECT_THAT(error_of<ShapeError>([&] { function({u}, {pad(u, {width})}, options())(x); }), HasSubstr("pad: axis 0 would have more than 2^63 elements"));
  }
  EXPECT_THAT(error_of<ShapeError>([&] { pad(x, {PadWidth{kGreatest - 3, 0}}); }), HasSubstr("more than 2^63 bytes"));
  EXPECT_THAT(error_of<ShapeError>([&] { pad(x, {PadWidth{kLeast, 0}}); }), HasSubstr("pad: a width is below 0"));
  EXPECT_THAT(error_of<ShapeError>([&] { pad(u, {PadWidth{0, kLeast}}); }), HasSubstr("pad: a width is below 0"));
}

TEST_P(FarNumbers, MakeRangesBetweenTheEnds) {
  struct Case {
    Scalar start, stop, step;
    DType dtype;
    std::vector<std::int64_t> expected;
  };
  const std::int64_t half = std::int64_t{1} << 62;
  const Case cases[] = {{Scalar(kLeast), Scalar(kGreatest), Scalar(half), int64, {kLeast, -half, 0, half}},
                        {Scalar(kGreatest), Scalar(kLeast), Scalar(kLeast), int64, {kGreatest, -1}},
                        {Scalar(kLeast), Scalar(kLeast + 3), Scalar(2), int64, {kLeast, kLeast + 2}},
                        {Scalar(kGreatest - 3), Scalar(kGreatest), Scalar(kGreatest), int64, {kGreatest - 3}},
                        {Scalar(kGreatest), Scalar(kLeast), Scalar(1), int64, {}},
                        {Scalar(std::numeric_limits<std::uint64_t>::max() - 2), Scalar(std::numeric_limits<std::uint64_t>::max()), Scalar(1), uint64, {-3, -2}}};
  for (const Case& range : cases) {
    const Array eager = arange(range.start, range.stop, range.step, range.dtype, device());
    const Array graph = function(std::vector<Variable>{}, std::vector{symbolic::arange(range.start, range.stop, range.step, range.dtype)}, options())()[0];
    const Variable start = scalar("start", range.start.dtype()), stop = scalar("stop", range.stop.dtype()), step = scalar("step", range.step.dtype());
    const Array called = function({start, stop, step}, {arange(start, stop, step, range.dtype)}, options())(Array::scalar(range.start, device()), Array::scalar(range.stop, device()), Array::scalar(range.step, device()))[0];
    for (const Array& made : {eager, graph, called}) {
      EXPECT_EQ(made.dtype(), range.dtype);
      EXPECT_EQ(made.view(int64, made.shape(), made.strides(), 0).to_vector<std::int64_t>(), range.expected) << to_string(range.start) << " " << to_string(range.stop);
    }
  }
  for (const Scalar step : {Scalar(1), Scalar(3)}) {
    EXPECT_THAT(error_of<ShapeError>([&] { arange(Scalar(kLeast), Scalar(kGreatest), step, int8, device()); }), HasSubstr("arange: the range has no end"));
    EXPECT_THAT(error_of<ShapeError>([&] { symbolic::arange(Scalar(kLeast), Scalar(kGreatest), step, int8); }), HasSubstr("arange: the range has no end"));
  }
}

TEST_P(FarNumbers, NameDiagonalsBeyondAMatrix) {
  const Array x = numbers(12).reshape({3, 4});
  for (const std::int64_t k : kFar) {
    Values ones, below, lower, upper;
    for (int row = 0; row < 3; ++row) {
      for (int column = 0; column < 4; ++column) {
        const Wide beyond = Wide(column) - row - k;
        const double element = row * 4 + column + 1;
        ones.push_back(beyond == 0), below.push_back(beyond <= 0), lower.push_back(beyond <= 0 ? element : 0), upper.push_back(beyond >= 0 ? element : 0);
      }
    }
    const std::string what = std::to_string(k);
    EXPECT_EQ(eye(3, 4, k, float32, device()).to_doubles(), ones) << what;
    EXPECT_EQ(eye_like(x, k).to_doubles(), ones) << what;
    EXPECT_EQ(tri(3, 4, k, float32, device()).to_doubles(), below) << what;
    const Variable m = matrix("m");
    const Results made = function({m}, {symbolic::eye(3, 4, k), symbolic::tri(3, 4, k), eye_like(m, k)}, options())(x);
    EXPECT_EQ(made[0].to_doubles(), ones) << what;
    EXPECT_EQ(made[1].to_doubles(), below) << what;
    EXPECT_EQ(made[2].to_doubles(), ones) << what;
    expect(x, lower, [&](const auto& v) { return tril(v, k); }, "tril " + what);
    expect(x, upper, [&](const auto& v) { return triu(v, k); }, "triu " + what);
    const Variable u = vector("u"), v = input({float32, {12}}, "v");
    if (k > -10 && k < 10) continue;
    EXPECT_THAT(error_of<ShapeError>([&] { diag(numbers(12), k); }), HasSubstr("more than 2^63")) << what;
    EXPECT_THAT(error_of<ShapeError>([&] { diag(v, k); }), HasSubstr("more than 2^63")) << what;
    EXPECT_THAT(error_of<ShapeError>([&] { function({u}, {diag(u, k)}, options())(numbers(12)); }), HasSubstr("more than 2^63")) << what;
  }
}

DAMO_ON_EACH_DEVICE(FarNumbers);

}  // namespace
}  // namespace damo
