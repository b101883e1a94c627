// SliceSums, whose kernel GPUs run, on the CPU against sums on the host in float64: columns in accesses of 16 bytes and one by one, tiles that are full and that are not, axes before, positions that repeat and
// that nobody has, none at all.
#include "ops/indexing/slice_sums.hpp"

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

struct Sizes {
  std::int64_t outer, count, extent, inner;
};

template <class T>
void check_slice_sums(DType dtype, const Sizes& sizes, bool aligned, std::int64_t most_position) {
  const Device device("cpu");
  const SliceSums sums([&](std::string_view source, std::string_view name) {
    ModuleOptions options;
    options.kernels = {std::string(name)};
    return Module(device, std::string(source).c_str(), options).kernel(name);
  },
                       dtype);
  const auto [outer, count, extent, inner] = sizes;
  std::mt19937_64 random(11);
  std::vector<std::int64_t> positions(static_cast<std::size_t>(count)), order(positions.size());
  for (auto& position : positions) position = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(most_position + 1));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) { return positions[static_cast<std::size_t>(a)] < positions[static_cast<std::size_t>(b)]; });
  std::vector<std::int64_t> keys;
  for (std::int64_t i : order) keys.push_back(positions[static_cast<std::size_t>(i)]);
  const std::int64_t shift = aligned ? 0 : 1;
  std::vector<T> y(static_cast<std::size_t>(outer * count * inner + shift));
  for (T& value : y) value = static_cast<T>(static_cast<double>(random() % 2001) / 1000 - 1);
  std::vector<double> expected(static_cast<std::size_t>(outer * extent * inner));
  for (std::int64_t o = 0; o < outer; ++o) {
    for (std::int64_t i = 0; i < count; ++i) {
      for (std::int64_t k = 0; k < inner; ++k) {
        expected[static_cast<std::size_t>((o * extent + positions[static_cast<std::size_t>(i)]) * inner + k)] += static_cast<double>(y[static_cast<std::size_t>(shift + (o * count + i) * inner + k)]);
      }
    }
  }
  const Array all = Array::from(y, device), from = all.view(dtype, {outer, count, inner}, {count * inner, inner, 1}, shift);
  const Array z = Array::full({outer, extent, inner}, 7, dtype, device);
  const auto ints = [&](const std::vector<std::int64_t>& values) { return Array::from(values, device); };
  sums(from, ints(keys), ints(order), z, 1, 1);
  const std::vector<T> got = z.to_vector<T>();
  ASSERT_EQ(got.size(), expected.size());
  const double tolerance = static_cast<double>(count) * (dtype == float64 ? 1e-15 : 1e-6);
  for (std::size_t i = 0; i < got.size(); ++i) {
    ASSERT_NEAR(static_cast<double>(got[i]), expected[i], tolerance) << outer << " x " << count << " of " << extent << " x " << inner << (aligned ? "" : ", not aligned") << ", element " << i;
  }
}

TEST(SliceSums, AreThoseOfEachPositionInOrder) {
  const Sizes all[] = {{1, 100, 37, 8}, {1, 100, 300, 1}, {3, 50, 20, 6}, {2, 9, 5, 4}, {1, 1000, 3, 12}, {1, 0, 11, 4}, {1, 40, 2000, 16}, {1, 17, 4, 4100}, {4, 1, 1, 1}, {5, 30, 1, 7}, {2, 600, 700, 2}};
  for (const Sizes& sizes : all) {
    for (bool aligned : {true, false}) {
      check_slice_sums<float>(float32, sizes, aligned, sizes.extent - 1);
      check_slice_sums<double>(float64, sizes, aligned, sizes.extent - 1);
    }
  }
  check_slice_sums<float>(float32, {1, 500, 64, 8}, true, 0);  // all at one position
  check_slice_sums<float>(float32, {2, 500, 64, 8}, true, 1);
}

}  // namespace
}  // namespace damo
