#include "runtime/kernel/own_maximum.hpp"

#include <algorithm>
#include <iterator>
#include <limits>

#include "runtime/kernel/body.hpp"

namespace damo {
namespace {

bool contains(const std::vector<int>& values, int value) { return std::find(values.begin(), values.end(), value) != values.end(); }

/// 16-bit floats are computed, and kept in a kernel, as float32.
bool is_plain_float(const Step& step, const char* code) {
  const auto is_float = [](DType dtype) { return value_type(dtype) == "float"; };
  return is_float(step.compute) && is_float(step.result) && !step.rounds && !step.condition_first && step.code == code && std::all_of(step.inputs_as.begin(), step.inputs_as.end(), is_float);
}

/// Whether the step joins x0 itself so, by a value of T.
bool joins_by(const Step& step, const std::string& neutral, const std::string& reduce) {
  if (!step.join || !is_plain_float(step, "x0") || step.inputs.size() != 1) return false;
  const Join& join = *step.join;
  return join.accumulator.empty() && join.append.empty() && join.prefix == Prefix::kNone && !join.across && join.neutral == neutral && join.reduce == reduce;
}

bool is_maximum(const Step& step) {
  static const std::string least = literal(Scalar(-std::numeric_limits<float>::infinity()));
  return joins_by(step, least, "maximum(a, b)") && step.join->post.empty();
}

}  // namespace

std::optional<OwnMaximum> own_maximum(const KernelSpec& spec, const Passes& passes) {
  if (passes.all().size() < 2 || spec.joins_across() || spec.scans()) return std::nullopt;
  const Passes::Pass &first = passes.all()[0], &second = passes.all()[1];
  if (!first.stores.empty() || !second.stores.empty() || second.joins.empty()) return std::nullopt;
  const auto maximum = std::find_if(first.joins.begin(), first.joins.end(), [&](int join) { return is_maximum(spec.step_of(join)); });
  if (maximum == first.joins.end()) return std::nullopt;
  OwnMaximum own{*maximum, {}};
  const int e = spec.step_of(own.maximum).inputs[0];
  std::vector<int> differences, exponentials;
  for (int value : second.steps) {
    const Step& step = spec.step_of(value);
    if (is_plain_float(step, "x0 - x1") && step.inputs == std::vector<int>{e, own.maximum}) {
      differences.push_back(value);
    } else if (is_plain_float(step, "exp(x0)") && contains(differences, step.inputs[0])) {
      exponentials.push_back(value);
    } else {
      for (int input : step.inputs) {
        if (contains(differences, input) || contains(exponentials, input) || (!passes.is_element(input) && passes.known(input) > 0)) return std::nullopt;
      }
    }
  }
  if (std::any_of(second.keeps.begin(), second.keeps.end(), [&](int value) { return contains(differences, value); })) return std::nullopt;
  const bool sums = std::all_of(second.joins.begin(), second.joins.end(), [&](int join) { return joins_by(spec.step_of(join), "0", "a + b") && contains(exponentials, spec.step_of(join).inputs[0]); });
  std::copy_if(second.keeps.begin(), second.keeps.end(), std::back_inserter(own.kept), [&](int value) { return contains(exponentials, value); });
  return sums ? std::optional(std::move(own)) : std::nullopt;
}

}  // namespace damo
