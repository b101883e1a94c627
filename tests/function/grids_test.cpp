// Elementwise work on views of grids, whose rows begin and end anywhere: differences of neighbours, stencils, what is rolled around.
#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

#include <gmock/gmock.h>

#include <damo/damo.hpp>
#include "support/devices.hpp"

namespace damo {
namespace {

using Values = std::vector<double>;

class Grids : public testing::OnEachDevice {
 protected:
  /// Small whole numbers, of which every dtype has differences and sums.
  Array numbers(const Shape& shape, DType dtype) const {
    Values values(static_cast<std::size_t>(shape.size()));
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i * 2654435761u % 13u) - 6;
    return astype(Array::from(values, shape, device()), dtype);
  }
  static Variable inner(const Variable& x, std::int64_t row, std::int64_t column) { return subtensor(x, {ellipsis, {row, x.dims()[-2] - 2 + row}, {column, x.dims()[-1] - 2 + column}}); }
};

TEST_P(Grids, DifferencesOfNeighboursAreThoseOfLoops) {
  for (DType dtype : {float32, float64, float16, bfloat16, int8, int64}) {
    for (std::int64_t length : {2, 3, 130, 1003, 4099}) {
      for (std::int64_t rows : {1, 5, 33}) {
        const Variable x = input({dtype, {rows, length}}, "x");
        const Function f = function({x}, {subtensor(x, {ellipsis, {1, length}}) - subtensor(x, {ellipsis, {0, length - 1}})}, {.device = device()});
        const Array given = numbers({rows, length}, dtype);
        const Values from = given.to_doubles(), found = Array(f(given)).to_doubles();
        for (std::int64_t row = 0; row < rows; ++row) {
          for (std::int64_t k = 0; k + 1 < length; ++k) ASSERT_EQ(found[static_cast<std::size_t>(row * (length - 1) + k)], from[static_cast<std::size_t>(row * length + k + 1)] - from[static_cast<std::size_t>(row * length + k)]) << name(dtype) << " " << rows << " x " << length << " at " << row << ", " << k;
        }
      }
    }
  }
}

TEST_P(Grids, StencilsAreThoseOfLoops) {
  for (const Shape& shape : {Shape{35, 66}, Shape{130, 258}, Shape{3, 19, 131}, Shape{2, 3, 12, 37}}) {
    for (DType dtype : {float32, bfloat16}) {
      const Variable x = input({dtype, shape}, "x");
      const Variable sum = inner(x, 0, 1) + inner(x, 2, 1) + inner(x, 1, 0) + inner(x, 1, 2) - 4.0 * inner(x, 1, 1);
      const Array given = numbers(shape, dtype);
      const Values from = given.to_doubles(), found = Array(function({x}, {sum}, {.device = device()})(given)).to_doubles();
      const std::int64_t columns = shape[-1], rows = shape[-2], grids = shape.size() / (rows * columns);
      std::size_t at = 0;
      for (std::int64_t grid = 0; grid < grids; ++grid) {
        for (std::int64_t i = 1; i + 1 < rows; ++i) {
          for (std::int64_t k = 1; k + 1 < columns; ++k) {
            const auto of = [&](std::int64_t row, std::int64_t column) { return from[static_cast<std::size_t>((grid * rows + row) * columns + column)]; };
            ASSERT_EQ(found[at++], of(i - 1, k) + of(i + 1, k) + of(i, k - 1) + of(i, k + 1) - 4 * of(i, k)) << to_string(shape) << " at " << grid << ", " << i << ", " << k;
          }
        }
      }
    }
  }
}

TEST_P(Grids, RolledStencilsAreThoseOfLoops) {
  for (const Shape& shape : {Shape{5, 7}, Shape{33, 130}, Shape{300, 131}, Shape{2, 1}, Shape{1, 9}}) {
    const Variable x = input({float32, shape}, "x");
    const Variable sum = roll(x, 1, 0) + roll(x, -1, 0) + roll(x, 1, 1) + roll(x, -2, 1) - 4.0 * x;
    const Function f = function({x}, {sum, grad(mean(sqr(sum)), x)}, {.device = device()}), plain = function({x}, {sum, grad(mean(sqr(sum)), x)}, {.fuse = false, .disable = {"part_roll"}, .device = device()});
    const Array given = numbers(shape, float32);
    const Values from = given.to_doubles();
    const Results results = f(given), wanted = plain(given);
    const Values found = results[0].to_doubles();
    const std::int64_t rows = shape[0], columns = shape[1];
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t k = 0; k < columns; ++k) {
        const auto of = [&](std::int64_t row, std::int64_t column) { return from[static_cast<std::size_t>((row + 2 * rows) % rows * columns + (column + 4 * columns) % columns)]; };
        ASSERT_EQ(found[static_cast<std::size_t>(i * columns + k)], of(i - 1, k) + of(i + 1, k) + of(i, k - 1) + of(i, k + 2) - 4 * of(i, k)) << to_string(shape) << " at " << i << ", " << k;
      }
    }
    EXPECT_THAT(results[1].to_doubles(), ::testing::Pointwise(::testing::DoubleNear(1e-4), wanted[1].to_doubles())) << to_string(shape);
  }
}

/// Of an array that begins anywhere, beside one that counts its elements.
TEST_P(Grids, DrawsAreThoseOfWholeVectors) {
  constexpr std::int64_t kCount = 1003;
  const Variable x = input({float32, {kCount}}, "x");
  RandomStream random(11);
  const Function f = function({x}, {random.dropout(x, 0.5)}, {.device = device()});
  const Array ones = Array::full({kCount + 1}, 1, float32, device());
  RandomStream again(11);
  const Function g = function({x}, {again.dropout(x, 0.5)}, {.device = device()});
  EXPECT_EQ(Array(f(ones.slice({{1, kCount + 1}}))).to_doubles(), Array(g(ones.slice({{0, kCount}}))).to_doubles());
}

DAMO_ON_EACH_DEVICE(Grids);

/// Twice as many elements along both axes, of neighbours that are repeated at the ends, and differences of what is computed: as the same graph op for op.
TEST_P(Grids, ResamplingAndDifferencesOfWorkAreThoseOfOps) {
  for (const Shape& shape : {Shape{90, 517}, Shape{33, 4}}) {
    const Variable x = input({float32, shape}, "x");
    const auto doubled = [](const Variable& y) {
      const std::int64_t rows = y.dims()[0], columns = y.dims()[1];
      const Variable before = concatenate({subtensor(y, {{}, {0, 1}}), subtensor(y, {{}, {0, columns - 1}})}, 1), after = concatenate({subtensor(y, {{}, {1, columns}}), subtensor(y, {{}, {columns - 1, columns}})}, 1);
      return reshape(stack({before + 3.0 * y, 3.0 * y + after}, 2), {rows, 2 * columns});
    };
    const Variable squares = sqr(x) + 1.0;
    const std::vector<Variable> outputs{doubled(x), transpose(doubled(transpose(doubled(x)))), subtensor(squares, {{}, {1, {}}}) - subtensor(squares, {{}, {0, -1}}), sum(subtensor(squares, {{2, {}}}) - subtensor(squares, {{0, -2}}), 0)};
    const Function f = function({x}, outputs, {.device = device()}), plain = function({x}, outputs, {.fuse = false, .rewrite = false, .device = device()});
    const Array given = numbers(shape, float32);
    const Results found = f(given), expected = plain(given);
    for (std::size_t i = 0; i < outputs.size(); ++i) EXPECT_THAT(found[i].to_doubles(), ::testing::ContainerEq(expected[i].to_doubles())) << i << f.explain();
  }
}

}  // namespace
}  // namespace damo
