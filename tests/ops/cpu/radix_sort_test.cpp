// RadixSort, whose kernels GPUs run, on the CPU against std::stable_sort: tiles that are full and that are not, one row and several, digits that all elements share.
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

namespace damo {
namespace {

template <class Word>
void check_radix_sort(DType dtype, std::int64_t rows, std::int64_t count, int bits, std::uint64_t mask) {
  const Device device("cpu");
  const RadixSort sort([&](std::string_view source, std::string_view name) {
    ModuleOptions options;
    if (name.find('<') != std::string_view::npos) options.kernels = {std::string(name)};
    return Module(device, std::string(source).c_str(), options).kernel(name);
  }, dtype);
  std::mt19937_64 random(7);
  std::vector<Word> words;
  for (std::int64_t i = 0; i < rows * count; ++i) words.push_back(static_cast<Word>(random() & mask));
  std::vector<Word> expected_words;
  std::vector<std::int64_t> expected;
  for (std::int64_t row = 0; row < rows; ++row) {
    std::vector<std::int64_t> places(static_cast<std::size_t>(count));
    std::iota(places.begin(), places.end(), 0);
    const Word* const own = words.data() + row * count;
    std::stable_sort(places.begin(), places.end(), [own](std::int64_t a, std::int64_t b) { return own[a] < own[b]; });
    for (std::int64_t place : places) {
      expected.push_back(place);
      expected_words.push_back(own[place]);
    }
  }
  const Array keys = Array::from(words, {rows * count}, device), sorted = Array::empty({rows * count}, dtype, device), order = Array::empty({rows * count}, int64, device);
  sort(keys, rows, count, bits, sorted, order);
  const std::string what = std::to_string(rows) + " rows of " + std::to_string(count) + ", " + std::to_string(bits) + " bits";
  EXPECT_EQ(sorted.to_vector<Word>(), expected_words) << what;
  EXPECT_EQ(order.to_vector<std::int64_t>(), expected) << what;
  const Array alone = Array::empty({rows * count}, int64, device);
  sort(keys, rows, count, bits, {}, alone);
  EXPECT_EQ(alone.to_vector<std::int64_t>(), expected) << what << ", the order alone";
}

TEST(RadixSortOnCpu, OrdersRowsOfWords) {
  check_radix_sort<std::uint64_t>(uint64, 1, 1, 1, 1);
  check_radix_sort<std::uint64_t>(uint64, 1, 4097, 3, 7);
  check_radix_sort<std::uint64_t>(uint64, 3, 9000, 17, 0x1ffff);
  check_radix_sort<std::uint64_t>(uint64, 1, 20000, 64, ~std::uint64_t{0});
  check_radix_sort<std::uint32_t>(uint32, 2, 4096, 32, 0xffffffff);
  check_radix_sort<std::uint32_t>(uint32, 1, 12345, 32, 0xff0000ff);
}

TEST(RadixSortOnCpu, AddsUpTheCountsOfManyTiles) { check_radix_sort<std::uint32_t>(uint32, 1, 4096 * 70 + 5, 8, 0xff); }

}  // namespace
}  // namespace damo
