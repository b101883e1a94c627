// The graphs of damo-bench --compositions at small sizes, in both dtypes, against their unfused forms in float64.
#include "bench/workload.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "support/devices.hpp"
#include "support/sampling.hpp"

namespace damo::bench {
namespace {

constexpr std::int64_t kElements = 1 << 16;

class CompositionsOnEachDevice : public damo::testing::OnEachDevice {};

/// The greatest |a - b|, in units of the greatest |b|. Infinite where one is NaN.
double relative_error(const Array& a, const Array& b) {
  const std::vector<double> values = astype(a, float64).to_vector<double>(), expected = astype(b, float64).to_vector<double>();
  double error = 0, greatest = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double difference = std::abs(values[i] - expected[i]);
    error = std::max(error, std::isnan(difference) ? INFINITY : difference);
    greatest = std::max(greatest, std::abs(expected[i]));
  }
  return greatest == 0 ? error : error / greatest;
}

/// What is always allowed of results in this dtype: a few roundings of the greatest, and of whole numbers that were rounded, one.
double bound(DType result) {
  if (result == int8) return 1.0 / 127;
  return is_floating(result) ? (result == float32 ? 0x1p-20 : 0x1p-7) : 0;
}

Workload in_float64(Workload work) {
  work.dtype = float64;
  return work;
}

TEST_P(CompositionsOnEachDevice, GiveWhatTheirUnfusedFormsGive) {
  const std::vector<Workload> all = compositions(kElements);
  const std::size_t graphs = all.size() / 2;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const bool is_narrow = i >= graphs;
    if (!damo::testing::is_thorough() && (i % graphs % 2 == 1) != is_narrow) continue;  // each graph in one dtype
    const Workload& work = all[i];
    SCOPED_TRACE(work.name);
    const std::vector<Array> inputs = work.inputs(device());
    std::vector<Array> exact = inputs;
    for (Array& input : exact) {
      if (is_floating(input.dtype())) input = astype(input, float64);
    }
    const Results results = work.build(device(), true).call(inputs), expected = in_float64(work).build(device(), false).call(exact);
    ASSERT_EQ(results.size(), expected.size());
    for (std::size_t output = 0; output < results.size(); ++output) {
      SCOPED_TRACE("output " + std::to_string(output));
      ASSERT_EQ(results[output].shape(), expected[output].shape());
      const double error = relative_error(results[output], expected[output]);
      if (error <= bound(results[output].dtype())) continue;
      // A sum whose terms cancel, and statistics that kernels hand each other in the graph's dtype, err by more: about as much unfused.
      const double unfused = relative_error(work.build(device(), false).call(inputs)[output], expected[output]);
      EXPECT_LE(error, 4 * unfused);
    }
  }
}

DAMO_ON_EACH_DEVICE(CompositionsOnEachDevice);

TEST(Compositions, BytesAreThoseOfInputsAndResultsOnceAndOfWhatIsReadAgain) {
  const auto bytes = [](const std::string& name) {
    const std::vector<Workload> all = compositions(1 << 27);
    return std::find_if(all.begin(), all.end(), [&](const Workload& work) { return work.name == name; })->bytes;
  };
  constexpr double n = 1 << 27;
  EXPECT_EQ(bytes("group_norm"), 4 * (2 * n + 2 * 256));
  EXPECT_EQ(bytes("group_norm_bf16"), 2 * (2 * n + 2 * 256));
  EXPECT_EQ(bytes("batch_norm"), 4 * (3 * n + 2 * 128));
  EXPECT_EQ(bytes("masked_softmax_bf16"), (2 + 1 + 2) * n);
  EXPECT_EQ(bytes("top1_value"), 4 * n + (4 + 8) * 16384);
}

TEST(Compositions, HaveNamesOfTheirOwn) {
  std::set<std::string> names;
  for (bool compositions_only : {false, true}) {
    for (const Workload& work : workloads(DeviceKind::kCpu, compositions_only)) {
      if (work.name != "copy") EXPECT_TRUE(names.insert(work.name).second) << work.name;
    }
  }
}

}  // namespace
}  // namespace damo::bench
