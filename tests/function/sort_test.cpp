// Order along an axis, of Variables and of Arrays, against std::stable_sort; gradients by position.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <damo/damo.hpp>
#include "support/devices.hpp"

namespace damo {
namespace {

using testing::error_of;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Values = std::vector<double>;

class Sort : public testing::OnEachDevice {
 protected:
  /// With repeated values.
  Array some(const Shape& shape, DType dtype) const { return astype(RandomGenerator(5, device()).randint(shape, is_signed(dtype) ? -50 : 0, 50), dtype); }
};

std::vector<unsigned char> bytes_of(const Array& array) {
  const Array here = array.to(Device("cpu")).contiguous();
  const auto* const first = static_cast<const unsigned char*>(here.data());
  return {first, first + static_cast<std::size_t>(here.size()) * itemsize(here.dtype())};
}

/// Whether a comes before b, NaN being the greatest.
bool before(double a, double b) { return a < b || (std::isnan(b) && !std::isnan(a)); }

/// Places of each row of a matrix in order.
std::vector<std::int64_t> ordered(const Values& x, std::size_t count, bool descending) {
  std::vector<std::int64_t> places(x.size());
  for (std::size_t row = 0; row < x.size() / count; ++row) {
    const auto first = places.begin() + static_cast<std::ptrdiff_t>(row * count);
    std::iota(first, first + static_cast<std::ptrdiff_t>(count), 0);
    const double* values = x.data() + row * count;
    std::stable_sort(first, first + static_cast<std::ptrdiff_t>(count), [&](std::int64_t a, std::int64_t b) { return descending ? before(values[b], values[a]) : before(values[a], values[b]); });
  }
  return places;
}

Values taken(const Values& x, const std::vector<std::int64_t>& places, std::size_t count) {
  Values values;
  for (std::size_t i = 0; i < places.size(); ++i) values.push_back(x[i / count * count + static_cast<std::size_t>(places[i])]);
  return values;
}

TEST_P(Sort, OrdersRowsOfEachDtypeAndKeepsEqualsInOrder) {
  for (DType dtype : {bool_, int8, uint8, int32, int64, float16, bfloat16, float32, float64}) {
    const Array x = some({5, 77}, dtype);
    const Values values = x.to_doubles();
    for (bool descending : {false, true}) {
      const auto places = ordered(values, 77, descending);
      EXPECT_EQ(argsort(x, -1, descending).to_vector<std::int64_t>(), places) << name(dtype);
      EXPECT_EQ(sort(x, 1, descending).to_doubles(), taken(values, places, 77)) << name(dtype);
    }
  }
}

TEST_P(Sort, OrdersSixtyFourBitIntegersOfAllSizes) {
  constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min(), greatest = std::numeric_limits<std::int64_t>::max();
  const Array x = Array::from(std::vector<std::int64_t>{greatest, 0, -1, greatest - 1, least, 1, least + 1, 0, greatest}, {9}, device());
  EXPECT_THAT(argsort(x).to_vector<std::int64_t>(), ElementsAre(4, 6, 2, 1, 7, 5, 3, 0, 8));
  EXPECT_THAT(argsort(x, 0, true).to_vector<std::int64_t>(), ElementsAre(0, 8, 3, 5, 1, 7, 2, 6, 4));
  EXPECT_THAT(argsort(x.view(uint64, {9}, {1}, 0)).to_vector<std::int64_t>(), ElementsAre(1, 7, 5, 3, 0, 8, 4, 6, 2));
}

TEST_P(Sort, OrdersRowsOfEachLength) {
  for (std::int64_t count : {1, 2, 3, 31, 64, 1000, 2048, 2049, 5000, 40000}) {
    const Array x = some({3, count}, int32);
    EXPECT_EQ(argsort(x).to_vector<std::int64_t>(), ordered(x.to_doubles(), static_cast<std::size_t>(count), false)) << count;
    EXPECT_EQ(argsort(x, 1, true).to_vector<std::int64_t>(), ordered(x.to_doubles(), static_cast<std::size_t>(count), true)) << count;
  }
  const Array fine = RandomGenerator(8, device()).normal({2, 40000}, 0, 1, float64);
  for (bool descending : {false, true}) EXPECT_EQ(argsort(fine, 1, descending).to_vector<std::int64_t>(), ordered(fine.to_doubles(), 40000, descending));
  const Array many = some({70000, 3}, float32);
  EXPECT_EQ(argsort(many).to_vector<std::int64_t>(), ordered(many.to_doubles(), 3, false));
}

TEST_P(Sort, PutsNanLastAndTakesBothZerosForEqual) {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  const Array x = array({0, nan, -inf, -0.0f, inf, 1e-45f, -nan, -1e-45f, -3});
  EXPECT_THAT(argsort(x).to_vector<std::int64_t>(), ElementsAre(2, 8, 7, 0, 3, 5, 4, 1, 6));
  EXPECT_THAT(argsort(x, 0, true).to_vector<std::int64_t>(), ElementsAre(1, 6, 4, 5, 0, 3, 7, 8, 2));
  EXPECT_THAT(searchsorted(array({-1, 0, 2, inf, nan}), array({-2, 0, -0.0f, 1, inf, nan})).to_vector<std::int64_t>(), ElementsAre(0, 1, 1, 2, 3, 4));
}

TEST_P(Sort, OrdersAlongAnyAxisOfAnyLayoutInAGraph) {
  const Variable x = tensor3("x");
  const Array values = RandomGenerator(6, device()).normal({6, 5, 7}), turned = RandomGenerator(6, device()).normal({7, 5, 6}).transpose();
  for (int axis : {0, 1, -1}) {
    const Function f = function({x}, {sort(x, axis), argsort(x, axis, true)}, options());
    for (const Array& given : {values, turned}) {
      const auto [ascending, places] = f.call<2>(given);
      EXPECT_EQ(ascending.to_doubles(), sort(given, axis).to_doubles()) << axis;
      EXPECT_EQ(places.to_doubles(), argsort(given, axis, true).to_doubles()) << axis;
      const int last = axis < 0 ? 2 : axis;
      const Array lines = swap_axes(given, last, 2).contiguous();
      const Values line_values = lines.to_doubles();
      const auto count = static_cast<std::size_t>(lines.shape()[2]);
      EXPECT_EQ(swap_axes(ascending, last, 2).contiguous().to_doubles(), taken(line_values, ordered(line_values, count, false), count)) << axis;
    }
  }
}

TEST_P(Sort, GivesTheFirstOfEachLine) {
  const Variable x = matrix("x");
  const TopK most = topk(x, 2), least = topk(x, 1, 0, false);
  const Function f = function({x}, {most.values, most.positions, least.values, least.positions}, options());
  const Array given = array({3, 9, -1, 4, 8, 8, 0, 7}, {2, 4});
  const auto [values, positions, low, low_at] = f.call<4>(given);
  EXPECT_THAT(values.to_doubles(), ElementsAre(9, 4, 8, 8));
  EXPECT_THAT(positions.to_doubles(), ElementsAre(1, 3, 0, 1));
  EXPECT_THAT(low.to_doubles(), ElementsAre(3, 8, -1, 4));
  EXPECT_THAT(low_at.to_doubles(), ElementsAre(0, 1, 0, 0));
  const ArrayTopK eager = topk(given, 2);
  EXPECT_EQ(eager.values.to_doubles(), values.to_doubles());
  EXPECT_EQ(eager.positions.to_doubles(), positions.to_doubles());
}

TEST_P(Sort, GivesTheFirstOfLongLinesAsASortHasThem) {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  const Variable x = vector("x");
  const TopK most = topk(x, 5), least = topk(x, 5, 0, false);
  const Function f = function({x}, {most.positions, least.positions, argsort(x, 0, true)}, options());
  std::vector<float> values(40000, 1);
  values[7] = -inf, values[39999] = nan, values[100] = inf, values[20000] = -nan, values[30000] = -0.0f, values[30001] = 0;
  const auto [high, low, all] = f.call<3>(Array::from(values, {40000}, device()));
  EXPECT_THAT(high.to_vector<std::int64_t>(), ElementsAre(20000, 39999, 100, 0, 1));
  EXPECT_THAT(low.to_vector<std::int64_t>(), ElementsAre(7, 30000, 30001, 0, 1));
  const std::vector<std::int64_t> places = all.to_vector<std::int64_t>();
  EXPECT_THAT(std::vector(places.begin(), places.begin() + 5), ElementsAre(20000, 39999, 100, 0, 1));
  EXPECT_EQ(places.back(), 7);
}

TEST_P(Sort, EveryPlaceOfTheFirstIsWritten) {
  std::vector<double> numbers;
  for (int i = 0; i < 96; ++i) numbers.push_back(i * 37 % 96);
  const Array given = astype(Array::from(numbers, device()), float32).reshape({2, 48});
  const Variable x = matrix("x");
  for (const std::int64_t count : {1, 6, 7, 48}) {  // a host selects an eighth and sorts more
    const TopK most = topk(x, count);
    EXPECT_NO_THROW(check_function({x}, {most.values, most.positions}, {given}, options())) << count;
  }
}

/// What sorting values alone may do otherwise: the elements are those of argsort's places, bit for bit, in order or as a graph with or without the order.
TEST_P(Sort, GivesTheElementsAtArgsortsPlacesBitForBit) {
  constexpr std::uint64_t kInteresting[] = {0x0000000000000000, 0x8000000080008000, 0x7f8000007c007f80, 0xff800000fc00ff80, 0x7fc000017e017fc1, 0xffc00002fe02ffc2, 0x7ff0000000000000, 0xfff8000000000003, 0x0000000100010001};
  std::mt19937_64 random(11);
  for (const DType dtype : {bool_, int8, uint16, int16, uint32, int64, float16, bfloat16, float32, float64}) {
    const Variable x = input({dtype, {kUnknown, kUnknown}}, "x");
    for (const bool descending : {false, true}) {
      const Function alone = function({x}, {sort(x, 1, descending)}, options()), both = function({x}, {sort(x, 1, descending), argsort(x, 1, descending)}, options());
      for (const Shape& shape : {Shape{2, 0}, Shape{3, 1}, Shape{3, 2}, Shape{5, 7}, Shape{2, 2047}, Shape{2, 2049}, Shape{2, 8193}, Shape{1, 40003}}) {
        std::vector<std::uint64_t> chosen;
        for (std::int64_t i = 0; i < shape.size(); ++i) chosen.push_back(dtype == bool_ ? random() % 2 : random() % 3 == 0 ? kInteresting[random() % std::size(kInteresting)]
                                                                                                                           : random());
        std::vector<unsigned char> bytes;
        for (const std::uint64_t word : chosen) {
          const auto* const first = reinterpret_cast<const unsigned char*>(&word);
          bytes.insert(bytes.end(), first, first + itemsize(dtype));
        }
        const Array there = Array::empty(shape, dtype, Device("cpu"));
        std::copy(bytes.begin(), bytes.end(), static_cast<unsigned char*>(there.data()));
        const Array given = there.to(device());
        const Array places = argsort(given, 1, descending), expected = shape.size() > 0 ? take_along_axis(given, places, 1) : given;
        SCOPED_TRACE(std::string(name(dtype)) + " " + to_string(shape) + (descending ? ", descending" : ""));
        EXPECT_TRUE(bytes_of(sort(given, 1, descending)) == bytes_of(expected));
        EXPECT_TRUE(bytes_of(Array(alone(given))) == bytes_of(expected));
        const auto [values, order] = both.call<2>(given);
        EXPECT_TRUE(bytes_of(values) == bytes_of(expected));
        EXPECT_TRUE(bytes_of(order) == bytes_of(places));
      }
    }
  }
}

TEST_P(Sort, SendsGradientsBackByPosition) {
  const Variable x = vector("x");
  const Array weights = array({1, 10, 100, 1000});
  const Variable w = vector("w");
  const Function f = function({x, w}, {grad(sum(sort(x) * w), x), grad(sum(topk(x, 2).values), x)}, options());
  const auto [by_sort, by_top] = f.call<2>(array({5, -1, 7, 2}), weights);
  EXPECT_THAT(by_sort.to_doubles(), ElementsAre(100, 1, 1000, 10));
  EXPECT_THAT(by_top.to_doubles(), ElementsAre(1, 0, 1, 0));
}

TEST_P(Sort, FindsPlacesBeforeEqualsOrBehindThem) {
  const Variable sorted = vector("sorted"), values = matrix("values", int32);
  const Function f = function({sorted, values}, {searchsorted(sorted, values), searchsorted(sorted, values, true)}, options());
  const auto [left, right] = f.call<2>(array({1, 2, 2, 3.5}), Array::from(std::vector<std::int32_t>{0, 1, 2, 3, 4, 9}, {2, 3}, device()));
  EXPECT_THAT(left.to_doubles(), ElementsAre(0, 0, 1, 3, 4, 4));
  EXPECT_THAT(right.to_doubles(), ElementsAre(0, 1, 3, 3, 4, 4));
}

TEST_P(Sort, TakesNothingAtAll) {
  EXPECT_EQ(sort(Array::zeros({3, 0}, float32, device())).shape(), (Shape{3, 0}));
  EXPECT_EQ(argsort(Array::zeros({0, 3}, float32, device()), 0).shape(), (Shape{0, 3}));
  EXPECT_EQ(topk(Array::zeros({3, 4}, float32, device()), 0).values.shape(), (Shape{3, 0}));
  EXPECT_THAT(searchsorted(Array::zeros({0}, float32, device()), array({1})).to_doubles(), ElementsAre(0));
}

TEST_P(Sort, RefusesAxesAndCountsThatThereAreNot) {
  const Variable x = input({float32, {2, 4}}, "x");
  EXPECT_THAT(error_of<ShapeError>([&] { topk(x, 5); }), AllOf(HasSubstr("topk: 5 elements of lines of 4"), HasSubstr("or fewer")));
  EXPECT_THAT(error_of<ShapeError>([&] { topk(array({1, 2}), 3); }), HasSubstr("topk: 3 elements of lines of 2"));
  EXPECT_THAT(error_of<ShapeError>([&] { topk(x, -1); }), HasSubstr("topk: the count is -1"));
  EXPECT_THAT(error_of<ShapeError>([&] { sort(scalar("s")); }), HasSubstr("sort: x has no axis"));
  const Variable open = matrix("open");
  const Function f = function({open}, {topk(open, 3).values}, options());
  EXPECT_THAT(error_of<ShapeError>([&] { f(Array::zeros({2, 2}, float32, device())); }), HasSubstr("topk: 3 elements of lines of 2"));
}

DAMO_ON_EACH_DEVICE(Sort);

}  // namespace
}  // namespace damo
