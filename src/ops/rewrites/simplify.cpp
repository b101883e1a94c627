#include "ops/rewrites/simplify.hpp"

#include <algorithm>
#include <iterator>

#include <damo/axes.hpp>

#include "ops/rewrites/match.hpp"

namespace damo {

Variable if_fits(Site& site, const Variable& made) {
  const TensorType &from = site.type(site.output()), &to = made.type();
  if (from.dtype != to.dtype || from.rank() != to.rank()) return {};
  for (int axis = 0; axis < from.rank(); ++axis) {
    if (from.dims[axis] != to.dims[axis] && (from.dims[axis] != kUnknown || to.dims[axis] == 1)) return {};
  }
  return made;
}

bool are_floats(const Site& site, ValueId a, ValueId b) {
  return a != ValueId::kNone && b != ValueId::kNone && is_floating(site.type(a).dtype) && has_one_dtype(site, a, b);
}

bool changes_nothing(const std::vector<int>& pattern, int rank) {
  if (static_cast<int>(pattern.size()) != rank) return false;
  for (int axis = 0; axis < rank; ++axis) {
    const int from = pattern[static_cast<std::size_t>(axis)];
    if (from != axis && (from != kNewAxis || std::find(pattern.begin(), pattern.end(), axis) != pattern.end())) return false;
  }
  return true;
}

bool is_single(const Site& site, ValueId value) {
  for (std::int64_t extent : site.type(value).dims) {
    if (extent != 1) return false;
  }
  return true;
}

Variable number(double value, DType dtype) { return constant(Scalar(value).cast(dtype)); }

std::vector<Rule> simplification_rules(bool reassociates) {
  std::vector<Rule> all = folding_rules();
  for (std::vector<Rule> rules : {useless_rules(), part_rules(), view_rules(), algebra_rules(reassociates), stability_rules(), sum_rules()}) {
    all.insert(all.end(), std::make_move_iterator(rules.begin()), std::make_move_iterator(rules.end()));
  }
  return all;
}

}  // namespace damo
