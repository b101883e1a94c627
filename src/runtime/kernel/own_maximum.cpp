#include "runtime/kernel/own_maximum.hpp"

#include <algorithm>
#include <iterator>

#include "runtime/kernel/step_forms.hpp"

namespace damo {
namespace {

constexpr std::string_view kFloat = "float";  // as which 16-bit floats are computed, and kept in a kernel

bool contains(const std::vector<int>& values, int value) { return std::find(values.begin(), values.end(), value) != values.end(); }

}  // namespace

std::optional<OwnMaximum> own_maximum(const KernelSpec& spec, const Passes& passes) {
  if (passes.all().size() < 2 || spec.joins_across() || spec.scans()) return std::nullopt;
  const Passes::Pass &first = passes.all()[0], &second = passes.all()[1];
  if (!first.stores.empty() || !second.stores.empty() || second.joins.empty()) return std::nullopt;
  const auto maximum = std::find_if(first.joins.begin(), first.joins.end(), [&](int join) { return is_maximum(spec.step_of(join), kFloat); });
  if (maximum == first.joins.end()) return std::nullopt;
  OwnMaximum own{*maximum, {}};
  const int e = spec.step_of(own.maximum).inputs[0];
  std::vector<int> differences, exponentials;
  for (int value : second.steps) {
    const Step& step = spec.step_of(value);
    if (computes(step, kFloat, "x0 - x1") && step.inputs == std::vector<int>{e, own.maximum}) {
      differences.push_back(value);
    } else if (computes(step, kFloat, "exp(x0)") && contains(differences, step.inputs[0])) {
      exponentials.push_back(value);
    } else {
      for (int input : step.inputs) {
        if (contains(differences, input) || contains(exponentials, input) || (!passes.is_element(input) && passes.known(input) > 0)) return std::nullopt;
      }
    }
  }
  if (std::any_of(second.keeps.begin(), second.keeps.end(), [&](int value) { return contains(differences, value); })) return std::nullopt;
  const bool sums = std::all_of(second.joins.begin(), second.joins.end(), [&](int join) { return is_sum(spec.step_of(join), kFloat) && contains(exponentials, spec.step_of(join).inputs[0]); });
  std::copy_if(second.keeps.begin(), second.keeps.end(), std::back_inserter(own.kept), [&](int value) { return contains(exponentials, value); });
  return sums ? std::optional(std::move(own)) : std::nullopt;
}

}  // namespace damo
