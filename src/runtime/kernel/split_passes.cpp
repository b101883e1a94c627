#include "runtime/kernel/split_passes.hpp"

#include <map>
#include <string>

#include "runtime/kernel/passes.hpp"

namespace damo {
namespace {

/// A value between passes is not rounded to 16 bits, as it is not in one kernel.
DType held(DType dtype) { return is_half(dtype) ? float32 : dtype; }

/// One part: what its targets need, down to arrays and to values that earlier parts left in memory.
class PartBuilder {
 public:
  PartBuilder(const KernelSpec& whole, const std::map<int, int>& between) : whole_(whole), between_(between) {}

  void store(int value, DType dtype, int parameter) { targets_.push_back({value, dtype, parameter}); }

  PassSpec build(const Passes& passes, const std::string& name) {
    std::vector<bool> wanted(static_cast<std::size_t>(whole_.first_step()) + whole_.steps.size(), false);
    for (const Target& target : targets_) wanted[static_cast<std::size_t>(target.value)] = true;
    for (std::size_t value = wanted.size(); value-- > static_cast<std::size_t>(whole_.first_step());) {
      if (!wanted[value] || is_made(static_cast<int>(value))) continue;
      for (int input : whole_.step_of(static_cast<int>(value)).inputs) wanted[static_cast<std::size_t>(input)] = true;
    }
    KernelSpec& spec = part_.spec;
    spec.name = name;
    const auto each = [&](auto act) {
      for (std::size_t value = 0; value < wanted.size(); ++value) {
        if (wanted[value]) act(static_cast<int>(value));
      }
    };
    each([&](int value) {
      if (value >= whole_.input_count() && !is_made(value)) return;
      number_.emplace(value, spec.input_count());
      const bool is_input = value < whole_.input_count();
      spec.inputs.push_back(is_input ? whole_.inputs[static_cast<std::size_t>(value)] : held(whole_.step_of(value).result));
      spec.values.push_back(is_input && whole_.is_value(value));
      spec.rows.push_back(!passes.is_element(value));
      spec.ordinals.push_back(is_input && whole_.is_ordinals(value) ? whole_.ordinals[static_cast<std::size_t>(value)] : std::nullopt);
      part_.parameters.push_back(is_input ? value : whole_.parameter_count() + between_.at(value));
    });
    const int first_constant = whole_.input_count() + static_cast<int>(whole_.numbers.size());
    each([&](int value) {
      if (value < whole_.input_count() || value >= first_constant) return;
      number_.emplace(value, spec.first_step());
      spec.numbers.push_back(whole_.numbers[static_cast<std::size_t>(value - whole_.input_count())]);
    });
    each([&](int value) {
      if (value < first_constant || value >= whole_.first_step()) return;
      number_.emplace(value, spec.first_step());
      spec.constants.push_back(whole_.constants[static_cast<std::size_t>(value - first_constant)]);
    });
    each([&](int value) {
      if (value < whole_.first_step() || is_made(value)) return;
      Step step = whole_.step_of(value);
      for (int& input : step.inputs) input = number_.at(input);
      number_.emplace(value, spec.first_step() + static_cast<int>(spec.steps.size()));
      spec.steps.push_back(std::move(step));
    });
    for (const Target& target : targets_) {
      spec.stores.push_back(number_.at(target.value));
      spec.outputs.push_back(target.dtype);
      part_.parameters.push_back(target.parameter);
    }
    return std::move(part_);
  }
  bool is_empty() const { return targets_.empty(); }

 private:
  struct Target {
    int value;
    DType dtype;
    int parameter;
  };
  bool is_made(int value) const { return between_.contains(value); }

  const KernelSpec& whole_;
  const std::map<int, int>& between_;
  std::vector<Target> targets_;
  std::map<int, int> number_;
  PassSpec part_;
};

}  // namespace

PassSpecs split_passes(const KernelSpec& spec) {
  const Passes passes(spec, [](int, const Passes&) { return false; });
  PassSpecs split;
  std::map<int, int> between;  // joins of earlier passes
  for (std::size_t pass = 0; pass < passes.all().size(); ++pass) {
    PartBuilder part(spec, between);
    std::map<int, int> made;
    for (int join : passes.all()[pass].joins) {
      made.emplace(join, static_cast<int>(split.between.size()));
      const DType dtype = held(spec.step_of(join).result);
      part.store(join, dtype, spec.parameter_count() + static_cast<int>(split.between.size()));
      split.between.push_back(dtype);
    }
    for (int output : passes.all()[pass].stores) part.store(spec.stores[static_cast<std::size_t>(output)], spec.outputs[static_cast<std::size_t>(output)], spec.input_count() + output);
    for (int output : passes.row_stores()) {
      const int value = spec.stores[static_cast<std::size_t>(output)];
      if (passes.known(value) == static_cast<int>(pass) + 1 || (passes.known(value) == 0 && pass == 0)) part.store(value, spec.outputs[static_cast<std::size_t>(output)], spec.input_count() + output);
    }
    if (!part.is_empty()) split.parts.push_back(part.build(passes, spec.name + "_pass" + std::to_string(pass)));
    between.insert(made.begin(), made.end());
  }
  return split;
}

}  // namespace damo
