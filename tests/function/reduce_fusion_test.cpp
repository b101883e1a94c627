// Reductions fused with what stands around them: fused, unfused and the host agree, also where a kernel a pass or a kernel a node
// takes over at the call. Which kernels graphs become: tests/ops/rewrites/fusion_reductions_test.cpp.
#include <cmath>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <damo/damo.hpp>
#include "support/devices.hpp"
#include "support/row_programs.hpp"

namespace damo {
namespace {

using Values = std::vector<double>;
using damo::testing::layer_norm;
using damo::testing::softmax;

class FusedReductions : public testing::OnEachDevice {
 protected:
  Array noise(const Shape& shape, unsigned seed = 1) const {
    std::mt19937 random(seed);
    std::uniform_real_distribution<float> uniform(-2, 2);
    std::vector<float> values(static_cast<std::size_t>(shape.size()));
    for (float& value : values) value = uniform(random);
    return Array::from(values, shape, device());
  }
  void expect_equal(const std::vector<Variable>& inputs, const std::vector<Variable>& outputs, const std::vector<Array>& arrays, double tolerance = 1e-5) {
    const Function fused = function(inputs, outputs, {.device = device()}), plain = function(inputs, outputs, {.fuse = false, .device = device()});
    const Results a = fused.call(arrays), b = plain.call(arrays);
    for (std::size_t i = 0; i < a.size(); ++i) {
      ASSERT_EQ(a[i].shape(), b[i].shape());
      const Values found = a[i].to_doubles(), expected = b[i].to_doubles();
      for (std::size_t k = 0; k < found.size(); ++k) {
        ASSERT_NEAR(found[k], expected[k], tolerance * std::max(1.0, std::abs(expected[k]))) << "result " << i << " of " << to_string(a[i].shape()) << " element " << k;
      }
    }
  }
  /// The gradients of a layer norm of so many rows that a GPU's blocks read them ahead.
  void expect_norm_gradients(const Shape& shape, DType dtype, bool moved) {
    const Variable x = matrix("x", dtype), w = vector("w", dtype), b = vector("b", dtype), g = matrix("g", dtype), centered = x - mean(x, 1, keepdims);
    const Variable y = centered * rsqrt(mean(sqr(centered), 1, keepdims) + 0.01) * w + b;
    const Function f = function({x, w, g}, lop(std::vector{y}, std::vector{g}, std::vector{x, w, b}), {.device = device()});
    const std::int64_t rows = shape[0], columns = shape[1], first = moved ? 1 : 0;
    const Array values = astype(noise({shape.size() + 1}) + 3.0, dtype).slice({Slice{first, first + shape.size()}}).reshape(shape), weight = astype(noise({columns}, 2), dtype), given = astype(noise(shape, 3), dtype);
    const std::vector<Array> arrays = {values, weight, given};
    const Results found = f.call(arrays), again = f.call(arrays);
    const Values in = values.to_doubles(), by = weight.to_doubles(), of = given.to_doubles(), dx = found[0].to_doubles(), dw = found[1].to_doubles(), db = found[2].to_doubles();
    Values sums(by.size(), 0), sizes(by.size(), 0), plain(by.size(), 0);
    const double rounding = dtype == float32 ? 4e-6 : 1.0 / 128;
    for (std::int64_t row = 0; row < rows; ++row) {
      const double *xs = in.data() + row * columns, *gs = of.data() + row * columns;
      double middle = 0, square = 0, all = 0, along = 0;
      for (std::int64_t k = 0; k < columns; ++k) middle += xs[k] / static_cast<double>(columns);
      for (std::int64_t k = 0; k < columns; ++k) {
        const double c = xs[k] - middle, q = gs[k] * by[static_cast<std::size_t>(k)];
        square += c * c, all += q, along += q * c;
      }
      const double n = static_cast<double>(columns), factor = 1 / std::sqrt(square / n + 0.01);
      for (std::int64_t k = 0; k < columns; ++k) {
        const auto at = static_cast<std::size_t>(k);
        const double c = xs[k] - middle, expected = factor * (gs[k] * by[at] - all / n - c * factor * factor * along / n);
        ASSERT_NEAR(dx[static_cast<std::size_t>(row * columns + k)], expected, rounding * (std::abs(expected) + factor)) << to_string(shape) << " row " << row << " column " << k;
        sums[at] += gs[k] * c * factor, sizes[at] += std::abs(gs[k] * c * factor), plain[at] += gs[k];
      }
    }
    for (std::size_t k = 0; k < by.size(); ++k) {
      ASSERT_NEAR(dw[k], sums[k], rounding * (std::abs(sums[k]) + sizes[k] / 100) + 1e-4) << to_string(shape) << " column " << k;
      ASSERT_NEAR(db[k], plain[k], rounding * std::abs(plain[k]) + 1e-3) << to_string(shape) << " column " << k;
    }
    for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(found[i].to_doubles(), again[i].to_doubles()) << "the same bits from call to call";
  }
};

TEST_P(FusedReductions, GiveSoftmaxOfEveryShape) {
  const Variable x = matrix("x");
  for (int axis : {0, 1}) {
    const Function f = function({x}, {softmax(x, axis)}, {.device = device()});
    for (const Shape& shape : {Shape{1, 1}, Shape{3, 1}, Shape{1, 3}, Shape{5, 300}, Shape{300, 5}, Shape{33, 1024}, Shape{2, 50257}, Shape{4, 300000}, Shape{300000, 4}}) {
      for (bool turned : {false, true}) {
        const Array values = turned ? noise({shape[1], shape[0]}).transpose() : noise(shape);
        const Values in = values.to_doubles(), out = f(values)[0].to_doubles();
        const auto columns = static_cast<std::size_t>(shape[1]), rows = static_cast<std::size_t>(shape[0]);
        std::vector<double> sums(axis == 0 ? columns : rows, 0);
        for (std::size_t i = 0; i < in.size(); ++i) sums[axis == 0 ? i % columns : i / columns] += std::exp(in[i]);
        for (std::size_t i = 0; i < in.size(); ++i) {
          const double expected = std::exp(in[i]) / sums[axis == 0 ? i % columns : i / columns];
          ASSERT_NEAR(out[i], expected, 1e-5 * expected) << to_string(shape) << " axis " << axis << (turned ? " turned" : "") << " element " << i;
        }
      }
    }
  }
}

TEST_P(FusedReductions, HoldValuesOfRowsOfAnyLengthAndStart) {
  for (const DType dtype : {float32, float64, bfloat16}) {
    const Variable x = matrix("x", dtype);
    const Function f = function({x}, {softmax(x, 1), logsumexp(x, 1)}, {.device = device()});
    const double tolerance = dtype == bfloat16 ? 8e-3 : dtype == float32 ? 1e-5
                                                                         : 1e-12;
    for (const std::int64_t length : {31, 32, 33, 47, 64, 65, 127, 511, 512, 513, 1000, 32768, 32769, 65536, 65537}) {
      const Array given = astype(noise({3, length + 1}), dtype).slice({{}, {1, length + 1}});  // of 16 bits no row is aligned as the one before
      const Results results = f(given);
      const Values in = given.to_doubles(), out = results[0].to_doubles(), logs = results[1].to_doubles();
      const auto columns = static_cast<std::size_t>(length);
      for (std::size_t row = 0; row < 3; ++row) {
        double sum = 0;
        for (std::size_t k = 0; k < columns; ++k) sum += std::exp(in[row * columns + k]);
        ASSERT_NEAR(logs[row], std::log(sum), tolerance * std::log(sum)) << length << " of " << name(dtype);
        for (std::size_t k = 0; k < columns; ++k) {
          const double expected = std::exp(in[row * columns + k]) / sum;
          ASSERT_NEAR(out[row * columns + k], expected, tolerance * expected) << length << " of " << name(dtype) << ", row " << row << " element " << k;
        }
      }
    }
  }
}

TEST_P(FusedReductions, HoldValuesOfColumnsAndOfLongRows) {
  struct Space {
    Shape shape;
    int axis;
    DType dtype;
  };
  for (const auto& [shape, axis, dtype] : {Space{{5, 300}, 0, bfloat16}, {{300, 700}, 0, float32}, {{2049, 517}, 0, bfloat16}, {{2049, 517}, 0, float32}, {{4099, 300}, 0, bfloat16}, {{300, 257}, 0, float64}, {{65, 140001}, 1, bfloat16}}) {
    const Variable x = matrix("x", dtype);
    const Array given = astype(noise(shape), dtype);
    const Values in = given.to_doubles(), out = function({x}, {softmax(x, axis)}, {.device = device()})(given)[0].to_doubles();
    const auto columns = static_cast<std::size_t>(shape[1]), rows = static_cast<std::size_t>(shape[0]);
    const double tolerance = dtype == bfloat16 ? 8e-3 : dtype == float32 ? 1e-5
                                                                         : 1e-12;
    Values sums(axis == 0 ? columns : rows, 0);
    for (std::size_t i = 0; i < in.size(); ++i) sums[axis == 0 ? i % columns : i / columns] += std::exp(in[i]);
    for (std::size_t i = 0; i < in.size(); ++i) {
      const double expected = std::exp(in[i]) / sums[axis == 0 ? i % columns : i / columns];
      ASSERT_NEAR(out[i], expected, tolerance * expected) << to_string(shape) << " of " << name(dtype) << " axis " << axis << " element " << i;
    }
  }
}

/// One row so long that a kernel goes through it each pass (ops/rewrites/fusion_reductions.hpp): random chains of steps and joins over everything, of one array and of two. Random graphs have no such rows.
TEST_P(FusedReductions, GiveWhatASingleLongRowsOpsGive) {
  constexpr std::int64_t kLength = (std::int64_t{1} << 20) + 5;
  std::mt19937 random(11);
  for (int graph = 0; graph < 8; ++graph) {
    const Variable x = input({float32, {kLength}}, "x"), y = input({float32, {kLength}}, "y");
    Variable row = x;
    std::vector<Variable> outputs;
    for (int step = 0; step < 5; ++step) {
      switch (random() % 6) {
        case 0: row = row - max(row); break;
        case 1: row = row - mean(row); break;
        case 2: row = exp(-abs(row)); break;
        case 3: row = row / (1 + sum(sqr(row)) / static_cast<double>(kLength)); break;
        case 4: row = tanh(row) * 0.75; break;
        default: row = graph % 2 == 0 ? row * 1.25 : row + 0.5 * y; break;
      }
      if (random() % 4 == 0) outputs.push_back(graph % 3 == 0 ? min(row) : mean(abs(row)));
    }
    outputs.push_back(row - mean(row));
    SCOPED_TRACE(graph);
    std::vector<Variable> inputs{x};
    std::vector<Array> arrays{noise({kLength})};
    if (graph % 2 != 0) outputs.push_back(row * y), inputs.push_back(y), arrays.push_back(noise({kLength}, 2));
    expect_equal(inputs, outputs, arrays, 2e-5);
  }
}

TEST_P(FusedReductions, GiveGroupNormsOfChannelsLastAndTheirGradients) {
  const Variable x = tensor4("x"), w = matrix("w"), b = matrix("b"), g = tensor4("g");
  const Variable centered = x - mean(x, {1, 3}, keepdims), y = centered * rsqrt(mean(sqr(centered), {1, 3}, keepdims) + 0.01) * w + b;
  const std::vector<Variable> gradients = lop(std::vector{y}, std::vector{g}, std::vector{x, w, b});
  for (const Shape& shape : {Shape{3, 50, 8, 4}, Shape{70, 9, 11, 7}, Shape{2, 300, 100, 3}}) {
    expect_equal({x, w, b, g}, {y, gradients[0], gradients[1], gradients[2]}, {noise(shape), noise({shape[2], shape[3]}, 2), noise({shape[2], shape[3]}, 3), noise(shape, 4)}, 1e-4);
  }
}

TEST_P(FusedReductions, GiveLayerNormAndItsGradients) {
  const Variable x = matrix("x"), w = vector("w"), b = vector("b"), g = matrix("g");
  const Variable y = layer_norm(x, w, b);
  const std::vector<Variable> gradients = lop(std::vector{y}, std::vector{g}, std::vector{x, w, b});
  for (const Shape& shape : {Shape{7, 64}, Shape{300, 33}, Shape{2, 400000}}) {
    expect_equal({x, w, b, g}, {y, gradients[0], gradients[1], gradients[2]}, {noise(shape), noise({shape[1]}, 2), noise({shape[1]}, 3), noise(shape, 4)}, 1e-3);
  }
}

TEST_P(FusedReductions, GiveSeveralReductionsAtOnce) {
  const Variable x = tensor3("x"), y = tensor3("y");
  for (const Axes& axes : {Axes(0), Axes(1), Axes(2), Axes{0, 2}, Axes{1, 2}}) {
    const Variable z = x * y + 1.0;
    expect_equal({x, y}, {sum(z, axes), max(z, axes, keepdims), mean(sqr(z), axes), z - mean(z, axes, keepdims), argmin(z, axes)}, {noise({9, 40, 13}), noise({9, 40, 13}, 5)});
  }
}

TEST_P(FusedReductions, JoinAcrossRowsToo) {
  const Variable x = matrix("x"), g = matrix("g"), y = softmax(x, 1);
  const Function f = function({x, g}, {y, sum(y * g, 0), max(x, 0), sum(x, 1)}, {.device = device()});
  for (const Shape& shape : {Shape{1, 1}, Shape{3, 5}, Shape{40, 1}, Shape{1, 40}, Shape{300, 33}, Shape{2000, 64}, Shape{30, 5000}, Shape{70, 4096}, Shape{5, 70000}, Shape{50000, 3}}) {
    for (bool turned : {false, true}) {
      const Array values = turned ? noise({shape[1], shape[0]}).transpose() : noise(shape), factors = noise(shape, 2);
      const std::vector<Array> arrays = {values, factors};
      const Results found = f.call(arrays), again = f.call(arrays);
      const Values in = values.to_doubles(), by = factors.to_doubles(), sums = found[1].to_doubles(), greatest = found[2].to_doubles(), of_rows = found[3].to_doubles();
      const auto rows = static_cast<std::size_t>(shape[0]), columns = static_cast<std::size_t>(shape[1]);
      Values expected(columns, 0), absolute(columns, 0), most(columns, -10);
      for (std::size_t row = 0; row < rows; ++row) {
        double all = 0, plain = 0;
        for (std::size_t k = 0; k < columns; ++k) all += std::exp(in[row * columns + k]), plain += in[row * columns + k];
        ASSERT_NEAR(of_rows[row], plain, 1e-6 * static_cast<double>(columns));
        for (std::size_t k = 0; k < columns; ++k) {
          const double product = std::exp(in[row * columns + k]) / all * by[row * columns + k];
          expected[k] += product, absolute[k] += std::abs(product);
          most[k] = std::max(most[k], in[row * columns + k]);
        }
      }
      for (std::size_t k = 0; k < columns; ++k) {
        ASSERT_NEAR(sums[k], expected[k], 2e-6 * absolute[k]) << to_string(shape) << (turned ? " turned" : "") << " column " << k;
        ASSERT_EQ(greatest[k], most[k]) << to_string(shape) << (turned ? " turned" : "") << " column " << k;
      }
      EXPECT_EQ(sums, again[1].to_doubles()) << "the same bits from call to call";
    }
  }
}

TEST_P(FusedReductions, GiveLayerNormsGradientsOfManyRows) {
  const std::int64_t fewer = GetParam() == std::string("cpu") ? 10 : 1;
  for (bool moved : {false, true}) {
    expect_norm_gradients({4300 / fewer, 1000}, float32, moved);
    expect_norm_gradients({550 / fewer, 8192}, bfloat16, moved);
  }
  expect_norm_gradients({550 / fewer, 5000}, float32, false);
}

TEST_P(FusedReductions, JoinAcrossRowsWhatFollowsFromPlacesInThem) {
  const Variable x = matrix("x"), labels = vector("labels", int32), b = vector("b");
  const Function f = function({x, b, labels}, {grad(sum(cross_entropy(x + b, labels)), b)}, {.device = device()});
  for (const Shape& shape : {Shape{40, 7}, Shape{3, 70000}}) {
    for (bool turned : {false, true}) {
      const Array values = turned ? noise({shape[1], shape[0]}).transpose() : noise(shape);
      const Values in = values.to_doubles();
      const auto rows = static_cast<std::size_t>(shape[0]), columns = static_cast<std::size_t>(shape[1]);
      Values expected(columns, 0);
      std::vector<std::int32_t> chosen;
      for (std::size_t row = 0; row < rows; ++row) {
        double all = 0;
        for (std::size_t k = 0; k < columns; ++k) all += std::exp(in[row * columns + k]);
        for (std::size_t k = 0; k < columns; ++k) expected[k] += std::exp(in[row * columns + k]) / all;
        chosen.push_back(static_cast<std::int32_t>((row * 31 + 5) % columns));
        expected[static_cast<std::size_t>(chosen.back())] -= 1;
      }
      const Values found = f(values, Array::zeros({shape[1]}, float32, device()), Array::from(chosen, device()))[0].to_doubles();
      for (std::size_t k = 0; k < columns; ++k) ASSERT_NEAR(found[k], expected[k], 1e-5) << to_string(shape) << (turned ? " turned" : "") << " column " << k;
    }
  }
  expect_equal({x}, {cummax(x, 1), x + cast(index_along(x, 1), float32), sum(x, 0)}, {noise({5, 9})});
  const Variable z = tensor3("z");
  const Array cube = noise({4, 3, 5}).transpose();
  const Values in = cube.to_doubles(), found = function({z}, {sum(z * index_along(z, {0, 2}), 1)}, {.device = device()})(cube)[0].to_doubles();
  for (std::size_t i = 0; i < 5; ++i) {
    for (std::size_t k = 0; k < 4; ++k) {
      double expected = 0;
      for (std::size_t j = 0; j < 3; ++j) expected += in[(i * 3 + j) * 4 + k] * static_cast<double>(i * 4 + k);
      EXPECT_NEAR(found[i * 4 + k], expected, 1e-4);
    }
  }
}

TEST_P(FusedReductions, JoinAcrossRowsOfAnyDtypeAndRank) {
  const Variable x = tensor3("x", bfloat16), i = tensor3("i", int8);
  const Function f = function({x}, {x - mean(x, 2, keepdims), sum(x, {0, 1})}, {.device = device()});
  const Array values = astype(noise({50, 9, 40}), bfloat16);
  const Values in = values.to_doubles(), found = f(values)[1].to_doubles();
  for (std::size_t k = 0; k < 40; ++k) {
    double expected = 0;
    for (std::size_t row = 0; row < 450; ++row) expected += in[row * 40 + k];
    EXPECT_NEAR(found[k], expected, std::abs(expected) / 256 + 1e-4) << "added in float32, rounded once";
  }
  const Array small = astype(noise({70, 3, 16}) * 60.0, int8);
  const Values whole = small.to_doubles();
  const Results sums = function({i}, {sum(i, {1, 2}), prod(i, 0), any(i, 0)}, {.device = device()})(small);
  for (std::size_t k = 0; k < 48; ++k) {
    std::uint64_t product = 1;
    bool some = false;
    for (std::size_t row = 0; row < 70; ++row) product *= static_cast<std::uint64_t>(static_cast<std::int64_t>(whole[row * 48 + k])), some |= whole[row * 48 + k] != 0;
    EXPECT_EQ(sums[1].to_vector<std::int64_t>()[k], static_cast<std::int64_t>(product));
    EXPECT_EQ(sums[2].to_vector<bool>()[k], some);
  }
}

TEST_P(FusedReductions, JoinAcrossNoRowsAndRowsOfNothing) {
  const Variable x = matrix("x");
  const Function f = function({x}, {x - mean(x, 1, keepdims), sum(x, 0), prod(x, 0)}, {.device = device()});
  EXPECT_THAT(f(noise({0, 3}))[1].to_doubles(), ::testing::Each(0.0));
  EXPECT_EQ(f(noise({0, 3}))[2].to_doubles(), (Values{1, 1, 1}));
  for (const std::int64_t rows : {3, 33}) EXPECT_EQ(f(noise({rows, 0}))[1].shape(), Shape{0});  // 33: some are in the midst of the array, which has no memory
}

TEST_P(FusedReductions, TakeOperandsThatStretch) {
  const Variable column = input({float32, {kUnknown, 1}}, "column"), row = input({float32, {1, kUnknown}}, "row"), x = matrix("x");
  for (const Variable& other : {column, row}) {
    const Variable z = other * x;
    const Array values = other.is_same(column) ? noise({5, 1}) : noise({1, 7});
    expect_equal({other, x}, {sum(z, 1, keepdims) * 2.0, sum(other, 1, keepdims), z - mean(x, 1, keepdims)}, {values, noise({5, 7}, 2)});
  }
}

TEST_P(FusedReductions, GiveSixteenBitFloats) {
  for (DType dtype : {float16, bfloat16}) {
    const Variable x = matrix("x", dtype);
    const Array values = astype(noise({12, 200}), dtype);
    const Values found = function({x}, {softmax(x, 1)}, {.device = device()})(values)[0].to_doubles(), in = values.to_doubles();
    for (std::size_t row = 0; row < 12; ++row) {
      double sum = 0;
      for (std::size_t k = 0; k < 200; ++k) sum += std::exp(in[row * 200 + k]);
      for (std::size_t k = 0; k < 200; ++k) {
        const double expected = std::exp(in[row * 200 + k]) / sum;
        ASSERT_NEAR(found[row * 200 + k], expected, expected * (dtype == float16 ? 1e-3 : 8e-3) + 1e-7);
      }
    }
  }
}

DAMO_ON_EACH_DEVICE(FusedReductions);

}  // namespace
}  // namespace damo
