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
#include "ops/sort/sort_key.hpp"
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
      sort_.order(x, {}, lines, count, keys, order);
      EXPECT_TRUE(order.to_vector<std::int64_t>() == expected);
      Words in_order;
      for (std::int64_t i = 0; i < lines * count; ++i)
        in_order.push_back(words[static_cast<std::size_t>(i / count * count + expected[static_cast<std::size_t>(i)])]);
      EXPECT_TRUE(keys.to_vector<std::uint64_t>() == in_order);
      const Array alone = Array::empty({lines, count}, int64, device_);
      sort_.order(x, {}, lines, count, {}, alone);
      EXPECT_TRUE(alone.to_vector<std::int64_t>() == expected);
      const Array values = Array::empty({lines, count}, uint64, device_);
      sort_.sort(x, {}, lines, count, values);
      EXPECT_TRUE(values.to_vector<std::uint64_t>() == in_order);
    }
  }
}

/// Elements alone, and with their order, of a dtype of such words, of which few bits vary and which have both zeros and many kinds of NaN.
template <class Word>
void check_elements(const HostSort& sort, Device device, DType dtype, Word mask) {
  const DType as = sizeof(Word) == 8 ? uint64 : sizeof(Word) == 4 ? uint32
                                            : sizeof(Word) == 2   ? uint16
                                                                  : uint8;
  for (const auto& [lines, count] : kLines) {
    for (const bool descending : {false, true}) {
      const SortKey key = sort_key(dtype, descending);
      std::mt19937_64 random(4);
      std::vector<Word> words;
      Words keys;
      const Word sign = static_cast<Word>(Word{1} << (8 * sizeof(Word) - 1));
      for (std::int64_t i = 0; i < lines * count; ++i) {
        const Word word = random() % 16 == 0 ? static_cast<Word>(random() & sign) : static_cast<Word>(random() & mask), size = word & static_cast<Word>(~sign);
        words.push_back(word);
        Word own = word;
        if (key.infinity != 0) own = size > static_cast<Word>(key.infinity) ? static_cast<Word>(~Word{0}) : static_cast<Word>(word == size ? sign + size : sign - size);
        keys.push_back(static_cast<Word>(own ^ static_cast<Word>(key.flip)));
      }
      const Places expected = ordered(keys, count);
      std::vector<Word> in_order;
      for (std::int64_t i = 0; i < lines * count; ++i)
        in_order.push_back(words[static_cast<std::size_t>(i / count * count + expected[static_cast<std::size_t>(i)])]);
      const Array x = Array::from(words, {lines, count}, device).view(dtype, {lines, count}, {count, 1}, 0);
      const Array sorted = Array::empty({lines, count}, as, device), both = Array::empty({lines, count}, as, device),
                  order = Array::empty({lines, count}, int64, device);
      const auto with_dtype = [&](const Array& array) { return array.view(dtype, array.shape(), array.strides(), 0); };
      sort.sort(x, key, lines, count, with_dtype(sorted));
      sort.order(x, key, lines, count, with_dtype(both), order);
      SCOPED_TRACE(std::string(name(dtype)) + ", " + std::to_string(lines) + " x " + std::to_string(count));
      EXPECT_TRUE(sorted.to_vector<Word>() == in_order);
      EXPECT_TRUE(both.to_vector<Word>() == in_order);
      EXPECT_TRUE(order.to_vector<std::int64_t>() == expected);
    }
  }
}

TEST_P(HostSorts, OrderElementsOfAllDtypesAndKeepEqualsInOrder) {
  check_elements<std::uint8_t>(sort_, device_, bool_, 1);
  check_elements<std::uint8_t>(sort_, device_, int8, 0xff);
  check_elements<std::uint8_t>(sort_, device_, uint8, 0xff);
  check_elements<std::uint16_t>(sort_, device_, int16, 0xffff);
  check_elements<std::uint16_t>(sort_, device_, uint16, 0x8ff0);
  check_elements<std::uint16_t>(sort_, device_, float16, 0xffff);
  check_elements<std::uint16_t>(sort_, device_, bfloat16, 0xff80);
  check_elements<std::uint32_t>(sort_, device_, int32, 0xffffffff);
  check_elements<std::uint32_t>(sort_, device_, float32, 0xffffffff);
  check_elements<std::uint32_t>(sort_, device_, float32, 0xffc00000);
  check_elements<std::uint64_t>(sort_, device_, int64, ~std::uint64_t{0});
  check_elements<std::uint64_t>(sort_, device_, float64, ~std::uint64_t{0});
  check_elements<std::uint64_t>(sort_, device_, float64, 0xfff8000000000000);
  check_elements<std::uint64_t>(sort_, device_, float64, 0x800000000000ffff);
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
