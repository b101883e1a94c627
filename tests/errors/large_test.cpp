// Arrays of more than 2^31 elements, and arrays that lie oddly: no error, the right values.
#include <damo/damo.hpp>

#include <gmock/gmock.h>

#include "support/devices.hpp"

namespace damo {
namespace {

using damo::testing::error_of;
using ::testing::HasSubstr;

class LargeOnEachDevice : public damo::testing::OnEachDevice {
 protected:
  static constexpr std::int64_t kRows = 65537, kColumns = 32769;  // 2^31 + 98305 elements

  void require_memory(std::size_t gigabytes) const {
    if (device().properties().free_memory_bytes < gigabytes << 30) GTEST_SKIP() << "needs " << gigabytes << " GiB of free memory";
  }
  Array bytes(const Shape& shape) const {
    std::vector<std::uint8_t> values(static_cast<std::size_t>(shape.size()));
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::uint8_t>(i * 7);
    return Array::from(values, shape, device());
  }
  /// Of the sum of a column and a row.
  static std::uint8_t sum(std::int64_t i, std::int64_t j) { return static_cast<std::uint8_t>(i * 7 + j * 7); }
};

TEST_P(LargeOnEachDevice, ReachesEveryElementBeyondTwoToThe31) {
  require_memory(6);
  if (IsSkipped()) return;
  const auto column = input({uint8, {kUnknown, 1}}, "column"), row = input({uint8, {1, kUnknown}}, "row"), x = matrix("x", uint8);
  const Array result = function({column, row}, {column + row}, {.device = device()})(bytes({kRows, 1}), bytes({1, kColumns}));
  const auto expect = [](const Array& array, std::int64_t i, std::int64_t j, int more) {
    const Array one = array.slice({{i, i + 1}, {j, j + 1}});
    EXPECT_EQ(one.item().as_int(), static_cast<std::uint8_t>(sum(i, j) + more)) << i << ", " << j;
  };
  for (const std::int64_t i : {std::int64_t{0}, kRows / 2, kRows - 2, kRows - 1}) {
    for (const std::int64_t j : {std::int64_t{0}, kColumns - 1}) expect(result, i, j, 0);
  }
  // Read from there, dense and as a view of the end.
  const Function more = function({x}, {x + 1}, {.device = device()});
  expect(more(result), kRows - 1, kColumns - 1, 1);
  const Array tail = more(result.slice({{kRows - 3, kRows}, {0, kColumns}}));
  EXPECT_EQ(tail.slice({{2, 3}, {kColumns - 1, kColumns}}).item().as_int(), static_cast<std::uint8_t>(sum(kRows - 1, kColumns - 1) + 1));
}

TEST_P(LargeOnEachDevice, ReadsARepeatedElementAsManyTimes) {
  require_memory(4);
  if (IsSkipped()) return;
  const auto x = vector("x", uint8);
  const std::int64_t n = (std::int64_t{1} << 31) + 1000;
  const Array repeated = bytes({1}).broadcast_to({n});
  const Array result = function({x}, {x + 3}, {.device = device()})(repeated);
  EXPECT_EQ(result.slice({{n - 1, n}}).item().as_int(), 3);
}

TEST_P(LargeOnEachDevice, SaysThatNoMemoryIsThatLarge) {
  const auto x = vector("x");
  const Function f = function({x}, {x + 1.0}, {.device = device()});
  const std::string text = error_of([&] { f(array({1}).broadcast_to({std::int64_t{1} << 45})); });
  EXPECT_THAT(text, HasSubstr("128.00 TiB asked for"));
  EXPECT_EQ(Array(f(array({1}))).item().as_double(), 2);
}

TEST_P(LargeOnEachDevice, SaysThatAShapeHasTooManyElements) {
  EXPECT_THAT(error_of([&] { array({1}).broadcast_to({std::int64_t{1} << 40, std::int64_t{1} << 40}); }), HasSubstr("more than 2^63 elements"));
}

TEST_P(LargeOnEachDevice, ReadsOverlappingWindows) {
  const Array values = range({10});
  const Array windows = values.view(float32, {8, 3}, {1, 1}, 0);
  const auto x = matrix("x");
  const auto got = Array(function({x}, {x * 2.0}, {.device = device()})(windows)).to_vector<float>();
  for (int i = 0; i < 8; ++i) {
    for (int j = 0; j < 3; ++j) EXPECT_EQ(got[static_cast<std::size_t>(3 * i + j)], 2 * (i + j));
  }
}

TEST_P(LargeOnEachDevice, ReadsEveryMisalignedBase) {
  const auto x = vector("x", float16);
  const Function f = function({x}, {x + 1.0}, {.device = device()});
  std::vector<Half> values(300);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = Half(static_cast<float>(i));
  const Array all = Array::from(values, device());
  for (std::int64_t first = 0; first < 17; ++first) {
    const auto got = Array(f(all.slice({{first, 290}}))).to_doubles();
    for (std::size_t i = 0; i < got.size(); ++i) ASSERT_EQ(got[i], static_cast<double>(first) + static_cast<double>(i) + 1) << first;
  }
}

DAMO_ON_EACH_DEVICE(LargeOnEachDevice);

}  // namespace
}  // namespace damo
