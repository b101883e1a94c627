// sum, max, ...: definitions for the machinery of reduction.hpp, in the prelude's types, which compile fast.
#include <damo/array_reduce.hpp>

#include <limits>

#include <damo/array_math.hpp>

#include "ops/eager/kernels.hpp"
#include "ops/eager/reduced_shape.hpp"
#include "runtime/kernel/body.hpp"

namespace damo {
namespace {

enum class Reduce : std::uint32_t { kSum, kProd, kMean, kVar, kNorm, kMax, kMin, kArgmax, kArgmin, kAny, kAll, kDot };

constexpr const char* kNames[] = {"sum", "prod",   "mean",   "var", "norm", "max",
                                  "min", "argmax", "argmin", "any", "all",  "dot"};
std::string name_of(Reduce reduce) { return kNames[static_cast<int>(reduce)]; }

// A value and where it was found; -1: nowhere yet. NaN is beyond everything, the first of equals wins.
constexpr const char* kBest = R"(#define BEST_NAN(v) BEST_TEST
struct Best { BEST_VALUE value; damo_index at; };
DAMO_FUNCTION Best better(Best a, Best b) {
  if (a.at < 0 || b.at < 0) return a.at < 0 ? b : a;
  const bool a_nan = BEST_NAN(a.value), b_nan = BEST_NAN(b.value);
  const bool tie = (a_nan && b_nan) || a.value == b.value;
  const bool takes_b = tie ? b.at < a.at : (b_nan || (!a_nan && BEST_ORDER));
  return takes_b ? b : a;
}
)";

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

SourceText plain(std::string text) { return SourceText(std::move(text), nullptr, 0); }

RawParameter array_parameter(const char* name, DType dtype) {
  return {.name = name, .declaration = name, .dtype = dtype, .is_pointer = true, .is_const = true};
}

/// In which sums of this dtype are kept.
DType sum_dtype(DType dtype) {
  if (is_half(dtype)) return float32;
  if (is_floating(dtype)) return dtype;
  return dtype == bool_ || is_signed(dtype) ? int64 : uint64;
}

Scalar least(DType dtype, bool greatest) {
  return visit(dtype, [&](auto zero) -> Scalar {
    using T = decltype(zero);
    if constexpr (std::is_integral_v<T>)
      return greatest ? std::numeric_limits<T>::max() : std::numeric_limits<T>::min();
    else
      return Scalar(greatest ? std::numeric_limits<double>::infinity() : -std::numeric_limits<double>::infinity())
          .cast(is_half(dtype) ? float32 : dtype);
  });
}

struct Parts {
  DType accumulator;
  std::string neutral, reduce, map, post;
};

Parts parts_of(Reduce reduce, DType x, DType result) {
  const DType sums = reduce == Reduce::kMean || reduce == Reduce::kVar || reduce == Reduce::kNorm
                         ? (is_half(result) ? float32 : result)
                         : sum_dtype(x);
  const std::string add = is_floating(sums) ? "a + b" : "wrap_add(a, b)",
                    mul = is_floating(sums) ? "a * b" : "wrap_mul(a, b)";
  const std::string value = "damo_value(x[i])";
  switch (reduce) {
    case Reduce::kSum:
      return {sums, "0", add, value, "a"};
    case Reduce::kProd:
      return {sums, "1", mul, value, "a"};
    case Reduce::kMean:
      return {sums, "0", "a + b", value, "a / damo_value(n)"};
    case Reduce::kVar:
      return {sums, "0", "a + b", "(damo_value(x[i]) - damo_value(m[i])) * (damo_value(x[i]) - damo_value(m[i]))", "a"};
    case Reduce::kNorm:
      return {sums, "0", "a + b", value + " * " + value, "sqrt(a)"};
    case Reduce::kMax:
      return {x, literal(least(x, false)), "maximum(a, b)", value, "a"};
    case Reduce::kMin:
      return {x, literal(least(x, true)), "minimum(a, b)", value, "a"};
    case Reduce::kAny:
      return {bool_, "false", "a | b", "x[i] != 0", "a"};
    case Reduce::kAll:
      return {bool_, "true", "a & b", "x[i] != 0", "a"};
    default: {
      const bool floating = is_floating(sums);
      return {sums, "0", add,
              floating ? "damo_value(x[i]) * damo_value(y[i])" : "wrap_mul(damo_value(x[i]), damo_value(y[i]))", "a"};
    }
  }
}

ReductionDefinition define(Reduce reduce, DType x, DType second, DType result) {
  ReductionDefinition definition;
  definition.name = name_of(reduce);
  definition.kind = SourceKind::kGenerated;
  definition.result = result;
  definition.parameters = {array_parameter("x", x)};
  if (reduce == Reduce::kVar) definition.parameters.push_back(array_parameter("m", second));
  if (reduce == Reduce::kDot) definition.parameters.push_back(array_parameter("y", second));
  if (reduce == Reduce::kArgmax || reduce == Reduce::kArgmin) {
    const std::string order = reduce == Reduce::kArgmax ? "b.value > a.value" : "b.value < a.value";
    const std::string text = replaced(replaced(kBest, "BEST_VALUE", value_type(x)), "BEST_ORDER", order);
    definition.preamble = plain(replaced(text, "BEST_TEST", is_floating(x) ? "(v) != (v)" : "false"));
    definition.accumulator = "Best";
    definition.accumulator_bytes = 16;
    definition.neutral = plain("Best{" + value_type(x) + "(0), -1}");
    definition.reduce = plain("better(a, b)");
    definition.map = plain("Best{" + value_type(x) + "(x[i]), damo_index(r)}");
    definition.post = plain("a.at");
    return definition;
  }
  const Parts parts = parts_of(reduce, x, result);
  definition.accumulator = value_type(parts.accumulator);
  definition.accumulator_bytes = is_half(parts.accumulator) ? 4 : itemsize(parts.accumulator);
  definition.neutral = plain(parts.neutral);
  definition.reduce = plain(parts.reduce);
  definition.map = plain(parts.map);
  definition.post = plain(parts.post);
  return definition;
}

void require(Reduce reduce, const Array& x) {
  if (!x) throw TypeError(name_of(reduce) + ": the Array is empty", "check the Array with if (array)");
}

Array run(Reduce reduce, const Array& x, const Array& second, const Axes& axes, bool keepdims, DType result) {
  require(reduce, x);
  const std::uint32_t mask = axes.mask(x.rank(), name_of(reduce));
  const bool chooses =
      reduce == Reduce::kMax || reduce == Reduce::kMin || reduce == Reduce::kArgmax || reduce == Reduce::kArgmin;
  const Shape shape = reduced_shape(x.shape(), mask, keepdims);
  if (chooses && shape.size() > 0 && x.size() == 0) {
    throw ShapeError(name_of(reduce) + ": there is no element to choose in an array of shape " + to_string(x.shape()));
  }
  const Array out = Array::empty(shape, result, x.device());
  const DType other = second ? second.dtype() : bool_;
  const std::uint32_t number = static_cast<std::uint32_t>(reduce) << 12 | static_cast<std::uint32_t>(x.dtype()) << 8 |
                               static_cast<std::uint32_t>(other) << 4 | static_cast<std::uint32_t>(result);
  Backend& backend = x.device().backend();
  const auto reduction =
      EagerKernels::of(backend)->reduction(number, [&] { return define(reduce, x.dtype(), other, result); });
  std::vector<Array> arrays = {x};
  if (second) arrays.push_back(second);
  reduction->run(backend, arrays, {}, x.shape(), mask, out);
  return out;
}

Array run(Reduce reduce, const Array& x, const Axes& axes, bool keepdims, DType result) {
  return run(reduce, x, {}, axes, keepdims, result);
}

DType dtype_of_sum(const Array& x) { return is_floating(x.dtype()) ? x.dtype() : sum_dtype(x.dtype()); }
DType dtype_of_mean(const Array& x) { return is_floating(x.dtype()) ? x.dtype() : float64; }

}  // namespace

Array sum(const Array& x, const Axes& axes, bool keepdims) {
  return run(Reduce::kSum, x, axes, keepdims, dtype_of_sum(x));
}
Array prod(const Array& x, const Axes& axes, bool keepdims) {
  return run(Reduce::kProd, x, axes, keepdims, dtype_of_sum(x));
}
Array mean(const Array& x, const Axes& axes, bool keepdims) {
  return run(Reduce::kMean, x, axes, keepdims, dtype_of_mean(x));
}
Array norm(const Array& x, const Axes& axes, bool keepdims) {
  return run(Reduce::kNorm, x, axes, keepdims, dtype_of_mean(x));
}
Array max(const Array& x, const Axes& axes, bool keepdims) { return run(Reduce::kMax, x, axes, keepdims, x.dtype()); }
Array min(const Array& x, const Axes& axes, bool keepdims) { return run(Reduce::kMin, x, axes, keepdims, x.dtype()); }
Array any(const Array& x, const Axes& axes, bool keepdims) { return run(Reduce::kAny, x, axes, keepdims, bool_); }
Array all(const Array& x, const Axes& axes, bool keepdims) { return run(Reduce::kAll, x, axes, keepdims, bool_); }
Array argmax(const Array& x) { return run(Reduce::kArgmax, x, {}, false, int64); }
Array argmax(const Array& x, int axis, bool keepdims) { return run(Reduce::kArgmax, x, axis, keepdims, int64); }
Array argmin(const Array& x) { return run(Reduce::kArgmin, x, {}, false, int64); }
Array argmin(const Array& x, int axis, bool keepdims) { return run(Reduce::kArgmin, x, axis, keepdims, int64); }

Array var(const Array& x, const Axes& axes, bool keepdims, int ddof) {
  require(Reduce::kVar, x);
  // Half precision would spoil the mean, and the squares more: both are kept in float32 until the end.
  const DType dtype = dtype_of_mean(x), inner = is_half(dtype) ? float32 : dtype;
  const Array center = run(Reduce::kMean, x, axes, true, inner);
  const Array squares = run(Reduce::kVar, x, center, axes, keepdims, inner);
  const std::int64_t count = squares.size() == 0 ? 0 : x.size() / squares.size();
  const Array result = squares / static_cast<double>(std::max<std::int64_t>(count - ddof, 0));
  return inner == dtype ? result : astype(result, dtype);
}

Array stddev(const Array& x, const Axes& axes, bool keepdims, int ddof) { return sqrt(var(x, axes, keepdims, ddof)); }

Array dot(const Array& x, const Array& y) {
  require(Reduce::kDot, x);
  require(Reduce::kDot, y);
  if (!(x.shape() == y.shape())) {
    throw ShapeError("dot: shapes differ: " + to_string(x.shape()) + " and " + to_string(y.shape()),
                     "reshape one of them");
  }
  if (!(x.device() == y.device()))
    throw DeviceError("dot: operands lie on " + x.device().name() + " and " + y.device().name(),
                      "move one of them: x.to(device)");
  const DType dtype = promote(x.dtype(), y.dtype());
  if (dtype == bool_)
    throw TypeError("dot takes numbers, not bool", "any(x & y) tells whether both are true somewhere");
  if (x.dtype() != dtype) return dot(astype(x, dtype), y);
  if (y.dtype() != dtype) return dot(x, astype(y, dtype));
  return run(Reduce::kDot, x, y, {}, false, dtype);
}

}  // namespace damo
