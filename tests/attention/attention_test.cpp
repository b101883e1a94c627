// Attention by its kernels on a GPU against its formula in float64, and against the plain ops. What nn::attention promises on every device: tests/train/nn_test.cpp.
#include <damo/nn.hpp>

#include <algorithm>
#include <cmath>
#include <ostream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <damo/array_math.hpp>
#include <damo/array_shape.hpp>
#include <damo/function.hpp>
#include <damo/gradient.hpp>
#include <damo/ops/cast.hpp>
#include <damo/ops/math.hpp>
#include <damo/ops/reduce.hpp>
#include <damo/ops/shape.hpp>
#include <damo/ops/subtensor.hpp>
#include "support/devices.hpp"

using namespace damo;
using namespace damo::testing;
using ::testing::HasSubstr;
using ::testing::Not;

namespace {

struct AttentionCase {
  const char* name;
  DType dtype = bfloat16;
  std::int64_t batch = 1, heads = 2, groups = 2, queries = 70, keys = 70, features = 64;
  bool causal = false, masked = false;
};
std::ostream& operator<<(std::ostream& out, const AttentionCase& at) { return out << at.name; }

/// Values in [-2, 2] without a pattern that the axes share, rounded to the dtype.
Array noise(const Shape& shape, DType dtype, Device device, std::uint32_t seed) {
  std::vector<double> values(static_cast<std::size_t>(shape.size()));
  for (double& value : values) value = static_cast<double>((seed = seed * 1664525u + 1013904223u) >> 8) / 4194304.0 - 2;
  return astype(Array::from(values, shape, device), dtype);
}

/// A query in seven sees nothing.
bool is_seen(std::int64_t query, std::int64_t key) { return query % 7 != 3 && (query * 31 + key * 17) % 5 != 0; }

struct Reference {
  std::vector<double> out, by_query, by_key, by_value;

  Reference(const AttentionCase& at, const std::vector<double>& q, const std::vector<double>& k, const std::vector<double>& v, const std::vector<double>& g) : out(q.size()), by_query(q.size()), by_key(k.size()), by_value(v.size()) {
    const double scale = 1 / std::sqrt(static_cast<double>(at.features));
    const auto row = [&](std::int64_t b, std::int64_t heads, std::int64_t h, std::int64_t rows, std::int64_t i) { return static_cast<std::size_t>(((b * heads + h) * rows + i) * at.features); };
    const auto depth = static_cast<std::size_t>(at.features);
    for (std::int64_t b = 0; b < at.batch; ++b)
      for (std::int64_t h = 0; h < at.heads; ++h)
        for (std::int64_t i = 0; i < at.queries; ++i) {
          const std::size_t qi = row(b, at.heads, h, at.queries, i);
          std::vector<double> weights, products;
          std::vector<std::size_t> rows;
          double total = 0, sum = 0;
          for (std::int64_t j = 0; j < at.keys; ++j) {
            if ((at.causal && j > i) || (at.masked && !is_seen(i, j))) continue;
            const std::size_t kj = row(b, at.groups, h / (at.heads / at.groups), at.keys, j);
            double score = 0, product = 0;
            for (std::size_t f = 0; f < depth; ++f) score += q[qi + f] * k[kj + f], product += g[qi + f] * v[kj + f];
            rows.push_back(kj);
            weights.push_back(std::exp(score * scale));
            products.push_back(product);
            total += weights.back();
          }
          for (std::size_t j = 0; j < rows.size(); ++j) weights[j] /= total, sum += weights[j] * products[j];
          for (std::size_t j = 0; j < rows.size(); ++j) {
            const double slope = weights[j] * (products[j] - sum) * scale;
            for (std::size_t f = 0; f < depth; ++f) {
              out[qi + f] += weights[j] * v[rows[j] + f];
              by_query[qi + f] += slope * k[rows[j] + f];
              by_key[rows[j] + f] += slope * q[qi + f];
              by_value[rows[j] + f] += weights[j] * g[qi + f];
            }
          }
        }
  }
};

/// What is rounded is relative to the values that are added up: the greatest ones, not each.
void expect_close(const std::vector<double>& found, const std::vector<double>& expected, double share, const char* what) {
  ASSERT_EQ(found.size(), expected.size()) << what;
  double greatest = 0;
  for (const double value : expected) greatest = std::max(greatest, std::abs(value));
  for (std::size_t i = 0; i < found.size(); ++i) ASSERT_NEAR(found[i], expected[i], share * greatest) << what << ", element " << i;
}

class AttentionOnCuda : public ::testing::TestWithParam<AttentionCase> {
 protected:
  void SetUp() override {
    try {
      device_ = Device("cuda:0");
    } catch (const DeviceError& error) {
      GTEST_SKIP() << "needs a GPU: " << error.what();
    }
  }

  Function made(const AttentionCase& at, std::vector<std::string> disabled = {}) const {
    const auto tensor = [&](std::int64_t heads, std::int64_t rows, const char* name) { return input({at.dtype, {at.batch, heads, rows, at.features}}, name); };
    const Variable q = tensor(at.heads, kUnknown, "q"), k = tensor(at.groups, at.keys, "k"), v = tensor(at.groups, at.keys, "v"), g = tensor(at.heads, kUnknown, "g");
    const Variable mask = input({bool_, {at.queries, at.keys}}, "mask");
    nn::AttentionOptions options{.causal = at.causal};
    if (at.masked) options.mask = mask;
    const Variable z = nn::attention(q, k, v, options);
    const std::vector<Variable> by = lop({z}, {g}, {q, k, v});
    std::vector<Variable> inputs{q, k, v, g};
    if (at.masked) inputs.push_back(mask);
    return function(inputs, std::vector<Variable>{z, by[0], by[1], by[2]}, {.disable = std::move(disabled), .device = *device_});
  }
  std::vector<Array> values(const AttentionCase& at) const {
    const Shape query{at.batch, at.heads, at.queries, at.features}, key{at.batch, at.groups, at.keys, at.features};
    std::vector<Array> all{noise(query, at.dtype, *device_, 1), noise(key, at.dtype, *device_, 2), noise(key, at.dtype, *device_, 3), noise(query, at.dtype, *device_, 4)};
    if (!at.masked) return all;
    std::vector<std::uint8_t> seen;
    for (std::int64_t i = 0; i < at.queries; ++i)
      for (std::int64_t j = 0; j < at.keys; ++j) seen.push_back(is_seen(i, j) ? 1 : 0);
    all.push_back(astype(Array::from(seen, {at.queries, at.keys}, *device_), bool_));
    return all;
  }
  std::optional<Device> device_;
};

TEST_P(AttentionOnCuda, IsItsFormulaAndThePlainOps) {
  const AttentionCase& at = GetParam();
  const std::vector<Array> given = values(at);
  const Function kernels = made(at), plain = made(at, {"attention_kernels"});
  EXPECT_THAT(kernels.explain(), HasSubstr("attention_gradient{causal="));
  EXPECT_THAT(plain.explain(), Not(HasSubstr("attention_gradient{causal=")));
  const Reference expected(at, given[0].to_doubles(), given[1].to_doubles(), given[2].to_doubles(), given[3].to_doubles());
  const double share = at.dtype == bfloat16 ? 0.02 : 0.004;
  const Results found = kernels.call(given), again = kernels.call(given), slow = plain.call(given);
  const std::vector<double>* const wanted[] = {&expected.out, &expected.by_query, &expected.by_key, &expected.by_value};
  const char* const names[] = {"result", "by query", "by key", "by value"};
  for (std::size_t i = 0; i < 4; ++i) {
    expect_close(found[i].to_doubles(), *wanted[i], share, names[i]);
    expect_close(slow[i].to_doubles(), *wanted[i], 2 * share, names[i]);
    EXPECT_EQ(found[i].to_doubles(), again[i].to_doubles()) << names[i] << " of the same call again";
  }
}

// What one product gives is taken apart, and its gradient is one array again.
TEST_P(AttentionOnCuda, HasItsGradientsSideBySide) {
  const AttentionCase& at = GetParam();
  if (at.queries != at.keys || at.heads != at.groups || at.masked) GTEST_SKIP() << "is about queries, keys and values of one array";
  const Variable all = input({at.dtype, {at.batch, at.queries, 3, at.heads, at.features}}, "all"), g = input({at.dtype, {at.batch, at.heads, at.queries, at.features}}, "g");
  const auto part = [&](int i) { return swap_axes(subtensor(all, {{}, {}, i}), 1, 2); };
  const Variable z = nn::attention(part(0), part(1), part(2), {.causal = at.causal});
  const Function f = function({all, g}, lop({z}, {g}, {all}), {.device = *device_});
  EXPECT_THAT(f.explain(), HasSubstr("side_by_side=true"));
  const std::vector<Array> given = values(at);
  const Reference expected(at, given[0].to_doubles(), given[1].to_doubles(), given[2].to_doubles(), given[3].to_doubles());
  Array whole = Array::empty({at.batch, at.queries, 3, at.heads, at.features}, at.dtype, *device_);
  const auto part_of = [](const Array& array, int i) { return swap_axes(array.slice({{}, {}, {i, i + 1}}).reshape({array.shape()[0], array.shape()[1], array.shape()[3], array.shape()[4]}), 1, 2); };
  for (int i = 0; i < 3; ++i) part_of(whole, i).copy_from(given[static_cast<std::size_t>(i)]);
  const Array found = f(whole, given[3])[0];
  const std::vector<double>* const wanted[] = {&expected.by_query, &expected.by_key, &expected.by_value};
  for (int i = 0; i < 3; ++i) expect_close(part_of(found, i).to_doubles(), *wanted[i], at.dtype == bfloat16 ? 0.02 : 0.004, "a part");
}

INSTANTIATE_TEST_SUITE_P(, AttentionOnCuda,
                         ::testing::Values(AttentionCase{.name = "Plain"}, AttentionCase{.name = "Causal", .batch = 2, .queries = 130, .keys = 130, .causal = true},
                                           AttentionCase{.name = "CausalLongerThanTiles", .heads = 1, .groups = 1, .queries = 300, .keys = 300, .causal = true},
                                           AttentionCase{.name = "CausalManyHeads", .batch = 17, .heads = 4, .groups = 2, .queries = 130, .keys = 130, .causal = true},
                                           AttentionCase{.name = "MoreKeysThanQueries", .queries = 33, .keys = 150, .causal = true}, AttentionCase{.name = "OneQuery", .queries = 1, .keys = 65},
                                           AttentionCase{.name = "Float16Masked", .dtype = float16, .queries = 64, .keys = 77, .masked = true},
                                           AttentionCase{.name = "CausalMaskedGroups", .heads = 4, .groups = 2, .queries = 90, .keys = 90, .causal = true, .masked = true},
                                           AttentionCase{.name = "Features16", .features = 16}, AttentionCase{.name = "Features32", .dtype = float16, .features = 32, .causal = true},
                                           AttentionCase{.name = "Features80", .heads = 3, .groups = 1, .features = 80, .causal = true}, AttentionCase{.name = "Features128", .features = 128, .masked = true},
                                           AttentionCase{.name = "Features128Causal", .dtype = float16, .heads = 4, .queries = 200, .keys = 200, .features = 128, .causal = true}),
                         [](const auto& info) { return std::string(info.param.name); });

class AttentionViewsOnCuda : public AttentionOnCuda {};

TEST_P(AttentionViewsOnCuda, ReadsPartsOfOneProductAndCopiesWhatLiesAtOddAddresses) {
  const std::int64_t rows = 40, heads = 2, features = 16;
  for (const std::int64_t first : {0, 1}) {
    const Variable x = input({bfloat16, {rows, 3 * heads * features + 1}}, "x");
    const Variable qkv = reshape(subtensor(x, {{}, {first, first + 3 * heads * features}}), {rows, 3, heads, features});
    const auto part = [&](std::int64_t i) { return swap_axes(subtensor(qkv, {{}, i}), 0, 1); };
    const Variable z = nn::attention(part(0), part(1), part(2), {.causal = true}), by_x = grad(sum(cast(z, float32)), x);
    const Array xs = noise({rows, 3 * heads * features + 1}, bfloat16, *device_, 9);
    const auto results = [&](std::vector<std::string> disabled) { return function(std::vector<Variable>{x}, std::vector<Variable>{z, by_x}, {.disable = std::move(disabled), .device = *device_}).call(std::span(&xs, 1)); };
    const Results found = results({}), plain = results({"attention_kernels"});
    for (std::size_t i = 0; i < 2; ++i) expect_close(found[i].to_doubles(), plain[i].to_doubles(), 0.02, i == 0 ? "result" : "by x");
  }
}

TEST_P(AttentionViewsOnCuda, OfNothingIsNothing) {
  const Variable q = input({float16, {2, kUnknown, 32}}, "q"), k = input({float16, {2, kUnknown, 32}}, "k");
  const Variable z = nn::attention(q, k, k);
  const std::vector<Variable> by = lop({z}, {z}, {q, k});
  const Function f = function(std::vector<Variable>{q, k}, std::vector<Variable>{z, by[0], by[1]}, {.device = *device_});
  const auto called = [&](std::int64_t queries, std::int64_t keys) { return f.call(std::vector<Array>{noise({2, queries, 32}, float16, *device_, 1), noise({2, keys, 32}, float16, *device_, 2)}); };
  EXPECT_EQ(called(0, 5)[0].shape(), Shape({2, 0, 32}));
  EXPECT_THAT(called(0, 5)[2].to_doubles(), ::testing::Each(0.0));
  for (const Array& result : called(3, 0)) EXPECT_THAT(result.to_doubles(), ::testing::Each(0.0));
}

TEST_P(AttentionViewsOnCuda, SaysWhatDoesNotFit) {
  const Variable q = input({float16, {2, kUnknown, 32}}, "q"), k = input({float16, {2, kUnknown, 32}}, "k"), v = input({float16, {2, kUnknown, 32}}, "v");
  const Function f = function({q, k, v}, {nn::attention(q, k, v)}, {.device = *device_});
  const auto tensor = [&](std::int64_t rows) { return noise({2, rows, 32}, float16, *device_, 1); };
  EXPECT_THAT(error_of<ShapeError>([&] { f.call(std::vector<Array>{tensor(3), tensor(4), tensor(5)}); }), HasSubstr("attention: query (2, 3, 32), key (2, 4, 32) and value (2, 5, 32) do not fit"));
}

INSTANTIATE_TEST_SUITE_P(, AttentionViewsOnCuda, ::testing::Values(AttentionCase{.name = "Parts"}), [](const auto& info) { return std::string(info.param.name); });

}  // namespace
