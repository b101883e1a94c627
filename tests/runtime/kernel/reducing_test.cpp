// Kernels that reduce, made from specs by hand and held against double precision on the host: joins, several of them,
// several passes, values of rows, places, strides of any kind, few long rows and many short ones.
#include <cmath>
#include <map>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/kernel/reducing_specs.hpp"
#include "runtime/kernel/spec_kernel.hpp"
#include "support/devices.hpp"
#include "support/sampling.hpp"

namespace damo {
namespace {

using Values = std::vector<double>;

class Reducing : public testing::OnEachDevice {
 protected:
  /// Between -2 and 2; of a number of levels only, so that some are equal.
  Array noise(const Given& given, unsigned seed = 1, int levels = 0) const {
    Shape shape = given.shape;
    if (given.turned) std::reverse(shape.begin(), shape.end());
    std::mt19937 random(seed);
    std::uniform_real_distribution<float> uniform(-2, 2);
    std::vector<float> values(static_cast<std::size_t>(shape.size()));
    for (float& value : values) {
      value = uniform(random);
      if (levels > 0) value = std::trunc(value * static_cast<float>(levels));
    }
    const Array array = Array::from(values, shape, device());
    return given.turned ? array.transpose() : array;
  }
  void run(KernelSpec spec, const Given& given, const std::vector<Array>& arrays) const {
    SpecKernel kernel(std::move(spec), device().backend());
    BoundKernel bound(kernel);
    std::vector<ArrayLayout> layouts;
    for (const Array& array : arrays) layouts.push_back({&array.shape(), &array.strides()});
    bound.bind(given.shape, layouts, false, given.mask);
    for (std::size_t i = 0; i < arrays.size(); ++i) bound.set_pointer(static_cast<int>(i), arrays[i].data());
    bound.launch(nullptr);
  }
  /// Calls act(row, elements in C order) for each row; an element is its number in the space.
  template <class Act>
  static void each_row(const Given& given, Act act) {
    std::map<std::int64_t, std::vector<std::int64_t>> rows;
    const Strides strides = contiguous_strides(row_shape(given));
    for (std::int64_t i = 0; i < given.shape.size(); ++i) {
      std::int64_t rest = i, row = 0;
      for (int axis = given.shape.rank() - 1; axis >= 0; --axis) {
        if (!(given.mask >> axis & 1u)) row += rest % given.shape[axis] * strides[axis];
        rest /= given.shape[axis];
      }
      rows[row].push_back(i);
    }
    for (const auto& [row, elements] : rows) act(static_cast<std::size_t>(row), elements);
  }
  Array empty(const Shape& shape, DType dtype = float32) const { return Array::empty(shape, dtype, device()); }
  /// Of one spec, against float64: moments(), softmax(), and center() with a weight of that shape.
  void expect_sums(const Given& given) const;
  void expect_softmax(const Given& given) const;
  void expect_centered(const Given& given, const Shape& along) const;
  /// Spaces for the spec with this number among those of these tests.
  static std::vector<Given> spaces(std::size_t spec);
};

std::vector<Given> Reducing::spaces(std::size_t spec) {
  std::vector<Given> all;
  for (const Shape& shape : {Shape{1, 1}, Shape{3, 1}, Shape{1, 3}, Shape{7, 31}, Shape{5, 100}, Shape{300, 33}, Shape{33, 300}, Shape{2, 40000}, Shape{40000, 2},
                             Shape{70, 1024}, Shape{9, 4096}, Shape{4096, 9}, Shape{3, 70001}}) {
    for (std::uint32_t mask : {1u, 2u, 3u}) {
      for (bool turned : {false, true}) all.push_back({shape, mask, turned});
    }
  }
  for (std::uint32_t mask = 0; mask < 8; ++mask) {
    for (bool turned : {false, true}) all.push_back({{13, 7, 70}, mask, turned}), all.push_back({{3, 200, 6}, mask, turned});
  }
  std::vector<Given> taken;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (testing::takes_pair(spec, i)) taken.push_back(all[i]);
  }
  return taken;
}

void Reducing::expect_sums(const Given& given) const {
  const Array x = noise(given), doubled = empty(row_shape(given)), square = empty(row_shape(given));
  run(moments(), given, {x, doubled, square});
  const Values values = x.to_doubles(), sums = doubled.to_doubles(), squares = square.to_doubles();
  each_row(given, [&](std::size_t row, const auto& elements) {
    double sum = 0, size = 0, second = 0;
    for (std::int64_t i : elements) {
      const double value = values[static_cast<std::size_t>(i)];
      sum += 2 * value, size += std::abs(2 * value), second += value * value;
    }
    ASSERT_NEAR(sums[row], sum, 2e-6 * size) << ::testing::PrintToString(given) << " row " << row;
    ASSERT_NEAR(squares[row], second / static_cast<double>(elements.size()), 1e-5) << ::testing::PrintToString(given) << " row " << row;
  });
}

void Reducing::expect_softmax(const Given& given) const {
  const Array x = noise(given), y = empty(given.shape);
  run(softmax(), given, {x, y});
  const Values values = x.to_doubles(), found = y.to_doubles();
  each_row(given, [&](std::size_t row, const auto& elements) {
    double sum = 0;
    for (std::int64_t i : elements) sum += std::exp(values[static_cast<std::size_t>(i)]);
    for (std::int64_t i : elements) {
      const double expected = std::exp(values[static_cast<std::size_t>(i)]) / sum;
      ASSERT_NEAR(found[static_cast<std::size_t>(i)], expected, 4e-6 * expected) << ::testing::PrintToString(given) << " row " << row << " element " << i;
    }
  });
}

void Reducing::expect_centered(const Given& given, const Shape& along) const {
  const Array x = noise(given), bias = noise({row_shape(given), 0, given.turned}, 3), y = empty(given.shape), mean = empty(row_shape(given));
  const Array weight = noise({along, 0}, 4);
  run(center(), given, {x, weight, bias, y, mean});
  const Values values = x.to_doubles(), weights = weight.broadcast_to(given.shape).to_doubles(), biases = bias.to_doubles(), found = y.to_doubles(), means = mean.to_doubles();
  each_row(given, [&](std::size_t row, const auto& elements) {
    double sum = 0;
    for (std::int64_t i : elements) sum += values[static_cast<std::size_t>(i)];
    const double center = sum / static_cast<double>(elements.size()) + biases[row];
    ASSERT_NEAR(means[row], center, 1e-5) << ::testing::PrintToString(given);
    for (std::int64_t i : elements) {
      const auto at = static_cast<std::size_t>(i);
      ASSERT_NEAR(found[at], (values[at] - center) * weights[at], 2e-5) << ::testing::PrintToString(given) << " element " << i;
    }
  });
}

TEST_P(Reducing, JoinsSeveralValuesInOnePass) {
  for (const Given& given : spaces(0)) expect_sums(given);
}

TEST_P(Reducing, GoesThroughRowsInSeveralPasses) {
  for (const Given& given : spaces(1)) expect_softmax(given);
}

TEST_P(Reducing, TakesAndGivesValuesOfRows) {
  for (const Given& given : spaces(2)) expect_centered(given, column_shape(given));
}

/// Rows over axes 1 and 3 of four, as groups of neighbouring channels: in a few tiles, in one, in chunks, and of pieces that no tile has a whole number of.
TEST_P(Reducing, JoinsRowsOfShortPiecesBesideEachOther) {
  for (const Shape& shape : {Shape{3, 50, 8, 4}, Shape{2, 40, 100, 3}, Shape{70, 9, 11, 7}, Shape{1, 5000, 8, 4}, Shape{2, 12, 300, 31}, Shape{2, 70, 20, 2}, Shape{1, 1, 16, 4}}) {
    for (bool turned : {false, true}) {
      const Given given{shape, 10, turned};
      expect_sums(given);
      expect_softmax(given);
      for (const Shape& along : {Shape{shape[2], shape[3]}, Shape{shape[2], 1}, Shape{shape[1], 1, 1}, Shape{1, shape[3]}, Shape{shape[1], shape[2], shape[3]}}) expect_centered(given, along);
    }
  }
}

TEST_P(Reducing, TakesWhatRepeatsAlongTheInnermostAxis) {
  for (const auto& [given, along] : {std::pair<Given, Shape>{{{3, 8, 70}, 6}, {8, 1}}, {{{3, 8, 700}, 6}, {8, 1}}, {{{3, 8, 700}, 6}, {3, 8, 1}}, {{{40, 8, 5}, 6}, {8, 1}}, {{{40, 300}, 1}, {40, 1}}, {{{300, 3}, 1}, {300, 1}},
                                     {{{2000, 30}, 1}, {2000, 1}}, {{{6, 40, 300}, 1}, {6, 1, 1}}, {{{6, 40, 300}, 1}, {6, 40, 1}}}) {
    const Array x = noise(given), weight = noise({along, 0}, 4), bias = noise({row_shape(given), 0}, 3), y = empty(given.shape), mean = empty(row_shape(given));
    run(center(), given, {x, weight, bias, y, mean});
    const Values values = x.to_doubles(), weights = weight.broadcast_to(given.shape).to_doubles(), biases = bias.to_doubles(), found = y.to_doubles();
    each_row(given, [&](std::size_t row, const auto& elements) {
      double sum = 0;
      for (std::int64_t i : elements) sum += values[static_cast<std::size_t>(i)];
      const double center = sum / static_cast<double>(elements.size()) + biases[row];
      for (std::int64_t i : elements) {
        const auto at = static_cast<std::size_t>(i);
        ASSERT_NEAR(found[at], (values[at] - center) * weights[at], 2e-5) << ::testing::PrintToString(given) << " element " << i;
      }
    });
  }
}

TEST_P(Reducing, KnowsThePlaceOfAnElementInItsRow) {
  for (const Given& given : spaces(3)) {
    const Array x = noise(given, 1, 3), at = empty(row_shape(given), int64);
    run(argmax(), given, {x, at});
    const Values values = x.to_doubles(), found = at.to_doubles();
    each_row(given, [&](std::size_t row, const auto& elements) {
      std::size_t best = 0;
      for (std::size_t k = 1; k < elements.size(); ++k) {
        if (values[static_cast<std::size_t>(elements[k])] > values[static_cast<std::size_t>(elements[best])]) best = k;
      }
      ASSERT_EQ(found[row], static_cast<double>(best)) << ::testing::PrintToString(given) << " row " << row;
    });
  }
}

TEST_P(Reducing, MakesSeveralValuesOfOneAccumulator) {
  for (const Given& given : spaces(5)) {
    const Array x = noise(given), mean = empty(row_shape(given)), variance = empty(row_shape(given)), y = empty(given.shape);
    run(spread(), given, {x, mean, variance});
    run(normed(), given, {x, y});
    const Values values = x.to_doubles(), means = mean.to_doubles(), variances = variance.to_doubles(), found = y.to_doubles();
    each_row(given, [&](std::size_t row, const auto& elements) {
      double middle = 0, square = 0;
      for (std::int64_t i : elements) middle += values[static_cast<std::size_t>(i)] / static_cast<double>(elements.size());
      for (std::int64_t i : elements) square += std::pow(values[static_cast<std::size_t>(i)] - middle, 2) / static_cast<double>(elements.size());
      ASSERT_NEAR(means[row], middle, 2e-6) << ::testing::PrintToString(given) << " row " << row;
      ASSERT_NEAR(variances[row], square, 4e-6) << ::testing::PrintToString(given) << " row " << row;
      for (std::int64_t i : elements) {
        const auto at = static_cast<std::size_t>(i);
        ASSERT_NEAR(found[at], (values[at] - middle) / std::sqrt(square + 0.01), 1e-4) << ::testing::PrintToString(given) << " element " << i;
      }
    });
  }
}

TEST_P(Reducing, NumbersElementsWithoutAJoin) {
  for (const Given& given : spaces(4)) {
    const Array x = noise(given), factor = noise({row_shape(given), 0, given.turned}, 3), y = empty(given.shape);
    run(places(), given, {x, factor, y});
    const Values factors = factor.to_doubles(), found = y.to_doubles();
    each_row(given, [&](std::size_t row, const auto& elements) {
      for (std::size_t k = 0; k < elements.size(); ++k) {
        const double expected = static_cast<double>(k) * factors[row];
        ASSERT_NEAR(found[static_cast<std::size_t>(elements[k])], expected, 1e-6 * std::abs(expected)) << ::testing::PrintToString(given) << " row " << row;
      }
    });
  }
}

TEST_P(Reducing, GivesTheNeutralValueOfAnEmptyRow) {
  const Given none{{3, 0}, 2};
  const Array x = empty({3, 0}), doubled = empty({3, 1}), square = empty({3, 1});
  run(moments(), none, {x, doubled, square});
  EXPECT_EQ(doubled.to_doubles(), (Values{0, 0, 0}));
  for (double value : square.to_doubles()) EXPECT_TRUE(std::isnan(value));
  const Array nothing = empty({0, 1});
  run(moments(), {{0, 3}, 2}, {empty({0, 3}), nothing, nothing});
}

TEST_P(Reducing, GivesTheSameBitsAtEachCall) {
  const Given given{{3, 70001}, 2};
  const Array x = noise(given), first = empty({3, 1}), second = empty({3, 1}), rest = empty({3, 1});
  run(moments(), given, {x, first, rest});
  for (int i = 0; i < 5; ++i) {
    run(moments(), given, {x, second, rest});
    EXPECT_EQ(first.to_doubles(), second.to_doubles());
  }
}

DAMO_ON_EACH_DEVICE(Reducing);

}  // namespace
}  // namespace damo
