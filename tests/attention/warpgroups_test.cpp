// Attention by products of warpgroups against the same walk by products of warps: the same bits.
#include "ops/attention/attention_warpgroups.hpp"

#include <cmath>
#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <damo/array_math.hpp>
#include <damo/module.hpp>
#include "support/devices.hpp"

using namespace damo;
using namespace damo::testing;

namespace {

struct WarpgroupCase {
  const char* name;
  int features = 64;
  DType dtype = bfloat16;
  int batch = 2, heads = 4, groups = 4, queries = 64, keys = 64;
  bool causal = false, masked = false;
};
std::ostream& operator<<(std::ostream& out, const WarpgroupCase& at) { return out << at.name; }

class Warpgroups : public ::testing::TestWithParam<WarpgroupCase> {
 protected:
  void SetUp() override {
    try {
      device_ = Device("cuda:0");
    } catch (const DeviceError& error) {
      GTEST_SKIP() << "needs a GPU: " << error.what();
    }
    if (device_->properties().architecture != "sm_90") GTEST_SKIP() << "sm_90 alone has products of warpgroups, this is " << device_->properties().architecture;
  }

  /// Values in [-2, 2].
  Array noise(const Shape& shape, DType dtype, std::uint32_t seed) const {
    std::vector<float> values(static_cast<std::size_t>(shape.size()));
    for (float& value : values) value = static_cast<float>((seed = seed * 1664525u + 1013904223u) >> 8) / 4194304.0f - 2;
    return astype(Array::from(values, shape, *device_), dtype);
  }

  std::optional<Device> device_;
};

/// Results of the forward kernel, then of both others, which read that one's logarithms.
struct Computed {
  Array out, logarithms, by_query, by_key, by_value;
};

/// Of a (batch, rows, heads, features).
AttentionRows rows_of(const Array& array) { return {array.data(), array.strides()[0], array.strides()[2], array.strides()[1]}; }

TEST_P(Warpgroups, GiveTheBitsThatWarpsGive) {
  const WarpgroupCase& at = GetParam();
  const Shape query{at.batch, at.queries, at.heads, at.features}, key{at.batch, at.keys, at.groups, at.features}, row{at.batch, at.heads, at.queries};
  const Array q = noise(query, at.dtype, 1), k = noise(key, at.dtype, 2), v = noise(key, at.dtype, 3), g = noise(query, at.dtype, 4), sums = noise(row, float32, 5);
  const Array mask = noise({at.queries, at.keys}, float32, 6) > 0.5f;
  const AttentionMask seen = at.masked ? AttentionMask{.base = mask.data(), .row = at.keys, .column = 1} : AttentionMask{};
  const AttentionSizes sizes{at.queries, at.keys, at.heads, at.groups, 0.125f};
  const auto computed = [&](bool warpgroups) {
    const AttentionVariant variant{.features = at.features, .dtype = at.dtype, .causal = at.causal, .masked = at.masked, .warpgroups = warpgroups};
    const Array nan = Array::full(query, std::nan(""), at.dtype, *device_);
    Computed made{nan.copy(), Array::full(row, std::nan(""), float32, *device_), nan.copy(), Array::full(key, std::nan(""), at.dtype, *device_), Array::full(key, std::nan(""), at.dtype, *device_)};
    const auto launch = [&](const AttentionKernel& kernel, int rows, int heads, const auto&... arguments) {
      const Module module(*device_, SourceText(*kernel.source), {.kernels = {kernel.name}, .flags = kernel.flags});
      const LaunchConfig config{.grid = {(rows + kernel.rows - 1) / kernel.rows * heads * at.batch}, .block = {kernel.threads}, .shared_bytes = kernel.shared_bytes};
      module.kernel(kernel.name)(config, arguments...);
    };
    launch(attention_forward(variant), at.queries, at.heads, rows_of(q), rows_of(k), rows_of(v), seen, sizes, made.out, made.logarithms);
    launch(attention_by_query(variant), at.queries, at.heads, rows_of(q), rows_of(k), rows_of(v), seen, sizes, rows_of(g), made.logarithms, sums, rows_of(made.by_query));
    launch(attention_by_key(variant), at.keys, at.groups, rows_of(q), rows_of(k), rows_of(v), seen, sizes, rows_of(g), made.logarithms, sums, rows_of(made.by_key), rows_of(made.by_value));
    return made;
  };
  ASSERT_EQ(attention_forward({.features = at.features, .warpgroups = true}).flags.size(), 1u) << "not the kernel that is asked about";
  const Computed expected = computed(false), found = computed(true);
  const auto expect_same = [](const Array& a, const Array& b, const char* what) {
    const std::vector<double> x = a.to_doubles(), y = b.to_doubles();
    for (std::size_t i = 0; i < x.size(); ++i) ASSERT_EQ(x[i], y[i]) << what << ", element " << i;  // so no NaN is left either
  };
  expect_same(found.out, expected.out, "result");
  expect_same(found.logarithms, expected.logarithms, "logarithms");
  expect_same(found.by_query, expected.by_query, "by query");
  expect_same(found.by_key, expected.by_key, "by key");
  expect_same(found.by_value, expected.by_value, "by value");
}

INSTANTIATE_TEST_SUITE_P(, Warpgroups,
                         ::testing::Values(WarpgroupCase{.name = "OneTile"}, WarpgroupCase{.name = "ManyTiles", .queries = 520, .keys = 711},
                                           WarpgroupCase{.name = "Causal", .queries = 513, .keys = 513, .causal = true}, WarpgroupCase{.name = "CausalManyHeads", .batch = 13, .heads = 10, .groups = 5, .queries = 200, .keys = 200, .causal = true},
                                           WarpgroupCase{.name = "CausalMoreKeys", .queries = 100, .keys = 400, .causal = true},
                                           WarpgroupCase{.name = "CausalMoreQueries", .queries = 400, .keys = 100, .causal = true}, WarpgroupCase{.name = "OneQueryOneKey", .queries = 1, .keys = 1},
                                           WarpgroupCase{.name = "Groups", .heads = 6, .groups = 2, .queries = 190, .keys = 190, .causal = true},
                                           WarpgroupCase{.name = "Masked", .queries = 150, .keys = 270, .masked = true},
                                           WarpgroupCase{.name = "Float16CausalMasked", .dtype = float16, .groups = 1, .queries = 270, .keys = 270, .causal = true, .masked = true},
                                           WarpgroupCase{.name = "Features128", .features = 128, .queries = 200, .keys = 333},
                                           WarpgroupCase{.name = "Features128Causal", .features = 128, .dtype = float16, .groups = 2, .queries = 333, .keys = 333, .causal = true},
                                           WarpgroupCase{.name = "Features128Masked", .features = 128, .queries = 100, .keys = 257, .masked = true},
                                           WarpgroupCase{.name = "Features128CausalMasked", .features = 128, .queries = 65, .keys = 129, .causal = true, .masked = true}),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
