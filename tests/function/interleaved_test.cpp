// Graphs of the even and odd elements of arrays, which a GPU's kernels move as one piece (runtime/kernel/interleaved.hpp): values are those of float64, wherever the elements lie.
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include <damo/damo.hpp>
#include "support/devices.hpp"

namespace damo {
namespace {

using ::testing::HasSubstr;

class InterleavedArrays : public testing::OnEachDevice {
 protected:
  bool is_gpu() const { return device().kind() == DeviceKind::kCuda; }
};

/// Whole numbers from -6 to 6: products and sums of few of them are exact in all floating dtypes.
Array few(const Shape& shape, DType dtype, Device device, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<double> values(static_cast<std::size_t>(shape.size()));
  for (double& value : values) value = static_cast<double>(random() % 13) - 6;
  return astype(Array::from(values, shape, device), dtype);
}

Variable every(const Variable& pieces, std::int64_t place) { return subtensor(pieces, {ellipsis, place}); }

/// x of (rows, n, 2) turned by angles whose cosines and sines, of (n), are whole numbers here. Of known extents it is one kernel.
struct Rotation {
  explicit Rotation(DType dtype, std::int64_t rows = kUnknown, std::int64_t n = kUnknown, bool odd_first = false) : x(input({dtype, {rows, n, 2}}, "x")), c(input({dtype, {n}}, "c")), s(input({dtype, {n}}, "s")) {
    const Variable a = every(x, 0), b = every(x, 1);
    turned = odd_first ? stack({a * c - b * s, b * c + a * s}, 2) : stack({b * -s + a * c, a * s + b * c}, 2);
  }
  Variable x, c, s, turned;
};

void expect_turned(const Array& x, const Array& c, const Array& s, const Array& found, const std::string& what) {
  const std::int64_t rows = x.shape()[0], n = x.shape()[1];
  const std::vector<double> xs = x.to_doubles(), cs = c.to_doubles(), ss = s.to_doubles(), all = found.to_doubles();
  ASSERT_EQ(all.size(), xs.size());
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t i = 0; i < n; ++i) {
      const auto at = static_cast<std::size_t>(2 * (row * n + i)), k = static_cast<std::size_t>(i);
      ASSERT_EQ(all[at], xs[at] * cs[k] - xs[at + 1] * ss[k]) << what << ", row " << row << " pair " << i;
      ASSERT_EQ(all[at + 1], xs[at + 1] * cs[k] + xs[at] * ss[k]) << what << ", row " << row << " pair " << i;
    }
  }
}

TEST_P(InterleavedArrays, PairsAreTurned) {
  for (const DType dtype : {bfloat16, float16, float32, float64}) {
    for (const bool odd_first : {false, true}) {
      const Rotation any(dtype, kUnknown, kUnknown, odd_first);
      const Function of_any = function({any.x, any.c, any.s}, {any.turned}, {.device = device()});
      for (const auto& [rows, n] : {std::pair<std::int64_t, std::int64_t>{37, 64}, {5, 512}, {4, 33}, {3, 1}, {0, 8}}) {
        const Rotation rotation(dtype, rows, n, odd_first);
        const Function f = function({rotation.x, rotation.c, rotation.s}, {rotation.turned}, {.device = device()});
        const Array x = few({rows, n, 2}, dtype, device(), 1), c = few({n}, dtype, device(), 2), s = few({n}, dtype, device(), 3);
        const std::string what = std::string(name(dtype)) + (odd_first ? ", odd first, " : ", ") + std::to_string(rows) + " x " + std::to_string(n);
        expect_turned(x, c, s, f(x, c, s), what);
        expect_turned(x, c, s, of_any(x, c, s), what + " of any extents");
      }
    }
  }
}

TEST_P(InterleavedArrays, KernelsSayThatTheyMoveThemTogether) {
  if (!is_gpu()) GTEST_SKIP() << "a CPU's compiler does this by itself";
  const Rotation rotation(float32, 37, 64, true);
  const Function f = function({rotation.x, rotation.c, rotation.s}, {rotation.turned}, {.device = device()});
  f(few({37, 64, 2}, float32, device(), 1), few({64}, float32, device(), 2), few({64}, float32, device(), 3));
  EXPECT_THAT(f.explain(), HasSubstr("interleaved row interleaved row interleaved interleaved"));  // both of x, both of the result
}

TEST_P(InterleavedArrays, OfThreeAndFourAreJoinedAndTakenApart) {
  for (const DType dtype : {uint8, bfloat16, float32}) {
    for (const int count : {3, 4}) {
      const Variable x = input({dtype, {kUnknown, kUnknown, count}}, "x"), y = input({dtype, {kUnknown, kUnknown}}, "y");
      std::vector<Variable> parts;
      Variable sum = astype(y, float32);
      for (int k = 0; k < count; ++k) {
        sum = sum + astype(every(x, k), float32) * (k + 1.0);
        parts.push_back(astype(y, float32) + k);
      }
      const Function f = function({x, y}, {sum, stack(parts, 2)}, {.device = device()});
      for (const std::int64_t n : {std::int64_t{128}, std::int64_t{100}, std::int64_t{9}}) {
        const Array values = astype(abs(few({6, n, count}, float32, device(), 4)), dtype), others = astype(abs(few({6, n}, float32, device(), 5)), dtype);
        const Results found = f(values, others);
        const std::vector<double> xs = values.to_doubles(), ys = others.to_doubles(), sums = found[0].to_doubles(), all = found[1].to_doubles();
        for (std::size_t i = 0; i < ys.size(); ++i) {
          double expected = ys[i];
          for (int k = 0; k < count; ++k) {
            const std::size_t at = i * static_cast<std::size_t>(count) + static_cast<std::size_t>(k);
            expected += xs[at] * (k + 1);
            ASSERT_EQ(all[at], ys[i] + k) << name(dtype) << " of " << count << ", element " << at;
          }
          ASSERT_EQ(sums[i], expected) << name(dtype) << " of " << count << ", element " << i;
        }
      }
    }
  }
}

/// Strided arrays that the caller has: of one piece, in either order, and of others.
TEST_P(InterleavedArrays, ArraysOfNoPieceAreReadWhereTheyLie) {
  const Variable a = input({float32, {kUnknown, kUnknown}}, "a"), b = input({float32, {kUnknown, kUnknown}}, "b");
  const Function f = function({a, b}, {a * 3.0 - b}, {.device = device()});
  const Array piece = few({8, 256}, float32, device(), 6), other = few({8, 256}, float32, device(), 7), long_piece = few({8, 264}, float32, device(), 8);
  const auto even = [](const Array& of) { return of.slice({{}, {0, {}, 2}}); };
  const auto odd = [](const Array& of) { return of.slice({{}, {1, {}, 2}}); };
  const std::vector<std::pair<Array, Array>> cases = {
      {even(piece), odd(piece)},
      {odd(piece), even(piece)},
      {even(piece), odd(other)},
      {even(piece), even(piece)},
      {even(long_piece.slice({{}, {1, 257}})), odd(long_piece.slice({{}, {1, 257}}))},  // not aligned
      {even(long_piece.slice({{}, {0, 256}})), even(long_piece.slice({{}, {8, 264}}))},
  };
  for (int turn = 0; turn < 2; ++turn) {  // what one case compiled is what the next one finds
    for (std::size_t i = 0; i < cases.size(); ++i) {
      const std::vector<double> as = cases[i].first.to_doubles(), bs = cases[i].second.to_doubles(), found = Array(f(cases[i].first, cases[i].second)).to_doubles();
      for (std::size_t k = 0; k < found.size(); ++k) ASSERT_EQ(found[k], as[k] * 3 - bs[k]) << "case " << i << ", element " << k;
    }
  }
}

/// A text for arrays that lie otherwise is that of these arrays, whatever was compiled before.
TEST_P(InterleavedArrays, LayoutsComeInAnyOrder) {
  const Array base = few({40, 200}, float32, device(), 10), other = few({40, 640}, float32, device(), 11);
  const auto columns = [](const Array& of, std::int64_t first, std::int64_t step) { return of.slice({{0, 32}, {first, first + 64 * step, step}}); };
  const std::vector<std::pair<Array, Array>> cases = {
      {columns(other, 0, 5), columns(base, 3, 1)},  // rows of odd strides
      {columns(base, 1, 2), columns(base, 2, 2)},   // a piece that begins one element late
      {columns(base, 0, 2), columns(base, 1, 2)},
      {columns(base, 5, 1), columns(base, 7, 1)},
      {few({32, 65}, float32, device(), 12).slice({{}, {1, {}}}), columns(other, 1, 5)},
      {few({1, 2049}, float32, device(), 13).slice({{}, {1, {}}}).reshape({32, 64}), few({32, 64}, float32, device(), 14)},  // dense, not aligned
  };
  for (std::size_t first = 0; first < cases.size(); ++first) {
    const Variable a = input({float32, {kUnknown, kUnknown}}, "a"), b = input({float32, {kUnknown, kUnknown}}, "b");
    const Function f = function({a, b}, {stack({a * 2.0 + b, a - b}, 2)}, {.device = device()});
    for (std::size_t step = 0; step < 2 * cases.size(); ++step) {
      const auto& [x, y] = cases[(first + step * (first + 1)) % cases.size()];
      const std::vector<double> xs = x.to_doubles(), ys = y.to_doubles(), found = Array(f(x, y)).to_doubles();
      for (std::size_t k = 0; k < xs.size(); ++k) {
        ASSERT_EQ(found[2 * k], xs[k] * 2 + ys[k]) << "from case " << first << ", step " << step << ", element " << k;
        ASSERT_EQ(found[2 * k + 1], xs[k] - ys[k]) << "from case " << first << ", step " << step << ", element " << k;
      }
    }
  }
}

TEST_P(InterleavedArrays, PartsOfArraysAreWrittenWhereTheyLie) {
  Array piece = few({16, 128}, float32, device(), 9);
  const std::vector<double> before = piece.to_doubles();
  Array even = piece.slice({{}, {0, {}, 2}});
  const Array odd = piece.slice({{}, {1, {}, 2}});
  even += odd * 2.0;
  const std::vector<double> after = piece.to_doubles();
  for (std::size_t i = 0; i < after.size(); i += 2) {
    ASSERT_EQ(after[i], before[i] + 2 * before[i + 1]) << i;
    ASSERT_EQ(after[i + 1], before[i + 1]) << i;
  }
}

TEST_P(InterleavedArrays, ValuesThatAreNotFiniteAreSeen) {
  const Rotation rotation(float32, 8, 64);
  const Function f = function({rotation.x, rotation.c, rotation.s}, {rotation.turned}, {.device = device(), .nan_guard = true});
  Array x = few({8, 64, 2}, float32, device(), 1);
  const Array c = few({64}, float32, device(), 2), s = Array::full({64}, 1, float32, device());
  expect_turned(x, c, s, f(x, c, s), "finite");
  x.slice({{3, 4}, {17, 18}, {1, 2}}).copy_from(Array::full({1, 1, 1}, INFINITY, float32, device()));
  EXPECT_THROW(f(x, c, s), Error);
}

DAMO_ON_EACH_DEVICE(InterleavedArrays);

}  // namespace
}  // namespace damo
