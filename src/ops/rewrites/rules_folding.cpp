// fold_constants: nodes that read constants alone are computed when the function is built: elementwise ops whose one right result is known
// (sums, products, quotients, square roots, comparisons; not exp, whose last bit is the device's), and views. Results of up to 1,024 elements:
// a larger one would take memory for what a kernel makes on its way. fold_sizes: the same of numbers that follow from extents (size_op.hpp), which the host
// computes when shapes are bound. All keep every value.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <type_traits>
#include <unordered_map>
#include <utility>

#include "ops/dimshuffle_op.hpp"
#include "ops/rewrites/folding.hpp"
#include "ops/rewrites/match.hpp"
#include "ops/rows.hpp"
#include "ops/size_op.hpp"

namespace damo {
namespace {

constexpr std::int64_t kMostElements = 1024;
constexpr std::size_t kMostSteps = 32;  // that the host takes for one number

/// f on numbers of the type that the dtype is computed in; integers in 64 bits, which wrap to the dtype.
template <class F>
Evaluate computed(F f) {
  return [f](DType dtype, std::span<const Scalar> in) {
    return visit(dtype, [&](auto zero) -> Scalar {
      using T = decltype(zero);
      const auto at = [&]<class As>(As, std::size_t i) {
        const Scalar x = in[std::min(i, in.size() - 1)].cast(dtype);
        if constexpr (std::is_floating_point_v<As>) return static_cast<As>(x.as_double());
        else return static_cast<As>(x.as_int());
      };
      if constexpr (std::is_same_v<T, double>) return Scalar(f(at(0.0, 0), at(0.0, 1)));
      else if constexpr (!std::is_integral_v<T>) return Scalar(f(at(0.0f, 0), at(0.0f, 1)));
      else if constexpr (std::is_signed_v<T>) return Scalar(f(at(std::int64_t{}, 0), at(std::int64_t{}, 1)));
      else return Scalar(f(at(std::uint64_t{}, 0), at(std::uint64_t{}, 1)));
    });
  };
}

/// The operation mod 2^64 for integers.
template <class F>
Evaluate wrapping(F f) {
  return computed([f](auto x, auto y) {
    using T = decltype(x);
    if constexpr (std::is_floating_point_v<T>) return f(x, y);
    else return static_cast<T>(f(static_cast<std::uint64_t>(x), static_cast<std::uint64_t>(y)));
  });
}

/// f on numbers of the dtype, or, of integers of which only one has a sign, on how they are ordered: no dtype holds both.
template <class F>
Evaluate compared(F f) {
  return [f, alike = computed(f)](DType dtype, std::span<const Scalar> in) {
    const bool are_unlike = is_integer(in[0].dtype()) && is_integer(in[1].dtype()) && is_signed(in[0].dtype()) != is_signed(in[1].dtype());
    if (!are_unlike) return alike(dtype, in);
    const auto order = [](std::int64_t x, std::uint64_t y) { return std::cmp_less(x, y) ? -1 : std::cmp_equal(x, y) ? 0 : 1; };
    const std::int64_t x = in[0].as_int(), y = in[1].as_int();
    return Scalar(f(is_signed(in[0].dtype()) ? order(x, static_cast<std::uint64_t>(y)) : -order(y, static_cast<std::uint64_t>(x)), 0));
  };
}

template <class F>
Evaluate of_floats(F f) {
  return computed([f](auto x, auto y) -> decltype(x) {
    if constexpr (std::is_floating_point_v<decltype(x)>) return f(x, y);
    else return x;
  });
}

template <class F>
Evaluate of_integers(F f) {
  return computed([f](auto x, auto y) -> decltype(x) {
    if constexpr (std::is_integral_v<decltype(x)>) return f(x, y);
    else return x;
  });
}

std::unordered_map<const Op*, Evaluate> evaluations() {
  const RowOps& row = rows();
  return {
      {row.add.get(), wrapping([](auto x, auto y) { return x + y; })},
      {row.sub.get(), wrapping([](auto x, auto y) { return x - y; })},
      {row.mul.get(), wrapping([](auto x, auto y) { return x * y; })},
      {row.neg.get(), wrapping([](auto x, auto) { return -x; })},
      {row.sqr.get(), wrapping([](auto x, auto) { return x * x; })},
      {row.true_div.get(), of_floats([](auto x, auto y) { return x / y; })},
      {row.reciprocal.get(), of_floats([](auto x, auto) { return 1 / x; })},
      {row.sqrt.get(), of_floats([](auto x, auto) { return std::sqrt(x); })},
      {row.lt.get(), compared([](auto x, auto y) { return x < y; })},
      {row.le.get(), compared([](auto x, auto y) { return x <= y; })},
      {row.gt.get(), compared([](auto x, auto y) { return x > y; })},
      {row.ge.get(), compared([](auto x, auto y) { return x >= y; })},
      {row.eq.get(), compared([](auto x, auto y) { return x == y; })},
      {row.neq.get(), compared([](auto x, auto y) { return x != y; })},
      {row.and_.get(), of_integers([](auto x, auto y) { return x & y; })},
      {row.or_.get(), of_integers([](auto x, auto y) { return x | y; })},
      {row.xor_.get(), of_integers([](auto x, auto y) { return x ^ y; })},
      {row.second.get(), computed([](auto, auto y) { return y; })},
      {row.identity.get(), computed([](auto x, auto) { return x; })},
  };
}

bool is_small(const TensorType& type) { return type.dims.is_known() && type.dims.size() <= kMostElements; }

/// Where the element of a result is that has this place: from a layout of the operand over the result's axes.
std::int64_t place_of(std::int64_t element, const Shape& shape, const Strides& strides, std::int64_t offset) {
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    offset += element % shape[axis] * strides[axis];
    element /= shape[axis];
  }
  return offset;
}

/// Strides over the axes of `shape` of a constant that broadcasts to it.
Strides stretched(const Shape& dims, const Shape& shape) {
  const Strides own = contiguous_strides(dims);
  Strides strides = Shape::filled(shape.rank(), 0);
  for (int axis = 1; axis <= dims.rank(); ++axis) {
    if (dims[-axis] != 1) strides[-axis] = own[-axis];
  }
  return strides;
}

Scalar element(const ConstantData& constant, std::int64_t place) {
  return Scalar::load(constant.type.dtype, constant.bytes.data() + static_cast<std::size_t>(place) * itemsize(constant.type.dtype));
}

Variable fold_elementwise(Site& site, const Evaluate& evaluate) {
  const TensorType& type = site.type(site.output());
  std::vector<DType> dtypes;
  std::vector<Strides> strides;
  for (ValueId input : site.inputs()) {
    dtypes.push_back(site.type(input).dtype);
    strides.push_back(stretched(site.type(input).dims, type.dims));
  }
  const DType compute = static_cast<const ElementwiseOp&>(site.op()).step(dtypes, {}).compute;
  ConstantData result{type, std::vector<std::byte>(static_cast<std::size_t>(type.dims.size()) * itemsize(type.dtype))};
  std::vector<Scalar> in(strides.size());
  for (std::int64_t i = 0; i < type.dims.size(); ++i) {
    for (std::size_t k = 0; k < in.size(); ++k) in[k] = element(*site.graph().constant(site.input(static_cast<int>(k))), place_of(i, type.dims, strides[k], 0));
    evaluate(compute, in).cast(type.dtype).store(result.bytes.data() + static_cast<std::size_t>(i) * itemsize(type.dtype));
  }
  return constant(std::move(result));
}

Variable fold_view(Site& site) {
  std::vector<Op::Layout> layouts;
  for (ValueId input : site.inputs()) layouts.push_back({site.type(input).dims, contiguous_strides(site.type(input).dims), 0});
  const Op::Layout view = site.op().view_layout(site.graph().apply(site.node()), layouts);
  const TensorType type{site.type(site.output()).dtype, view.shape};
  const ConstantData& from = *site.graph().constant(site.input(0));
  const std::size_t bytes = itemsize(type.dtype);
  ConstantData result{type, std::vector<std::byte>(static_cast<std::size_t>(type.dims.size()) * bytes)};
  for (std::int64_t i = 0; i < type.dims.size(); ++i) {
    const std::byte* place = from.bytes.data() + static_cast<std::size_t>(place_of(i, view.shape, view.strides, view.offset)) * bytes;
    std::copy(place, place + bytes, result.bytes.data() + static_cast<std::size_t>(i) * bytes);
  }
  return constant(std::move(result));
}

Variable fold_constants(Site& site) {
  const auto inputs = site.inputs();
  if (inputs.empty() || !std::all_of(inputs.begin(), inputs.end(), [&](ValueId input) { return site.graph().constant(input) != nullptr; }) || !is_small(site.type(site.output()))) return {};
  if (site.op().passes_through(0) == 0) return site.operand(site.input(0));
  if (site.op().view_of(0) == 0) return if_fits(site, fold_view(site));
  return if_fits(site, fold_elementwise(site, *evaluation_of(site.op())));
}

/// The one element of a constant.
bool is_one_number(Site& site, ValueId value) {
  const TensorType& type = site.type(value);
  return site.graph().constant(value) && type.dims.size() == 1;
}

/// Of a node of one element that reads sizes of one value, and numbers.
Variable fold_sizes(Site& site) {
  const TensorType& type = site.type(site.output());
  if (!type.dims.is_known() || type.dims.size() != 1) return {};
  if (dynamic_cast<const DimShuffleOp*>(&site.op())) {
    const auto* size = site.made_by<SizeOp>(site.input(0));
    const Variable x = site.operand(site.input_of(site.input(0)));
    return if_fits(site, std::make_shared<const SizeOp>(size->steps(), type.rank())->apply(std::span(&x, 1), site.graph().where(site.node())).output());
  }
  std::vector<SizeOp::Step> steps;
  SizeOp::Step last{.result = type.dtype, .axes = {}, .op = std::static_pointer_cast<const ElementwiseOp>(site.graph().op_ptr(site.node())), .terms = {}};
  std::vector<DType> dtypes;
  ValueId of = ValueId::kNone;
  for (ValueId input : site.inputs()) {
    dtypes.push_back(site.type(input).dtype);
    if (is_one_number(site, input)) {
      last.terms.push_back({-1, element(*site.graph().constant(input), 0)});
      continue;
    }
    const auto* size = site.made_by<SizeOp>(input);
    if (!size || (of != ValueId::kNone && site.input_of(input) != of)) return {};
    of = site.input_of(input);
    const int first = static_cast<int>(steps.size());
    for (SizeOp::Step step : size->steps()) {
      for (SizeOp::Term& term : step.terms) term.step += term.step < 0 ? 0 : first;
      steps.push_back(std::move(step));
    }
    last.terms.push_back({static_cast<int>(steps.size()) - 1, {}});
  }
  if (of == ValueId::kNone || steps.size() >= kMostSteps) return {};
  last.compute = last.op->step(dtypes, {}).compute;
  steps.push_back(std::move(last));
  const Variable x = site.operand(of);
  return if_fits(site, std::make_shared<const SizeOp>(std::move(steps), type.rank())->apply(std::span(&x, 1), site.graph().where(site.node())).output());
}

}  // namespace

const Evaluate* evaluation_of(const Op& op) {
  // Not destroyed: another thread may be in function() as the process ends.
  static const std::unordered_map<const Op*, Evaluate>& all = *new std::unordered_map<const Op*, Evaluate>(evaluations());
  static const Evaluate& cast = *new Evaluate([](DType, std::span<const Scalar> in) { return in[0]; });
  const auto* elementwise = dynamic_cast<const ElementwiseOp*>(&op);
  if (elementwise && elementwise->cast_to()) return &cast;
  const auto found = all.find(&op);
  return found == all.end() ? nullptr : &found->second;
}

std::vector<Rule> folding_rules() {
  return {{.name = "fold_sizes",
           .takes = [](const Op& op) { return evaluation_of(op) != nullptr || dynamic_cast<const DimShuffleOp*>(&op) != nullptr; },
           .reads = [](const Op& op) { return dynamic_cast<const SizeOp*>(&op) != nullptr; },
           .rewrite = fold_sizes},
          {.name = "fold_constants",
           .takes = [](const Op& op) { return op.view_of(0) == 0 || op.passes_through(0) == 0 || evaluation_of(op) != nullptr; },
           .rewrite = fold_constants}};
}

}  // namespace damo
