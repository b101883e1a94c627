#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <damo/array_math.hpp>
#include <damo/array_shape.hpp>
#include "support/devices.hpp"

namespace damo {
namespace {

using testing::error_of;
using Values = std::vector<double>;

class EagerShape : public testing::OnEachDevice {
 protected:
  Array positions(const std::vector<std::int32_t>& values) const { return Array::from(values, device()); }
};

TEST_P(EagerShape, GivesViews) {
  const Array x = range({2, 1, 3});
  EXPECT_EQ(squeeze(x).shape(), (Shape{2, 3}));
  EXPECT_TRUE(squeeze(x, 1).shares_buffer_with(x));
  EXPECT_EQ(expand_dims(x, -1).shape(), (Shape{2, 1, 3, 1}));
  EXPECT_EQ(flip(x, -1).to_doubles(), (Values{2, 1, 0, 5, 4, 3}));
  EXPECT_EQ(flip(x).to_doubles(), (Values{5, 4, 3, 2, 1, 0}));
  EXPECT_EQ(swap_axes(x, 0, 2).shape(), (Shape{3, 1, 2}));
  EXPECT_EQ(ravel(squeeze(x).transpose()).to_doubles(), (Values{0, 3, 1, 4, 2, 5}));
  EXPECT_THAT(error_of([&] { squeeze(x, 0); }),
              ::testing::HasSubstr("squeeze: axis 0 has 2 elements, not 1\n  float32 (2, 1, 3) on "));
}

TEST_P(EagerShape, JoinsArrays) {
  const Array x = range({2, 2}), y = range({1, 2}, 10);
  EXPECT_EQ(concatenate({x, y}).to_doubles(), (Values{0, 1, 2, 3, 10, 11}));
  EXPECT_EQ(concatenate({x, x.transpose()}, -1).to_doubles(), (Values{0, 1, 0, 2, 2, 3, 1, 3}));
  EXPECT_EQ(concatenate({astype(x, int32), y}).dtype(), float64);
  EXPECT_EQ(stack({x, x + 4}).shape(), (Shape{2, 2, 2}));
  EXPECT_EQ(stack({x, x + 4}, 2).to_doubles(), (Values{0, 4, 1, 5, 2, 6, 3, 7}));
  EXPECT_THAT(error_of([&] {
                concatenate({x, range({3})});
              }),
              ::testing::HasSubstr("concatenate: (3,) has another number of axes than (2, 2)"));
  EXPECT_THAT(error_of([&] { stack({x, y}); }), ::testing::HasSubstr("stack: "));
}

TEST_P(EagerShape, TakesAndPuts) {
  const Array x = range({3, 4});
  EXPECT_EQ(take(x, positions({0, -1, 5, 11})).to_doubles(), (Values{0, 11, 5, 11}));
  EXPECT_EQ(take(x, positions({2, 0}), 0).to_doubles(), (Values{8, 9, 10, 11, 0, 1, 2, 3}));
  EXPECT_EQ(take(x.transpose(), positions({1}), 1).to_doubles(), (Values{4, 5, 6, 7}));
  EXPECT_EQ(take(x, positions({1, 1, 3, 0}).reshape({2, 2}), 1).shape(), (Shape{3, 2, 2}));
  EXPECT_EQ(take(astype(x, float16), positions({3})).to_doubles(), Values{3});
  const Array y = Array::zeros({2, 3}, float32, device());
  put(y, positions({0, -1}), array({5, 6}));
  EXPECT_EQ(y.to_doubles(), (Values{5, 0, 0, 0, 0, 6}));
  put(y.transpose(), positions({1}), Array::scalar(9, device()));
  EXPECT_EQ(y.to_doubles(), (Values{5, 0, 0, 9, 0, 6}));
  put(y, positions({2, 1, 2, 1}), array({1, 2, 3, 4}));
  EXPECT_EQ(y.to_doubles(), (Values{5, 4, 3, 9, 0, 6})) << "the last of several stays";
  const Array line = range({4});
  put(line, positions({0, 1, 2, 3}), line.slice({{.step = -1}}));
  EXPECT_EQ(line.to_doubles(), (Values{3, 2, 1, 0})) << "values of x itself are those from before the call";
  put(line.slice({{1, 4}}), positions({0, 1, 2}), line.slice({{0, 3}}));
  EXPECT_EQ(line.to_doubles(), (Values{3, 3, 2, 1}));
  put(line, positions({3, 2, 1, 0}), line);
  EXPECT_EQ(line.to_doubles(), (Values{1, 2, 3, 3}));
  const Array places = positions({3, 2, 1, 0});
  put(places, places, places);
  EXPECT_EQ(places.to_doubles(), (Values{0, 1, 2, 3}));
  EXPECT_THAT(error_of([&] { take(x, x); }),
              ::testing::HasSubstr("take: positions are integers, these are float32 (3, 4)"));
  EXPECT_THAT(error_of([&] { take(range({0}), positions({0})); }),
              ::testing::HasSubstr("there is nothing to take from"));
  EXPECT_THAT(error_of([&] { take(x, positions({0, 99})).to_doubles(); }), ::testing::HasSubstr("take: position 99 is not on axis 0, whose extent is 12"));
  EXPECT_THAT(error_of([&] {
                put(y, positions({1, -7}), array({1, 2}));
                y.to_doubles();
              }),
              ::testing::HasSubstr("put: position -7 is not on axis 0, whose extent is 6"));
  EXPECT_EQ(take(x, positions({1})).to_doubles(), Values{1}) << "the call after an error is right";
}

TEST_P(EagerShape, PutsTogetherWhatNumPyPuts) {
  const Array x = range({2, 3});
  EXPECT_EQ(roll(x, 1, 1).to_doubles(), (Values{2, 0, 1, 5, 3, 4}));
  EXPECT_EQ(roll(range({5}), -7, 0).to_doubles(), (Values{2, 3, 4, 0, 1}));
  EXPECT_EQ(tile(range({1, 2}), {2, 2}).to_doubles(), (Values{0, 1, 0, 1, 0, 1, 0, 1}));
  EXPECT_EQ(tile(range({2}), {2, 1, 2}).shape(), (Shape{2, 1, 4}));
  EXPECT_EQ(repeat(x, 2, 0).to_doubles(), (Values{0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5}));
  EXPECT_EQ(repeat(range({2}), 3, -1).to_doubles(), (Values{0, 0, 0, 1, 1, 1}));
  EXPECT_EQ(pad(range({2}), {{1, 2}}, Scalar(7.0)).to_doubles(), (Values{7, 0, 1, 7, 7}));
  EXPECT_EQ(pad(range({2}), {{0, 2}}, Array::scalar(7, device())).to_doubles(), (Values{0, 1, 7, 7}));
  EXPECT_THAT(error_of([&] { pad(range({2}), {{0, 2}}, x); }), ::testing::HasSubstr("pad: the value is float32 (2, 3)"));
  EXPECT_TRUE(specify_shape(x, {-1, 3}).shares_buffer_with(x));
  EXPECT_THAT(error_of([&] { specify_shape(x, {-1, 4}); }), ::testing::HasSubstr("specify_shape: (2, 3) is not the (?, 4) that was declared"));
  EXPECT_THAT(error_of([&] { specify_shape(x, {2}); }), ::testing::HasSubstr("specify_shape: (2, 3) is not the (2,) that was declared"));
  EXPECT_EQ(broadcast_to(range({3, 1}), {2, -1, 2}).to_doubles(), (Values{0, 0, 1, 1, 2, 2, 0, 0, 1, 1, 2, 2}));
  EXPECT_EQ(flatten(x.transpose()).to_doubles(), (Values{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(flatten(range({2, 3, 4}), 1).shape(), (Shape{2, 12}));
  const std::vector<Array> parts = split(x, {1, 2}, 1);
  EXPECT_EQ(parts[1].to_doubles(), (Values{1, 2, 4, 5}));
  EXPECT_TRUE(parts[0].shares_buffer_with(x));
  EXPECT_THAT(error_of([&] { split(x, {1, 1}, 1); }), ::testing::HasSubstr("the parts have 2 elements along axis 1, x has 3"));
  EXPECT_THAT(error_of([&] { pad(x, {{1, 1}}); }), ::testing::HasSubstr("1 widths for 2 axes"));
  EXPECT_THAT(error_of([&] { repeat(x, -1, 0); }), ::testing::HasSubstr("the count is -1"));
}

DAMO_ON_EACH_DEVICE(EagerShape);

}  // namespace
}  // namespace damo
