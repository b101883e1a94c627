// cumsum and its kin of arrays: dtypes and layouts, against the host's.
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <damo/array_math.hpp>
#include <damo/array_scan.hpp>
#include "ops/eager/reference.hpp"
#include "support/devices.hpp"

namespace damo {
namespace {

using testing::error_of;
using Values = std::vector<double>;

class EagerCumulative : public testing::OnEachDevice {};

TEST_P(EagerCumulative, GivesWhatNumPyGives) {
  EXPECT_EQ(cumsum(array({1, 2, 3}).reshape({3, 1})).to_doubles(), (Values{1, 3, 6}));
  EXPECT_EQ(cumprod(array({1, 2, 3, 4}).reshape({2, 2}), 0).to_doubles(), (Values{1, 2, 3, 8}));
  EXPECT_EQ(cummax(array({1, 3, 2, 4}), 0, {.reverse = true}).to_doubles(), (Values{4, 4, 4, 4}));
  EXPECT_EQ(cummin(array({3, 1, 2}), 0).to_doubles(), (Values{3, 1, 1}));
  EXPECT_EQ(cumsum(array({1, 2, 3}), -1, {.exclusive = true}).to_doubles(), (Values{0, 1, 3}));
  EXPECT_NEAR(logcumsumexp(array({1000, 1000, -1000}), 0).to_doubles()[1], 1000 + std::log(2.0), 1e-4);
  const Array bytes = Array::from(std::vector<std::int8_t>{100, 100, 100}, device());
  EXPECT_EQ(cumsum(bytes).dtype(), int64);
  EXPECT_EQ(cumsum(bytes).to_doubles(), (Values{100, 200, 300}));
  EXPECT_EQ(cumsum(range({0, 3}), 0).shape(), (Shape{0, 3}));
  const Values running = cumsum(Array::full({1000000}, 0.5f, float32, device())).to_doubles();
  EXPECT_EQ(running[999999], 500000);
  EXPECT_EQ(running[65536], 32768.5);
}

TEST_P(EagerCumulative, ReadsAnyStrides) {
  const Array x = range({6, 7}), turned = x.slice({{std::nullopt, std::nullopt, -2}}).transpose();
  const Values in = turned.to_doubles(), out = cumsum(turned, 1).to_doubles();
  for (std::size_t i = 0; i < in.size(); ++i) EXPECT_EQ(out[i], in[i] + (i % 3 == 0 ? 0 : out[i - 1]));
  EXPECT_EQ(cumsum(array({2}).broadcast_to({4}), 0).to_doubles(), (Values{2, 4, 6, 8}));
}

TEST_P(EagerCumulative, SaysWhatIsWrong) {
  EXPECT_THAT(error_of([&] { cumsum(range({3}), 1); }), ::testing::HasSubstr("cumsum: axis 1 does not exist: x has 1 axis"));
  EXPECT_THAT(error_of([&] { logcumsumexp(astype(range({3}), int32), 0); }), ::testing::HasSubstr("logcumsumexp takes floats, it is given int32"));
  EXPECT_THAT(error_of([&] { cumsum(Array(), 0); }), ::testing::HasSubstr("cumsum: the Array is empty"));
}

DAMO_ON_EACH_DEVICE(EagerCumulative);

}  // namespace
}  // namespace damo
