#include "runtime/kernel/step_forms.hpp"

#include <algorithm>
#include <limits>

#include "runtime/kernel/body.hpp"
#include "runtime/kernel/passes.hpp"

namespace damo {

bool computes(const Step& step, std::string_view type, std::string_view code) {
  const auto is_own = [&](DType dtype) { return value_type(dtype) == type; };
  return is_own(step.compute) && is_own(step.result) && !(step.rounds && is_narrow(step.result)) && !step.condition_first && step.code == code && std::all_of(step.inputs_as.begin(), step.inputs_as.end(), is_own);
}

bool joins_by(const Step& step, std::string_view type, std::string_view neutral, std::string_view reduce) {
  if (!step.join || !computes(step, type, "x0") || step.inputs.size() != 1) return false;
  const Join& join = *step.join;
  return join.accumulator.empty() && join.members.empty() && join.append.empty() && join.before.empty() && join.prefix == Prefix::kNone && !join.across && join.neutral == neutral && join.reduce == reduce;
}

bool is_sum(const Step& step, std::string_view type) { return joins_by(step, type, "0", "a + b"); }

bool is_maximum(const Step& step, std::string_view type) {
  const Scalar least = type == "double" ? Scalar(-std::numeric_limits<double>::infinity()) : Scalar(-std::numeric_limits<float>::infinity());
  return joins_by(step, type, literal(least), "maximum(a, b)") && step.join->post.empty();
}

std::size_t count_passes(const KernelSpec& spec) {
  return Passes(spec, [](int, const Passes&) { return false; }).all().size();
}

}  // namespace damo
