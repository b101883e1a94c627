// HostSort on more threads than this machine may have, against std::stable_sort: runs and their merges, groups of equal
// upper halves, selections.
#include "ops/sort/host_sort.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <damo/array.hpp>
#include "runtime/cpu/cpu_backend.hpp"

namespace damo {
namespace {

using Words = std::vector<std::uint64_t>;
using Places = std::vector<std::int64_t>;

/// What makes the kinds of runs that are sorted in their own ways.
enum class Kind { kAnyBits, kFewValues, kUpperHalf, kLowerHalf, kGroups, kAscending, kDescending, kEqual };
constexpr Kind kAllKinds[] = {Kind::kAnyBits, Kind::kFewValues, Kind::kUpperHalf,  Kind::kLowerHalf,
                              Kind::kGroups,  Kind::kAscending, Kind::kDescending, Kind::kEqual};

Words some(Kind kind, std::int64_t size) {
  std::mt19937_64 random(3);
  Words words;
  for (std::int64_t i = 0; i < size; ++i) {
    const std::uint64_t bits = random(), number = static_cast<std::uint64_t>(i);
    switch (kind) {
      case Kind::kAnyBits:
        words.push_back(bits);
        break;
      case Kind::kFewValues:
        words.push_back(bits % 7);
        break;
      case Kind::kUpperHalf:
        words.push_back(bits << 40);
        break;
      case Kind::kLowerHalf:
        words.push_back(bits >> 36);
        break;
      case Kind::kGroups:
        words.push_back((bits % 50) << 40 | bits >> 56);
        break;
      case Kind::kAscending:
        words.push_back(number / 3);
        break;
      case Kind::kDescending:
        words.push_back(~number);
        break;
      case Kind::kEqual:
        words.push_back(5);
        break;
    }
  }
  return words;
}

Places ordered(const Words& words, std::int64_t count) {
  Places places(words.size());
  for (std::int64_t at = 0; at < std::ssize(words); at += count) {
    const auto line = places.begin() + at;
    std::iota(line, line + count, 0);
    std::stable_sort(line, line + count, [&](std::int64_t a, std::int64_t b) {
      return words[static_cast<std::size_t>(at + a)] < words[static_cast<std::size_t>(at + b)];
    });
  }
  return places;
}

class HostSorts : public testing::TestWithParam<int> {
 protected:
  CpuBackend backend_{GetParam()};
  Device device_{&backend_};
  HostSort sort_ = HostSort::of(device_).value();
};

constexpr std::pair<std::int64_t, std::int64_t> kLines[] = {{1, 1},    {9, 40},   {9, 41},   {3, 300},
                                                            {2, 8191}, {1, 8192}, {1, 50001}};

TEST_P(HostSorts, OrderLinesOfAllLengthsAndKeepEqualsInOrder) {
  for (const auto& [lines, count] : kLines) {
    for (const Kind kind : kAllKinds) {
      SCOPED_TRACE(std::to_string(lines) + " x " + std::to_string(count) + ", kind " +
                   std::to_string(static_cast<int>(kind)));
      const Words words = some(kind, lines * count);
      const Array x = Array::from(words, {lines, count}, device_), keys = Array::empty({lines, count}, uint64, device_),
                  order = Array::empty({lines, count}, int64, device_);
      const Places expected = ordered(words, count);
      sort_.sort(x, {}, lines, count, keys, order);
      EXPECT_TRUE(order.to_vector<std::int64_t>() == expected);
      Words in_order;
      for (std::int64_t i = 0; i < lines * count; ++i)
        in_order.push_back(words[static_cast<std::size_t>(i / count * count + expected[static_cast<std::size_t>(i)])]);
      EXPECT_TRUE(keys.to_vector<std::uint64_t>() == in_order);
      const Array alone = Array::empty({lines, count}, int64, device_);
      sort_.sort(x, {}, lines, count, {}, alone);
      EXPECT_TRUE(alone.to_vector<std::int64_t>() == expected);
    }
  }
}

TEST_P(HostSorts, SelectTheFirstOfLines) {
  for (const auto& [lines, count] : kLines) {
    for (const Kind kind : kAllKinds) {
      const Words words = some(kind, lines * count);
      const Array x = Array::from(words, {lines, count}, device_);
      const Places expected = ordered(words, count);
      for (const std::int64_t wanted : {std::int64_t{0}, std::int64_t{1}, count / 100, count / 8}) {
        if (!HostSort::selects(count, wanted)) continue;
        const Array order = Array::full({lines, wanted}, -1, int64, device_);
        sort_.select(x, {}, lines, count, wanted, order);
        Places first;
        for (std::int64_t i = 0; i < lines * count; ++i) {
          if (i % count < wanted) first.push_back(expected[static_cast<std::size_t>(i)]);
        }
        EXPECT_TRUE(order.to_vector<std::int64_t>() == first)
            << lines << " x " << count << ", kind " << static_cast<int>(kind) << ", " << wanted << " wanted";
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Threads, HostSorts, testing::Values(1, 7), testing::PrintToStringParamName());

}  // namespace
}  // namespace damo
