// The reference of reductions. Sums may be added in any order: the bound is that of the worst, n roundings of the sum of
// absolute values, for rows up to 512 elements; longer ones are added up in parts, and an element's path to the total grows
// with one addition for 512 elements at most. What may overflow on the way in some order is unknown.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <variant>

#include "op_family.hpp"
#include "reference.hpp"

namespace damo::testing {
namespace {

constexpr Wide kInfinite = std::numeric_limits<Wide>::infinity();
constexpr Element kUnknown{0, kInfinite};

bool is_unknown(const Element& x) { return !std::isfinite(x.error); }

struct Limits {
  Wide unit, greatest, least, tiny;  // of what values are kept in; least: below it products lose digits; tiny: the least number above 0
};
Limits limits_of(DType dtype) {
  if (dtype == float64) return {0x1p-53L, 0x1.fffffffffffffp1023L, 0x1p-1000L, 0x1p-1074L};
  return {0x1p-24L, 0x1.fffffep127L, 0x1p-120L, 0x1p-149L};
}

Wide wrapped_to(DType dtype, Big value) {
  return dtype == uint64 ? static_cast<Wide>(static_cast<std::uint64_t>(value)) : static_cast<Wide>(static_cast<std::int64_t>(value));
}

/// What is left of a row so far; each kind of reduction has add() for the next element and value() of those that were added.
struct Sum {
  Element total;
  Wide size = 0, count = 0;
  bool unknown = false;
  void add(const Element& x) { unknown |= is_unknown(x), total.value += x.value, total.error += x.error, size += std::fabs(x.value), count += 1; }
  Element value(DType kept, bool mean) const {
    if (unknown) return kUnknown;
    const Limits limits = limits_of(kept);
    const Wide additions = std::min(count, 512 + count / 512);
    Element sum = total;
    if (mean) sum.value /= count;
    if (!std::isfinite(sum.value)) return {sum.value, 0};  // an infinity or a NaN among finite numbers, or the mean of nothing
    if (size + sum.error >= limits.greatest * 0x1p-2L) return kUnknown;
    sum.error += 1.1L * additions * limits.unit * (size + sum.error);
    if (mean) sum.error = sum.error / count + std::fabs(sum.value) * 2 * limits.unit + 0x1p-1074L;
    return sum;
  }
};

struct Product {
  Wide product = 1, wide = 1, above = 1, below = 1, count = 0;
  bool unknown = false;
  void add(const Element& x) {
    unknown |= is_unknown(x) || !std::isfinite(x.value);
    const Wide size = std::fabs(x.value) + x.error;
    product *= x.value, wide *= size, above *= std::max(size, 1.0L), below *= size > 0 ? std::min(size, 1.0L) : 1.0L, count += 1;
  }
  Element value(DType kept) const {
    const Limits limits = limits_of(kept);
    if (unknown || !(above < limits.greatest) || below < limits.least) return kUnknown;
    return {product, wide - std::fabs(product) + 1.1L * count * limits.unit * wide};
  }
};

struct Integers {
  std::uint64_t sum = 0, product = 1;
  bool unknown = false;
  void add(const Element& x) {
    unknown |= is_unknown(x);
    if (unknown) return;
    const auto value = static_cast<std::uint64_t>(static_cast<Big>(x.value));
    sum += value, product *= value;
  }
  Element value(DType result, bool of_product) const {
    if (unknown) return kUnknown;
    const std::uint64_t total = of_product ? product : sum;
    return {wrapped_to(result, result == uint64 ? static_cast<Big>(total) : static_cast<Big>(static_cast<std::int64_t>(total))), 0};
  }
};

bool is_nan(const Element& x) { return std::isnan(x.value); }

/// The greatest; sign -1: the least.
struct Greatest {
  Wide sign, low = -kInfinite, high = -kInfinite;
  std::optional<Element> nan = {};
  bool unknown = false, empty = true;
  void add(const Element& x) {
    empty = false, unknown |= is_unknown(x);
    if (is_nan(x) && !nan) nan = x;
    low = std::max(low, sign * x.value - x.error), high = std::max(high, sign * x.value + x.error);
  }
  Element value() const {
    demand_extents(!empty);
    if (unknown) return kUnknown;
    if (nan) return {nan->value, 0};
    return std::isfinite(low) ? Element{sign * (low + high) / 2, (high - low) / 2 * 1.0001L} : Element{sign * low, 0};
  }
};

/// Its place.
Element place_of_greatest(const std::vector<Element>& row, Wide sign) {
  demand_extents(!row.empty());
  if (std::any_of(row.begin(), row.end(), is_unknown)) return kUnknown;
  if (const auto nan = std::find_if(row.begin(), row.end(), is_nan); nan != row.end()) return {static_cast<Wide>(nan - row.begin()), 0};
  Wide low = -kInfinite;
  for (const Element& x : row) low = std::max(low, sign * x.value - x.error);
  std::vector<std::size_t> candidates;
  bool exact = true;
  for (std::size_t i = 0; i < row.size(); ++i) {
    if (sign * row[i].value + row[i].error < low) continue;
    candidates.push_back(i);
    exact &= row[i].error == 0;
  }
  return exact || candidates.size() == 1 ? Element{static_cast<Wide>(candidates[0]), 0} : kUnknown;
}

/// Whether some element is not 0, or none is.
Element truth(const std::vector<Element>& row, bool all) {
  bool open = false;
  for (const Element& x : row) {
    const bool unsure = is_unknown(x) || (x.error > 0 && std::fabs(x.value) <= x.error);
    if (!unsure && (x.value != 0) != all) return {all ? 0.0L : 1.0L, 0};
    open |= unsure;
  }
  return open ? kUnknown : Element{all ? 1.0L : 0.0L, 0};
}

/// A row's reduction but for places and truth, element by element.
class Fold {
 public:
  Fold(const std::string& name, DType x, DType result) : kept_(is_half(result) ? float32 : result), is_mean_(name == "mean") {
    if (name == "max") state_ = Greatest{1};
    else if (name == "min") state_ = Greatest{-1};
    else if (!is_floating(x) && !is_mean_) state_ = Integers{};
    else if (name == "prod") state_ = Product{};
    is_product_ = name == "prod";
  }
  void add(const Element& x) {
    std::visit([&](auto& state) { state.add(x); }, state_);
  }
  Element value() const {
    if (const auto* sum = std::get_if<Sum>(&state_)) return sum->value(kept_, is_mean_);
    if (const auto* product = std::get_if<Product>(&state_)) return product->value(kept_);
    if (const auto* integers = std::get_if<Integers>(&state_)) return integers->value(kept_, is_product_);
    return std::get<Greatest>(state_).value();
  }

 private:
  std::variant<Sum, Product, Integers, Greatest> state_;
  DType kept_;
  bool is_mean_, is_product_;
};

Element reduced(const std::string& name, const std::vector<Element>& row, DType x, DType result) {
  if (name.starts_with("arg")) return place_of_greatest(row, name == "argmax" ? 1 : -1);
  if (name == "any" || name == "all") return truth(row, name == "all");
  Fold fold(name, x, result);
  for (const Element& element : row) fold.add(element);
  return fold.value();
}

}  // namespace

Element sum_of(const std::vector<Element>& row, DType kept, bool mean) {
  if (!is_floating(kept)) return cast_tensor({uint64, {}, {reduced("sum", row, uint64, uint64)}}, kept).elements[0];
  Sum sum;
  for (const Element& x : row) sum.add(x);
  return sum.value(kept, mean);
}

Element greatest_of(const std::vector<Element>& row) { return reduced("max", row, float64, float64); }

Element product_of(const Element& x, const Element& y, DType kept) {
  if (is_unknown(x) || is_unknown(y)) return kUnknown;
  if (!is_floating(kept)) {
    const auto product = static_cast<std::uint64_t>(static_cast<Big>(x.value)) * static_cast<std::uint64_t>(static_cast<Big>(y.value));
    return {static_cast<Wide>(product), 0};
  }
  const Wide value = x.value * y.value;
  if (!std::isfinite(value)) return x.error + y.error > 0 ? kUnknown : Element{value, 0};
  const Limits limits = limits_of(kept);
  const Element product{value, std::fabs(x.value) * y.error + std::fabs(y.value) * x.error + x.error * y.error + 1.1L * limits.unit * std::fabs(value) + limits.tiny};
  return std::fabs(value) + product.error < limits.greatest ? product : kUnknown;
}

Tensor tamed_tensor(const Tensor& x) {
  const auto number = [&](double value) { return Tensor{x.dtype, {}, {{static_cast<Wide>(value), 0}}}; };
  const Tensor finite = apply_row(*find_elementwise("where"), {apply_row(*find_elementwise("isnan"), {x}), number(0), x});
  return apply_row(*find_elementwise("clip"), {finite, number(-4), number(4)});
}

std::vector<int> all_axes(const Tensor& x) {
  std::vector<int> axes(static_cast<std::size_t>(x.shape.rank()));
  for (std::size_t i = 0; i < axes.size(); ++i) axes[i] = static_cast<int>(i);
  return axes;
}

Tensor scan_tensor(const std::string& name, const Tensor& x, int axis, bool reverse, bool exclusive, DType result) {
  Tensor tensor{result, x.shape, x.elements};
  const std::string reduction = name.substr(3);  // of cumsum
  const bool exact = reduction == "max" || reduction == "min" || !is_half(result);
  std::int64_t step = 1;
  for (int i = axis + 1; i < x.shape.rank(); ++i) step *= x.shape[i];
  const std::int64_t length = x.shape[axis];
  for (std::int64_t first = 0; first < x.shape.size(); ++first) {
    if (first / step % length != 0) continue;
    Fold fold(reduction, x.dtype, result);
    for (std::int64_t n = 0; n < length; ++n) {
      const auto at = static_cast<std::size_t>(first + (reverse ? length - 1 - n : n) * step);
      if (!exclusive) fold.add(x.elements[at]);
      const Element element = fold.value();
      tensor.elements[at] = exact ? element : cast_tensor({float32, {}, {element}}, result).elements[0];
      if (exclusive) fold.add(x.elements[at]);
    }
  }
  return tensor;
}

Tensor reduce_tensor(const std::string& name, const Tensor& x, const std::vector<int>& axes, bool keep, DType result) {
  Tensor tensor{result, {}, {}};
  Shape kept = x.shape;
  for (int axis : axes) kept[axis] = 1;
  std::map<std::int64_t, std::vector<Element>> rows;
  for (std::int64_t i = 0; i < kept.size(); ++i) rows[i];
  for (std::int64_t i = 0; i < x.shape.size(); ++i) {
    std::int64_t rest = i, row = 0, scale = 1;
    for (int axis = x.shape.rank() - 1; axis >= 0; --axis) {
      const std::int64_t at = rest % x.shape[axis];
      rest /= x.shape[axis];
      if (std::find(axes.begin(), axes.end(), axis) == axes.end()) row += at * scale, scale *= kept[axis];
    }
    rows[row].push_back(x.elements[static_cast<std::size_t>(i)]);
  }
  for (int axis = 0; axis < kept.rank(); ++axis) {
    if (keep || std::find(axes.begin(), axes.end(), axis) == axes.end()) tensor.shape.push_back(kept[axis]);
  }
  const bool wide = name == "max" || name == "min" || !is_half(result);
  for (const auto& [row, elements] : rows) {
    Element element = reduced(name, elements, x.dtype, result);
    tensor.elements.push_back(wide ? element : cast_tensor({float32, {}, {element}}, result).elements[0]);
  }
  return tensor;
}

}  // namespace damo::testing
