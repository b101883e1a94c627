// Rows that are divided into parts (ops/rewrites/divide_rows.hpp), by values: random programs against the same ones in float64 without fusion and rewrites, and how many kernels they take.
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <damo/damo.hpp>
#include "runtime/backend.hpp"
#include "support/devices.hpp"

namespace damo {
namespace {

using Vars = std::vector<Variable>;

/// Rows of `parts` parts along an axis, a norm of them, and what becomes of its parts. The same numbers give the same program.
class Program {
 public:
  explicit Program(unsigned seed) : random_(seed) {
    axis_ = pick(3);
    parts_ = 2 + pick(3);
    const std::int64_t extents[] = {8, 12, 16, 33, 64};
    part_ = extents[pick(5)];
    for (int axis = 0; axis < 3; ++axis) dims_.push_back(axis == axis_ ? part_ * parts_ : 1 + pick(7) * (axis == 2 ? 8 : 1));
    if (axis_ < 2) dims_[2] = 8 * (1 + pick(4));  // neighbours of each part
    is_joined_ = pick(3) == 0;
    norm_ = pick(6);
    weighs_ = pick(2) == 0;
    adds_ = pick(3) == 0;
    ending_ = pick(4);
    wants_whole_ = pick(4) == 0;
    wants_sums_ = pick(4) == 0;
    wants_gradients_ = pick(2) == 0;
  }

  std::vector<Shape> shapes() const {
    Shape of_part = dims_, of_weight{part_ * parts_, 1, 1};
    of_part[axis_] = part_;
    Shape weight;
    for (int axis = axis_; axis < 3; ++axis) weight.push_back(of_weight[axis - axis_]);
    std::vector<Shape> all{dims_, weight, dims_};
    for (int part = 0; part < parts_; ++part) all.push_back(of_part);
    return all;
  }

  Vars outputs(const Vars& in) const {
    const Variable x = is_joined_ ? concatenate(Vars(in.begin() + 3, in.begin() + 3 + parts_), axis_) : in[0];
    Variable n = normed(x);
    if (weighs_) n = n * (in[1] * 0.5 + 1.0);
    if (adds_) n = n + in[2];
    Vars results{ended(n)};
    if (wants_whole_) results.push_back(tanh(n));
    if (wants_sums_) results.push_back(sum(n, axis_ == 0 ? 1 : 0));
    if (wants_gradients_) {
      Vars by = is_joined_ ? Vars{in[3], in[4]} : Vars{in[0]};
      if (weighs_) by.push_back(in[1]);
      for (const Variable& gradient : grad(sum(results[0]), by)) results.push_back(gradient);
    }
    return results;
  }

 private:
  int pick(int count) { return static_cast<int>(random_() % static_cast<unsigned>(count)); }
  Variable part(const Variable& x, std::int64_t first, std::int64_t count) const {
    std::vector<Index> indices(static_cast<std::size_t>(axis_) + 1);
    indices.back() = Index(first * part_, (first + count) * part_);
    return subtensor(x, indices);
  }

  Variable normed(const Variable& x) const {
    switch (norm_) {
      case 0: return x * rsqrt(mean(sqr(x), axis_, keepdims) + 0.01);
      case 1: {
        const Variable centred = x - mean(x, axis_, keepdims);
        return centred / sqrt(mean(sqr(centred), axis_, keepdims) + 0.01);
      }
      case 2: return softmax(x * 2.0, axis_);
      case 3: return x / max(abs(x), axis_, keepdims);
      case 4: return x - min(x, axis_, keepdims) * max(x, axis_, keepdims);
      default: return where(any(x > 1.4, axis_, keepdims), x, x / sum(abs(x), axis_, keepdims));
    }
  }

  Variable ended(const Variable& n) const {
    const Variable a = part(n, 0, 1), b = part(n, parts_ - 1, 1);
    switch (ending_) {
      case 0: return a * sigmoid(b);
      case 1: return concatenate({a * 0.8 - b * 0.6, a * 0.6 + b * 0.8}, axis_);
      case 2: return sqr(part(n, 0, parts_ - 1)) * 2.0 + mean(exp(b), axis_, keepdims);
      default: return sum(a * b, axis_) * 0.1;
    }
  }

  std::mt19937 random_;
  int axis_ = 0, parts_ = 0, norm_ = 0, ending_ = 0;
  std::int64_t part_ = 0;
  Shape dims_;
  bool is_joined_ = false, weighs_ = false, adds_ = false, wants_whole_ = false, wants_sums_ = false, wants_gradients_ = false;
};

class DividedRows : public testing::OnEachDevice {
 protected:
  Function made(const Program& program, DType dtype, Options options) const {
    Vars inputs;
    for (const Shape& shape : program.shapes()) inputs.push_back(input({dtype, shape}));
    options.device = device();
    options.allow_unused_inputs = true;
    return function(inputs, program.outputs(inputs), options);
  }
  std::vector<Array> values(const Program& program, DType dtype, unsigned seed) const {
    std::mt19937 random(seed);
    std::vector<Array> arrays;
    for (const Shape& shape : program.shapes()) {
      std::vector<double> elements(static_cast<std::size_t>(shape.size()));
      for (double& element : elements) element = static_cast<double>(static_cast<int>(random() % 384) - 128) / 128.0;  // which bfloat16 has, too
      arrays.push_back(astype(Array::from(elements, shape, device()), dtype));
    }
    return arrays;
  }
  int launches(const Function& f, const std::vector<Array>& arrays) const {
    const std::uint64_t before = device().backend().launches;
    f.call(arrays);
    return static_cast<int>(device().backend().launches - before);
  }
};

TEST_P(DividedRows, RandomProgramsGiveWhatFloat64Does) {
  constexpr unsigned kPrograms = 16;
  int with_fewer_kernels = 0;
  for (unsigned seed = 1; seed <= kPrograms; ++seed) {
    const Program program(seed);
    const bool is_short = seed % 4 == 0;
    const DType dtype = is_short ? bfloat16 : float32;
    const Function f = made(program, dtype, {}), whole = made(program, dtype, {.disable = {"divide_rows"}}), reference = made(program, float64, {.fuse = false, .rewrite = false});
    const std::vector<Array> arrays = values(program, dtype, seed), results = f.call(arrays), expected = reference.call(values(program, float64, seed));
    ASSERT_EQ(results.size(), expected.size());
    for (std::size_t i = 0; i < results.size(); ++i) {
      const std::vector<double> got = results[i].to_doubles(), want = expected[i].to_doubles();
      ASSERT_EQ(results[i].shape(), expected[i].shape()) << "program " << seed;
      double most = 0, apart = 0;
      for (std::size_t k = 0; k < want.size(); ++k) most = std::max(most, std::abs(want[k])), apart = std::max(apart, std::abs(got[k] - want[k]));
      EXPECT_LE(apart, (is_short ? 0.05 : 2e-5) * std::max(most, 1.0)) << "program " << seed << ", result " << i << "\n"
                                                                       << f.explain();
    }
    whole.call(arrays);
    const int of_parts = launches(f, arrays), of_whole = launches(whole, arrays);
    EXPECT_LE(of_parts, of_whole) << "program " << seed << "\n"
                                  << f.explain() << whole.explain();
    with_fewer_kernels += of_parts < of_whole ? 1 : 0;
  }
  EXPECT_GE(with_fewer_kernels, static_cast<int>(kPrograms) / 3) << "most programs were not divided";
}

TEST_P(DividedRows, ANormWhoseHalvesAreTurnedIsOneKernel) {
  const Variable x = input({float32, {kUnknown, 4, 32}}, "x"), w = vector("w"), cosine = input({float32, {4, 16}}, "cosine"), sine = input({float32, {4, 16}}, "sine");
  const Variable n = x * rsqrt(mean(sqr(x), 2, keepdims) + 1e-5) * reshape(w, {32});
  const std::vector<Variable> halves = split(n, {16, 16}, 2);
  const Variable y = concatenate({halves[0] * cosine - halves[1] * sine, halves[1] * cosine + halves[0] * sine}, 2);
  const Function f = function({x, w, cosine, sine}, {y, grad(sum(sqr(y)), x)}, options());
  for (const std::int64_t rows : {5, 1, 0, 70}) {
    const std::vector<Array> arrays{range({rows, 4, 32}, 1) * 0.01, range({32}, 1) * 0.05, range({4, 16}) * 0.01, range({4, 16}, 3) * 0.02};
    const std::vector<Array> results = f.call(arrays);
    const std::vector<double> xs = arrays[0].to_doubles(), ws = arrays[1].to_doubles(), cosines = arrays[2].to_doubles(), sines = arrays[3].to_doubles(), ys = results[0].to_doubles();
    for (std::int64_t row = 0; row < rows * 4; ++row) {
      double squares = 0;
      for (int i = 0; i < 32; ++i) squares += xs[row * 32 + i] * xs[row * 32 + i];
      const double factor = 1 / std::sqrt(squares / 32 + 1e-5);
      for (int i = 0; i < 16; ++i) {
        const double a = xs[row * 32 + i] * factor * ws[i], b = xs[row * 32 + 16 + i] * factor * ws[16 + i], c = cosines[row % 4 * 16 + i], s = sines[row % 4 * 16 + i];
        EXPECT_NEAR(ys[row * 32 + i], a * c - b * s, 1e-5);
        EXPECT_NEAR(ys[row * 32 + 16 + i], b * c + a * s, 1e-5);
      }
    }
  }
  const Function forward = function({x, w, cosine, sine}, {y}, options());
  const std::vector<Array> arrays{range({70, 4, 32}, 1), range({32}), range({4, 16}), range({4, 16})};
  forward.call(arrays);
  EXPECT_EQ(launches(forward, arrays), 1) << forward.explain();
}

DAMO_ON_EACH_DEVICE(DividedRows);

}  // namespace
}  // namespace damo
