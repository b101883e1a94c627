// Why one correction of a quotient is enough for kCudaKnownDivisor (runtime/cuda/flat_text.cpp): where x / y lies as near as it can to what is halfway between two floats, it rounds as x / y does.
#include <bit>
#include <cmath>
#include <cstdint>

#include <gtest/gtest.h>

namespace damo {
namespace {

constexpr std::uint64_t kLeast = 1 << 23, kHalf = 1 << 24;  // of 24 bits; of what is halfway, in halves of an ulp
constexpr int kNearest = 6;

/// Calls act(X) for each X of 24 bits for which X 2^s is M Y + k, of an odd M of 25 bits. Y is odd times 2^t.
template <class Act>
void each_near_halfway(std::uint64_t divisor, std::int64_t k, int s, const Act& act) {
  const int t = std::countr_zero(divisor);
  if (k % (std::int64_t{1} << t) != 0) return;
  const std::uint64_t odd = divisor >> t, step = std::uint64_t{1} << (s - t);
  std::uint64_t inverse = odd;
  for (int i = 0; i < 5; ++i) inverse *= 2 - odd * inverse;
  std::uint64_t halves = static_cast<std::uint64_t>(-(k >> t)) * inverse % step;
  while (halves < kHalf) halves += step;
  for (; halves < 2 * kHalf; halves += step) {
    const std::uint64_t product = halves * divisor + static_cast<std::uint64_t>(k), x = product >> s;
    if (halves % 2 == 1 && product % (std::uint64_t{1} << s) == 0 && x >= kLeast && x < 2 * kLeast) act(static_cast<float>(x));
  }
}

TEST(KnownDivisor, OneCorrectionRoundsAsTheQuotientDoes) {
  std::int64_t pairs = 0;
  for (std::uint64_t divisor = kLeast; divisor < 2 * kLeast; divisor += 13) {  // all of them: in 10 s
    const auto y = static_cast<float>(divisor);
    const float reciprocal = -1.0f / y;
    for (std::int64_t k = -kNearest; k <= kNearest; ++k) {
      if (k == 0) continue;
      for (const int s : {24, 25}) {
        each_near_halfway(divisor, k, s, [&](float x) {
          const float quotient = -x * reciprocal, corrected = std::fma(std::fma(quotient, y, -x), reciprocal, quotient);
          ++pairs;
          ASSERT_EQ(corrected, x / y) << x << " by " << y;
        });
      }
    }
  }
  EXPECT_GT(pairs, 1'000'000);
}

}  // namespace
}  // namespace damo
