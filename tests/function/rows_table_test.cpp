// Walks the table of rows: every row on every dtype that it takes, on every device, fused with the others and alone,
// on special and random values, against support/row_reference.cpp. A new row is tested the day it lands. Of a few rows
// also: strided, turned, backwards, repeated and misaligned inputs give what their contiguous copies give.
#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <tuple>

#include <gtest/gtest.h>

#include <damo/damo.hpp>
#include "ops/rows.hpp"
#include "support/devices.hpp"
#include "support/row_reference.hpp"
#include "support/sampling.hpp"

namespace damo::testing {
namespace {

/// What a dtype can hold, for distances in units in the last place.
struct Precision {
  int digits, least, most;  ///< exponents as ilogb counts them
};
Precision precision_of(DType dtype) {
  switch (dtype) {
    case float16: return {11, -14, 15};
    case bfloat16: return {8, -126, 127};
    case float32: return {24, -126, 127};
    default: return {53, -1022, 1023};
  }
}

/// How far got is from want in units in the last place of the dtype.
double ulps(DType dtype, double got, Wide want) {
  if (std::isnan(want)) return std::isnan(got) ? 0 : 1e30;
  const Precision precision = precision_of(dtype);
  const Wide limit = std::ldexp(2.0L - std::ldexp(1.0L, -precision.digits), precision.most);  // rounds to infinity from here
  if (std::isinf(got)) return (got > 0) == (want > 0) && std::fabs(want) >= limit * (1 - 1e-6L) ? 0 : 1e30;
  if (std::fabs(want) >= limit) return std::fabs(got) >= static_cast<double>(limit) * 0.99 ? 1 : 1e30;
  const int exponent = want == 0 ? precision.least : std::max(std::ilogb(want), precision.least);
  return static_cast<double>(std::fabs(got - want) * std::ldexp(1.0L, precision.digits - 1 - exponent));
}

template <class T>
std::vector<T> special_values() {
  using Limits = std::numeric_limits<T>;
  if constexpr (std::is_same_v<T, bool>) return {false, true};
  else if constexpr (std::is_integral_v<T>) return {0, 1, 2, 3, 10, T(-1), T(-2), T(-3), T(-10), Limits::min(), T(Limits::min() + 1), Limits::max(), T(Limits::max() - 1)};
  else {
    std::vector<double> values = {0, 0.5, 1, 1.5, 2, 2.5, 3, 80, std::numeric_limits<double>::infinity()};
    if constexpr (std::is_same_v<T, Half>) values.insert(values.end(), {0x1p-24, 0x1p-14, 65504, 0x1p-10});
    else if constexpr (std::is_same_v<T, BFloat16>) values.insert(values.end(), {0x1p-133, 0x1p-126, 0x1.fep127, 0x1p-7});
    else values.insert(values.end(), {Limits::denorm_min(), Limits::min(), Limits::max(), Limits::epsilon()});
    std::vector<T> both;
    for (const double value : values) both.push_back(T(static_cast<float>(value))), both.push_back(T(static_cast<float>(-value)));
    if constexpr (std::is_same_v<T, double>) {
      both.clear();
      for (const double value : values) both.push_back(value), both.push_back(-value);
    }
    both.push_back(T(std::numeric_limits<float>::quiet_NaN()));
    return both;
  }
}

template <class T>
T random_value(std::mt19937_64& random) {
  const std::uint64_t word = random();
  if constexpr (std::is_same_v<T, bool>) return word & 1;
  else if constexpr (std::is_integral_v<T>) return word & 1 ? T(word >> 1) : T(static_cast<std::int64_t>(word >> 1) % 21 - 10);
  else {
    const double range[] = {1, 4, 4, 80};
    const double value = std::uniform_real_distribution(-1.0, 1.0)(random) * range[word % 4];
    return T(static_cast<float>(value));
  }
}

/// The three inputs, as the dtype holds them, and as an op computes with them.
struct Samples {
  Array arrays[3], condition;
  std::vector<double> floating[3];
  std::vector<Big> integers[3];
  std::vector<bool> conditions;
  std::size_t size() const { return floating[0].size(); }
};

template <class T>
Samples samples_of(Device device) {
  std::mt19937_64 random(7);
  std::vector<T> x[3];
  const std::vector<T> special = special_values<T>();
  for (const T a : special) {
    for (const T b : special) x[0].push_back(a), x[1].push_back(b), x[2].push_back(special[random() % special.size()]);
  }
  for (int i = 0; i < 520; ++i) {
    for (auto& values : x) values.push_back(random_value<T>(random));
  }
  Samples samples;
  const auto count = static_cast<std::int64_t>(x[0].size());
  for (int k = 0; k < 3; ++k) {
    const std::unique_ptr<T[]> raw(new T[x[k].size()]);  // a vector<bool> has no elements to point at
    for (std::size_t i = 0; i < x[k].size(); ++i) {
      raw[i] = x[k][i];
      if constexpr (std::is_integral_v<T>) samples.integers[k].push_back(x[k][i]);
      samples.floating[k].push_back(static_cast<double>(static_cast<std::conditional_t<std::is_same_v<T, double> || std::is_integral_v<T>, T, float>>(raw[i])));
    }
    samples.arrays[k] = Array::from(std::span<const T>(raw.get(), x[k].size()), {count}, device);
  }
  const std::unique_ptr<bool[]> conditions(new bool[x[0].size()]);
  for (std::size_t i = 0; i < x[0].size(); ++i) samples.conditions.push_back(conditions[i] = i % 3 == 1);
  samples.condition = Array::from(std::span<const bool>(conditions.get(), x[0].size()), {count}, device);
  return samples;
}

/// As rows_test.cpp has it: a row's bound holds in its range, outside results are roughly right.
double allowed(const ElementwiseRow& row, DType result, double x) {
  if (row.name == "log1mexp" && std::fabs(x) < 0x1p-120) return 1e30;
  if ((row.name == "gammaln" || row.name == "psi" || row.name == "polygamma") && x < 0) return 65536;  // beside zeros
  const bool inside = x >= row.low && x <= row.high;
  const double own = inside ? row.ulp : std::max(row.ulp, 512.0) * (row.name.starts_with("gelu") ? std::max(1.0, x * x / 16) : 1);
  return is_half(result) ? 0.51 + own * 0x1p-13 * (result == float16 ? 1 : 0.125) : own + 0.01;
}

class RowsTable : public ::testing::TestWithParam<std::tuple<std::string, DType>> {
 protected:
  void SetUp() override {
    const std::string& name = std::get<0>(GetParam());
    try {
      device_ = Device(name);
    } catch (const DeviceError& error) {
      GTEST_SKIP() << (name == "cpu" ? "needs the CPU back end: " : "needs a GPU: ") << error.what();
    }
    samples_ = visit(dtype(), [&](auto zero) { return samples_of<decltype(zero)>(*device_); });
  }
  static DType dtype() { return std::get<1>(GetParam()); }

  /// Each row that takes the dtype, of the samples.
  void check_all(bool fuse) const;

  void check(const ElementwiseRow& row, const Array& result) const {
    const RowReference* reference = reference_of(row.name);
    ASSERT_NE(reference, nullptr) << row.name << ": add it to support/row_reference.cpp";
    const DType computed = computed_in(row, dtype());
    ASSERT_EQ(result.dtype(), result_of(row, dtype())) << row.name;
    int failures = 0;
    if (is_floating(result.dtype()) || (is_floating(computed) && result.dtype() == bool_)) {
      const std::vector<double> got = result.to_doubles();
      for (std::size_t i = 0; i < got.size() && failures < 3; ++i) failures += !check_floating(row, *reference, i, got[i], result.dtype());
      return;
    }
    visit(result.dtype(), [&](auto zero) {
      using T = decltype(zero);
      const std::unique_ptr<T[]> got(new T[samples_.size()]);
      result.to_host(got.get());
      if constexpr (std::is_integral_v<T>) {
        for (std::size_t i = 0; i < samples_.size() && failures < 3; ++i) {
          const T want = wanted<T>(row, *reference, i);
          if (got[i] == want) continue;
          ++failures;
          ADD_FAILURE() << row.name << " of " << name(dtype()) << " sample " << i << " is " << +got[i] << ", not " << +want;
        }
      }
    });
  }

 private:
  template <class T>
  T wanted(const ElementwiseRow& row, const RowReference& reference, std::size_t i) const {
    const bool chooses = row.condition_first;
    if (dtype() == bool_ && row.name == "invert") return !samples_.integers[0][i];
    const Big first = chooses ? Big(samples_.conditions[i]) : samples_.integers[0][i];
    const Big value = reference.integer(first, samples_.integers[1][i], samples_.integers[2][i]);
    if constexpr (std::is_same_v<T, bool>) return value != 0;
    else return static_cast<T>(value);
  }
  bool check_floating(const ElementwiseRow& row, const RowReference& reference, std::size_t i, double got, DType result) const {
    const double x = row.condition_first ? samples_.conditions[i] : samples_.floating[0][i];
    const Wide want = reference.floating(x, samples_.floating[1][i], samples_.floating[2][i]);
    const double off = result == bool_ ? (got != 0) != (want != 0) : ulps(result, got, want);
    if (off <= (result == bool_ ? 0 : row.name == "polygamma" ? allowed(row, result, samples_.floating[1][i]) + std::fmax(x, 0) : allowed(row, result, x))) return true;
    ADD_FAILURE() << row.name << " of " << name(dtype()) << " (" << x << ", " << samples_.floating[1][i] << ", " << samples_.floating[2][i] << ") is "
                  << got << ", not " << static_cast<double>(want) << ": " << off << " ulp off";
    return false;
  }

 protected:
  std::optional<Device> device_;
  Samples samples_;
};

void RowsTable::check_all(bool fuse) const {
  const Variable x = vector("x", dtype()), y = vector("y", dtype()), z = vector("z", dtype()), condition = vector("condition", bool_);
  std::vector<const ElementwiseRow*> rows;
  std::vector<Variable> outputs;
  for (const ElementwiseRow& row : builtin_rows()) {
    if (!takes(row, dtype()) || !(fuse || takes_pair(static_cast<std::size_t>(&row - builtin_rows().data()), static_cast<std::size_t>(dtype())))) continue;
    rows.push_back(&row);
    const Variable first = row.condition_first ? condition : x;
    outputs.push_back(arity(row) == 1   ? apply_elementwise(row, {first})
                      : arity(row) == 2 ? apply_elementwise(row, {first, y})
                                        : apply_elementwise(row, {first, y, z}));
  }
  const Variable inputs[] = {x, y, z, condition};
  const Function f = function(inputs, outputs, {.fuse = fuse, .device = device_, .allow_unused_inputs = true});
  const Array arrays[] = {samples_.arrays[0], samples_.arrays[1], samples_.arrays[2], samples_.condition};
  const Results results = f.call(arrays);
  for (std::size_t i = 0; i < rows.size(); ++i) check(*rows[i], results[i]);
}

TEST_P(RowsTable, GivesWhatItShould) { check_all(true); }
TEST_P(RowsTable, GivesWhatItShouldInKernelsOfTheirOwn) { check_all(false); }

TEST_P(RowsTable, GivesTheSameHoweverItsInputsLie) {
  if (is_float8(dtype())) GTEST_SKIP() << "8-bit floats are not computed with: float8_test.cpp";
  const Array all = samples_.arrays[0], other = samples_.arrays[1];  // 504 elements at least
  const auto matrix = [&](const Array& from, std::int64_t first, std::int64_t rows, std::int64_t columns) { return from.slice({{first, first + rows * columns}}).reshape({rows, columns}); };
  const Array square = matrix(all, 0, 18, 18), wide = matrix(other, 3, 12, 40);
  const Slice whole{}, back{{}, {}, -1}, second{{}, {}, 2}, inner{1, 17};
  const Array pairs[][2] = {
      {square, square.transpose()}, {square.transpose(), square.transpose()}, {square.slice({whole, back}), square},
      {square.slice({back, back}), square.slice({inner, inner}).slice({{0, 1}, {0, 1}})}, {wide.slice({whole, second}), wide.slice({whole, {20, 40}})},
      {wide, matrix(other, 1, 1, 40)}, {wide, matrix(other, 1, 12, 1)}, {matrix(other, 5, 12, 1), matrix(all, 7, 1, 40)},
      {square.slice({inner, inner}), square.slice({{0, 16}, {2, 18}})}, {matrix(all, 1, 1, 1), matrix(all, 2, 1, 1)},
      {wide.slice({{0, 0}, whole}), wide.slice({{0, 0}, whole})}, {matrix(all, 1, 1, 1).broadcast_to({5, 7}), matrix(other, 9, 5, 7)}};
  for (const auto& [a, b] : pairs) {
    SCOPED_TRACE(describe(a) + " strides " + to_string(a.strides()) + ", " + describe(b) + " strides " + to_string(b.strides()));
    const auto type = [&](const Array& array) {  // an axis of extent 1 stretches, so the graph must know it
      Shape dims = Shape::filled(2, kUnknown);
      for (int axis = 0; axis < 2; ++axis) dims[axis] = array.shape()[axis] == 1 ? 1 : kUnknown;
      return TensorType{dtype(), dims};
    };
    const auto x = input(type(a), "x"), y = input(type(b), "y");
    const Variable inputs[] = {x, y}, outputs[] = {maximum(x, y), x + y, lt(x, y), where(eq(x, y), x, y), cast(x, float64)};
    const Function f = function(inputs, outputs, {.device = device_});
    const Results views = f(a, b), copies = f(a.copy(), b.copy());
    for (std::size_t i = 0; i < views.size(); ++i) {
      const auto left = views[i].to_doubles(), right = copies[i].to_doubles();
      ASSERT_EQ(views[i].shape(), copies[i].shape());
      int wrong = 0;
      for (std::size_t k = 0; k < left.size(); ++k) wrong += !(left[k] == right[k] || (std::isnan(left[k]) && std::isnan(right[k])));
      EXPECT_EQ(wrong, 0) << "output " << i;
    }
  }
}

// What LLVM 19 miscompiles on AVX-512 if it is let (docs/dependencies.md): a choice of bits under a mask, of which a sign put on a
// result is one.
TEST(LlvmOnCpu, ChoosesBitsUnderAMask) {
  if (!DAMO_HAS_CPU) GTEST_SKIP() << "needs the CPU back end";
  const Variable x = vector("x", bfloat16);
  const std::vector<BFloat16> values(203, BFloat16(-0.75f));
  std::vector<Variable> masked, plain;
  for (const ElementwiseRow* row : elementwise_rows()) {
    if (arity(*row) != 1 || row->domain == Domain::kIntegersAndBool || row->result == ResultRule::kBool) continue;
    plain.push_back(apply_elementwise(*row, {x}));
    masked.push_back(where(x < 0.0, plain.back(), x));
  }
  const Variable inputs[] = {x};
  const Array array = Array::from(values, cpu());
  for (const bool fuse : {false, true}) {
    const Results a = function(inputs, masked, {.fuse = fuse, .device = cpu()})(array), b = function(inputs, plain, {.fuse = false, .device = cpu()})(array);
    for (std::size_t i = 0; i < a.size(); ++i) {
      const auto got = a[i].to_doubles(), want = b[i].to_doubles();
      int wrong = 0;
      for (std::size_t k = 0; k < got.size(); ++k) wrong += !(std::abs(got[k] - want[k]) <= 0.01 * std::abs(want[k]) || (std::isnan(got[k]) && std::isnan(want[k])));
      EXPECT_EQ(wrong, 0) << masked[i].owner().input(1).owner().op().name() << " fused " << fuse;
    }
  }
}

/// Six functions in one kernel need more masks than there are registers: one comes from memory, and acos(0.5) was 2.09375 on AVX-512 FP16.
TEST(LlvmOnCpu, ComputesSixFunctionsOfFloat16InOneKernel) {
  if (!DAMO_HAS_CPU) GTEST_SKIP() << "needs the CPU back end";
  const Variable y = vector("y", float16), x = vector("x", float16);
  std::vector<Variable> outputs = {atanh(x), acosh(x), atan2(x, y), atan(x), acos(x), cos(x)};
  std::reverse(outputs.begin(), outputs.end());
  const Variable inputs[] = {x, y};
  const Function f = function(inputs, outputs, {.device = cpu()});
  for (const double value : {0.5, -0.5, 0.75, 1.0, -1.0, 1.5, 0.0}) {
    const Array xs = Array::from(std::vector<Half>(203, Half(static_cast<float>(value))), cpu());
    const Array ys = Array::from(std::vector<Half>(203, Half(-2.0f)), cpu());
    const Results results = f(xs, ys);
    const double wanted[] = {std::cos(value), std::acos(value), std::atan(value), std::atan2(value, -2.0), std::acosh(value), std::atanh(value)};
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      for (const double got : results[i].to_doubles()) {
        ASSERT_TRUE(std::isnan(wanted[i]) ? std::isnan(got) : got == wanted[i] || std::abs(got - wanted[i]) <= 1e-3 * std::abs(wanted[i]) + 1e-7)
            << outputs[i].owner().op().name() << " of " << value << " is " << got << ", not " << wanted[i];
      }
    }
  }
}

/// The least int16 negated is itself, and is not greater than 0: NVIDIA's assembler takes it for 32768 where it may.
class LeastInt16OnEachDevice : public testing::OnEachDevice {};
TEST_P(LeastInt16OnEachDevice, StaysItselfForWhatComparesIt) {
  const Variable x = vector("x", int16), zero = constant(Scalar(0).cast(int16)), minus_one = constant(Scalar(-1).cast(int16));
  const std::vector<Variable> negated = {neg(x), abs(x), sub(zero, x), mul(x, minus_one), int_div(x, minus_one), where(x < zero, neg(x), x), maximum(x, neg(x))};
  std::vector<Variable> outputs;
  for (const Variable& y : negated) outputs.push_back(where(y > zero, cast(y, float32), constant(7.0f)));
  const Variable inputs[] = {x};
  const std::vector<std::int16_t> values(37, -32768);
  for (const bool fuse : {true, false}) {
    const Results results = function(inputs, outputs, {.fuse = fuse, .device = device()})(Array::from(values, device()));
    for (std::size_t i = 0; i < outputs.size(); ++i) EXPECT_EQ(results[i].to_doubles(), std::vector<double>(values.size(), 7)) << i << " fused " << fuse;
  }
}
TEST_P(LeastInt16OnEachDevice, SmallIntegersEqualTheGreaterOfTwoWhereTheyAreIt) {
  for (const DType dtype : {int8, uint8, int16, uint16}) {
    const Variable x = vector("x", dtype), y = vector("y", dtype), zero = sub(y, y);
    const std::vector<Variable> outputs = {eq(maximum(x, y), x), eq(minimum(x, y), x), eq(relu(x), zero), neq(clip(x, zero, y), y), eq(where(gt(x, y), x, y), x), eq(where(lt(x, y), x, y), y)};
    const Variable inputs[] = {x, y};
    const Array a = astype(Array::from(std::vector<double>{3, 7, 0, 100, 5}, device()), dtype), b = astype(Array::from(std::vector<double>{4, 2, 0, 100, 90}, device()), dtype);
    const std::vector<double> expected[] = {{0, 1, 1, 1, 0}, {1, 0, 1, 1, 1}, {0, 0, 1, 0, 0}, {1, 0, 0, 0, 1}, {0, 1, 1, 1, 0}, {0, 1, 1, 1, 0}};
    for (const bool fuse : {true, false}) {
      const Results results = function(inputs, outputs, {.fuse = fuse, .device = device()})(a, b);
      for (std::size_t i = 0; i < outputs.size(); ++i) EXPECT_EQ(results[i].to_doubles(), expected[i]) << name(dtype) << " " << i << " fused " << fuse;
    }
  }
}
DAMO_ON_EACH_DEVICE(LeastInt16OnEachDevice);

/// NaN is neither less nor greater than anything: NVIDIA's assembler takes what can't be negative for a number.
class NanOnEachDevice : public testing::OnEachDevice {};
TEST_P(NanOnEachDevice, IsOrderedBehindNoFunctionThatGivesWhatIsNotNegative) {
  const Elementwise at_least{{.name = "at_least_minus_one", .code = "x0 >= T(-1) ? T(1) : T(0)"}};
  for (const DType dtype : {float16, float32, float64}) {
    const Variable x = vector("x", dtype), y = vector("y", dtype);
    std::vector<Variable> outputs;
    for (const Variable& positive : {abs(x), sqr(x), exp(x), exp2(x), abs(x) + abs(y), maximum(abs(x), abs(y)), abs(x) * 2.0, sqr(sqr(x)), abs(cast(x, float32))}) {
      for (const Variable& ordered : {ge(positive, 0.0), gt(positive, -1.0), le(0, positive), lt(constant(Scalar(-2).cast(int8)), positive), le(-positive, 0.0)}) outputs.push_back(cast(ordered, float32));
      outputs.push_back(at_least(positive));
    }
    outputs.push_back(grad(sum(maximum(abs(y) + abs(x), 0.0)), y));
    const Variable inputs[] = {x, y};
    const Array a = astype(Array::from(std::vector<double>{1, NAN, -2}, device()), dtype), b = astype(Array::from(std::vector<double>{1, 1, 3}, device()), dtype);
    for (const bool fuse : {true, false}) {
      const Results results = function(inputs, outputs, {.fuse = fuse, .device = device()})(a, b);
      for (std::size_t i = 0; i < outputs.size(); ++i) EXPECT_EQ(results[i].to_doubles(), (std::vector<double>{1, 0, 1})) << name(dtype) << " " << i << " fused " << fuse;
    }
  }
}
DAMO_ON_EACH_DEVICE(NanOnEachDevice);

INSTANTIATE_TEST_SUITE_P(, RowsTable, ::testing::Combine(::testing::Values("cpu", "cuda:0"), ::testing::ValuesIn(kAllDTypes)), [](const auto& info) {
  const std::string& device = std::get<0>(info.param);
  return device.substr(0, device.find(':')) + "_" + std::string(name(std::get<1>(info.param)));
});

}  // namespace
}  // namespace damo::testing
