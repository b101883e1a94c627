#include "runtime/kernel/value_ranges.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <string_view>
#include <utility>

namespace damo {
namespace {

using Known = std::optional<ValueRange>;
using Limits = std::array<std::int64_t, 2>;

constexpr ValueRange kBool{0, 1};

/// From the least to the greatest of what `act` gives at both limits of each input; nothing if it gives nothing at one of them. Of what grows or falls along each of them.
template <class Act>
Known at_limits(const ValueRange& x, const ValueRange& y, Act act) {
  Known all;
  for (std::int64_t a : Limits{x.least, x.most}) {
    for (std::int64_t b : Limits{y.least, y.most}) {
      const std::optional<std::int64_t> value = act(a, b);
      if (!value) return {};
      all = all ? ValueRange{std::min(all->least, *value), std::max(all->most, *value)} : ValueRange{*value, *value};
    }
  }
  return all;
}

std::optional<std::int64_t> sum(std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  return __builtin_add_overflow(a, b, &result) ? std::nullopt : std::optional(result);
}

std::optional<std::int64_t> difference(std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  return __builtin_sub_overflow(a, b, &result) ? std::nullopt : std::optional(result);
}

std::optional<std::int64_t> product(std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  return __builtin_mul_overflow(a, b, &result) ? std::nullopt : std::optional(result);
}

/// Of b > 0.
std::optional<std::int64_t> floored(std::int64_t a, std::int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }

ValueRange hull(const ValueRange& x, const ValueRange& y) { return {std::min(x.least, y.least), std::max(x.most, y.most)}; }

/// No number of the range is further from 0 than this, which is no less than 0. Nothing where an int64 does not have it.
std::optional<std::int64_t> farthest(const ValueRange& x) {
  if (x.least == INT64_MIN) return {};
  return std::max({-x.least, x.most, std::int64_t{0}});
}

Known negated(const ValueRange& x) {
  if (x.least == INT64_MIN) return {};
  return ValueRange{-x.most, -x.least};
}

Known magnitudes(const ValueRange& x) {
  const std::optional<std::int64_t> most = farthest(x);
  if (!most) return {};
  return ValueRange{x.least <= 0 && x.most >= 0 ? 0 : std::min(x.least < 0 ? -x.least : x.least, x.most < 0 ? -x.most : x.most), *most};
}

Known floor_quotients(const ValueRange& x, const ValueRange& y) {
  if (y.least > 0) return at_limits(x, y, floored);
  const std::optional<std::int64_t> most = farthest(x);
  if (!most) return {};
  return ValueRange{-*most, *most};  // by 0 it is 0, by -1 the other sign's
}

/// With the divisor's sign; by 0 it is 0.
Known floor_rests(const ValueRange& x, const ValueRange& y) {
  if (x.least >= 0 && y.least > 0 && x.most < y.least) return x;
  ValueRange rests{y.least < 0 ? y.least + 1 : 0, y.most > 0 ? y.most - 1 : 0};
  if (x.least >= 0 && y.least >= 0) rests.most = std::min(rests.most, x.most);
  return rests;
}

/// With the sign of x.
Known truncated_rests(const ValueRange& x, const ValueRange& y) {
  const std::optional<std::int64_t> of_x = farthest(x), of_y = farthest(y);
  if (!of_x || !of_y) return {};
  const std::int64_t most = std::min(*of_x, std::max<std::int64_t>(*of_y - 1, 0));
  return ValueRange{x.least < 0 ? -most : 0, x.most > 0 ? most : 0};
}

/// All numbers that are written in as many bits, and a sign where one of them has it.
ValueRange of_as_many_bits(const ValueRange& x, const ValueRange& y) {
  const auto bits = [](std::int64_t value) { return std::bit_width(static_cast<std::uint64_t>(value < 0 ? ~value : value)); };
  const int most = std::max({bits(x.least), bits(x.most), bits(y.least), bits(y.most)});
  const std::int64_t greatest = most == 63 ? INT64_MAX : (std::int64_t{1} << most) - 1;
  return {std::min(x.least, y.least) < 0 ? -greatest - 1 : 0, greatest};
}

Known both_bits(const ValueRange& x, const ValueRange& y) {
  if (x.least >= 0 || y.least >= 0) return ValueRange{0, x.least < 0 ? y.most : y.least < 0 ? x.most
                                                                                            : std::min(x.most, y.most)};
  return of_as_many_bits(x, y);
}

Known shifted_left(const ValueRange& x, const ValueRange& y, int bits) {
  if (y.least < 0 || y.most >= bits - 1) return {};
  return at_limits(x, {std::int64_t{1} << y.least, std::int64_t{1} << y.most}, product);
}

/// By how much does not matter: all bits are as the sign at last.
Known shifted_right(const ValueRange& x, const ValueRange& y) {
  if (y.least >= 0 && y.most < 63) return at_limits(x, y, [](std::int64_t a, std::int64_t b) { return std::optional(a >> b); });
  return ValueRange{std::min<std::int64_t>(x.least, 0), std::max<std::int64_t>(x.most, -1)};
}

Known lesser(const ValueRange& x, const ValueRange& y) { return ValueRange{std::min(x.least, y.least), std::min(x.most, y.most)}; }
Known greater(const ValueRange& x, const ValueRange& y) { return ValueRange{std::max(x.least, y.least), std::max(x.most, y.most)}; }

/// Truth values, whatever is asked of.
constexpr std::string_view kQuestions[] = {"x0 < x1", "x0 <= x1", "x0 > x1", "x0 >= x1", "x0 == x1", "x0 != x1", "(x0 != T(0)) & (x1 != T(0))", "(x0 != T(0)) | (x1 != T(0))", "(x0 != T(0)) != (x1 != T(0))", "x0 == T(0)", "is_negative(x0)"};

Known of_one(std::string_view code, const ValueRange& x) {
  if (code == "x0") return x;
  if (code == "wrap_neg(x0)") return negated(x);
  if (code == "wrap_abs(x0)") return magnitudes(x);
  if (code == "sign(x0)") return ValueRange{-1, 1};
  if (code == "wrap_mul(x0, x0)") {
    const Known sizes = magnitudes(x);
    return sizes ? at_limits(*sizes, {1, 1}, [](std::int64_t a, std::int64_t) { return product(a, a); }) : std::nullopt;
  }
  if (code == "~x0") return ValueRange{~x.most, ~x.least};
  return {};
}

Known of_two(std::string_view code, const ValueRange& x, const ValueRange& y, int bits) {
  if (code == "wrap_add(x0, x1)") return at_limits(x, y, sum);
  if (code == "wrap_sub(x0, x1)") return at_limits(x, y, difference);
  if (code == "wrap_mul(x0, x1)") return at_limits(x, y, product);
  if (code == "floor_div(x0, x1)") return floor_quotients(x, y);
  if (code == "floor_mod(x0, x1)") return floor_rests(x, y);
  if (code == "truncated_mod(x0, x1)") return truncated_rests(x, y);
  if (code == "maximum(x0, x1)") return greater(x, y);
  if (code == "minimum(x0, x1)") return lesser(x, y);
  if (code == "x0 & x1") return both_bits(x, y);
  if (code == "x0 | x1" || code == "x0 ^ x1") return of_as_many_bits(x, y);
  if (code == "left_shift(x0, x1)") return shifted_left(x, y, bits);
  if (code == "right_shift(x0, x1)") return shifted_right(x, y);
  if (code == "((void)x0, x1)") return y;
  return {};
}

/// What a number becomes that is converted to the dtype: itself where the dtype has it.
Known converted(const Known& range, DType dtype) {
  const Known all = range_of(dtype);
  if (dtype == bool_) return range && (range->least > 0 || range->most < 0) ? ValueRange{1, 1} : kBool;
  return range && all && range->fits(*all) ? range : all;
}

}  // namespace

std::optional<ValueRange> range_of(DType dtype) {
  if (dtype == bool_) return kBool;
  if (is_floating(dtype) || dtype == uint64) return {};
  const int bits = static_cast<int>(8 * itemsize(dtype));
  if (!is_signed(dtype)) return ValueRange{0, (std::int64_t{1} << bits) - 1};
  return ValueRange{INT64_MIN >> (64 - bits), INT64_MAX >> (64 - bits)};
}

std::optional<ValueRange> range_of_code(const Step& step, std::span<const std::optional<ValueRange>> inputs, int bits) {
  if (step.row || step.join || !std::all_of(inputs.begin(), inputs.end(), [](const Known& input) { return input.has_value(); })) return {};
  if (std::find(std::begin(kQuestions), std::end(kQuestions), step.code) != std::end(kQuestions)) return kBool;
  if (inputs.size() == 1) return of_one(step.code, *inputs[0]);
  if (inputs.size() == 2) return of_two(step.code, *inputs[0], *inputs[1], bits);
  if (inputs.size() != 3) return {};
  if (step.code == "choose(x0, x1, x2)") return hull(*inputs[1], *inputs[2]);
  if (step.code == "minimum(maximum(x0, x1), x2)") return lesser(*greater(*inputs[0], *inputs[1]), *inputs[2]);
  return {};
}

std::vector<std::optional<ValueRange>> input_ranges(const Step& step, std::span<const std::optional<ValueRange>> values) {
  std::vector<Known> inputs;
  for (std::size_t i = 0; i < step.inputs.size(); ++i) inputs.push_back(converted(values[static_cast<std::size_t>(step.inputs[i])], step.input_as(i)));
  return inputs;
}

std::vector<std::optional<ValueRange>> value_ranges(const KernelSpec& spec, std::vector<std::optional<ValueRange>> given, ValueRange places) {
  std::vector<Known> ranges = std::move(given);
  for (const Step& step : spec.steps) {
    Known range;
    if (step.is_place || step.is_count) range = places;
    else if (!is_floating(step.compute)) range = range_of_code(step, input_ranges(step, ranges), static_cast<int>(8 * itemsize(step.compute)));
    // What wraps around may be anything of the type that it is computed in, as what is not known may.
    ranges.push_back(converted(step.is_place || step.is_count || is_floating(step.compute) ? range : converted(range, step.compute), step.result));
  }
  return ranges;
}

}  // namespace damo
