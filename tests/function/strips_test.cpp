// Kernels that stream their outputs and those that turn tiles give what a plain loop over the elements gives.
#include <gtest/gtest.h>
#include <damo/damo.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#if DAMO_HAS_CPU
#include "runtime/cpu/host_cache.hpp"

namespace damo {
namespace {

/// Bytes that no cache of this host holds; 0 where an array of as many would be too much for a test.
std::size_t bytes_past_caches() {
  const std::size_t bytes = std::max(std::size_t{40} << 20, cpu_backend::last_level_cache());
  return bytes <= std::size_t{128} << 20 ? bytes : 0;
}
#define SKIP_WHERE_CACHES_HOLD_ALL() \
  if (bytes_past_caches() == 0) GTEST_SKIP() << "the last cache has " << (cpu_backend::last_level_cache() >> 20) << " MiB: an array that it does not hold is too large for a test"

Options on_cpu() {
  Options options;
  options.device = cpu();
  return options;
}

std::vector<double> counting(std::int64_t count, int modulus) {
  std::vector<double> values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<double>((i * 7919) % static_cast<std::size_t>(modulus));
  return values;
}

template <class T>
std::vector<T> as(const std::vector<double>& values) {
  std::vector<T> converted;
  for (double value : values) converted.push_back(T(static_cast<float>(value)));
  return converted;
}

/// transpose(x) + y for every element type's size and shapes around the edges of squares and tiles.
template <class T>
void transposes(std::int64_t rows, std::int64_t columns) {
  const std::vector<double> a = counting(rows * columns, 50), b = counting(rows * columns, 31);
  const Variable x = matrix("x", dtype_of<T>()), y = matrix("y", dtype_of<T>());
  const Function f = function({x, y}, {transpose(x) + y}, on_cpu());
  const Array z = f(Array::from(as<T>(a), {rows, columns}, cpu()), Array::from(as<T>(b), {columns, rows}, cpu()));
  const std::vector<double> values = z.to_doubles();
  for (std::int64_t i = 0; i < columns; ++i) {
    for (std::int64_t j = 0; j < rows; ++j) {
      const auto at = static_cast<std::size_t>(i * rows + j);
      ASSERT_EQ(values[at], a[static_cast<std::size_t>(j * columns + i)] + b[at])
          << rows << " by " << columns << ", element " << i << ", " << j;
    }
  }
}

template <class T>
class TilesOnCpu : public ::testing::Test {};
using ElementTypes = ::testing::Types<std::int8_t, Half, BFloat16, float, double, std::int64_t>;
TYPED_TEST_SUITE(TilesOnCpu, ElementTypes);

TYPED_TEST(TilesOnCpu, TurnsInputsOfEveryItemSizeAndAnyExtents) {
  for (auto [rows, columns] : {std::pair(16, 16), {17, 33}, {64, 64}, {65, 63}, {130, 80}, {1, 90}, {200, 16}}) {
    transposes<TypeParam>(rows, columns);
  }
}

TEST(StripsOnCpu, StreamOutputsThatNoCacheHolds) {
  SKIP_WHERE_CACHES_HOLD_ALL();
  const auto count = static_cast<std::int64_t>(bytes_past_caches() / sizeof(float)) + 37;  // and a tail
  const Variable x = vector("x");
  const Function f = function({x}, {x + 1.0, lt(x, 0.5)}, on_cpu());
  std::vector<float> values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 1000) * 0.001f;
  const auto [sum, less] = f.call<2>(Array::from(values, cpu()));
  const auto* sums = static_cast<const float*>(sum.data());
  const auto* bits = static_cast<const unsigned char*>(less.data());
  for (std::size_t i = 0; i < values.size(); ++i) {
    ASSERT_EQ(sums[i], values[i] + 1.0f) << i;
    ASSERT_EQ(bits[i], values[i] < 0.5f) << i;
  }
}

/// The rows of a large array as those of small ones, which stay in the caches.
void rows_of_any_size_agree(const Function& f, const Array& x, const Array& weight) {
  constexpr std::int64_t kSlice = 97;
  const Results all = f(x, weight);
  for (std::int64_t from = 0; from < x.shape()[0]; from += 11 * kSlice) {
    const std::int64_t to = std::min(from + kSlice, x.shape()[0]);
    const Results some = f(x.slice({{from, to}}), weight);
    for (std::size_t i = 0; i < all.size(); ++i) {
      const Array expected = contiguous(some[i]), got = contiguous(all[i].slice({{from, to}}));
      ASSERT_EQ(std::memcmp(expected.data(), got.data(), expected.nbytes()), 0) << "result " << i << ", rows from " << from << " of " << to_string(x.shape());
    }
  }
}

TEST(StripsOnCpu, StreamRowsThatWereReduced) {
  SKIP_WHERE_CACHES_HOLD_ALL();
  const auto counted = [](std::int64_t count, DType dtype) { return astype(Array::from(counting(count, 1000), cpu()) * 0.001 - 0.4, dtype); };
  for (const DType dtype : {float32, float16}) {
    const Variable x = matrix("x", dtype), weight = vector("weight", dtype);
    const Variable centred = x - mean(x, 1, keepdims), norm = centred * rsqrt(mean(sqr(centred), 1, keepdims) + 1e-5) * weight;
    const Function f = function({x, weight}, {norm, x / max(x, 1, keepdims)}, on_cpu()), g = function({x, weight}, {softmax(x, 1) * weight}, on_cpu());
    for (const std::int64_t length : {640, 4099, 40000}) {
      const std::int64_t rows = (static_cast<std::int64_t>(bytes_past_caches() / itemsize(dtype)) + length - 1) / length;
      const Array given = counted(rows * length, dtype).reshape({rows, length}), by = counted(length, dtype);
      rows_of_any_size_agree(f, given, by);
      rows_of_any_size_agree(g, given, by);
    }
  }
}

/// Whole numbers, whose sums along columns are exact.
template <class T>
void columns_are_stored_and_summed(std::int64_t columns) {
  const std::int64_t rows = static_cast<std::int64_t>(bytes_past_caches() / sizeof(T)) / columns + 3;
  const std::vector<double> a = counting(rows * columns, 5), b = counting(rows * columns, 7);
  const Variable x = matrix("x", dtype_of<T>()), g = matrix("g", dtype_of<T>()), kept = where(x > 2, g - 3, 0), sign = gt(kept, 0);
  const Array by_x = Array::from(as<T>(a), {rows, columns}, cpu()), by_g = Array::from(as<T>(b), {rows, columns}, cpu());
  const auto [stored, sums] = function({x, g}, {kept, sum(kept, 0)}, on_cpu()).template call<2>(by_x, by_g);
  const auto [signs, again, sums_again] = function({x, g}, {sign, kept, sum(kept, 0)}, on_cpu()).template call<3>(by_x, by_g);  // lines of the one begin elsewhere than those of the other
  std::vector<double> totals(static_cast<std::size_t>(columns));
  std::vector<T> elements(a.size());
  std::vector<unsigned char> bits(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double value = a[i] > 2 ? b[i] - 3 : 0;
    elements[i] = T(static_cast<float>(value));
    bits[i] = value > 0;
    totals[i % totals.size()] += value;
  }
  for (double& value : totals) value = static_cast<double>(static_cast<float>(T(static_cast<float>(value))));
  EXPECT_EQ(std::memcmp(stored.data(), elements.data(), stored.nbytes()), 0) << "rows of " << columns;
  EXPECT_EQ(std::memcmp(again.data(), elements.data(), again.nbytes()), 0) << "rows of " << columns;
  EXPECT_EQ(std::memcmp(signs.data(), bits.data(), signs.nbytes()), 0) << "rows of " << columns;
  EXPECT_EQ(sums.to_doubles(), totals) << "of " << columns << " columns";
  EXPECT_EQ(sums_again.to_doubles(), totals) << "of " << columns << " columns";
}

TEST(StripsOnCpu, StreamColumnsThatAreSummed) {
  SKIP_WHERE_CACHES_HOLD_ALL();
  columns_are_stored_and_summed<float>(4099);
  columns_are_stored_and_summed<BFloat16>(300);
}

/// Rows that share weights go through the last pass some together; one row alone has nobody to share with.
void rows_together_are_as_rows_alone(const Function& f, const Array& x, const Array& residual, const Array& weight, const Array& bias) {
  const Results all = f(x, residual, weight, bias);
  const std::int64_t batches = x.shape()[0], rows = x.shape()[1];
  for (std::int64_t row = 0; row < rows; row += row < 20 || row + 20 > rows ? 1 : 7) {
    const std::int64_t batch = row % batches;
    const std::vector<Slice> place{{batch, batch + 1}, {row, row + 1}};
    const Results alone = f(x.slice(place), residual.slice(place), weight, bias);
    for (std::size_t i = 0; i < all.size(); ++i) {
      const Array expected = contiguous(alone[i]), got = contiguous(all[i].slice(place));
      ASSERT_EQ(std::memcmp(expected.data(), got.data(), expected.nbytes()), 0) << "result " << i << ", batch " << batch << ", row " << row << " of " << to_string(x.shape());
    }
  }
}

TEST(StripsOnCpu, RowsThatShareWeightsAreAsRowsAlone) {
  for (const DType dtype : {float32, bfloat16}) {
    const Variable x = tensor3("x", dtype), residual = tensor3("residual", dtype), weight = vector("weight", dtype), bias = vector("bias", dtype);
    const Variable average = mean(x, 2, keepdims), centred = x - average, norm = centred * rsqrt(mean(sqr(centred), 2, keepdims) + 1e-5) * weight + bias;
    const Function f = function({x, residual, weight, bias}, {norm + residual, average}, on_cpu());
    for (const std::int64_t length : {1, 511, 4096, 4099, 9001, 70000}) {
      for (const std::int64_t rows : {3, 67}) {
        // Rows of a wider array, so that two axes are kept and most rows begin within a line of the cache.
        const Array wide = astype(Array::from(counting(2 * rows * (length + 3), 1000), cpu()) * 0.001 - 0.4, dtype).reshape({2, rows, length + 3});
        const Array given = wide.slice({{}, {}, {3, length + 3}}), added = wide.slice({{}, {}, {1, length + 1}});
        const Array by = wide.slice({{0, 1}, {0, 1}, {0, length}}).reshape({length});
        rows_together_are_as_rows_alone(f, given, added, by, by);
      }
    }
  }
}

TEST(StripsOnCpu, RowsThatShareWeightsAndGoPastTheCachesAreAsRowsAlone) {
  SKIP_WHERE_CACHES_HOLD_ALL();
  const Variable x = tensor3("x"), residual = tensor3("residual"), weight = vector("weight"), bias = vector("bias");
  const Variable average = mean(x, 2, keepdims), centred = x - average, norm = centred * rsqrt(mean(sqr(centred), 2, keepdims) + 1e-5) * weight + bias;
  const Function f = function({x, residual, weight, bias}, {norm + residual, average}, on_cpu());
  for (const std::int64_t length : {4096, 8195}) {
    const std::int64_t rows = static_cast<std::int64_t>(bytes_past_caches() / sizeof(float)) / length / 2 + 5;
    const Array given = (Array::from(counting(2 * rows * length, 1000), cpu()) * 0.001 - 0.4).reshape({2, rows, length});
    const Array as_float = astype(given, float32), by = contiguous(as_float.slice({{0, 1}, {1, 2}})).reshape({length});
    rows_together_are_as_rows_alone(f, as_float, as_float, by, by);
  }
}

TEST(StripsOnCpu, StreamRowsWithARepeatedColumnAndOddStarts) {
  const std::int64_t rows = 3001, columns = 16 * 209;  // rows that are no multiple of a strip
  const Variable x = matrix("x"), y = input({float32, {kUnknown, 1}}, "y");
  const Function f = function({x, y}, {x + y}, on_cpu());
  const Array a = Array::full({rows, columns}, 2.0, float32, cpu());
  std::vector<float> column(static_cast<std::size_t>(rows));
  for (std::size_t i = 0; i < column.size(); ++i) column[i] = static_cast<float>(i);
  const Array z = f(a, Array::from(column, {rows, 1}, cpu()));
  const auto* values = static_cast<const float*>(z.data());
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < columns; ++j)
      ASSERT_EQ(values[i * columns + j], static_cast<float>(i) + 2.0f) << i << ", " << j;
  }
}

}  // namespace
}  // namespace damo
#endif
