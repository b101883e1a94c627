// Rules for sums along rows.
//
// Sums of elements that are all alike are products, of any dtype: the same but for rounding, since how many there are is known and is not 0. Infinities, NaN and what wraps around come out as of the sum.
//
// Others wait for other sums along the same rows, and are taken apart. Of floating values of one dtype alone, and not of float16, whose numbers end at 65,504: sum(x) may be beyond.
//
// The gradient of a norm has sum(g r + c (x - mean(x))), where r and c follow from the variance and from sum(g (x - mean(x))): a kernel of the row goes through it once more for that sum, or its threads meet once more.
// It is r sum(g) + c sum(x - mean(x)), whose sums wait for the mean alone, and the last of them is 0.
//
// Both are the same but for rounding where no sum overflows and no scale is infinite or no number. Where x has infinities or NaN, x - mean(x) is NaN, and what r or c follow from. A sum of no elements is 0 whatever r is, which
// is NaN where it follows from the mean of an empty batch: unless the extents say that there are elements, r is 0 where there are none, by a count of the host (size_op.hpp) or of the kernel. The sum of several terms finds out whether
// their extents agree, so it is taken apart only where it is computed for another reader too. See tests/ops/rewrites/simplify_test.cpp and tests/function/row_sums_test.cpp.
#include <algorithm>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include <damo/ops/cast.hpp>
#include <damo/ops/math.hpp>
#include "ops/dimshuffle_op.hpp"
#include "ops/identity_op.hpp"
#include "ops/reduce_op.hpp"
#include "ops/rewrites/match.hpp"

namespace damo {
namespace {

/// How many sums, means and the like along these axes stand behind one another in what a value is computed from, through ops element by element and views.
class Depths {
 public:
  Depths(const Site& site, std::uint32_t axes) : site_(site), axes_(axes) {}
  /// Nothing where there is too much to look at.
  std::optional<int> of(ValueId value) {
    if (const auto known = depths_.find(value); known != depths_.end()) return known->second;
    constexpr std::size_t kMostValues = 200;
    if (depths_.size() == kMostValues) return {};
    depths_[value] = 0;
    const auto* reduction = site_.made_by<ReduceOp>(value);
    const bool passes = reduction || site_.made_by<ElementwiseOp>(value) || site_.made_by<DimShuffleOp>(value) || site_.made_by<IdentityOp>(value);
    if (!passes || (reduction && *reduction->reduced_axes() != axes_)) return 0;
    int deepest = 0;
    for (const ValueId input : site_.graph().inputs(site_.graph().owner(value))) {
      const std::optional<int> depth = of(input);
      if (!depth) return {};
      deepest = std::max(deepest, *depth);
    }
    return depths_[value] = deepest + (reduction ? 1 : 0);
  }

 private:
  const Site& site_;
  std::uint32_t axes_;
  std::map<ValueId, int> depths_;
};

/// The product of the factors, an element of which is each row's own, and of a scale that its elements have in common; an empty one is 1.
struct Term {
  std::vector<ValueId> factors;
  Variable scale;
};

class Terms {
 public:
  Terms(Site& site, std::uint32_t axes) : site_(site), axes_(axes) {}

  /// Takes a value times `scale` apart; false where it is none that this knows. Quotients stay: by them the rules of softmax know its gradients.
  bool take(ValueId value, const Variable& scale) {
    constexpr std::size_t kMostTerms = 4;
    if (!are_floats(site_, value, site_.output()) || all.size() == kMostTerms) return false;
    if (const ValueId inner = inside(site_, value, rows().neg); inner != ValueId::kNone) return take(inner, negated(scale));
    if (const Pair sum = pair_of(site_, value, rows().add)) return take(sum.first, scale) && take(sum.second, scale);
    // x - mean(x) is an element: of its terms the second is common to the row.
    if (const Pair difference = pair_of(site_, value, rows().sub); difference && !is_common(difference.first) && !is_common(difference.second)) return take(difference.first, scale) && take(difference.second, negated(scale));
    Term term{{}, scale};
    factor(value, term);
    if (term.factors.size() == 1 && term.factors[0] != value) return take(term.factors[0], term.scale);
    const bool varies = std::any_of(term.factors.begin(), term.factors.end(), [this](ValueId each) { return this->varies(each); });
    all.push_back(std::move(term));
    return varies;
  }

  Variable element(const Term& term) {
    Variable product = site_.operand(term.factors[0]);
    for (std::size_t i = 1; i < term.factors.size(); ++i) product = mul(product, site_.operand(term.factors[i]));
    return product;
  }

  std::vector<Term> all;

 private:
  static constexpr std::size_t kMostFactors = 4;

  Variable negated(const Variable& scale) { return scale ? neg(scale) : number(-1, site_.type(site_.output()).dtype); }
  /// The factors of a value, those in common into the scale.
  void factor(ValueId value, Term& term) {
    const Pair product = pair_of(site_, value, rows().mul);
    if (is_common(value)) {
      term.scale = term.scale ? mul(term.scale, site_.operand(value)) : site_.operand(value);
    } else if (product && are_floats(site_, product.first, value) && are_floats(site_, product.second, value) && term.factors.size() < kMostFactors) {
      factor(product.first, term);
      factor(product.second, term);
    } else {
      term.factors.push_back(value);
    }
  }
  bool is_along(int axis) const { return axes_ >> axis & 1u; }
  /// Whether a row's elements have it in common: a number, or extents known to be 1 along the axes.
  bool is_common(ValueId value) const {
    if (!are_floats(site_, value, site_.output())) return false;
    const Shape& dims = site_.type(value).dims;
    if (dims.rank() == 0) return true;
    bool common = dims.rank() == site_.type(site_.output()).dims.rank();
    for (int axis = 0; common && axis < dims.rank(); ++axis) common = !is_along(axis) || dims[axis] == 1;
    return common;
  }
  /// Whether it has an element for each of the row: along no axis is its extent said to be 1, which alone is stretched.
  bool varies(ValueId value) const {
    const Shape& dims = site_.type(value).dims;
    bool varies = dims.rank() == site_.type(site_.output()).dims.rank();
    for (int axis = 0; varies && axis < dims.rank(); ++axis) varies = !is_along(axis) || dims[axis] != 1;
    return varies;
  }

  Site& site_;
  std::uint32_t axes_;
};

/// Whether the value is x - mean(x) along these axes.
bool is_centred(const Site& site, ValueId value, std::uint32_t axes) {
  const Pair difference = pair_of(site, value, rows().sub);
  const auto* mean = difference ? site.made_by<ReduceOp>(difference.second) : nullptr;
  return mean && mean->kind() == ReductionKind::kMean && *mean->reduced_axes() == axes && site.input_of(difference.second) == difference.first && are_floats(site, difference.first, value);
}

/// Whether the value is computed whatever this sum reads: by an op element by element, which needs more of it than its shape, or for the graph's outputs. Another sum of it might be taken apart as well.
bool is_made_anyway(const Site& site, ValueId value) {
  const auto gives_way = [&](NodeId reader) {
    const Op& op = site.graph().op(reader);
    return &op == rows().neg.get() || &op == rows().second.get() || !dynamic_cast<const ElementwiseOp*>(&op);
  };
  if (!site.all_readers(value, gives_way)) return true;
  const ValueId inner = inside(site, value, rows().neg);
  return inner != ValueId::kNone && is_made_anyway(site, inner);
}

/// The scale of a sum of such elements along the axes, or 0 where there are none, for which it need not be a number. Counted along those axes, as a mean's gradient does: so the sum's own kernel knows it where the host does not.
Variable scale_of_any(const Variable& scale, const Variable& elements, std::uint32_t axes) {
  bool may_be_empty = false;
  for (int axis = 0; axis < elements.rank(); ++axis) may_be_empty |= (axes >> axis & 1u) && elements.dims()[axis] <= 0;  // or unknown
  return may_be_empty ? where(eq(count_of(elements, axes, {}), 0.0), 0.0, scale) : scale;
}

/// sum(a x + b y) is a sum(x) + b sum(y), where a and b are common to a row's elements and wait for more reductions of it than x and y do. A sum of x - mean(x) is 0.
Variable split_row_sum(Site& site) {
  const auto& sum = static_cast<const ReduceOp&>(site.op());
  const std::uint32_t axes = *sum.reduced_axes();
  if (sum.kind() != ReductionKind::kSum || !are_floats(site, site.input(0), site.output()) || site.type(site.output()).dtype == float16) return {};
  Depths depths(site, axes);
  const std::optional<int> before = depths.of(site.input(0));
  if (!before || *before == 0) return {};
  Terms terms(site, axes);
  if (!terms.take(site.input(0), {}) || (terms.all.size() > 1 && !is_made_anyway(site, site.input(0)))) return {};
  for (const Term& term : terms.all) {
    for (const ValueId factor : term.factors) {
      const std::optional<int> depth = depths.of(factor);
      if (!depth || *depth >= *before) return {};
    }
  }
  Variable result;
  for (const Term& term : terms.all) {
    if (terms.all.size() > 1 && term.factors.size() == 1 && is_centred(site, term.factors[0], axes)) continue;
    const Variable elements = terms.element(term), whole = reduce(ReductionKind::kSum, elements, axes, {});
    const Variable part = term.scale ? mul(scale_of_any(term.scale, elements, axes), whole) : whole;
    result = result ? add(result, part) : part;
  }
  return result ? if_fits(site, result) : Variable();
}

/// The op, where it is one element by element of one operand.
const ElementwiseOp* of_one_operand(const Site& site, ValueId value) {
  const auto* op = site.made_by<ElementwiseOp>(value);
  return op && site.graph().inputs(site.graph().owner(value)).size() == 1 ? op : nullptr;
}

/// sum(f(fill(x, a))), where a is stretched along the axes of the sum alone, is n f(a); f may be a few ops, a cast and a sign of gradients. All extents are known, so no unlike ones are left for the fill to find, and n is not 0. 16-bit floats add up in float32.
Variable multiply_fill(Site& site) {
  const auto& sum = static_cast<const ReduceOp&>(site.op());
  constexpr std::size_t kMostOps = 3;
  std::vector<const ElementwiseOp*> ops;
  ValueId value = site.input(0);
  for (; ops.size() < kMostOps && of_one_operand(site, value); value = site.input_of(value)) ops.push_back(of_one_operand(site, value));
  const Pair fill = pair_of(site, value, rows().second);
  if (!fill) return {};
  const Shape &dims = site.type(value).dims, &filled = site.type(fill.second).dims;
  if (!dims.is_known() || filled.rank() != dims.rank()) return {};
  std::int64_t count = 1;
  for (int axis = 0; axis < dims.rank(); ++axis) {
    const bool is_summed = *sum.reduced_axes() >> axis & 1u;
    if (filled[axis] != (is_summed ? 1 : dims[axis])) return {};
    if (is_summed) count *= dims[axis];
  }
  const DType dtype = site.type(site.output()).dtype, inner = is_half(dtype) ? float32 : dtype;
  if (count == 0 || is_float8(dtype)) return {};
  // The fill has x's dtype.
  Variable element = cast(site.operand(fill.second), site.type(value).dtype);
  for (auto op = ops.rbegin(); op != ops.rend(); ++op) element = (*op)->apply(std::span(&element, 1), {}).output();
  return if_fits(site, cast(mul(cast(element, inner), constant(Scalar(count).cast(inner))), dtype));
}

bool is_sum(const Op& op) {
  const auto* reduction = dynamic_cast<const ReduceOp*>(&op);
  return reduction && reduction->kind() == ReductionKind::kSum;
}

}  // namespace

std::vector<Rule> sum_rules() {
  return {{.name = "multiply_fill", .takes = is_sum, .reads = [](const Op& op) { return dynamic_cast<const ElementwiseOp*>(&op) != nullptr; }, .rewrite = multiply_fill},
          {.name = "split_row_sum", .takes = is_sum, .reads = is_one_of({rows().add, rows().sub, rows().mul, rows().neg}), .rewrite = split_row_sum}};
}

}  // namespace damo
