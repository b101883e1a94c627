// sum, max, ...: specs made of the built-in reductions, kept by their number in the device's EagerKernels.
#include <damo/array_reduce.hpp>

#include <cmath>
#include <functional>
#include <optional>
#include <span>

#include <damo/array_create.hpp>
#include <damo/array_math.hpp>
#include <damo/array_shape.hpp>

#include "graph/base/computed_dtype.hpp"
#include "ops/both_worlds.hpp"
#include "ops/eager/index_kernels.hpp"
#include "ops/eager/inner_product.hpp"
#include "ops/eager/kernels.hpp"
#include "ops/reductions.hpp"

namespace damo {
namespace {

/// What stands around the reduction: norm is sqrt(sum(x x)), squares the sum of (x - m)^2, dot that of x y; absolute that of |x|, nonzero that of x != 0.
enum class Around : std::uint32_t { kNothing, kNorm, kSquares, kDot, kAbsolute, kNonzero };
bool is_norm(Around around) { return around == Around::kNorm || around == Around::kAbsolute || around == Around::kNonzero; }

Step elementwise(std::string name, std::string code, std::vector<int> inputs, DType dtype) {
  Step step;
  step.name = std::move(name);
  step.code = std::move(code);
  step.inputs = std::move(inputs);
  step.compute = step.result = dtype;
  return step;
}

/// second: of the second input; without one the accumulator of a reduction that nothing stands around or of a norm, bool for its own.
KernelSpec spec_of(ReductionKind kind, Around around, DType x, DType second, DType result) {
  KernelSpec spec;
  spec.name = is_norm(around) ? "norm" : around == Around::kSquares ? "squares" : around == Around::kDot ? "dot" : name_of(kind);
  spec.inputs = {x};
  spec.outputs = {result};
  if (around == Around::kSquares || around == Around::kDot) spec.inputs.push_back(second);
  spec.rows = {false, around == Around::kSquares};
  const bool is_told = (around == Around::kNothing || is_norm(around)) && second != bool_;
  const DType inner = is_norm(around) && is_told ? second : sum_dtype(is_norm(around) ? result : x);
  int value = 0;
  DType dtype = x;
  if (around != Around::kNothing) {
    dtype = inner;
    if (around == Around::kNorm) spec.steps = {elementwise("sqr", "x0 * x0", {0}, inner)};
    else if (around == Around::kAbsolute) spec.steps = {elementwise("abs", "fabs(x0)", {0}, inner)};
    else if (around == Around::kNonzero) spec.steps = {elementwise("nonzero", "x0 != T(0) ? T(1) : T(0)", {0}, inner)};
    else if (around == Around::kDot) spec.steps = {elementwise("mul", is_floating(inner) ? "x0 * x1" : "wrap_mul(x0, x1)", {0, 1}, inner)};
    else spec.steps = {elementwise("sub", "x0 - x1", {0, 1}, second), elementwise("sqr", "x0 * x0", {2}, second)}, dtype = second;
    value = spec.first_step() + static_cast<int>(spec.steps.size()) - 1;
  }
  value = append_reduction(spec, kind, value, dtype, around == Around::kNothing ? result : dtype, is_told ? std::optional<DType>(second) : std::nullopt);
  if (around == Around::kNorm) {
    spec.steps.push_back(elementwise("sqrt", "sqrt(x0)", {value}, inner));
    ++value;
  }
  spec.stores = {value};
  return spec;
}

std::shared_ptr<EagerKernel> kernel_of(Backend& backend, ReductionKind kind, Around around, DType x, DType other, DType out) {
  const std::uint32_t number = static_cast<std::uint32_t>(around) << 16 | static_cast<std::uint32_t>(kind) << 12 | static_cast<std::uint32_t>(x) << 8 |
                               static_cast<std::uint32_t>(other) << 4 | static_cast<std::uint32_t>(out);
  const auto spec = [&] { return spec_of(kind, around, x, other, out); };
  const std::function<KernelSpec()> make = std::cref(spec);  // which asks for no memory
  return EagerKernels::of(backend)->reducing(number, make);
}

/// Into out, whose reduced axes have extent 1. accumulator: bool for the reduction's own.
void run(ReductionKind kind, Around around, const Array& x, const Array& second, std::uint32_t mask, const Array& out, DType accumulator = bool_) {
  const DType other = second ? second.dtype() : accumulator;
  const auto kernel = kernel_of(x.device().backend(), kind, around, x.dtype(), other, out.dtype());
  const EagerInput inputs[] = {{&x, {}}, {&second, {}}};
  kernel->run(std::span(inputs, second ? 2 : 1), out, x.shape(), mask);
}

Array run(ReductionKind kind, Around around, const std::string& name, const Array& x, const Array& second, const Axes& axes, bool keep, DType result, DType accumulator = bool_) {
  if (!x) throw TypeError(name + ": the Array is empty", "check the Array with if (array)");
  require_computed(name, x.dtype());
  const auto [mask, kept] = asked_at_once(name, [&] {
    const std::uint32_t axes_of_x = axes.mask(x.rank(), name);
    const Shape shape = reduced_shape(x.shape(), axes_of_x, true);
    require_choice(name, kind, x.shape(), shape);
    return std::pair(axes_of_x, shape);
  }, x);
  const Array out = Array::empty(kept, result, x.device());
  run(kind, around, x, second, mask, out, accumulator);
  return keep ? out : out.reshape(reduced_shape(x.shape(), mask, false));
}

Array run(ReductionKind kind, const Array& x, const Axes& axes, bool keep) {
  return run(kind, Around::kNothing, name_of(kind), x, {}, axes, keep, x ? result_of(kind, x.dtype()) : float32);
}

Array run(ReductionKind kind, const Array& x, const Axes& axes, const ReduceOptions& options) {
  if (!x) throw TypeError(name_of(kind) + ": the Array is empty", "check the Array with if (array)");
  require_computed(name_of(kind), x.dtype());
  const ReducedDTypes dtypes = dtypes_of(name_of(kind), kind, x.dtype(), options);
  return run(kind, Around::kNothing, name_of(kind), x, {}, axes, options.keepdims, dtypes.result, dtypes.accumulator);
}

Array variance(const char* name, const Array& x, const Axes& axes, const VarOptions& options, bool root) {
  if (!x) throw TypeError(std::string(name) + ": the Array is empty", "check the Array with if (array)");
  require_computed(name, x.dtype());
  // Half precision would spoil the mean, and the squares more, and could not hold the variance of what has a deviation in its range: all are kept in the accumulator's dtype until the end.
  const auto [inner, dtype] = dtypes_of(name, ReductionKind::kMean, x.dtype(), options);
  const Array center = run(ReductionKind::kMean, Around::kNothing, name, x, {}, axes, true, inner, inner);
  const Array squares = run(ReductionKind::kSum, Around::kSquares, name, x, center, axes, options.keepdims, inner);
  const std::int64_t count = squares.size() == 0 ? 0 : x.size() / squares.size();
  Array result = squares / static_cast<double>(std::max<std::int64_t>(count - options.ddof, 0));
  if (root) result = sqrt(result);
  return inner == dtype ? result : astype(result, dtype);
}

}  // namespace

Array sum(const Array& x, const Axes& axes, const ReduceOptions& options) { return run(ReductionKind::kSum, x, axes, options); }
Array prod(const Array& x, const Axes& axes, const ReduceOptions& options) { return run(ReductionKind::kProd, x, axes, options); }
Array mean(const Array& x, const Axes& axes, const ReduceOptions& options) { return run(ReductionKind::kMean, x, axes, options); }

Array norm(const Array& x, const Axes& axes, const NormOptions& options) {
  check_order(options.ord);
  if (!x) throw TypeError("norm: the Array is empty", "check the Array with if (array)");
  const auto [inner, dtype] = dtypes_of("norm", ReductionKind::kMean, x.dtype(), options);
  const auto of = [&, inner = inner, dtype = dtype](ReductionKind kind, Around around) { return run(kind, around, "norm", x, {}, axes, options.keepdims, dtype, inner); };
  if (options.ord == 2) return of(ReductionKind::kSum, Around::kNorm);
  if (options.ord == 1) return of(ReductionKind::kSum, Around::kAbsolute);
  if (options.ord == 0) return of(ReductionKind::kSum, Around::kNonzero);
  if (std::isinf(options.ord)) return of(options.ord > 0 ? ReductionKind::kMax : ReductionKind::kMin, Around::kAbsolute);
  const Array powers = pow(abs(inner == x.dtype() ? x : astype(x, inner)), options.ord);
  const Array result = pow(sum(powers, axes, options.keepdims), 1 / options.ord);
  return inner == dtype ? result : astype(result, dtype);
}

Array sum(const Array& x, const Axes& axes, bool keep) { return run(ReductionKind::kSum, x, axes, keep); }
Array prod(const Array& x, const Axes& axes, bool keep) { return run(ReductionKind::kProd, x, axes, keep); }
Array mean(const Array& x, const Axes& axes, bool keep) { return run(ReductionKind::kMean, x, axes, keep); }
Array norm(const Array& x, const Axes& axes, bool keep) { return norm(x, axes, NormOptions{.keepdims = keep}); }
Array max(const Array& x, const Axes& axes, bool keep) { return run(ReductionKind::kMax, x, axes, keep); }
Array min(const Array& x, const Axes& axes, bool keep) { return run(ReductionKind::kMin, x, axes, keep); }
Array any(const Array& x, const Axes& axes, bool keep) { return run(ReductionKind::kAny, x, axes, keep); }
Array all(const Array& x, const Axes& axes, bool keep) { return run(ReductionKind::kAll, x, axes, keep); }
Array argmax(const Array& x, const Axes& axes, bool keep) { return run(ReductionKind::kArgmax, x, axes, keep); }
Array argmin(const Array& x, const Axes& axes, bool keep) { return run(ReductionKind::kArgmin, x, axes, keep); }

ArrayMaxAndArgmax max_and_argmax(const Array& x, const Axes& axes, bool keep) {
  return asked_at_once("max_and_argmax", [&] {
    const Array positions = argmax(x, axes, true), values = Array::empty(positions.shape(), x.dtype(), x.device());
    const std::uint32_t mask = axes.mask(x.rank(), "max_and_argmax");
    if (values.size() > 0) {
      std::vector<int> kept, reduced;
      for (int axis = 0; axis < x.rank(); ++axis) (mask >> axis & 1u ? reduced : kept).push_back(axis);
      kept.insert(kept.end(), reduced.begin(), reduced.end());
      const Array rows = x.permute(kept), begins = arange(0, x.size(), x.size() / values.size(), int64, x.device());
      gather(rows, begins.reshape(positions.shape()) + positions, values, 0, x.rank(), true);
    }
    const Shape shape = reduced_shape(x.shape(), mask, keep);
    return ArrayMaxAndArgmax{values.reshape(shape), positions.reshape(shape)};
  }, x);
}

Array index_along(const Array& x, const Axes& axes) {
  if (!x) throw TypeError("index_along: the Array is empty", "check the Array with if (array)");
  const std::uint32_t mask = axes.mask(x.rank(), "index_along");
  Shape chosen = Shape::filled(x.rank(), 1);
  for (int axis = 0; axis < x.rank(); ++axis) {
    if (mask >> axis & 1u) chosen[axis] = x.shape()[axis];
  }
  return contiguous(arange(0, chosen.size(), 1, int64, x.device()).reshape(chosen).broadcast_to(x.shape()));
}

Array var(const Array& x, const Axes& axes, const VarOptions& options) { return variance("var", x, axes, options, false); }
Array stddev(const Array& x, const Axes& axes, const VarOptions& options) { return variance("stddev", x, axes, options, true); }
Array var(const Array& x, const Axes& axes, bool keep, int ddof) { return var(x, axes, VarOptions{.ddof = ddof, .keepdims = keep}); }
Array stddev(const Array& x, const Axes& axes, bool keep, int ddof) { return stddev(x, axes, VarOptions{.ddof = ddof, .keepdims = keep}); }

void inner_product(const Array& x, const Array& y, const Array& out) {
  run(ReductionKind::kSum, Around::kDot, x, y, (1u << x.rank()) - 1, out.view(out.dtype(), Shape::filled(x.rank(), 1), Strides::filled(x.rank(), 0), 0));
}

std::size_t inner_product_bytes(Backend& backend, DType dtype, ArrayLayout x, ArrayLayout y, DType result) {
  const Shape one = Shape::filled(x.shape->rank(), 1);
  const Strides none = Strides::filled(x.shape->rank(), 0);
  const ArrayLayout layouts[] = {x, y, {&one, &none}};
  return kernel_of(backend, ReductionKind::kSum, Around::kDot, dtype, dtype, result)->scratch_bytes(layouts, *x.shape, (1u << x.shape->rank()) - 1);
}

}  // namespace damo
