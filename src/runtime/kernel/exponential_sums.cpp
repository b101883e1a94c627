#include "runtime/kernel/exponential_sums.hpp"

#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "runtime/kernel/body.hpp"
#include "runtime/kernel/step_forms.hpp"

namespace damo {
namespace {

/// Of a sum of exp(v - c).
struct Exponentials {
  int value = -1, center = -1;  ///< v and c; -1: the step is no such sum
};

/// ExponentialSteps of a spec by what they compute, all in one type.
class ExponentialSteps {
 public:
  ExponentialSteps(const KernelSpec& spec, std::string type) : spec_(spec), type_(std::move(type)) {}

  Exponentials exponentials(int value) const {
    const Step* sum = step(value);
    if (!sum || !is_sum(*sum, type_) || !sum->join->post.empty()) return {};
    const Step* exponential = step(sum->inputs[0]);
    if (!exponential || exponential->join || !computes(*exponential, type_, "exp(x0)")) return {};
    const Step* difference = step(exponential->inputs[0]);
    if (!difference || difference->join || !computes(*difference, type_, "x0 - x1")) return {};
    const int element = difference->inputs[0], center = difference->inputs[1];
    return is_center(center, element) ? Exponentials{element, center} : Exponentials{};
  }

 private:
  const Step* step(int value) const { return value >= spec_.first_step() ? &spec_.step_of(value) : nullptr; }
  bool is_maximum_of(int value, int element) const {
    const Step* maximum = step(value);
    return maximum && maximum->join && is_maximum(*maximum, type_) && maximum->inputs[0] == element;
  }
  /// Whether it is the maximum of that element's row, or that where a condition chooses it and else a finite number.
  bool is_center(int value, int element) const {
    if (is_maximum_of(value, element)) return true;
    const Step* choice = step(value);
    if (!choice || choice->join || !choice->condition_first || choice->code != "x0 ? x1 : x2") return false;
    Step unconditional = *choice;
    unconditional.condition_first = false;
    if (!computes(unconditional, type_, choice->code)) return false;
    const int first = choice->inputs[1], second = choice->inputs[2];
    return (is_maximum_of(first, element) && is_finite_constant(second)) || (is_maximum_of(second, element) && is_finite_constant(first));
  }
  bool is_finite_constant(int value) const {
    const int first = spec_.input_count() + static_cast<int>(spec_.numbers.size());
    return value >= first && value < spec_.first_step() && std::isfinite(spec_.constants[static_cast<std::size_t>(value - first)].as_double());
  }

  const KernelSpec& spec_;
  std::string type_;
};

/// What joins the exponentials of an element around a pivot. Its post gives one member of the accumulator.
Step joined_exponentials(const Step& sum, int value, const char* member) {
  Step step = sum;
  const std::string type = value_type(step.compute);
  const bool is_double = type == "double";
  const std::string greatest = is_double ? literal(Scalar(std::numeric_limits<double>::max())) : literal(Scalar(std::numeric_limits<float>::max()));
  step.compute = step.result = is_double ? float64 : float32;
  step.inputs = {value};
  step.inputs_as.clear();
  step.code = "Joined{x0 < -" + greatest + " ? T(0) : x0 >= -" + greatest + " ? T(1) : x0, x0 > " + greatest + " ? " + greatest + " : x0 >= -" + greatest + " ? x0 : -" + greatest + "}";
  step.cost = 8;
  Join& join = *step.join;
  join.bytes = 2 * static_cast<int>(itemsize(step.compute));
  join.members = {{type, "sum"}, {type, "pivot"}};
  join.neutral = "Joined{0, -" + greatest + "}";
  join.before_append = "const T apart = x0 - a.pivot; const bool is_far = apart > T(4); const T power = math::exp_below_4(is_far ? -apart : apart); "
      "if (is_far) { a.sum = a.sum * power + T(1); a.pivot = x0 > " + greatest + " ? " + greatest + " : x0; } else { a.sum += power; }";
  join.append = "a";
  join.append_group =
      "#pragma unroll\n  for (int k = 0; k < K; ++k) {\n"
      "    T most = x0[k][0];\n#pragma unroll\n    for (int n = 1; n < N; ++n) most = fmax(most, x0[k][n]);\n"
      "    const T pivot = most - a[k].pivot > T(4) ? fmin(most, " +
      greatest +
      ") : a[k].pivot;\n"
      "    T sum = math::exp_below_4(x0[k][0] - pivot);\n#pragma unroll\n    for (int n = 1; n < N; ++n) sum += math::exp_below_4(x0[k][n] - pivot);\n"
      "    a[k] = Joined{a[k].sum * math::exp_below_4(a[k].pivot - pivot) + (most > " +
      greatest +
      " && sum == sum ? T(1) : sum), pivot};\n"
      "  }";
  join.before = "const T apart = b.pivot - a.pivot; const bool is_above = apart > T(0); const T scale = exp(is_above ? -apart : apart);";
  join.reduce = "Joined{(is_above ? a.sum : b.sum) * scale + (is_above ? b.sum : a.sum), is_above ? b.pivot : a.pivot}";
  join.post = std::string("a.") + member;
  return step;
}

/// The sum against c, of that around the pivot: x0, x1 and x2 are sum, pivot and c. c - c is NaN of a c that is not finite, and else 0.
Step around_center(const Step& sum, int pivoted, int center) {
  Step step = sum;
  step.join.reset();
  step.compute = value_type(sum.compute) == "double" ? float64 : float32;
  step.code = "x0 * exp(x1 - x2) + (x2 - x2)";
  step.cost = 16;
  step.inputs = {pivoted, pivoted + 1, center};
  step.inputs_as.clear();
  return step;
}

}  // namespace

std::optional<KernelSpec> with_joined_exponentials(const KernelSpec& spec) {
  if (!spec.reduces() || spec.scans() || spec.loop) return std::nullopt;
  KernelSpec form = spec;
  form.steps.clear();
  const ExponentialSteps floats(spec, "float"), doubles(spec, "double");
  const int first = spec.first_step();
  std::vector<int> place;  // in the form, by the spec's value
  for (int value = 0; value < first; ++value) place.push_back(value);
  bool found = false;
  for (int value = first; value < first + static_cast<int>(spec.steps.size()); ++value) {
    const auto add = [&](Step step) {
      form.steps.push_back(std::move(step));
      return first + static_cast<int>(form.steps.size()) - 1;
    };
    Exponentials sum = floats.exponentials(value);
    if (sum.value < 0) sum = doubles.exponentials(value);
    if (sum.value < 0) {
      Step step = spec.step_of(value);
      for (int& input : step.inputs) input = place[static_cast<std::size_t>(input)];
      place.push_back(add(std::move(step)));
      continue;
    }
    found = true;
    const int element = place[static_cast<std::size_t>(sum.value)], pivoted = add(joined_exponentials(spec.step_of(value), element, "sum"));
    add(joined_exponentials(spec.step_of(value), element, "pivot"));
    place.push_back(add(around_center(spec.step_of(value), pivoted, place[static_cast<std::size_t>(sum.center)])));
  }
  if (!found) return std::nullopt;
  for (int& store : form.stores) store = place[static_cast<std::size_t>(store)];
  form.keep_read();
  if (count_passes(form) >= count_passes(spec)) return std::nullopt;
  return form;
}

}  // namespace damo
