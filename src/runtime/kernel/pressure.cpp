#include "runtime/kernel/pressure.hpp"

#include <algorithm>
#include <vector>

namespace damo {

int words_held(const KernelSpec& spec) {
  const int inputs = spec.input_count(), first_step = spec.first_step();
  std::vector<DType> dtypes = spec.inputs;
  dtypes.resize(static_cast<std::size_t>(first_step), bool_);
  std::vector<const Step*> steps;
  for (const Step& step : spec.steps) {
    steps.push_back(&step);
    dtypes.push_back(step.result);
  }
  const int end = static_cast<int>(steps.size());
  std::vector<int> last(dtypes.size(), -1), change(steps.size() + 2, 0);
  for (int i = 0; i < end; ++i) {
    for (int value : steps[static_cast<std::size_t>(i)]->inputs) last[static_cast<std::size_t>(value)] = i;
  }
  for (int value : spec.stores) last[static_cast<std::size_t>(value)] = end;
  for (int value = 0; value < static_cast<int>(dtypes.size()); ++value) {
    if (value >= inputs && value < first_step) continue;
    const int made = std::max(value - first_step, 0), read = std::max(last[static_cast<std::size_t>(value)], made);
    const int words = spec.is_value(value) ? 0 : words_of(dtypes[static_cast<std::size_t>(value)]);
    change[static_cast<std::size_t>(made)] += words;
    change[static_cast<std::size_t>(read) + 1] -= words;
  }
  int held = 0, most = 0;
  for (int words : change) most = std::max(most, held += words);
  return most;
}

}  // namespace damo
