// Arrays that are made from a description (src/ops/eager/create.cpp), against what NumPy gives.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <damo/array_create.hpp>
#include <damo/array_math.hpp>
#include "support/devices.hpp"

namespace damo {
namespace {

using testing::error_of;
using Values = std::vector<double>;

class EagerCreate : public testing::OnEachDevice {};

TEST_P(EagerCreate, MakesRanges) {
  EXPECT_EQ(arange(4, float32, device()).to_doubles(), (Values{0, 1, 2, 3}));
  EXPECT_EQ(arange(1, 2, 0.25, float64, device()).to_doubles(), (Values{1, 1.25, 1.5, 1.75}));
  EXPECT_EQ(arange(5, 0, -2, int32, device()).to_doubles(), (Values{5, 3, 1}));
  EXPECT_EQ(arange(3, 1, 1, int32, device()).size(), 0);
  EXPECT_EQ(arange(std::int64_t{1} << 60, (std::int64_t{1} << 60) + 2, 1, int64, device()).to_vector<std::int64_t>()[1],
            (std::int64_t{1} << 60) + 1);
  EXPECT_EQ(arange(0, 3, 1, float16, device()).to_doubles(), (Values{0, 1, 2}));
  EXPECT_EQ(arange(-50.5, 300.0, 100.0, int8, device()).to_doubles(), (Values{-50, 49, 127, 127})) << "as a cast has it";
  EXPECT_EQ(arange(1 + 0x1p-11 + 0x1p-40, 2.0, 2.0, float16, device()).to_doubles(), (Values{1 + 0x1p-10})) << "rounded once";
  EXPECT_EQ(arange(~std::uint64_t{0} - 2, ~std::uint64_t{0}, 1, uint64, device()).to_vector<std::uint64_t>()[1], ~std::uint64_t{0} - 1);
  EXPECT_EQ(linspace(0, 1, 5, float32, device()).to_doubles(), (Values{0, 0.25, 0.5, 0.75, 1}));
  EXPECT_EQ(linspace(2, 1, 1, float32, device()).to_doubles(), Values{2});
  EXPECT_THAT(error_of([&] { arange(0, 1, 0, float32, device()); }), ::testing::HasSubstr("arange: the step is 0"));
}

TEST_P(EagerCreate, MakesIdentitiesAndArraysLikeOthers) {
  EXPECT_EQ(eye(2, 3, 1, float32, device()).to_doubles(), (Values{0, 1, 0, 0, 0, 1}));
  EXPECT_EQ(eye(3, 2, -1, int8, device()).to_doubles(), (Values{0, 0, 1, 0, 0, 1}));
  EXPECT_EQ(eye(2, {}, 5, int8, device()).to_doubles(), Values(4, 0));
  const Array x = range({2, 3});
  EXPECT_EQ(ones_like(x.transpose()).shape(), (Shape{3, 2}));
  EXPECT_EQ(full_like(x, 7, int16).to_doubles(), Values(6, 7));
  EXPECT_EQ(zeros_like(x).device(), device());
  EXPECT_EQ(empty_like(x, float64).dtype(), float64);
}

TEST_P(EagerCreate, GivesExtentsAsNumbers) {
  const Array x = range({2, 3}), half = astype(x, float16).slice({{}, {0, 2}});
  EXPECT_EQ(shape_of(x).to_vector<std::int64_t>(), (std::vector<std::int64_t>{2, 3}));
  EXPECT_EQ(shape_of(half).to_vector<std::int64_t>(), (std::vector<std::int64_t>{2, 2}));
  EXPECT_EQ(shape_of(Array::scalar(2.0f, device())).shape(), Shape{0});
  EXPECT_EQ(size_of(half).to_vector<std::int64_t>(), std::vector<std::int64_t>{4});
  EXPECT_EQ(size_of(half).shape(), Shape{});
  EXPECT_EQ(size_of(half).device(), device());
  EXPECT_THAT(error_of([] { shape_of(Array()); }), ::testing::HasSubstr("shape_of: an operand is an empty Array"));
  EXPECT_THAT(error_of([] { size_of(Array()); }), ::testing::HasSubstr("size_of: an operand is an empty Array"));
}

DAMO_ON_EACH_DEVICE(EagerCreate);

}  // namespace
}  // namespace damo
