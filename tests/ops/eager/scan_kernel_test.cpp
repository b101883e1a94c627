// Scans along axes, against the host's.
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <damo/array_math.hpp>
#include <damo/scan_kernel.hpp>
#include "ops/eager/reference.hpp"
#include "support/compiler_line.hpp"
#include "support/devices.hpp"

namespace damo {
namespace {

using testing::error_of;
using Values = std::vector<double>;

class EagerScan : public testing::OnEachDevice {
 protected:
  Array integers(const Shape& shape) const {
    return astype(Array::from(testing::noise(shape.size()), shape, device()) * 2, int32);
  }

  /// Inclusive and exclusive sums of integers, which are exact.
  void expect_sums(const Array& x, int axis) {
    static const InclusiveScanKernel inclusive(int32, "a + b");
    static const ExclusiveScanKernel exclusive(int32, "a + b", "7");
    const int real = axis < 0 ? axis + x.rank() : axis;
    std::vector<int> order;  // the scanned axis last
    for (int i = 0; i < x.rank(); ++i) {
      if (i != real) order.push_back(i);
    }
    order.push_back(real);
    const Values in = x.permute(order).to_doubles(), with = inclusive(x, axis).permute(order).to_doubles(),
                 before = exclusive(x, axis).permute(order).to_doubles();
    const std::size_t length = static_cast<std::size_t>(x.shape()[real]);
    for (std::size_t i = 0; i < in.size(); ++i) {
      const bool first = i % length == 0;
      ASSERT_EQ(with[i], in[i] + (first ? 0 : with[i - 1])) << describe(x) << " axis " << axis << " element " << i;
      ASSERT_EQ(before[i], first ? 7 : with[i - 1]) << describe(x) << " axis " << axis << " element " << i;
    }
  }
};

TEST_P(EagerScan, SumsLinesOfAnyLength) {
  for (std::int64_t size : {1, 2, 7, 8, 9, 255, 2047, 2048, 2049, 65537, (1 << 20) + 1})
    expect_sums(integers({size}), 0);
}

TEST_P(EagerScan, LeavesNamesToTheUser) {
  const InclusiveScanKernel running(
      float16, "T(a) * N + b", {.preamble = "#define T float\n#define N 1\nstruct Arguments {};"});
  EXPECT_EQ(running(astype(array({1, 0, 3, 1}), float16)).to_doubles(), (Values{1, 1, 4, 5}));
}

TEST_P(EagerScan, WorksAlongAnyAxis) {
  const Array x = integers({5, 37, 70});
  for (int axis : {0, 1, 2, -1}) expect_sums(x, axis);
  expect_sums(integers({300, 3000}), 0);
  expect_sums(integers({300, 3000}), 1);
  expect_sums(integers({100000, 40}), 0);
  expect_sums(integers({100000, 3}), 0);
  expect_sums(integers({3, 100000}), 1);
}

TEST_P(EagerScan, ReadsAnyStrides) {
  const Array x = integers({40, 50, 60});
  for (int axis : {0, 1, 2}) {
    expect_sums(x.transpose(), axis);
    expect_sums(x.slice({{std::nullopt, std::nullopt, -2}, {1, 49, 3}}), axis);
  }
  expect_sums(integers({1, 50}).broadcast_to({40, 50}), 0);
}

TEST_P(EagerScan, KeepsTheOrderOfItsOperands) {
  // Composition of x -> p x + q modulo 251: associative, not commutative. p in the upper bits.
  const InclusiveScanKernel compose(
      int32, R"(((a >> 8) * (b >> 8) % 251) << 8 | ((a & 255) * (b >> 8) + (b & 255)) % 251)", {.name = "compose"});
  const std::int64_t size = 100003;
  std::vector<std::int32_t> maps(static_cast<std::size_t>(size)), expected;
  std::uint32_t seed = 5;
  for (std::int32_t& map : maps) {
    seed = seed * 1664525u + 1013904223u;
    map = static_cast<std::int32_t>((1 + (seed >> 24) % 250) << 8 | (seed >> 16) % 251);
  }
  std::int32_t p = 1, q = 0;
  for (std::int32_t map : maps) {
    p = p * (map >> 8) % 251;
    q = (q * (map >> 8) + (map & 255)) % 251;
    expected.push_back(p << 8 | q);
  }
  EXPECT_EQ(compose(Array::from(maps, device())).to_vector<std::int32_t>(), expected);
}

TEST_P(EagerScan, WorksInPlaceAndOnViews) {
  const InclusiveScanKernel greatest(float32, "fmaxf(a, b)", {.name = "greatest"});
  const Array x = array({1, 3, 2, 5, 4});
  greatest.into(x, x);
  EXPECT_EQ(x.to_doubles(), (Values{1, 3, 3, 5, 5}));
  const Array y = array({1, 2, 3, 4, 5});
  greatest.into(y.slice({{std::nullopt, std::nullopt, -1}}), y);
  EXPECT_EQ(y.to_doubles(), (Values{5, 5, 5, 5, 5}));
  const Array half = Array::ones({3000}, float16, device());
  const InclusiveScanKernel sum(float16, "a + b");
  EXPECT_EQ(sum(half).to_doubles()[1999], 2000);
}

TEST_P(EagerScan, SaysWhatIsWrong) {
  const InclusiveScanKernel sum(int32, "a + b", {.name = "running"});
  const Array x = integers({2, 3});
  EXPECT_THAT(error_of([&] { sum(x, 2); }), ::testing::HasSubstr("running: axis 2 does not exist: x has 2 axes"));
  EXPECT_THAT(error_of([&] { sum(range({3})); }),
              ::testing::HasSubstr("running works on int32, it is given float32 (3,)"));
  EXPECT_THAT(error_of([&] {
                sum.into(x, integers({3, 2}));
              }),
              ::testing::HasSubstr("running: shapes differ: (2, 3) into (3, 2)"));
  EXPECT_THAT(
      error_of([&] { sum(Array::scalar(1, device())); }),
      ::testing::AnyOf(::testing::HasSubstr("x has no axis"), ::testing::HasSubstr("works on int32")));
  EXPECT_THAT(error_of([] { ExclusiveScanKernel(int32, "a + b", ""); }),
              ::testing::HasSubstr("it has no neutral value"));
  const int line = __LINE__ + 1;
  const InclusiveScanKernel broken(int32, "a + c");
  const std::string error = error_of([&] { broken(x); });
  EXPECT_THAT(error, damo::testing::names_line("scan_kernel_test.cpp", line));
}

DAMO_ON_EACH_DEVICE(EagerScan);

}  // namespace
}  // namespace damo
