#include "ops/reductions.hpp"
#include "graph/base/counted.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include <damo/error.hpp>

#include "runtime/kernel/body.hpp"

namespace damo {
namespace {

constexpr const char* kScanNames[] = {"cumsum", "cumprod", "cummax", "cummin", "argcummax", "argcummin", "logcumsumexp", "recurrence"};
constexpr const char* kNames[] = {"sum", "prod", "mean", "max", "min", "argmax", "argmin", "any", "all", "count"};

Scalar least(DType dtype, bool greatest) {
  return visit(dtype, [&](auto zero) -> Scalar {
    using T = decltype(zero);
    if constexpr (std::is_integral_v<T>) return greatest ? std::numeric_limits<T>::max() : std::numeric_limits<T>::min();
    else return Scalar(greatest ? std::numeric_limits<double>::infinity() : -std::numeric_limits<double>::infinity()).cast(is_narrow(dtype) ? float32 : dtype);
  });
}

DType computed_in(DType dtype) { return is_narrow(dtype) ? float32 : dtype; }

Join join_of(ReductionKind reduction, DType compute) {
  const bool floating = is_floating(compute);
  Join join;
  join.bytes = static_cast<int>(itemsize(compute));
  switch (reduction) {
    case ReductionKind::kSum:
    case ReductionKind::kMean:
      join.neutral = "0";
      join.reduce = floating ? "a + b" : "wrap_add(a, b)";
      if (reduction == ReductionKind::kMean) join.post = "a / T(n)";
      break;
    case ReductionKind::kProd:
      join.neutral = "1";
      join.reduce = floating ? "a * b" : "wrap_mul(a, b)";
      break;
    case ReductionKind::kMax:
    case ReductionKind::kMin:
      join.neutral = literal(least(compute, reduction == ReductionKind::kMin));
      join.reduce = reduction == ReductionKind::kMax ? "maximum(a, b)" : "minimum(a, b)";
      break;
    case ReductionKind::kAny:
    case ReductionKind::kAll:
      join.accumulator = "bool";
      join.bytes = 1;
      join.neutral = reduction == ReductionKind::kAny ? "false" : "true";
      join.reduce = reduction == ReductionKind::kAny ? "a | b" : "a & b";
      break;
    default:
      break;
  }
  return join;
}

/// What a scan joins, with the steps it needs. A sum of exponentials is joined as its logarithm's greatest term and the rest: of none, -inf and 0. Equal infinities differ by
/// nothing.
Join scanned_by(ScanKind scan, DType compute) {
  Join join;
  join.bytes = static_cast<int>(2 * itemsize(compute));
  const std::string value = value_type(compute);
  if (scan == ScanKind::kLogSumExp) {
    join.members = {{value, "greatest"}, {value, "sum"}};
    join.neutral = "Joined{" + literal(least(compute, false)) + ", 0}";
    join.before = "const T greatest = maximum(a.greatest, b.greatest);";
    join.reduce = "Joined{greatest, (a.greatest == greatest ? a.sum : a.sum * exp(a.greatest - greatest)) + (b.greatest == greatest ? b.sum : b.sum * exp(b.greatest - greatest))}";
    join.post = "a.greatest + log(a.sum)";
    return join;
  }
  join.members = {{value, "m"}, {value, "c"}};
  join.neutral = "Joined{1, 0}";
  join.reduce = "b.m == 0 ? b : Joined{a.m * b.m, b.m * a.c + b.c}";  // infinities before a 0 are forgotten, however elements are grouped
  join.post = "a.c";
  return join;
}

/// A value and where it was found. NaN is beyond everything; of equals the one with the least place wins, or without first_wins the one that is a. It begins with the least value at place
/// 0: where nothing is beyond that, all elements equal it. Without a branch, so that a loop over many of them vectorises.
Join best_of(bool greatest, DType compute, bool first_wins = true) {
  const bool floating = is_floating(compute);
  Join join;
  join.bytes = 16;
  join.members = {{value_type(compute), "value"}, {"place", "at"}};
  join.neutral = "Joined{" + literal(least(compute, !greatest)) + ", 0}";
  const std::string beyond = floating ? std::string(greatest ? "!(x0 <= a.value)" : "!(x0 >= a.value)") + " & (a.value == a.value)" : greatest ? "x0 > a.value" : "x0 < a.value";
  join.append = "(" + beyond + ") ? Joined{x0, place(x1)} : a";
  join.before = floating ? "const bool a_nan = isnan(a.value), b_nan = isnan(b.value);" : "const bool a_nan = false, b_nan = false;";
  join.before += std::string(" const bool beyond = (b_nan & !a_nan) | (!a_nan & (b.value ") + (greatest ? ">" : "<") + " a.value)), tie = (a_nan & b_nan) | (a.value == b.value), takes_b = beyond | (tie & (" + (first_wins ? "b.at < a.at" : "false") + "));";
  join.reduce = "Joined{takes_b ? b.value : a.value, takes_b ? b.at : a.at}";
  join.post = "a.at";
  return join;
}

}  // namespace

std::string name_of(ReductionKind reduction) { return kNames[static_cast<int>(reduction)]; }

DType sum_dtype(DType dtype) {
  if (is_narrow(dtype)) return float32;
  if (is_floating(dtype)) return dtype;
  return dtype == bool_ || is_signed(dtype) ? int64 : uint64;
}

DType result_of(ReductionKind reduction, DType x) {
  switch (reduction) {
    case ReductionKind::kSum:
    case ReductionKind::kProd: return is_floating(x) ? x : sum_dtype(x);
    case ReductionKind::kMean: return is_floating(x) ? x : float64;
    case ReductionKind::kCount: return is_narrow(x) ? float32 : is_floating(x) ? x : float64;  // 65,505 is infinite in float16
    case ReductionKind::kMax:
    case ReductionKind::kMin: return x;
    case ReductionKind::kArgmax:
    case ReductionKind::kArgmin: return int64;
    default: return bool_;
  }
}

ReducedDTypes dtypes_of(const std::string& called, ReductionKind like, DType x, const ReduceOptions& options) {
  const DType result = options.dtype.value_or(result_of(like, x));
  const bool of_floats = is_floating(x) || like == ReductionKind::kMean;
  const std::string asked = called + " of " + std::string(name(x));
  if (result == bool_) throw TypeError(asked + ": bool is no dtype of a result", "any(x) tells whether some element is not 0");
  if (of_floats && !is_floating(result)) throw TypeError(asked + " is no integer: .dtype = " + std::string(name(result)), "cast the elements, or the result, to " + std::string(name(result)));
  DType accumulator = sum_dtype(result);
  if (is_floating(result) && (x == float64 || !is_floating(x))) accumulator = float64;
  if (!options.acc_dtype) return {accumulator, result};
  accumulator = *options.acc_dtype;
  if (accumulator != float32 && accumulator != float64 && accumulator != int64 && accumulator != uint64) {
    throw TypeError(asked + ": nothing is accumulated in " + std::string(name(accumulator)), "float32 or float64, of integers int64 or uint64 too; .dtype says what comes out");
  }
  if (accumulator == float32 && (x == float64 || (!is_floating(x) && itemsize(x) > 2))) {
    throw TypeError(asked + ": float32 does not hold " + std::string(name(x)) + ", digits would be lost before they are accumulated", "leave .acc_dtype out, or cast x to float32 if that is meant");
  }
  if (of_floats && !is_floating(accumulator)) throw TypeError(asked + " is not accumulated in integers: .acc_dtype = " + std::string(name(accumulator)), "float32 or float64");
  if (is_floating(accumulator) && !is_floating(result)) {
    throw TypeError(asked + ": what is accumulated in " + std::string(name(accumulator)) + " is no " + std::string(name(result)), "say .dtype too, a float");
  }
  return {accumulator, result};
}

void check_order(double ord) {
  if (std::isnan(ord)) throw OptionError("norm: NaN is no order", ".ord is any other number, infinities among them");
}

bool chooses(ReductionKind reduction) { return reduction >= ReductionKind::kMax && reduction <= ReductionKind::kArgmin; }

void require_choice(const std::string& name, ReductionKind reduction, const Shape& from, const Shape& to) {
  const bool has_none = std::find(from.begin(), from.end(), 0) != from.end(), is_asked = to.is_known() && to.size() != 0;
  if (!chooses(reduction) || !has_none || !is_asked) return;
  throw ShapeError(name + ": there is no element to choose in an array of shape " + to_string(from), "give it elements, or leave it out for empty arrays");
}

void require_reduced_axes(const std::string& name, std::uint32_t axes, int rank) {
  if (rank >= 32 || axes >> rank == 0) return;
  throw ShapeError(name + ": x has " + counted_axes(rank) + ", fewer than are reduced", "let bit a of reduced_axes stand for axis a of x");
}

std::string name_of(ScanKind scan) { return kScanNames[static_cast<int>(scan)]; }

DType result_of(ScanKind scan, DType x) {
  switch (scan) {
    case ScanKind::kSum:
    case ScanKind::kProd: return is_floating(x) ? x : sum_dtype(x);
    case ScanKind::kArgmax:
    case ScanKind::kArgmin: return int64;
    case ScanKind::kLogSumExp:
      if (!is_floating(x)) throw TypeError("logcumsumexp takes floats, it is given " + std::string(name(x)), "cast(x, float32)");
      return x;
    default: return x;
  }
}

namespace {

int next_value(const KernelSpec& spec) { return spec.first_step() + static_cast<int>(spec.steps.size()); }

}  // namespace

int append_place(KernelSpec& spec) {
  Step place;
  place.name = "place";
  place.is_place = true;
  place.compute = place.result = int64;
  spec.steps.push_back(std::move(place));
  return next_value(spec) - 1;
}

ReducedDTypes dtypes_of(ScanKind scan, DType x, const CumulativeOptions& options) {
  static_cast<void>(result_of(scan, x));
  return dtypes_of(name_of(scan), scan == ScanKind::kLogSumExp ? ReductionKind::kMean : ReductionKind::kSum, x, options);
}

int append_scan(KernelSpec& spec, ScanKind scan, std::vector<int> values, DType x, DType result, ScanOptions options, std::optional<DType> accumulator) {
  Step step;
  step.name = name_of(scan);
  step.code = "x0";
  step.inputs = std::move(values);
  step.result = result;
  step.compute = accumulator.value_or(scan <= ScanKind::kProd ? sum_dtype(x) : computed_in(x));
  if (scan == ScanKind::kArgmax || scan == ScanKind::kArgmin) step.inputs.push_back(append_place(spec));
  switch (scan) {
    case ScanKind::kSum: step.join = join_of(ReductionKind::kSum, step.compute); break;
    case ScanKind::kProd: step.join = join_of(ReductionKind::kProd, step.compute); break;
    case ScanKind::kMax: step.join = join_of(ReductionKind::kMax, step.compute); break;
    case ScanKind::kMin: step.join = join_of(ReductionKind::kMin, step.compute); break;
    case ScanKind::kArgmax:
    case ScanKind::kArgmin:
      step.join = best_of(scan == ScanKind::kArgmax, step.compute, false);
      step.code = "Joined{x0, place(x1)}";
      step.inputs_as = {step.compute, int64};
      break;
    default:
      step.join = scanned_by(scan, step.compute);
      step.code = scan == ScanKind::kLogSumExp ? "Joined{x0, 1}" : "Joined{x0, x1}";
      if (scan == ScanKind::kLogSumExp) step.cost = 40;  // two exponentials to join it
  }
  step.join->prefix = options.exclusive ? Prefix::kExclusive : Prefix::kInclusive;
  step.join->backward = options.reverse;
  spec.steps.push_back(std::move(step));
  return next_value(spec) - 1;
}

int append_reduction(KernelSpec& spec, ReductionKind reduction, int value, DType x, DType result, std::optional<DType> accumulator) {
  Step step;
  step.name = name_of(reduction);
  step.code = "x0";
  step.inputs = {value};
  step.result = result;
  if (reduction == ReductionKind::kCount) {
    step.code.clear();
    step.inputs.clear();
    step.compute = computed_in(result);
    step.is_count = true;
  } else if (reduction == ReductionKind::kArgmax || reduction == ReductionKind::kArgmin) {
    step.inputs.push_back(append_place(spec));
    step.compute = computed_in(x);
    step.join = best_of(reduction == ReductionKind::kArgmax, step.compute);
    step.code = "Joined{x0, place(x1)}";
    step.inputs_as = {step.compute, int64};
  } else {
    const bool truth = reduction == ReductionKind::kAny || reduction == ReductionKind::kAll;
    step.compute = reduction == ReductionKind::kMean ? computed_in(result) : reduction <= ReductionKind::kProd ? sum_dtype(x) : computed_in(x);
    step.compute = accumulator.value_or(step.compute);
    step.join = join_of(reduction, step.compute);
    if (truth) step.code = "x0 != T(0)";
  }
  spec.steps.push_back(std::move(step));
  return next_value(spec) - 1;
}

}  // namespace damo
