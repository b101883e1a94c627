// Scans of what follows from reductions of the same rows, in one graph: which are one kernel, and values against those of one kernel an op in double precision, on the CPU where there is one.
#include <cmath>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <damo/damo.hpp>
#include "runtime/backend.hpp"
#include "support/devices.hpp"

namespace damo {
namespace {

constexpr bool keepdims = true;

class RowScans : public testing::OnEachDevice {
 protected:
  using Build = std::function<std::vector<Variable>(const Variable&)>;
  bool is_gpu() const { return device().kind() == DeviceKind::kCuda; }
  Array noise(const Shape& shape, DType dtype, unsigned seed = 1) const {
    std::mt19937 random(seed);
    std::vector<double> values(static_cast<std::size_t>(shape.size()));
    for (double& value : values) value = static_cast<double>(random() % 4001) / 1000 - 2;
    return cast(Array::from(values, shape, device()), dtype);
  }
  void SetUp() override {
    OnEachDevice::SetUp();
    for (const Device& each : devices()) {
      if (each.kind() == DeviceKind::kCpu) reference_ = each;
    }
  }
  static double error_of(DType dtype) { return dtype == float64 ? 1e-11 : dtype == float32 ? 1e-4
                                                                      : dtype == float16   ? 4e-3
                                                                                           : 3e-2; }
  /// Each element within `error` of its size, or of 1 and `spread`, by which numbers that are added up err. Twice the same bits.
  void expect(const std::string& what, const Build& build, const Array& x, double spread = 0) const {
    const Variable v = input({x.dtype(), x.shape()}, "x"), w = input({float64, x.shape()}, "w");
    const Function fused = function({v}, build(v), {.device = device()});
    const Results found = fused(x), again = fused(x), wanted = function({w}, build(w), {.fuse = false, .device = reference_})(cast(x, float64).to(reference_));
    for (std::size_t i = 0; i < found.size(); ++i) {
      const std::vector<double> values = found[i].to_doubles(), repeated = again[i].to_doubles(), exact = wanted[i].to_doubles();
      ASSERT_EQ(values.size(), exact.size());
      for (std::size_t k = 0; k < values.size(); ++k) {
        ASSERT_NEAR(values[k], exact[k], error_of(x.dtype()) * (1 + spread + std::abs(exact[k]))) << what << ", output " << i << ", element " << k << " of " << to_string(x.shape());
        ASSERT_EQ(values[k], repeated[k]) << what;
      }
    }
  }
  /// Launches of the second call.
  std::uint64_t launches(const Build& build, const Array& x) const {
    const Variable v = input({x.dtype(), x.shape()}, "x");
    const Function f = function({v}, build(v), {.device = device()});
    f(x);
    const auto before = device().backend().launches.load();
    f(x);
    return device().backend().launches.load() - before;
  }

  Device reference_;
  const Build softmax_sums_ = [](const Variable& x) { return std::vector<Variable>{cumsum(softmax(x, 1), 1)}; };
  /// The most probable ones that make up so much, and how many these are.
  const Build nucleus_ = [](const Variable& x) {
    const Variable p = softmax(x, 1), before = cumsum(p, 1, {.exclusive = true});
    return std::vector<Variable>{p, before, p * sigmoid(before), sum(p * p, 1)};
  };
  const Build backward_ = [](const Variable& x) {
    return std::vector<Variable>{cumsum(softmax(x, 1), 1, {.reverse = true}), cumprod(x / max(abs(x), 1, keepdims), 1, {.reverse = true, .exclusive = true})};
  };
  const Build several_ = [](const Variable& x) {
    const Variable centred = x - mean(x, 1, keepdims);
    return std::vector<Variable>{cummax(centred, 1) * 2.0, logcumsumexp(x - logsumexp(x, 1, keepdims), 1), cumsum(abs(x), 1) / sum(abs(x), 1, keepdims), argmax(x, 1)};
  };
};

TEST_P(RowScans, AreOneKernelWhereAGpuHoldsTheRows) {
  const Array x = noise({6, 1000}, float32);
  const Variable v = input({float32, {6, 1000}}, "x");
  for (const Build& build : {softmax_sums_, nucleus_, backward_, several_}) {
    const Function f = function({v}, build(v), {.device = device()});
    EXPECT_NE(f.explain().find("1 node"), std::string::npos) << f.explain();
    EXPECT_EQ(launches(build, x), is_gpu() ? 1u : 2u) << "a CPU has rows and prefixes each in a kernel";
  }
}

TEST_P(RowScans, GiveWhatEachOpGives) {
  for (const std::int64_t length : {1, 3, 40, 129, 2049, 8192}) {
    const Array x = noise({length < 50 ? 37 : 3, length}, float32);
    expect("softmax_sums", softmax_sums_, x);
    expect("nucleus", nucleus_, x);
  }
}

TEST_P(RowScans, AreAThreadsOwnWhereRowsAreShortAndMany) {
  for (const std::int64_t length : {3, 12, 40}) {
    expect("nucleus", nucleus_, noise({9000, length}, float32));
    expect("backward", backward_, noise({9000, length}, bfloat16));
  }
}

TEST_P(RowScans, GoBackward) {
  for (const std::int64_t length : {5, 64, 1001}) expect("backward", backward_, noise({5, length}, float32));
}

TEST_P(RowScans, StandBesideEachOther) {
  for (const std::int64_t length : {6, 100, 1025}) expect("several", several_, noise({5, length}, float32), std::sqrt(static_cast<double>(length)));
}

TEST_P(RowScans, HaveTheDtypesOfFloats) {
  for (const DType dtype : {float64, bfloat16, float16}) {
    expect("softmax_sums", softmax_sums_, noise({4, 777}, dtype));
    expect("backward", backward_, noise({4, 24}, dtype));
  }
}

TEST_P(RowScans, OfIntegersAreExact) {
  const Variable v = input({int32, {3, 700}}, "x");
  const auto build = [](const Variable& x) { return std::vector<Variable>{cumsum(x - max(x, 1, keepdims), 1), cummin(x, 1)}; };
  const Array x = cast(noise({3, 700}, float64) * 100.0, int32);
  const Results found = function({v}, build(v), {.device = device()})(x), wanted = function({v}, build(v), {.fuse = false, .device = device()})(x);
  for (std::size_t i = 0; i < found.size(); ++i) EXPECT_EQ(found[i].to_doubles(), wanted[i].to_doubles());
}

TEST_P(RowScans, TakeRowsAsTheyLie) {
  const Array wide = noise({5, 1200}, float32), tall = noise({300, 6}, float32);
  for (const Array& x : {wide.slice({Slice(), Slice(1, 1000)}), wide.slice({Slice(), Slice(0, 1200, 3)}), wide.slice({Slice(), Slice({}, {}, -1)}), tall.transpose(), wide.slice({Slice(0, 5, 2)})}) {
    expect("softmax_sums", softmax_sums_, x);
    expect("backward", backward_, x);
  }
}

TEST_P(RowScans, OfRowsWithoutElementsGiveWhatRowsGive) {
  const Variable v = input({float32, Shape::filled(2, kUnknown)}, "x");
  const Function f = function({v}, {cumsum(v - sum(v, 1, keepdims), 1), sum(v, 1)}, {.device = device()});
  const Results none = f(Array::empty({3, 0}, float32, device())), rows = f(Array::empty({0, 3}, float32, device()));
  EXPECT_EQ(none[0].shape(), (Shape{3, 0}));
  EXPECT_EQ(none[1].to_doubles(), (std::vector<double>{0, 0, 0}));
  EXPECT_EQ(rows[0].shape(), (Shape{0, 3}));
}

TEST_P(RowScans, OfOneLongRowGoThroughItInPasses) {
  expect("softmax_sums", softmax_sums_, noise({2, 700000}, float32));
}

DAMO_ON_EACH_DEVICE(RowScans);

}  // namespace
}  // namespace damo
