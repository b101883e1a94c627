#include "runtime/kernel/moments.hpp"

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "runtime/kernel/body.hpp"
#include "runtime/kernel/step_forms.hpp"

namespace damo {
namespace {

constexpr const char* kOverCount = "a / T(n)";

/// Steps of a spec by what they compute, all in T: "float" or "double".
class Steps {
 public:
  Steps(const KernelSpec& spec, std::string type) : spec_(spec), type_(std::move(type)) {}

  /// What the value is a conversion of, as T has it: 16-bit floats that are computed as float32 are converted by whatever reads them.
  int source(int value) const {
    const Step* step = of(value, "x0", 1);
    if (!step || step->join) return value;
    const int from = step->inputs[0];
    const bool is_value = from < spec_.input_count() || from >= spec_.first_step();
    return is_value && value_type(from < spec_.input_count() ? spec_.inputs[static_cast<std::size_t>(from)] : spec_.step_of(from).result) == type_ ? source(from) : value;
  }
  /// The value that is summed; -1 if the step is no sum, nor a mean.
  int summed(int value) const {
    const Step* step = of(value, "x0", 1);
    if (!step || !step->join) return -1;
    const std::string& post = step->join->post;
    return is_sum(*step, type_) && (post.empty() || post == kOverCount) ? source(step->inputs[0]) : -1;
  }
  /// Of a sum of squares around the mean: which step joins that, and what it joins; -1, -1.
  struct Around {
    int mean = -1, value = -1;
  };
  Around around(int value) const {
    const int squared = summed(value), difference = squared < 0 ? -1 : root(squared);
    const Step* step = difference < 0 ? nullptr : of(difference, "x0 - x1", 2);
    if (!step || step->join) return {};
    for (std::size_t i : {1, 0}) {
      const int mean = step->inputs[i], element = source(step->inputs[1 - i]);
      if (mean >= spec_.first_step() && summed(mean) == element && spec_.step_of(mean).join->post == kOverCount) return {mean, element};
    }
    return {};
  }

 private:
  /// The step if it computes this in T, from all its inputs as T.
  const Step* of(int value, const char* code, std::size_t inputs) const {
    if (value < spec_.first_step()) return nullptr;
    const Step& step = spec_.step_of(value);
    return computes(step, type_, code) && step.inputs.size() == inputs ? &step : nullptr;
  }
  int root(int value) const {
    if (const Step* square = of(value, "x0 * x0", 1); square && !square->join) return square->inputs[0];
    const Step* product = of(value, "x0 * x1", 2);
    return product && !product->join && product->inputs[0] == product->inputs[1] ? product->inputs[0] : -1;
  }

  const KernelSpec& spec_;
  std::string type_;
};

/// The step that gives the sum of all that are joined, or that of the squares.
Step joined(Step step, int value, bool squares) {
  const std::string type = value_type(step.compute);
  step.compute = type == "double" ? float64 : float32;
  step.inputs = {value};
  step.inputs_as.clear();
  step.code = "Joined{1, x0, x0, 0, x0 - x0}";
  step.cost = 6;
  Join& join = *step.join;
  const std::string greatest = type == "double" ? literal(Scalar(std::numeric_limits<double>::max())) : literal(Scalar(std::numeric_limits<float>::max()));
  const std::string over = join.post == kOverCount ? " / T(n)" : "";
  join.bytes = 5 * static_cast<int>(itemsize(step.compute));
  join.members = {{type, "count"}, {type, "sum"}, {type, "pivot"}, {type, "offset"}, {type, "m2"}};
  join.neutral = "Joined{0, 0, 0, 0, 0}";
  join.before_append = "const T count = a.count + 1, share = math::reciprocal_of_count(count), pivot = a.count == 0 ? x0 : a.pivot, apart = (x0 - pivot) - a.offset;";
  join.append = "Joined{count, a.sum + x0, pivot, a.offset + apart * share, a.m2 + apart * (apart * (1 - share))}";
  join.before =
      "const T count = a.count + b.count, share = b.count * math::reciprocal_of_count(count), apart = (b.pivot - a.pivot) + (b.offset - a.offset); "
      "const T offset = a.offset + apart * share, pivot = a.pivot + offset, moved = pivot - a.pivot;";
  join.reduce = "a.count == 0 ? b : Joined{count, a.sum + b.sum, pivot, (a.pivot - (pivot - moved)) + (offset - moved), a.m2 + b.m2 + apart * (apart * (a.count * share))}";
  join.append_group =
      "const T before = a[0].count, count = before + T(N), share = T(N) * math::reciprocal_of_count(count), weight = before * share;\n"
      "#pragma unroll\n  for (int k = 0; k < K; ++k) {\n"
      "    T sum = x0[k][0];\n#pragma unroll\n    for (int n = 1; n < N; ++n) sum += x0[k][n];\n"
      "    const T center = sum * (T(1) / T(N));\n"
      "    T rest = x0[k][0] - center, squares = rest * rest;\n#pragma unroll\n    for (int n = 1; n < N; ++n) { const T apart = x0[k][n] - center; rest += apart; squares += apart * apart; }\n"
      "    const T offset = rest * (T(1) / T(N)), inner = fmax(squares - fmin(rest * offset, " +
      greatest +
      "), T(0));\n"
      "    const T pivot = before == 0 ? center : a[k].pivot, apart = (center - pivot) + (offset - a[k].offset);\n"
      "    a[k] = Joined{count, a[k].sum + sum, pivot, a[k].offset + apart * share, a[k].m2 + inner + apart * (apart * weight)};\n"
      "  }";
  join.post = (squares ? "(a.m2 + (a.offset - a.offset))" : "a.sum") + over;  // NaN of a center that an infinite last element moved, before any difference from it
  return step;
}

}  // namespace

std::optional<KernelSpec> with_joined_moments(const KernelSpec& spec) {
  if (!spec.reduces() || spec.scans() || spec.loop) return std::nullopt;
  KernelSpec form = spec;
  const int end = spec.first_step() + static_cast<int>(spec.steps.size());
  const auto step_at = [&](int value) -> Step& { return form.steps[static_cast<std::size_t>(value - spec.first_step())]; };
  bool found = false;
  for (const char* type : {"float", "double"}) {
    const Steps steps(spec, type);
    for (int squares = spec.first_step(); squares < end; ++squares) {
      const auto [mean, value] = steps.around(squares);
      if (mean < 0) continue;
      found = true;
      // All sums of the value, of which the mean is one, have one accumulator with it.
      for (int sum = spec.first_step(); sum < end; ++sum) {
        if (steps.summed(sum) == value) step_at(sum) = joined(spec.step_of(sum), value, false);
      }
      step_at(squares) = joined(spec.step_of(squares), value, true);
    }
  }
  if (!found) return std::nullopt;
  form.keep_read();
  if (count_passes(form) >= count_passes(spec)) return std::nullopt;
  return form;
}

}  // namespace damo
