// Sums of one element of each row, by the row's own value of which it is: what they are, and what they are where they are joined as other sums (runtime/kernel/sought_elements.hpp).
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <damo/damo.hpp>
#include "support/devices.hpp"
#include "support/scratch_directory.hpp"

namespace damo {
namespace {

using Values = std::vector<double>;

class SoughtElements : public testing::OnEachDevice {
 protected:
  Array elements(const Shape& shape, DType dtype) const {
    std::vector<double> values(static_cast<std::size_t>(shape.size()));
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>((static_cast<std::int64_t>(i) * 2654435761 >> 7) % 8871) / 512 - 7;
    return astype(Array::from(values, shape, device()), dtype);
  }
  /// Of rows so long: labels in and beside them.
  Array labels(std::int64_t rows, std::int64_t length) const {
    std::vector<std::int64_t> values;
    for (std::int64_t row = 0; row < rows; ++row) {
      const std::int64_t beside[] = {-1, length, -length, std::int64_t{1} << 32, (std::int64_t{1} << 32) + length / 2, std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()};
      values.push_back(row % 3 == 2 ? beside[row / 3 % 7] : row % 5 == 0 ? length - 1 : row * 7919 % length);
    }
    return Array::from(values, {rows}, device());
  }
  static std::vector<Array> called(const Function& f, std::vector<Array> given) {
    const Results results = f.call_with(given);
    return {results.begin(), results.end()};
  }
  /// The results, and those without the form, which must have the same bits.
  std::vector<Array> of(const std::vector<Variable>& inputs, const std::vector<Variable>& outputs, const std::vector<Array>& given) const {
    const std::vector<Array> found = called(function(inputs, outputs, {.device = device()}), given);
    const testing::Environment environment("DAMO_DISABLE", "seek_elements");
    const std::vector<Array> plain = called(function(inputs, outputs, {.device = device()}), given);
    for (std::size_t i = 0; i < found.size(); ++i) {
      const Values a = found[i].to_doubles(), b = plain[i].to_doubles();
      for (std::size_t k = 0; k < a.size(); ++k) EXPECT_TRUE((std::isnan(a[k]) && std::isnan(b[k])) || (a[k] == b[k] && std::signbit(a[k]) == std::signbit(b[k]))) << "result " << i << " element " << k << ": " << a[k] << ", plain " << b[k];
    }
    return found;
  }
};

TEST_P(SoughtElements, OfRowsAndColumnsAreThoseOfFloat64) {
  for (DType dtype : {float32, float64, bfloat16, float16}) {
    for (const auto& [shape, axis] : {std::pair<Shape, int>{{20, 1}, 1}, {{50, 3}, 1}, {{40, 33}, 1}, {{40, 128}, 1}, {{23, 1000}, 1}, {{23, 5003}, 1}, {{300, 5120}, 1}, {{5, 70001}, 1}, {{33, 40}, 0}, {{1001, 64}, 0}}) {
      const std::int64_t length = shape[axis], rows = shape[1 - axis];
      const Array x = elements(shape, dtype), which = labels(rows, length);
      const Variable given = input({dtype, shape}, "x"), label = input({int64, {rows}}, "label");
      const Variable apart = given - max(given, axis, keepdims), one = sum(where(eq(index_along(given, axis), expand_dims(label, axis)), apart, 0.0), axis);
      const std::vector<Array> found = of({given, label}, {one, sum(exp(apart), axis), apart * 2.0}, {x, which});
      const Values values = x.to_doubles(), ones = found[0].to_doubles(), places = which.to_doubles();
      for (std::int64_t row = 0; row < rows; ++row) {
        const auto place = [&](std::int64_t k) { return static_cast<std::size_t>(axis == 1 ? row * length + k : k * rows + row); };
        double greatest = -std::numeric_limits<double>::infinity();
        for (std::int64_t k = 0; k < length; ++k) greatest = std::max(greatest, values[place(k)]);
        const double at = places[static_cast<std::size_t>(row)], wanted = at >= 0 && at < static_cast<double>(length) ? values[place(static_cast<std::int64_t>(at))] - greatest : 0;
        ASSERT_NEAR(ones[static_cast<std::size_t>(row)], wanted, dtype == bfloat16 ? 0.07 : dtype == float16 ? 0.01 : 1e-6) << name(dtype) << " " << to_string(shape) << " row " << row;
      }
    }
  }
}

TEST_P(SoughtElements, OfSeveralAxesSeveralLabelsAndTurnedArrays) {
  for (const auto& [dims, kept] : {std::pair<Shape, int>{{6, 8, 16}, 0}, {{6, 7, 33}, 0}, {{16, 7, 33}, 1}, {{6, 40, 300}, 0}}) {
    const Shape shape = dims;
    const Axes axes = kept == 0 ? Axes{1, 2} : Axes{0, 2};
    const std::int64_t rows = shape[kept], length = shape.size() / rows;
    const Shape of_row = kept == 0 ? Shape{rows, 1, 1} : Shape{1, rows, 1};
    const Array x = elements(shape, float32), first = labels(rows, length), second = labels(rows, length / 2 + 1), y = elements(Shape{shape[2], shape[1], shape[0]}, float32);
    const Variable given = input({float32, shape}, "x"), a = input({int64, {rows}}, "a"), b = input({int64, {rows}}, "b"), other = input({float32, y.shape()}, "y");
    const Variable turned = transpose(other), total = given * turned, apart = total - max(total, axes, keepdims);
    const auto at = [&](const Variable& label) { return eq(index_along(given, axes), reshape(label, of_row)); };
    of({given, a, b, other}, {sum(where(at(a), apart, 0.0), axes), sum(where(at(b), exp(apart), 0.0), axes), mean(apart, axes)}, {x, first, second, y});
    of({given, b}, {sum(where(at(b), given, 0.0), axes), sum(exp(given - max(given, axes, keepdims)), axes)}, {x, second});
  }
}

/// Rows and columns of one pass, which blocks share in chunks where there are few of them.
TEST_P(SoughtElements, BesideJoinsOfOnePass) {
  for (const auto& [shape, axis] : {std::pair<Shape, int>{{3, 70001}, 1}, {{2, 65536}, 1}, {{30000, 7}, 0}, {{30000, 16}, 0}, {{700, 30}, 1}, {{9000, 3}, 1}}) {
    for (DType dtype : {float32, bfloat16}) {
      const std::int64_t length = shape[axis], rows = shape[1 - axis];
      const Variable given = input({dtype, shape}, "x"), label = input({int64, {rows}}, "label");
      of({given, label}, {sum(where(eq(index_along(given, axis), expand_dims(label, axis)), given, 0.0), axis), sum(given * given, axis), max(given, axis)}, {elements(shape, dtype), labels(rows, length)});
    }
  }
}

TEST_P(SoughtElements, BesideInfinitiesAndNan) {
  constexpr std::int64_t kRows = 24, kLength = 1003;
  Values values(kRows * kLength, 0.25);
  for (std::int64_t row = 0; row < kRows; ++row) {
    values[static_cast<std::size_t>(row * kLength + row * 31)] = row % 4 == 0 ? std::numeric_limits<double>::infinity() : row % 4 == 1 ? -std::numeric_limits<double>::infinity() : row % 4 == 2 ? std::nan("") : -0.0;
    for (std::int64_t k = 0; row % 7 == 6 && k < kLength; ++k) values[static_cast<std::size_t>(row * kLength + k)] = -std::numeric_limits<double>::infinity();
  }
  std::vector<std::int64_t> places;
  for (std::int64_t row = 0; row < kRows; ++row) places.push_back(row % 2 == 0 ? row * 31 : row * 31 + 1);
  const Variable given = input({float32, {kRows, kLength}}, "x"), label = input({int64, {kRows}}, "label"), at = eq(index_along(given, 1), expand_dims(label, 1));
  const Variable greatest = max(given, 1, keepdims), apart = given - where(isfinite(greatest), greatest, 0.0);
  of({given, label}, {sum(where(at, given, 0.0), 1), sum(where(at, apart, 0.0), 1), sum(where(at, 0.0 * apart, 0.0), 1), sum(exp(apart), 1)}, {astype(Array::from(values, {kRows, kLength}, device()), float32), Array::from(places, {kRows}, device())});
}

/// What is stored may lie where the row was: it has been read by then.
TEST_P(SoughtElements, AreReadBeforeTheRowIsWrittenOver) {
  for (std::int64_t length : {5, 700, 8192, 50257}) {
    const std::int64_t rows = 300000 / length;
    const Variable given = input({float32, {rows, length}}, "x"), label = input({int64, {rows}}, "label");
    const Variable apart = given - max(given, 1, keepdims), scale = sum(exp(apart), 1, keepdims);
    const Variable one = sum(where(eq(index_along(given, 1), expand_dims(label, 1)), apart, 0.0), 1);
    const Array x = elements({rows, length}, float32), which = labels(rows, length);
    const std::vector<Array> wanted = of({given, label}, {one, exp(apart) / scale}, {x, which});
    const Function donating = function({given, label}, {one, exp(apart) / scale}, {.device = device(), .donate = {given}});
    const std::vector<Array> found = called(donating, {elements({rows, length}, float32), which});
    for (std::size_t i = 0; i < 2; ++i) EXPECT_EQ(found[i].to_doubles(), wanted[i].to_doubles()) << length;
  }
}

/// The labels' classes of smoothed losses are no literal 0, and the product of a number and 0 may be none: those are sums as others.
TEST_P(SoughtElements, OfWhatIsNotZeroElsewhereAreSums) {
  const Variable given = input({float32, {9, 500}}, "x"), label = input({int64, {9}}, "label"), at = eq(index_along(given, 1), expand_dims(label, 1));
  const Variable logs = given - logsumexp(given, 1, keepdims);
  const Array x = elements({9, 500}, float32), which = labels(9, 500);
  const Values smooth = of({given, label}, {sum(where(at, 0.9, 0.001) * logs, 1), sum(astype(at, float32) * logs, 1)}, {x, which})[0].to_doubles(), values = x.to_doubles(), places = which.to_doubles();
  for (std::size_t row = 0; row < 9; ++row) {
    double sum = 0, wanted = 0;
    for (std::size_t k = 0; k < 500; ++k) sum += std::exp(values[row * 500 + k]);
    for (std::size_t k = 0; k < 500; ++k) wanted += (static_cast<double>(k) == places[row] ? 0.9 : 0.001) * (values[row * 500 + k] - std::log(sum));
    EXPECT_NEAR(smooth[row], wanted, 1e-4 * std::abs(wanted)) << row;
  }
}

DAMO_ON_EACH_DEVICE(SoughtElements);

}  // namespace
}  // namespace damo
