// RadixSort, whose kernels GPUs run, on the CPU against std::stable_sort: tiles that are full and that are not, one row and several, digits that all elements share, elements of every width.
#include "ops/sort/radix_sort.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <damo/array.hpp>
#include <damo/module.hpp>
#include "ops/sort/sort_key.hpp"

namespace damo {
namespace {

template <class Word>
struct Case {
  DType dtype;
  std::int64_t rows, count;
  int bits = 8 * static_cast<int>(sizeof(Word));
  std::uint64_t mask = ~std::uint64_t{0};
  bool descending = false;
};

/// The key as sort_key.hpp says it.
template <class Word>
Word key_of(Word word, const SortKey& key) {
  const Word sign = static_cast<Word>(Word{1} << (8 * sizeof(Word) - 1)), size = word & static_cast<Word>(~sign);
  if (key.infinity != 0) word = size > static_cast<Word>(key.infinity) ? static_cast<Word>(~Word{0}) : static_cast<Word>(word == size ? sign + size : sign - size);
  return static_cast<Word>(word ^ static_cast<Word>(key.flip));
}

template <class Word>
void check_radix_sort(const Case<Word>& c) {
  const Device device("cpu");
  const CompileKernel compile = [&](std::string_view source, std::string_view name) {
    ModuleOptions options;
    if (name.find('<') != std::string_view::npos) options.kernels = {std::string(name)};
    return Module(device, std::string(source).c_str(), options).kernel(name);
  };
  const auto [dtype, rows, count, bits, mask, descending] = c;
  const SortKey key = sort_key(dtype, descending);
  std::mt19937_64 random(7);
  std::vector<Word> words;
  for (std::int64_t i = 0; i < rows * count; ++i) words.push_back(static_cast<Word>(random() & mask));
  std::vector<Word> expected_words;
  std::vector<std::int64_t> expected;
  for (std::int64_t row = 0; row < rows; ++row) {
    std::vector<std::int64_t> places(static_cast<std::size_t>(count));
    std::iota(places.begin(), places.end(), 0);
    const Word* const own = words.data() + row * count;
    std::stable_sort(places.begin(), places.end(), [&](std::int64_t a, std::int64_t b) { return key_of(own[a], key) < key_of(own[b], key); });
    for (std::int64_t place : places) {
      expected.push_back(place);
      expected_words.push_back(own[place]);
    }
  }
  const DType as = sizeof(Word) == 8 ? uint64 : sizeof(Word) == 4 ? uint32
                                            : sizeof(Word) == 2   ? uint16
                                                                  : uint8;
  const auto array = [&](DType of) { return Array::empty({rows * count}, of, device); };
  const Array x = Array::from(words, {rows * count}, device).view(dtype, {rows * count}, {1}, 0), sorted = array(dtype), order = array(int64);
  const auto words_of = [&](const Array& of) { return of.view(as, {rows * count}, {1}, 0).template to_vector<Word>(); };
  const std::string what = std::string(name(dtype)) + ", " + std::to_string(rows) + " rows of " + std::to_string(count) + ", " + std::to_string(bits) + " bits";
  RadixSort(compile, dtype, false)(x, key, rows, count, bits, sorted, {});
  EXPECT_TRUE(words_of(sorted) == expected_words) << what << ", elements alone";
  const RadixSort with_order(compile, dtype, true);
  const Array both = array(dtype);
  with_order(x, key, rows, count, bits, both, order);
  EXPECT_TRUE(words_of(both) == expected_words) << what;
  EXPECT_TRUE(order.to_vector<std::int64_t>() == expected) << what;
  const Array alone = array(int64);
  with_order(x, key, rows, count, bits, {}, alone);
  EXPECT_TRUE(alone.to_vector<std::int64_t>() == expected) << what << ", the order alone";
}

TEST(RadixSortOnCpu, OrdersRowsOfWords) {
  check_radix_sort<std::uint64_t>({uint64, 1, 1, 1, 1});
  check_radix_sort<std::uint64_t>({uint64, 1, 4097, 3, 7});
  check_radix_sort<std::uint64_t>({uint64, 3, 9000, 17, 0x1ffff});
  check_radix_sort<std::uint64_t>({uint64, 1, 20000});
  check_radix_sort<std::uint32_t>({uint32, 2, 8192});
  check_radix_sort<std::uint32_t>({uint32, 1, 12345, 32, 0xff0000ff});
  check_radix_sort<std::uint32_t>({uint32, 2, 8193});
}

TEST(RadixSortOnCpu, OrdersElementsOfEveryWidth) {
  for (const bool descending : {false, true}) {
    check_radix_sort<std::uint8_t>({bool_, 1, 9000, 8, 1, descending});
    check_radix_sort<std::uint8_t>({uint8, 1, 9000, 8, 255, descending});
    check_radix_sort<std::uint8_t>({int8, 2, 9000, 8, 255, descending});
    check_radix_sort<std::uint16_t>({float16, 2, 9000, 16, 0xffff, descending});
    check_radix_sort<std::uint16_t>({bfloat16, 1, 9000, 16, 0xff80, descending});
    check_radix_sort<std::uint32_t>({float32, 1, 9000, 32, ~std::uint64_t{0}, descending});
    check_radix_sort<std::uint32_t>({float32, 1, 9000, 32, 0xffc00000, descending});
    check_radix_sort<std::uint64_t>({float64, 1, 9000, 64, ~std::uint64_t{0}, descending});
    check_radix_sort<std::uint64_t>({float64, 1, 9000, 64, std::uint64_t{0xfff} << 52, descending});
  }
}

TEST(RadixSortOnCpu, AddsUpTheCountsOfManyTiles) { check_radix_sort<std::uint32_t>({uint32, 2, 8192 * 70 + 5, 8, 0xff}); }

}  // namespace
}  // namespace damo
