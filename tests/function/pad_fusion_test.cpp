// What pads make, and what is set into fills (src/ops/rewrites/fuse_pads.hpp, rules_pads.cpp): values are those that the ops have alone, in one kernel where kernels read arrays amid a frame.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <functional>
#include <iterator>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <damo/damo.hpp>

#include "ops/fused_op.hpp"
#include "support/noise.hpp"
#include "support/sampling.hpp"

namespace damo {
namespace {

using ::testing::HasSubstr;
using Numbers = std::vector<double>;

int frames_of(const Function& f) {
  int frames = 0;
  for (NodeId node : f.graph().nodes()) {
    if (const auto* fused = dynamic_cast<const FusedOp*>(&f.graph().op(node))) frames += static_cast<int>(fused->frames().size());
  }
  return frames;
}

/// x amid the value, computed place by place.
Numbers padded(const Numbers& x, const Shape& shape, const std::vector<PadWidth>& widths, double value) {
  Shape whole = shape;
  for (int axis = 0; axis < shape.rank(); ++axis) whole[axis] += widths[static_cast<std::size_t>(axis)].before + widths[static_cast<std::size_t>(axis)].after;
  Numbers all(static_cast<std::size_t>(whole.size()), value);
  for (std::size_t from = 0; from < x.size(); ++from) {
    auto rest = static_cast<std::int64_t>(from);
    std::int64_t to = 0, step = 1;
    for (int axis = shape.rank() - 1; axis >= 0; --axis) {
      to += (rest % shape[axis] + widths[static_cast<std::size_t>(axis)].before) * step;
      rest /= shape[axis];
      step *= whole[axis];
    }
    all[static_cast<std::size_t>(to)] = x[from];
  }
  return all;
}

class PadFusion : public testing::NoiseOnEachDevice {
 protected:
  PadFusion() : NoiseOnEachDevice(17) {}
  bool is_cpu() const { return GetParam() == "cpu"; }
  static TensorType type_of(const Array& array, bool known = true) {
    TensorType type{array.dtype(), array.shape()};
    for (std::int64_t& extent : type.dims) extent = known || extent == 1 ? extent : kUnknown;
    return type;
  }
  static Numbers numbers(const Array& array) { return astype(array, float64).to_vector<double>(); }
  static void expect_near(const Array& got, const Numbers& wanted, double step) {
    const Numbers numbers = PadFusion::numbers(got);
    ASSERT_EQ(numbers.size(), wanted.size());
    for (std::size_t k = 0; k < wanted.size(); ++k) ASSERT_NEAR(numbers[k], wanted[k], step * (1 + std::abs(wanted[k]))) << "element " << k;
  }

  /// The outputs of x with the passes and without, in both of which the values are the same; frames: inputs of kernels that are framed, on a GPU.
  Function compare(const Array& x, const std::function<std::vector<Variable>(const Variable&)>& build, int frames, double step = 0) {
    const Variable v = input(type_of(x), "x"), inputs[] = {v};
    const std::vector<Variable> outputs = build(v);
    const Function fused = function(inputs, outputs, {.device = device()}), apart = function(inputs, outputs, {.disable = {"pad_fills", "fuse_pads"}, .device = device()});
    EXPECT_EQ(frames_of(fused), is_cpu() ? 0 : frames) << fused.explain();
    EXPECT_EQ(frames_of(apart), 0);
    const Results got = fused(x), wanted = apart(x);
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      EXPECT_EQ(got[i].shape(), wanted[i].shape());
      expect_near(got[i], numbers(wanted[i]), step);
    }
    return fused;
  }
};

TEST_P(PadFusion, HasEachElementWhereItBelongs) {
  const std::vector<std::pair<Shape, std::vector<PadWidth>>> shapes{
      {{7}, {{2, 3}}}, {{64}, {{8, 4}}}, {{1}, {{0, 5}}}, {{5, 9}, {{1, 1}, {1, 1}}}, {{5, 16}, {{2, 0}, {0, 0}}}, {{3, 16}, {{0, 0}, {8, 16}}}, {{4, 5, 6}, {{0, 0}, {1, 2}, {3, 0}}}, {{4, 5, 6}, {{1, 0}, {0, 0}, {0, 2}}}, {{2, 1, 3, 1}, {{0, 1}, {2, 2}, {0, 0}, {1, 1}}}, {{0, 3}, {{2, 1}, {1, 0}}}, {{0}, {{1, 0}}}, {{2, 0}, {{0, 0}, {0, 1}}}, {{3, 0}, {{0, 0}, {2, 2}}}, {{6, 4}, {{0, 0}, {0, 0}}}, {{}, {}}};
  const DType dtypes[] = {float32, float64, bfloat16, float16, int8, int64, bool_};
  for (std::size_t k = 0; k < std::size(dtypes); ++k) {
    const DType dtype = dtypes[k];
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      if (dtype != float32 && !testing::is_thorough() && i % 5 != k % 5) continue;
      const auto& [shape, widths] = shapes[i];
      SCOPED_TRACE(std::string(damo::name(dtype)) + " " + to_string(shape));
      const Array x = noise(shape, dtype);
      const double value = dtype == bool_ ? 1 : 3;
      for (const bool known : {true, false}) {
        const Variable v = input(type_of(x, known)), inputs[] = {v}, at = pad(v, widths, value), outputs[] = {at, where(eq(at, at), at, at)};
        const Results got = function(inputs, outputs, {.device = device()})(x);
        for (const int output : {0, 1}) EXPECT_EQ(numbers(got[output]), padded(numbers(x), shape, widths, value));
      }
    }
  }
}

TEST_P(PadFusion, ReadsArraysThatLieOtherwise) {
  const std::vector<PadWidth> widths{{1, 2}, {3, 0}};
  const auto check = [&](const Array& x) {
    const Variable v = input(type_of(x)), inputs[] = {v}, at = pad(v, widths, -1), outputs[] = {at, at * 2};
    const Results got = function(inputs, outputs, {.device = device()})(x);
    Numbers wanted = padded(numbers(x), x.shape(), widths, -1);
    EXPECT_EQ(numbers(got[0]), wanted);
    for (double& number : wanted) number *= 2;
    EXPECT_EQ(numbers(got[1]), wanted);
  };
  check(transpose(noise({9, 20})));
  check(transpose(noise({70, 64})));
  check(noise({12, 20}).slice({{.step = -1}, {.step = -1}}));
  check(noise({12, 20}).slice({{.step = 2}, {3, 17, 3}}));
  check(noise({1, 20}).broadcast_to({6, 20}));
  check(noise({1, 1}).broadcast_to({6, 20}));
}

TEST_P(PadFusion, HasTheBitsOfTheValue) {
  const Array x = noise({3, 5});
  const Variable v = input(type_of(x)), inputs[] = {v};
  for (const double value : {-0.0, double(std::numeric_limits<float>::infinity()), std::nan("")}) {
    const Variable outputs[] = {pad(v, {{1, 0}, {0, 1}}, value)};
    const float first = function(inputs, outputs, {.device = device()})(x)[0].to_vector<float>()[0];
    EXPECT_EQ(std::signbit(first), std::signbit(static_cast<float>(value)));
    EXPECT_TRUE(std::isnan(value) ? std::isnan(first) : first == static_cast<float>(value));
  }
  const Variable w = input({float32, {}}), both[] = {v, w}, outputs[] = {pad(v, {{1, 0}, {0, 1}}, w) * 2};  // that a call brings
  EXPECT_EQ(numbers(function(both, outputs, {.device = device()})(x, Array::from(std::vector<float>{4}, {}, device()))[0])[0], 8);
}

TEST_P(PadFusion, MovesFloatsOf8Bits) {
  const std::vector<std::pair<Shape, std::vector<PadWidth>>> shapes{{{7}, {{2, 3}}}, {{5, 9}, {{1, 1}, {1, 3}}}, {{3, 64}, {{1, 0}, {16, 32}}}, {{4, 5, 6}, {{0, 0}, {1, 2}, {3, 0}}}, {{0, 3}, {{2, 1}, {1, 0}}}};
  for (const DType dtype : {float8_e4m3, float8_e5m2}) {
    for (const auto& [shape, widths] : shapes) {
      SCOPED_TRACE(std::string(damo::name(dtype)) + " " + to_string(shape));
      const Array x = noise(shape, dtype);
      const Numbers wanted = padded(numbers(x), shape, widths, 1.5);
      Numbers tripled = wanted;
      for (double& number : tripled) number *= 3;
      for (const bool known : {true, false}) {
        const Variable v = input(type_of(x, known)), inputs[] = {v}, at = pad(v, widths, 1.5), wide = cast(at, float32), outputs[] = {where(wide > 0, at, at), wide * 3};
        const Function f = function(inputs, outputs, {.device = device()});
        const Results got = f(x);
        EXPECT_EQ(got[0].dtype(), dtype);
        EXPECT_EQ(numbers(got[0]), wanted);
        EXPECT_EQ(numbers(got[1]), tripled);
        EXPECT_EQ(frames_of(f), is_cpu() ? 0 : 1) << f.explain();
      }
    }
  }
}

/// Two rows that lie further apart than 32 bits count; of the memory between them nothing is touched.
TEST_P(PadFusion, ReadsRowsThatLieFarApart) {
  constexpr std::int64_t kApart = (std::int64_t{1} << 31) + 32;
  const std::vector<PadWidth> widths{{1, 2}, {16, 3}};
  const Array memory = Array::empty({kApart + 64}, int8, device());
  for (const std::int64_t columns : {16, 13}) {
    for (const std::int64_t step : {1, 2, -1}) {
      SCOPED_TRACE(std::to_string(columns) + " by " + std::to_string(step));
      const Array values = noise({2, columns}, int8), x = memory.view(int8, {2, columns}, {kApart, step}, step < 0 ? columns - 1 : 0);
      assign(x, values);
      const Variable v = input(type_of(x, columns == 16)), w = input(type_of(x, columns == 16)), outputs[] = {pad(v, widths, 3) * 2, pad(v, widths, 3) - pad(w, widths, -1)};
      const Function f = function({v, w}, std::vector<Variable>(std::begin(outputs), std::end(outputs)), {.device = device()});
      const Results got = f(x, values);
      Numbers wanted = padded(numbers(values), {2, columns}, widths, 3), rest = padded(Numbers(static_cast<std::size_t>(2 * columns), 0.0), {2, columns}, widths, 4);
      for (double& number : wanted) number *= 2;
      EXPECT_EQ(numbers(got[0]), wanted);
      EXPECT_EQ(numbers(got[1]), rest);
      if (is_cpu()) continue;
      std::string sources;
      for (const auto& kernel : f.kernels()) sources += kernel.source;
      EXPECT_THAT(sources, HasSubstr("< u64(a.inside")) << "a place within an array of 64 bits";
    }
  }
}

/// Of 64 bits several are one double.
TEST_P(PadFusion, HasIntegersThatDoublesDoNotTellApart) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max(), kBig = std::int64_t{1} << 53;
  const Variable x = input({int64, {4}}, "x");
  const Function f = function({x}, {pad(minimum(x, kMost - 1), {{1, 0}}, kMost), pad(maximum(x, kBig + 1), {{0, 1}}, kBig)}, {.device = device()});
  const Results found = f(Array::from(std::vector<std::int64_t>{1, kMost, 3, kMost - 1}, {4}, device()));
  EXPECT_THAT(found[0].to_vector<std::int64_t>(), ::testing::ElementsAre(kMost, 1, kMost - 1, 3, kMost - 1));
  EXPECT_THAT(found[1].to_vector<std::int64_t>(), ::testing::ElementsAre(kBig + 1, kMost, kBig + 1, kMost - 1, kBig));
}

TEST_P(PadFusion, IsOneKernelWithItsReader) {
  const Array x = noise({6, 7, 9});
  const std::vector<PadWidth> widths{{0, 0}, {1, 1}, {1, 1}};
  compare(
      x, [&](const Variable& v) { return std::vector<Variable>{maximum(pad(v, widths, -1), 0) * 2}; }, 1);
  compare(
      x, [&](const Variable& v) { return std::vector<Variable>{relu(pad(v, widths)), sqr(pad(v, widths))}; }, 1);
  compare(
      x, [&](const Variable& v) { return std::vector<Variable>{pad(v, {{0, 0}, {0, 2}, {1, 1}}) - pad(v, {{0, 0}, {2, 0}, {1, 1}}, 1)}; }, 2);
  compare(
      x, [&](const Variable& v) { return std::vector<Variable>{pad(v, widths)}; }, 0);
  compare(
      x, [&](const Variable& v) { return std::vector<Variable>{sum(sqr(pad(v, widths)), 2)}; }, 0, 1e-5);
  compare(
      x, [&](const Variable& v) { return std::vector<Variable>{cumsum(pad(v, widths), 1)}; }, 0, 1e-5);
  compare(
      x, [&](const Variable& v) { return std::vector<Variable>{pad(v, widths) + 1, reshape(pad(v, widths), {-1})}; }, 0);
  compare(
      x, [&](const Variable& v) { return std::vector<Variable>{transpose(pad(v, widths)) * 2}; }, 0);
}

TEST_P(PadFusion, ComputesBehindThePadWhatKeepsItsNumber) {
  const Array x = noise({6, 40});
  const std::vector<PadWidth> widths{{1, 1}, {3, 2}};
  const auto of = [&](auto work, double value, int frames) {
    compare(
        x, [&](const Variable& v) { return std::vector<Variable>{pad(work(v), widths, value)}; }, frames, 1e-6);
  };
  of([](const Variable& v) { return relu(v); }, 0, 1);
  of([](const Variable& v) { return maximum(v, 0); }, 0, 1);
  of([](const Variable& v) { return v * -3; }, 0, 1);
  of([](const Variable& v) { return where(v > 0, v * 2, v); }, 0, 1);
  of([](const Variable& v) { return v * v - sqrt(abs(v)); }, 0, 2);
  of([](const Variable& v) { return astype(v, float64) * v; }, 0, 1);
  of([](const Variable& v) { return relu(v); }, 2, 1);
  of([](const Variable& v) { return v + 1; }, 1, 0);
  of([](const Variable& v) { return exp(v); }, 0, 0);
  of([](const Variable& v) { return exp(v) * sin(v); }, 0, 0);  // two values would be in memory for one
  of([](const Variable& v) { return exp(v) * v; }, 0, 2);
  of([](const Variable& v) { return v * sum(v, 1, keepdims); }, 0, 0);
}

TEST_P(PadFusion, WritesWhatIsSetIntoAFillOnce) {
  const Array x = noise({5, 8});
  const auto of = [&](auto build, int frames) { compare(
                                                    x, [&](const Variable& v) { return std::vector<Variable>{build(v) * 2}; }, frames); };
  of([](const Variable& v) { return set_subtensor(symbolic::zeros({7, 12}, float32), {{1, 6}, {4, 12}}, v); }, 1);
  of([](const Variable& v) { return set_subtensor(symbolic::full({7, 12}, 3, float32), {{1, 6}, {0, -4}}, v); }, 1);
  of([](const Variable& v) { return set_subtensor(symbolic::zeros({5, 3, 8}, float32), {{}, 1}, v); }, 1);
  of([](const Variable& v) { return set_subtensor(symbolic::zeros({5, 3, 8}, float32), {{}, -3}, v); }, 1);
  of([](const Variable& v) { return set_subtensor(symbolic::zeros({4, 7, 8}, float32), {{1, 3}, {1, 6}}, v); }, 1);  // which it stretches to
  of([](const Variable& v) { return set_subtensor(zeros_like(v) + 1, {{1, 3}}, subtensor(v, {{0, 2}}) * 3); }, 1);
  of([](const Variable& v) { return set_subtensor(symbolic::zeros({10, 8}, float32), {{0, 10, 2}}, v); }, 0);
  of([](const Variable& v) { return set_subtensor(symbolic::zeros({5, 8}, float32), {{{}, {}, -1}}, v); }, 0);
  of([](const Variable& v) { return set_subtensor(v, {{1, 3}}, 7); }, 0);
  of([](const Variable& v) { return inc_subtensor(symbolic::zeros({7, 12}, float32), {{1, 6}, {4, 12}}, v); }, 0);
}

TEST_P(PadFusion, ReadsWhatComesBackOfAStencilOnce) {
  const Array x = noise({20, 34});
  const auto at = [](const Variable& v, std::int64_t i, std::int64_t k) { return subtensor(v, {{i, i + 18}, {k, k + 32}}); };
  compare(
      x, [](const Variable& v) { return std::vector<Variable>{grad(sum(sqr(subtensor(v, {{}, {1, {}}}) - subtensor(v, {{}, {{}, -1}}))), v)}; }, 2, 1e-5);
  compare(
      x, [&](const Variable& v) { return std::vector<Variable>{grad(sum(sqr(at(v, 0, 1) + at(v, 2, 1) + at(v, 1, 0) + at(v, 1, 2) - 4 * at(v, 1, 1))), v)}; }, 5, 1e-5);
  compare(
      x, [](const Variable& v) { return std::vector<Variable>{grad(sum(exp(subtensor(v, {{}, {0, 17}})) * subtensor(v, {{}, {17, 34}})), v)}; }, 0, 1e-5);  // parts side by side
}

TEST_P(PadFusion, KnowsABatchOfAnyExtent) {
  const Variable v = input({float32, {kUnknown, 12}}), inputs[] = {v}, difference = subtensor(v, {{}, {1, {}}}) - subtensor(v, {{}, {{}, -1}}), outputs[] = {grad(sum(sqr(difference)), v)};
  const Function f = function(inputs, outputs, {.device = device()}), apart = function(inputs, outputs, {.disable = {"pad_fills", "fuse_pads"}, .device = device()});
  EXPECT_EQ(frames_of(f), is_cpu() ? 0 : 2);
  for (const int rows : {5, 1, 0, 70}) {
    const Array x = noise({rows, 12});
    expect_near(f(x)[0], numbers(apart(x)[0]), 1e-5);
  }
  const Variable y = input({float32, {kUnknown, 4}}), both[] = {v, y}, written[] = {set_subtensor(zeros_like(v), {{}, {0, 4}}, y) * 2};
  const Function g = function(both, written, {.device = device()});
  EXPECT_THAT(testing::error_of<ShapeError>([&] { g(noise({5, 12}), noise({6, 4})); }), HasSubstr("does not fit"));
}

TEST_P(PadFusion, LeavesAVariableThatIsUpdatedUntilAllIsRead) {
  const Array first = noise({9, 12});
  const Shared state = shared("state", first.copy());
  const Variable shifted = pad(subtensor(state, {{0, 8}}), {{1, 0}, {0, 0}}), both = pad(subtensor(state, {{1, 9}}), {{0, 1}, {0, 0}});
  const Function f = function({}, {}, {.device = device(), .updates = {{state, state + shifted * 0.5 + both}}});
  f();
  const Numbers x = numbers(first);
  Numbers wanted = x;
  for (std::size_t k = 0; k < x.size(); ++k) wanted[k] += (k >= 12 ? 0.5 * x[k - 12] : 0) + (k + 12 < x.size() ? x[k + 12] : 0);
  expect_near(state.array(), wanted, 1e-6);
}

TEST_P(PadFusion, IsTakenApartByTheGuardAgainstNaN) {
  const Array ones = Array::ones({3, 4}, float32, device());
  const Variable v = input(type_of(ones), "x"), inputs[] = {v}, outputs[] = {log(pad(v, {{1, 1}, {0, 0}}, 1))};
  const Function f = function(inputs, outputs, {.device = device(), .nan_guard = true});
  EXPECT_EQ(frames_of(f), is_cpu() ? 0 : 1);
  f(ones);
  EXPECT_THAT(testing::error_of<NotFiniteError>([&] { f(ones * -1.0f); }), HasSubstr("log"));
}

TEST_P(PadFusion, IsInExplain) {
  if (is_cpu()) GTEST_SKIP() << "kernels of a CPU read no frames";
  const Variable v = input({float32, {3, 4}}, "x"), inputs[] = {v}, outputs[] = {pad(v, {{1, 1}, {0, 0}}) * 2};
  const Function f = function(inputs, outputs, {.device = device()});
  EXPECT_THAT(f.explain(), HasSubstr("pad(x)"));
  EXPECT_THAT(f.explain(), HasSubstr("framed row dense"));
}

TEST_P(PadFusion, GivesWhatOpsGiveOfProgramsThatNobodyChose) {
  for (int round = 0; round < (testing::is_thorough() ? 60 : 6); ++round) {
    SCOPED_TRACE(round);
    Shape shape;
    const int rank = pick(1, 4);
    for (int axis = 0; axis < rank; ++axis) shape.push_back(rank == 1 ? pick(1, 500) : pick(0, 2) == 0 ? 8 * pick(1, 2)
                                                                                                       : pick(1, 9));
    const DType dtype = pick(0, 2) == 0 ? int32 : pick(0, 1) == 0 ? float64
                                                                  : float32;
    const Array x = noise(shape, dtype), y = noise(shape, dtype);
    std::vector<std::int64_t> more;
    for (int axis = 0; axis < rank; ++axis) more.push_back(pick(0, 2) == 0 ? 0 : pick(0, 1) == 0 ? 8
                                                                                                 : pick(1, 5));
    Variable sum;
    const Variable a = input(type_of(x)), b = input(type_of(y)), inputs[] = {a, b};
    for (int term = pick(1, 4); term > 0; --term) {
      std::vector<PadWidth> widths;
      std::vector<Index> part;
      Shape whole = shape;
      for (int axis = 0; axis < rank; ++axis) {
        const std::int64_t all = more[static_cast<std::size_t>(axis)], before = pick(0, static_cast<int>(all));
        widths.push_back({before, all - before});
        part.emplace_back(before, before + shape[axis]);
        whole[axis] += all;
      }
      const int work = pick(0, 4);
      const Variable value = work == 0 ? maximum(a, 0) : work == 1 ? a * b
                                                     : work == 2   ? -b
                                                     : work == 3   ? a + 1
                                                                   : b;
      const Variable made = pick(0, 2) == 0 ? set_subtensor(symbolic::zeros(whole, dtype), part, value) : pad(value, widths, pick(0, 1) == 0 ? 0 : pick(-2, 2));
      sum = !sum ? made : pick(0, 1) == 0 ? sum + made
                                          : sum - made;
    }
    const Variable outputs[] = {sum};
    const Numbers got = numbers(function(inputs, outputs, {.device = device(), .allow_unused_inputs = true})(x, y)[0]), wanted = numbers(function(inputs, outputs, {.fuse = false, .rewrite = false, .device = Device("cpu"), .allow_unused_inputs = true})(x.to(Device("cpu")), y.to(Device("cpu")))[0]);
    ASSERT_EQ(got.size(), wanted.size());
    for (std::size_t k = 0; k < wanted.size(); ++k) ASSERT_NEAR(got[k], wanted[k], dtype == float32 ? 1e-5 : 1e-12) << "element " << k;
  }
}

DAMO_ON_EACH_DEVICE(PadFusion);

}  // namespace
}  // namespace damo
