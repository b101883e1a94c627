#include "runtime/kernel/sought_elements.hpp"

#include <algorithm>
#include <vector>

#include "runtime/kernel/passes.hpp"
#include "runtime/kernel/step_forms.hpp"

namespace damo {
namespace {

DType dtype_of(const KernelSpec& spec, int value) {
  const auto at = static_cast<std::size_t>(value), inputs = spec.inputs.size(), numbers = inputs + spec.numbers.size();
  if (value >= spec.first_step()) return spec.step_of(value).result;
  return at < inputs ? spec.inputs[at] : at < numbers ? spec.numbers[at - inputs].dtype() : spec.constants[at - numbers].dtype();
}

bool is_zero(const KernelSpec& spec, int value) {
  const int constant = value - spec.input_count() - static_cast<int>(spec.numbers.size());
  return constant >= 0 && value < spec.first_step() && spec.constants[static_cast<std::size_t>(constant)].as_double() == 0;
}

/// The value of the row that says which element is not a literal 0; -1: none does.
int sought_by(const KernelSpec& spec, int element) {
  if (element < spec.first_step()) return -1;
  const Step& step = spec.step_of(element);
  if (step.join || step.is_place) return -1;
  if (step.code == "x0") return sought_by(spec, step.inputs[0]);
  const bool chooses = step.condition_first && step.code == "x0 ? x1 : x2" && step.inputs[0] >= spec.first_step() && is_zero(spec, step.inputs[2]);
  return chooses ? compared_with_place(spec, step.inputs[0]) : -1;
}

}  // namespace

int compared_with_place(const KernelSpec& spec, int value) {
  const Step& step = spec.step_of(value);
  if (step.join || step.code != "x0 == x1" || (step.compute != int64 && step.compute != int32) || step.inputs.size() != 2) return -1;
  for (const std::size_t i : {0, 1}) {
    const int place = step.inputs[i], other = step.inputs[1 - i];
    if (place >= spec.first_step() && spec.step_of(place).is_place && dtype_of(spec, other) == step.compute) return other;
  }
  return -1;
}

std::optional<KernelSpec> with_sought_elements(const KernelSpec& spec) {
  if (spec.loop || spec.scans() || spec.has_users_code() || !spec.uses_place()) return std::nullopt;
  const auto keeps_none = [](int, const Passes&) { return false; };
  const Passes passes(spec, keeps_none);
  KernelSpec form = spec;
  bool serves = false;
  for (int value = spec.first_step(); value < spec.first_step() + static_cast<int>(spec.steps.size()); ++value) {
    const Step& step = spec.step_of(value);
    if (!is_sum(step, "float") && !is_sum(step, "double")) continue;
    const int sought = sought_by(spec, step.inputs[0]);
    if (!step.join->post.empty() || sought < 0 || passes.is_element(sought) || passes.known(sought) > 0) continue;
    Step& own = form.steps[static_cast<std::size_t>(value - spec.first_step())];
    own.join.reset();
    own.is_at_place = true;
    own.inputs.push_back(sought);
    serves = true;
  }
  const bool joins = std::any_of(form.steps.begin(), form.steps.end(), [](const Step& step) { return step.join && !step.join->across; });
  return serves && joins && Passes(form, keeps_none).all()[0].stores.empty() ? std::optional(std::move(form)) : std::nullopt;
}

}  // namespace damo
