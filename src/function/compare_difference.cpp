#include "function/compare_difference.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>

namespace damo {
namespace {

/// The bits of a floating value as an integer in the order of the values: neighbours differ by one, -0 and +0 by none.
template <class T>
std::int64_t ordered(T value) {
  using Bits = std::conditional_t<sizeof(T) == 1, std::uint8_t,
                                  std::conditional_t<sizeof(T) == 2, std::uint16_t, std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>>>;
  const auto bits = std::bit_cast<Bits>(value);
  constexpr auto sign = static_cast<Bits>(Bits{1} << (sizeof(T) * 8 - 1));
  const auto magnitude = static_cast<std::int64_t>(bits & static_cast<Bits>(~sign));
  return bits & sign ? -magnitude : magnitude;
}

double distance(std::int64_t a, std::int64_t b) {
  return static_cast<double>(a > b ? static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b)
                                   : static_cast<std::uint64_t>(b) - static_cast<std::uint64_t>(a));
}

void take_floating(double a, double b, double ulps, OutputDifference& difference) {
  if (std::isnan(a) || std::isnan(b)) {
    if (std::isnan(a) != std::isnan(b)) ++difference.nan_mismatches;
    return;
  }
  if (std::isfinite(a)) difference.greatest = std::max(difference.greatest, std::fabs(a));
  if (a == b) return;
  const double absolute = std::fabs(a - b), scale = std::max(std::fabs(a), std::fabs(b));
  difference.absolute = std::max(difference.absolute, absolute);
  difference.relative =
      std::max(difference.relative, std::isfinite(scale) ? absolute / scale : std::numeric_limits<double>::infinity());
  difference.ulps = std::max(difference.ulps, ulps);
}

template <class T>
void take(T a, T b, OutputDifference& difference) {
  if constexpr (std::is_integral_v<T>) {
    const double absolute = static_cast<double>(a > b ? static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b)
                                                      : static_cast<std::uint64_t>(b) - static_cast<std::uint64_t>(a));
    const double scale = std::max(std::fabs(static_cast<double>(a)), std::fabs(static_cast<double>(b)));
    difference.greatest = std::max(difference.greatest, std::fabs(static_cast<double>(a)));
    difference.absolute = difference.ulps = std::max(difference.absolute, absolute);
    if (absolute > 0) difference.relative = std::max(difference.relative, absolute / scale);
  } else {
    take_floating(static_cast<double>(a), static_cast<double>(b), distance(ordered(a), ordered(b)), difference);
  }
}

/// vector<bool> has no data().
template <class T>
using Stored = std::conditional_t<std::is_same_v<T, bool>, std::uint8_t, T>;

}  // namespace

OutputDifference difference_of(const Array& a, const Array& b) {
  OutputDifference difference;
  difference.type = std::string(name(a.dtype())) + " " + to_string(a.shape());
  visit(a.dtype(), [&](auto zero) {
    using T = Stored<decltype(zero)>;
    std::vector<T> left(static_cast<std::size_t>(a.size())), right(left.size());
    if (left.empty()) return;
    a.to_host(left.data());
    b.to_host(right.data());
    for (std::size_t i = 0; i < left.size(); ++i) take(left[i], right[i], difference);
  });
  return difference;
}

}  // namespace damo
