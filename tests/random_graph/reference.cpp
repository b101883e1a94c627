#include "reference.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <set>

#include "ops/rows.hpp"

namespace damo::testing {
namespace {

constexpr Wide kUnknownError = std::numeric_limits<Wide>::infinity();
constexpr Element kUnknownElement{0, kUnknownError};

bool is_open(const Element& x) { return !std::isfinite(x.error); }

struct Format {
  Wide unit, least, greatest;  ///< half a unit in the last place, the least number above 0, the greatest
};
Format format_of(DType dtype) {
  switch (dtype) {
    case float8_e4m3: return {0x1p-4L, 0x1p-9L, 448};
    case float8_e5m2: return {0x1p-3L, 0x1p-16L, 57344};
    case float16: return {0x1p-11L, 0x1p-24L, 65504};
    case bfloat16: return {0x1p-8L, 0x1p-133L, 0x1.fep127L};
    case float32: return {0x1p-24L, 0x1p-149L, 0x1.fffffep127L};
    default: return {0x1p-53L, 0x1p-1074L, 0x1.fffffffffffffp1023L};
  }
}

bool is_exact_in(DType dtype, Wide value) {
  if (!std::isfinite(value)) return true;
  if (dtype == float64) return static_cast<Wide>(static_cast<double>(value)) == value;
  if (dtype == float32) return static_cast<Wide>(static_cast<float>(value)) == value;
  return Scalar(static_cast<double>(value)).cast(dtype).as_double() == static_cast<double>(value) && static_cast<Wide>(static_cast<double>(value)) == value;
}

/// Rounded to a floating dtype.
Element rounded(DType dtype, Element x) {
  if (dtype == float8_e4m3 && std::isinf(x.value)) x.value = std::numeric_limits<Wide>::quiet_NaN();
  if (is_open(x) || (x.error == 0 && is_exact_in(dtype, x.value))) return x;
  // What holds no error yet is converted once, to the nearest, and no kernel may do without; 16-bit floats may stay wide.
  if (x.error == 0 && dtype == float64) return {static_cast<Wide>(static_cast<double>(x.value)), 0};
  if (x.error == 0 && dtype == float32) return {static_cast<Wide>(static_cast<float>(x.value)), 0};
  const Format format = format_of(dtype);
  x.error += std::fabs(x.value) * format.unit * 1.01L + format.least;
  return std::fabs(x.value) + x.error < format.greatest ? x : kUnknownElement;
}

Wide wrapped(DType dtype, Big value) {
  return visit(dtype, [&](auto zero) -> Wide {
    using T = decltype(zero);
    if constexpr (std::is_same_v<T, bool>) return value != 0;
    else if constexpr (std::is_integral_v<T>) return static_cast<Wide>(static_cast<T>(value));
    else return 0;
  });
}

/// Of a float: towards zero, the nearest integer that there is, 0 for NaN.
Wide saturated(DType dtype, Wide value) {
  return visit(dtype, [&](auto zero) -> Wide {
    using T = decltype(zero);
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
      using Limits = std::numeric_limits<T>;
      return std::isnan(value) ? 0 : std::clamp(std::trunc(value), static_cast<Wide>(Limits::min()), static_cast<Wide>(Limits::max()));
    } else return 0;
  });
}

Element cast_element(DType from, DType to, Element x) {
  if (is_open(x)) return x;
  if (to == bool_) {
    const bool crosses = x.error > 0 && std::fabs(x.value) <= x.error;
    return crosses ? kUnknownElement : Element{x.value != 0 ? 1.0L : 0.0L, 0};
  }
  if (is_floating(to)) return rounded(to, x);
  if (!is_floating(from)) return {wrapped(to, static_cast<Big>(x.value)), 0};
  const Wide low = saturated(to, x.value - x.error), high = saturated(to, x.value + x.error);
  return low == high ? Element{low, 0} : kUnknownElement;
}

/// Rows whose values between the corners of a box lie between those at the corners.
bool is_tame(std::string_view row) {
  static const std::set<std::string_view> names = {"add", "sub", "mul", "neg", "abs", "sign", "maximum", "minimum", "clip", "ceil", "floor", "trunc",
                                                   "round_half_to_even", "round_half_away", "relu", "identity", "lt", "le", "gt", "ge", "isnan", "isinf",
                                                   "fuzz_blend", "fuzz_gate", "deg2rad", "rad2deg", "isfinite", "signbit", "copysign"};
  return names.contains(row);
}

bool has_poles_below_zero(std::string_view row) { return row == "gamma" || row == "gammaln" || row == "psi" || row == "trigamma" || row == "polygamma"; }

/// Periodic rows, whose values at the corners say nothing once the box is as wide as a period.
bool is_lost_in_periods(std::string_view row, const std::array<Element, 3>& x) {
  if (row == "sin" || row == "cos" || row == "tan") return x[0].error > 0.1L;
  if (has_poles_below_zero(row)) return x[row == "polygamma" ? 1 : 0].value < 0.5L && x[row == "polygamma" ? 1 : 0].error > 0.02L;
  if (row != "mod" && row != "int_div" && row != "fmod") return false;
  const Wide period = std::fabs(x[1].value), turns = period > 0 ? std::fabs(x[0].value) / period : 0;
  return x[0].error + turns * x[1].error > 0.1L * period;
}

/// Rows that differ at single points of the box from what they are at its corners. Equality may hold where it holds at
/// none. Gamma and its kin have poles at 0 and below. A power of a negative base is a number where the exponent is an integer, as every large float is, and its sign
/// changes from one to the next; pow(NaN, 0) and pow(1, NaN) are 1. The sign of a NaN is nobody's, and polygamma is a number of whole orders alone.
bool has_lone_points(std::string_view row, const std::array<Element, 3>& x) {
  if (row == "eq" || row == "neq") return x[0].error + x[1].error > 0 && std::fabs(x[0].value - x[1].value) <= x[0].error + x[1].error;
  if (row == "signbit" && std::isnan(x[0].value)) return true;
  if (row == "copysign" && std::isnan(x[1].value)) return true;
  if (row == "polygamma") return x[0].error > 0;
  if (row == "gamma" || row == "gammaln" || row == "psi" || row == "trigamma" || row == "polygamma") {
    const Element& at = x[row == "polygamma" ? 1 : 0];
    return at.error > 0 && at.value - at.error <= 0 && std::floor(at.value + at.error) >= at.value - at.error;
  }
  if (row != "pow") return false;
  if (std::isnan(x[1].value)) return x[0].error > 0 && std::fabs(x[0].value - 1) <= x[0].error;
  const bool holds_integer = std::floor(x[1].value + x[1].error) >= x[1].value - x[1].error;
  return x[1].error > 0 && holds_integer && !(x[0].value - x[0].error > 0);
}

const RowReference* row_reference(std::string_view row) {
  static const RowReference kUsers[] = {
      {"fuzz_blend", [](Wide x, Wide y, Wide) -> Wide { return x * 0.25L + y * 0.5L; }, [](Big x, Big y, Big) -> Big { return x ^ y; }},
      {"fuzz_gate", [](Wide x, Wide y, Wide z) -> Wide { return x > y ? z : y; }, [](Big x, Big y, Big z) -> Big { return x > y ? z : y; }}};
  for (const RowReference& user : kUsers) {
    if (user.name == row) return &user;
  }
  return reference_of(row);
}

/// Infinite because no number holds it, long double neither, and not since it is so: what rules make of log(exp(x)) stays finite.
bool overflows(std::string_view row, const std::array<Element, 3>& x) {
  static const std::set<std::string_view> names = {"exp", "exp2", "expm1", "sinh", "cosh", "erfcx", "gamma", "gammaln"};
  return std::isfinite(x[0].value) && (names.contains(row) || (row == "pow" && x[0].value != 0 && std::isfinite(x[1].value)));
}

/// The row's bound, in units in the last place of what it is computed in. It holds in the range that the row gives.
Wide own_ulps(const ElementwiseRow& row, const std::array<Element, 3>& x, std::size_t count) {
  bool inside = true;
  for (std::size_t i = 0; i < count; ++i) inside &= x[i].value >= static_cast<Wide>(row.low) && x[i].value <= static_cast<Wide>(row.high);
  if (row.name == "log1mexp" && std::fabs(x[0].value) < 0x1p-100L) return kUnknownError;
  if (has_poles_below_zero(row.name) && row.name != "gamma" && x[count - 1].value < 0) return kUnknownError;  // beside zeros nothing of a relative bound is left
  const Wide far = row.name.starts_with("gelu") ? std::max(1.0L, x[0].value * x[0].value / 16) : 1;
  if (row.name == "polygamma") return static_cast<Wide>(row.ulp) + std::fmax(x[0].value, 0);
  return inside ? static_cast<Wide>(row.ulp) : std::max(static_cast<Wide>(row.ulp), 512.0L) * far;
}

/// A box around the operands: its corners, and both zeros where an operand may be one: 0 / 0 is found at no corner.
template <class Visit>
void each_corner(const std::array<Element, 3>& x, std::size_t count, Visit visit_corner) {
  std::array<std::array<Wide, 5>, 3> choices{};
  std::array<std::size_t, 3> sizes{1, 1, 1};
  for (std::size_t i = 0; i < count; ++i) {
    const auto& [value, error] = x[i];
    choices[i][0] = value;
    if (error > 0 && std::isfinite(value)) choices[i][1] = value - error, choices[i][2] = value + error, sizes[i] = 3;
    if (std::fabs(value) <= error) choices[i][sizes[i]] = 0.0L, choices[i][sizes[i] + 1] = -0.0L, sizes[i] += 2;
  }
  for (std::size_t a = 0; a < sizes[0]; ++a) {
    for (std::size_t b = 0; b < sizes[1]; ++b) {
      for (std::size_t c = 0; c < sizes[2]; ++c) visit_corner(choices[0][a], choices[1][b], choices[2][c]);
    }
  }
}

Element floating_row(const ElementwiseRow& row, const RowReference& reference, DType compute, DType result, const std::array<Element, 3>& x, std::size_t count) {
  const Wide center = reference.floating(x[0].value, x[1].value, x[2].value);
  bool agrees = true;
  Wide change = 0;
  each_corner(x, count, [&](Wide a, Wide b, Wide c) {
    const Wide corner = reference.floating(a, b, c);
    if (std::isnan(center) || std::isnan(corner)) agrees &= std::isnan(center) && std::isnan(corner);
    else if (std::isinf(center) || std::isinf(corner)) agrees &= center == corner;
    else change = std::max(change, std::fabs(corner - center));
  });
  if (!agrees || has_lone_points(row.name, x)) return kUnknownElement;
  if (result == bool_) return change == 0 ? Element{center != 0 ? 1.0L : 0.0L, 0} : kUnknownElement;
  if (!std::isfinite(center)) return std::isinf(center) && overflows(row.name, x) ? kUnknownElement : Element{center, 0};
  if (is_lost_in_periods(row.name, x)) return kUnknownElement;  // also where the box is whole periods wide, and its corners agree
  if (!is_tame(row.name) && change > std::fabs(center) * 0x1p-4L) return kUnknownElement;
  const DType arithmetic = is_narrow(compute) ? float32 : compute;
  const Format format = format_of(arithmetic);
  const Wide ulps = own_ulps(row, x, count);
  const bool is_exact = change == 0 && row.ulp <= 0.5 && is_exact_in(arithmetic, center);
  Element value{center, 1.5L * change + (is_exact ? 0 : ulps * (std::fabs(center) * 2 * format.unit + format.least))};
  if (is_open(value) || !(std::fabs(value.value) + value.error < format.greatest)) return kUnknownElement;
  return is_narrow(result) ? rounded(result, value) : value;
}

Element integer_row(const ElementwiseRow& row, const RowReference& reference, DType compute, DType result, const std::array<Element, 3>& x) {
  if (compute == bool_ && row.name == "invert") return {x[0].value == 0 ? 1.0L : 0.0L, 0};
  const Big value = reference.integer(static_cast<Big>(x[0].value), static_cast<Big>(x[1].value), static_cast<Big>(x[2].value));
  return {wrapped(result, value), 0};
}

/// Position in x, which broadcasts to the space, of the space's i-th element.
std::size_t position(const Shape& shape, const Shape& space, std::int64_t i) {
  std::int64_t offset = 0, step = 1;
  for (int axis = space.rank() - 1, own = shape.rank() - 1; own >= 0; --axis, --own) {
    const std::int64_t coordinate = i % space[axis];
    i /= space[axis];
    offset += (shape[own] == 1 ? 0 : coordinate) * step;
    step *= shape[own];
  }
  return static_cast<std::size_t>(offset);
}

}  // namespace

DType common_dtype(const ElementwiseRow& row, const std::vector<DType>& operands) {
  std::vector<Promotable> promotables;
  for (std::size_t i = row.condition_first ? 1 : 0; i < operands.size(); ++i) promotables.push_back({operands[i]});
  const DType common = result_type(promotables);
  if (row.result != ResultRule::kFloating || is_floating(common)) return common;
  for (Promotable& operand : promotables) operand.dtype = floating_of(operand.dtype);
  return result_type(promotables);
}

Tensor apply_row(const ElementwiseRow& row, const std::vector<Tensor>& operands) {
  std::vector<DType> dtypes;
  std::vector<Shape> shapes;
  for (const Tensor& operand : operands) {
    dtypes.push_back(operand.dtype);
    shapes.push_back(operand.shape);
  }
  const DType common = common_dtype(row, dtypes), compute = computed_in(row, common);
  Tensor result{result_of(row, common), broadcast_shapes(shapes), {}};
  const RowReference& reference = *row_reference(row.name);
  // Integers that promote to float64 are compared as what they are; an Element holds every one of them.
  const bool compares_integers = row.result == ResultRule::kBool && std::all_of(dtypes.begin(), dtypes.end(), [](DType dtype) { return is_integer(dtype); });
  const bool chooses = row.name == "where", drops_first = row.name == "second";
  for (std::int64_t i = 0, size = result.shape.size(); i < size; ++i) {
    std::array<Element, 3> x{};
    for (std::size_t k = 0; k < operands.size(); ++k) {
      x[k] = operands[k].elements[position(operands[k].shape, result.shape, i)];
      if (!(row.condition_first && k == 0) && !compares_integers) x[k] = cast_element(operands[k].dtype, compute, x[k]);
    }
    if (chooses || drops_first) {
      result.elements.push_back(drops_first ? x[1] : is_open(x[0]) ? x[0] : x[0].value != 0 ? x[1] : x[2]);
      continue;
    }
    const bool open = std::any_of(x.begin(), x.end(), is_open);
    result.elements.push_back(open                  ? kUnknownElement
                              : is_floating(compute) ? floating_row(row, reference, compute, result.dtype, x, operands.size())
                                                     : integer_row(row, reference, compute, result.dtype, x));
  }
  return result;
}

Tensor cast_tensor(const Tensor& x, DType dtype) {
  Tensor result{dtype, x.shape, {}};
  for (const Element& element : x.elements) result.elements.push_back(cast_element(x.dtype, dtype, element));
  return result;
}

std::size_t known(const Tensor& tensor) {
  return static_cast<std::size_t>(std::count_if(tensor.elements.begin(), tensor.elements.end(), [](const Element& x) { return !is_open(x); }));
}

std::string difference(const Array& array, const Tensor& expected) {
  if (array.dtype() != expected.dtype || array.shape() != expected.shape) {
    return "is " + describe(array) + ", not " + to_string(TensorType{expected.dtype, expected.shape});
  }
  std::vector<std::byte> bytes(array.nbytes());
  array.to_host(bytes.data());
  for (std::size_t i = 0; i < expected.elements.size(); ++i) {
    const Element& want = expected.elements[i];
    if (is_open(want)) continue;
    const Scalar scalar = Scalar::load(array.dtype(), bytes.data() + i * itemsize(array.dtype()));
    const Wide got = array.dtype() == uint64 ? static_cast<Wide>(static_cast<std::uint64_t>(scalar.as_int()))
                     : is_floating(array.dtype()) ? static_cast<Wide>(scalar.as_double())
                                                  : static_cast<Wide>(scalar.as_int());
    const bool right = std::isnan(want.value) ? std::isnan(got) : got == want.value || std::fabs(got - want.value) <= want.error;
    if (right) continue;
    char text[160];
    std::snprintf(text, sizeof text, "element %zu is %.17Lg, not %.17Lg within %.3Lg", i, got, want.value, want.error);
    return text;
  }
  return {};
}

}  // namespace damo::testing
