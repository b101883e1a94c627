// Softmax and what is like it of rows that the blocks of a cluster share, which a GPU (sm_90) has and no CPU: values against float64, infinities and NaN where
// the formulas have them, and the same bits again. Texts of these kernels, as far as the CPU can run them: tests/runtime/cuda/reducing_text_test.cpp.
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <damo/damo.hpp>

namespace damo {
namespace {

constexpr float kRowInfinity = std::numeric_limits<float>::infinity(), kRowNan = std::numeric_limits<float>::quiet_NaN();
constexpr std::int64_t kRowKinds = 10;  // of rows, see row_element()

/// Noise that rises by `slope` along a row, so that its parts have maxima of their own; rows with infinities and NaN among the others.
float row_element(std::int64_t row, std::int64_t at, std::int64_t length, float slope) {
  std::uint64_t bits = static_cast<std::uint64_t>(row * length + at) * 0x9e3779b97f4a7c15u;
  bits ^= bits >> 29;
  const float value = static_cast<float>(bits * 0xbf58476d1ce4e5b9u >> 40) / static_cast<float>(1 << 22) - 2 + slope * static_cast<float>(at) / static_cast<float>(length);
  const bool chosen = at == length / 3;
  switch (row % kRowKinds) {
    case 0: return -kRowInfinity;
    case 1: return chosen ? kRowNan : value;
    case 2: return chosen ? kRowInfinity : value;
    case 3: return at < length / 2 ? -kRowInfinity : value;
    case 4: return at >= length / 4 ? -kRowInfinity : value;
    case 5: return chosen ? value : -kRowInfinity;
    case 6: return chosen ? kRowInfinity : -kRowInfinity;
    case 7: return at % 1024 < 1000 ? -kRowInfinity : 60 * value;
    default: return value;
  }
}

/// Softmax, its logarithm, and the gradient of sum(softmax * g).
struct RowValues {
  std::vector<double> soft, logarithm, gradient;
  double sum = 0;  // its logarithm
};
RowValues row_values(const std::vector<double>& x, const std::vector<double>& g) {
  RowValues row;
  double most = -kRowInfinity, sum = 0, product = 0;
  for (double value : x) most = std::isnan(value) || std::isnan(most) ? kRowNan : std::max(most, value);
  for (double value : x) sum += std::exp(value - most);
  row.sum = most + std::log(sum);
  for (std::size_t i = 0; i < x.size(); ++i) {
    row.soft.push_back(std::exp(x[i] - most) / sum);
    row.logarithm.push_back(x[i] - most - std::log(sum));
    product += row.soft[i] * g[i];
  }
  for (std::size_t i = 0; i < x.size(); ++i) row.gradient.push_back(row.soft[i] * (g[i] - product));
  return row;
}

class LongRowsOnCuda : public ::testing::TestWithParam<std::int64_t> {
 protected:
  void SetUp() override {
    try {
      device_ = Device("cuda:0");
    } catch (const DeviceError& error) {
      GTEST_SKIP() << "needs a GPU: " << error.what();
    }
  }
  /// More than eight for each cluster that may be resident, which then stays.
  std::int64_t rows() const {
    const std::int64_t cluster = GetParam() <= 65536 ? 2 : (GetParam() + 32767) / 32768;
    return 8 * device_->properties().multiprocessors / cluster + 7;
  }
  Array given(float slope) const {
    std::vector<float> values(static_cast<std::size_t>(rows() * GetParam()));
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = row_element(static_cast<std::int64_t>(i) / GetParam(), static_cast<std::int64_t>(i) % GetParam(), GetParam(), slope);
    return Array::from(values, {rows(), GetParam()}, *device_);
  }
  static std::vector<double> row_of(const Array& array, std::int64_t row) { return array.slice({Slice{row, row + 1}}).to_doubles(); }
  /// The first ones of each cluster, and the last ones.
  std::vector<std::int64_t> sample() const {
    std::vector<std::int64_t> all;
    for (std::int64_t row = 0; row < std::min<std::int64_t>(2 * kRowKinds, rows()); ++row) all.push_back(row);
    for (std::int64_t row = std::max<std::int64_t>(rows() - kRowKinds, 0); row < rows(); ++row) all.push_back(row);
    return all;
  }
  bool has_clusters() const { return device_->properties().architecture == "sm_90"; }  // others may have less shared memory
  std::optional<Device> device_;
};

void expect_row_near(const std::vector<double>& found, const std::vector<double>& wanted, double relative, double absolute, const std::string& what) {
  ASSERT_EQ(found.size(), wanted.size()) << what;
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (std::isnan(wanted[i])) ASSERT_TRUE(std::isnan(found[i])) << what << " element " << i << ": " << found[i];
    else if (std::isinf(wanted[i])) ASSERT_EQ(found[i], wanted[i]) << what << " element " << i;
    else ASSERT_NEAR(found[i], wanted[i], relative * std::abs(wanted[i]) + absolute) << what << " element " << i;
  }
}

void expect_row_same(const Array& a, const Array& b, std::int64_t row) {
  const std::vector<double> first = a.slice({Slice{row, row + 1}}).to_doubles(), second = b.slice({Slice{row, row + 1}}).to_doubles();
  for (std::size_t i = 0; i < first.size(); ++i) ASSERT_TRUE(first[i] == second[i] || (std::isnan(first[i]) && std::isnan(second[i]))) << "row " << row << " element " << i;
}

TEST_P(LongRowsOnCuda, HaveTheSoftmaxOfTheFormula) {
  const Variable x = matrix("x");
  const Function soft = function({x}, {softmax(x, 1)}, {.device = *device_}), logarithm = function({x}, {log_softmax(x, 1)}, {.device = *device_});
  const Array values = given(12);
  const Results a = soft(values), b = logarithm(values), again = soft(values);
  const std::vector<KernelInfo> kernels = soft.kernels();
  const bool stays = std::any_of(kernels.begin(), kernels.end(), [](const KernelInfo& kernel) { return kernel.layout.find("that stay") != std::string::npos; });
  EXPECT_TRUE(stays || !has_clusters() || GetParam() <= 50257);
  for (std::int64_t row : sample()) {
    const std::vector<double> in = row_of(values, row);
    const RowValues wanted = row_values(in, in);
    expect_row_near(row_of(a[0], row), wanted.soft, 2e-5, 1e-44, "softmax, row " + std::to_string(row));
    expect_row_near(row_of(b[0], row), wanted.logarithm, 2e-6, 2e-5, "log_softmax, row " + std::to_string(row));
    expect_row_same(a[0], again[0], row);
  }
}

TEST_P(LongRowsOnCuda, HaveTheSumOfExponentialsBesideTheirSoftmax) {
  const Variable x = matrix("x"), most = max(x, 1, keepdims), e = exp(x - most), sums = sum(e, 1, keepdims);
  const Function f = function({x}, {e / sums, most + log(sums)}, {.device = *device_});
  const Array values = given(-12);
  const Results found = f(values);
  for (std::int64_t row : sample()) {
    const std::vector<double> in = row_of(values, row);
    const RowValues wanted = row_values(in, in);
    expect_row_near(row_of(found[0], row), wanted.soft, 2e-5, 1e-44, "softmax, row " + std::to_string(row));
    expect_row_near(row_of(found[1], row), {wanted.sum}, 2e-6, 2e-6, "sum, row " + std::to_string(row));
  }
}

/// Arrays that begin an element behind where vectors do, and rows apart from each other.
TEST_P(LongRowsOnCuda, MayBeginAnywhere) {
  const Variable x = matrix("x");
  const Function f = function({x}, {softmax(x, 1)}, {.device = *device_});
  const Array values = given(12), part = values.slice({Slice{0, rows()}, Slice{1, GetParam()}});
  const Array found = f(part)[0];
  for (std::int64_t row : sample()) expect_row_near(row_of(found, row), row_values(row_of(part, row), row_of(part, row)).soft, 2e-5, 1e-44, "row " + std::to_string(row));
}

TEST_P(LongRowsOnCuda, HaveTheGradientOfTheFormula) {
  const Variable x = matrix("x"), g = matrix("g"), y = softmax(x, 1);
  const Function f = function({x, g}, {y, lop(y, g, x)}, {.device = *device_});
  const Array values = given(12);
  std::vector<float> weights(static_cast<std::size_t>(rows() * GetParam()));
  for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = static_cast<float>(i * 7919 % 1009) / 504.5f - 1;
  const Array gradients = Array::from(weights, values.shape(), *device_);
  const Results found = f(values, gradients);
  for (std::int64_t row : sample()) {
    const RowValues wanted = row_values(row_of(values, row), row_of(gradients, row));
    expect_row_near(row_of(found[0], row), wanted.soft, 2e-5, 1e-44, "softmax, row " + std::to_string(row));
    const double most = *std::max_element(wanted.soft.begin(), wanted.soft.end());
    expect_row_near(row_of(found[1], row), wanted.gradient, 1e-4, std::isnan(most) ? 0 : 2e-5 * most, "gradient, row " + std::to_string(row));
  }
}

TEST_P(LongRowsOnCuda, OfBfloat16HaveTheSoftmaxAndTheGradient) {
  const Variable x = matrix("x", bfloat16), g = matrix("g", bfloat16), y = softmax(x, 1);
  const Function f = function({x, g}, {y, lop(y, g, x)}, {.device = *device_});
  const Array values = astype(given(12), bfloat16), gradients = astype(Array::ones(values.shape(), float32, *device_), bfloat16);
  const Results found = f(values, gradients);
  for (std::int64_t row : sample()) {
    const std::vector<double> in = row_of(values, row);
    const RowValues wanted = row_values(in, row_of(gradients, row));
    expect_row_near(row_of(found[0], row), wanted.soft, 0.01, 1e-39, "softmax, row " + std::to_string(row));
    const double most = *std::max_element(wanted.soft.begin(), wanted.soft.end());
    expect_row_near(row_of(found[1], row), std::vector<double>(in.size(), std::isnan(most) ? kRowNan : 0), 0, std::isnan(most) ? 0 : 0.02 * most, "gradient, row " + std::to_string(row));
  }
}

TEST_P(LongRowsOnCuda, OfBfloat16HaveTheCrossEntropyAndItsGradient) {
  const Variable x = matrix("x", bfloat16), labels = input({int32, {-1}}, "labels"), loss = cross_entropy(cast(x, float32), labels);
  const Function f = function({x, labels}, {loss, grad(sum(loss), x), softmax(x, 1)}, {.device = *device_}), alone = function({x}, {softmax(x, 1)}, {.device = *device_});
  std::vector<float> values(static_cast<std::size_t>(rows() * GetParam()));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i * 2654435761u % 4093) / 512.0f - 4;
  std::vector<std::int32_t> chosen(static_cast<std::size_t>(rows()));
  for (std::size_t row = 0; row < chosen.size(); ++row) chosen[row] = static_cast<std::int32_t>(row % 3 == 0 ? row % 2 * static_cast<std::size_t>(GetParam() - 1) : row * 7919 % static_cast<std::size_t>(GetParam()));
  const Array given = astype(Array::from(values, {rows(), GetParam()}, *device_), bfloat16);
  const Results found = f(given, Array::from(chosen, {rows()}, *device_));
  const Array soft = alone(given)[0];
  const std::vector<double> losses = found[0].to_doubles();
  for (std::int64_t row : sample()) {
    const std::vector<double> in = row_of(given, row);
    RowValues wanted = row_values(in, in);
    const auto label = static_cast<std::size_t>(chosen[static_cast<std::size_t>(row)]);
    const std::string what = "row " + std::to_string(row);
    ASSERT_NEAR(losses[static_cast<std::size_t>(row)], -wanted.logarithm[label], 1e-5 * std::abs(wanted.logarithm[label])) << what;
    expect_row_near(row_of(soft, row), wanted.soft, 0.004, 0, "softmax, " + what);
    expect_row_near(row_of(found[2], row), wanted.soft, 0.004, 0, "softmax beside, " + what);
    wanted.soft[label] -= 1;
    expect_row_near(row_of(found[1], row), wanted.soft, 0.004, 1e-9, "gradient, " + what);
  }
}

INSTANTIATE_TEST_SUITE_P(, LongRowsOnCuda, ::testing::Values(1001, 8191, 40000, 50257, 65536, 131072, 262144), [](const auto& info) { return "Of" + std::to_string(info.param); });

}  // namespace
}  // namespace damo
