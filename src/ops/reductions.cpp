#include "ops/reductions.hpp"

#include <limits>
#include <utility>

#include "runtime/kernel/body.hpp"

namespace damo {
namespace {

constexpr const char* kNames[] = {"sum", "prod", "mean", "max", "min", "argmax", "argmin", "any", "all", "count", "index_along"};

// A value and where it was found. NaN is beyond everything, the first of equals wins. It begins with the least value at place
// 0: where nothing is beyond that, all elements equal it. Without a branch, so that a loop over many of them vectorises.
constexpr const char* kBest = R"(struct BEST { VALUE value; place at; };
DAMO_FUNCTION BEST better(BEST a, BEST b) {
  const bool a_nan = A_NAN, b_nan = B_NAN;
  const bool beyond = (b_nan & !a_nan) | (!a_nan & (ORDER)), tie = (a_nan & b_nan) | (a.value == b.value);
  const bool takes_b = beyond | (tie & (b.at < a.at));
  return BEST{takes_b ? b.value : a.value, takes_b ? b.at : a.at};
}
)";

void replace_all(std::string& text, const std::string& from, const std::string& to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) text.replace(at, from.size(), to);
}

Scalar least(DType dtype, bool greatest) {
  return visit(dtype, [&](auto zero) -> Scalar {
    using T = decltype(zero);
    if constexpr (std::is_integral_v<T>) return greatest ? std::numeric_limits<T>::max() : std::numeric_limits<T>::min();
    else return Scalar(greatest ? std::numeric_limits<double>::infinity() : -std::numeric_limits<double>::infinity()).cast(is_half(dtype) ? float32 : dtype);
  });
}

DType computed_in(DType dtype) { return is_half(dtype) ? float32 : dtype; }

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
    case ReductionKind::kCount:
      join.neutral = "0";
      join.reduce = "a";
      join.post = "T(n)";
      break;
    default:
      break;
  }
  return join;
}

/// `number` keeps the types of several in one kernel apart.
Join best_of(bool greatest, DType compute, const std::string& number) {
  Join join;
  join.accumulator = "Best" + number;
  join.bytes = 16;
  join.members = {{value_type(compute), "value"}, {"place", "at"}};
  join.preamble = kBest;
  replace_all(join.preamble, "BEST", join.accumulator);
  replace_all(join.preamble, "better", "better" + number);
  replace_all(join.preamble, "A_NAN", is_floating(compute) ? "isnan(a.value)" : "false");
  replace_all(join.preamble, "B_NAN", is_floating(compute) ? "isnan(b.value)" : "false");
  replace_all(join.preamble, "VALUE", value_type(compute));
  replace_all(join.preamble, "ORDER", greatest ? "b.value > a.value" : "b.value < a.value");
  join.neutral = join.accumulator + "{" + literal(least(compute, !greatest)) + ", 0}";
  const std::string beyond = is_floating(compute) ? std::string(greatest ? "!(x0 <= a.value)" : "!(x0 >= a.value)") + " & (a.value == a.value)" : greatest ? "x0 > a.value" : "x0 < a.value";
  join.append = "(" + beyond + ") ? " + join.accumulator + "{x0, place(x1)} : a";
  join.reduce = "better" + number + "(a, b)";
  join.post = "a.at";
  return join;
}

}  // namespace

std::string name_of(ReductionKind reduction) { return kNames[static_cast<int>(reduction)]; }

DType sum_dtype(DType dtype) {
  if (is_half(dtype)) return float32;
  if (is_floating(dtype)) return dtype;
  return dtype == bool_ || is_signed(dtype) ? int64 : uint64;
}

DType result_of(ReductionKind reduction, DType x) {
  switch (reduction) {
    case ReductionKind::kSum:
    case ReductionKind::kProd: return is_floating(x) ? x : sum_dtype(x);
    case ReductionKind::kMean: return is_floating(x) ? x : float64;
    case ReductionKind::kCount: return x == float16 || x == bfloat16 ? float32 : is_floating(x) ? x : float64;  // 65,505 is infinite in float16
    case ReductionKind::kMax:
    case ReductionKind::kMin: return x;
    case ReductionKind::kArgmax:
    case ReductionKind::kArgmin:
    case ReductionKind::kIndex: return int64;
    default: return bool_;
  }
}

bool chooses(ReductionKind reduction) { return reduction >= ReductionKind::kMax && reduction <= ReductionKind::kArgmin; }

int append_reduction(KernelSpec& spec, ReductionKind reduction, int value, DType x, DType result) {
  const auto next = [&] { return spec.first_step() + static_cast<int>(spec.steps.size()); };
  const auto append_place = [&] {
    Step place;
    place.name = "place";
    place.is_place = true;
    place.compute = place.result = int64;
    spec.steps.push_back(std::move(place));
    return next() - 1;
  };
  if (reduction == ReductionKind::kIndex) return append_place();
  Step step;
  step.name = name_of(reduction);
  step.code = "x0";
  step.inputs = {value};
  step.result = result;
  if (reduction == ReductionKind::kArgmax || reduction == ReductionKind::kArgmin) {
    step.inputs.push_back(append_place());
    step.compute = computed_in(x);
    step.join = best_of(reduction == ReductionKind::kArgmax, step.compute, std::to_string(next()));
    step.code = step.join->accumulator + "{x0, place(x1)}";
    step.inputs_as = {step.compute, int64};
  } else {
    const bool truth = reduction == ReductionKind::kAny || reduction == ReductionKind::kAll;
    step.compute = reduction == ReductionKind::kMean || reduction == ReductionKind::kCount ? computed_in(result) : reduction <= ReductionKind::kProd ? sum_dtype(x) : computed_in(x);
    step.join = join_of(reduction, step.compute);
    if (truth) step.code = "x0 != T(0)";
  }
  spec.steps.push_back(std::move(step));
  return next() - 1;
}

}  // namespace damo
