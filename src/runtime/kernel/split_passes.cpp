#include "runtime/kernel/split_passes.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "runtime/kernel/passes.hpp"

namespace damo {
namespace {

/// A value between passes is not rounded to 16 bits or 8, as it is not in one kernel.
DType held(DType dtype) { return is_narrow(dtype) ? float32 : dtype; }

/// One part: what its targets need, down to arrays and to values that earlier parts left in memory.
class PartBuilder {
 public:
  PartBuilder(const KernelSpec& whole, const std::map<int, int>& between, std::uint32_t row_axes, bool across) : whole_(whole), between_(between), row_axes_(row_axes) { part_.across = across; }

  void store(int value, DType dtype, int parameter, bool guarded = false) { targets_.push_back({value, dtype, parameter, guarded}); }

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
      spec.inputs.push_back(is_input ? whole_.inputs[static_cast<std::size_t>(value)] : is_left_element(passes, value) ? whole_.step_of(value).result
                                                                                                                       : held(whole_.step_of(value).result));
      spec.values.push_back(is_input && whole_.is_value(value));
      spec.tables.push_back(is_input && whole_.is_table(value));
      spec.rows.push_back(!part_.across && !passes.is_element(value));  // across rows a row's value is an element
      spec.ordinals.push_back(is_input && whole_.is_ordinals(value) ? whole_.ordinals[static_cast<std::size_t>(value)] : std::nullopt);
      part_.parameters.push_back(is_input ? value : between_.at(value));
    });
    if (part_.across) add_places(wanted);
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
      if (value < whole_.first_step() || number_.contains(value)) return;
      Step step = whole_.step_of(value);
      for (int& input : step.inputs) input = number_.at(input);
      if (step.join) step.join->across = false;
      number_.emplace(value, spec.first_step() + static_cast<int>(spec.steps.size()));
      spec.steps.push_back(std::move(step));
    });
    for (const Target& target : targets_) {
      spec.stores.push_back(number_.at(target.value));
      spec.outputs.push_back(target.dtype);
      spec.guarded.push_back(target.guarded);
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
    bool guarded;
  };
  bool is_made(int value) const { return between_.contains(value); }
  bool is_left_element(const Passes& passes, int value) const { return value >= whole_.first_step() && passes.is_element(value) && !whole_.is_across(value); }

  /// What counts the elements of the whole's rows, where the part's own rows are others.
  void add_places(const std::vector<bool>& wanted) {
    KernelSpec& spec = part_.spec;
    int places = -1;
    for (int value = whole_.first_step(); value < static_cast<int>(wanted.size()); ++value) {
      if (!wanted[static_cast<std::size_t>(value)] || !whole_.step_of(value).is_place) continue;
      if (places < 0) {
        places = spec.input_count();
        spec.inputs.push_back(int64);
        spec.values.push_back(false);
        spec.rows.push_back(false);
        spec.ordinals.push_back(row_axes_);
        part_.parameters.push_back(PassSpec::kPlaces);
      }
      number_.emplace(value, places);
    }
  }

  const KernelSpec& whole_;
  const std::map<int, int>& between_;  // values in memory, and which parameter each is
  std::uint32_t row_axes_;
  std::vector<Target> targets_;
  std::map<int, int> number_;
  PassSpec part_;
};

/// Values of rows from which the wanted elements follow.
std::vector<int> rows_read_by(const KernelSpec& spec, const Passes& passes, std::vector<bool> wanted, const std::vector<int>& in_memory = {}) {
  std::vector<int> rows;
  for (int value = static_cast<int>(wanted.size()) - 1; value >= spec.first_step(); --value) {
    if (!wanted[static_cast<std::size_t>(value)] || std::find(in_memory.begin(), in_memory.end(), value) != in_memory.end()) continue;
    if (!spec.is_across(value) && !passes.is_element(value)) {
      rows.push_back(value);
      continue;
    }
    for (int input : spec.step_of(value).inputs) wanted[static_cast<std::size_t>(input)] = true;
  }
  return rows;
}

std::vector<bool> no_values(const KernelSpec& spec) { return std::vector<bool>(static_cast<std::size_t>(spec.first_step()) + spec.steps.size(), false); }

/// Likewise from which what is joined across rows follows.
std::vector<int> read_across(const KernelSpec& spec, const Passes& passes) {
  std::vector<bool> joined = no_values(spec);
  for (std::size_t value = static_cast<std::size_t>(spec.first_step()); value < joined.size(); ++value) joined[value] = spec.is_across(static_cast<int>(value));
  return rows_read_by(spec, passes, std::move(joined));
}

/// Which values follow from prefix joins.
std::vector<bool> values_behind_prefixes(const KernelSpec& spec) {
  std::vector<bool> behind = no_values(spec);
  for (std::size_t value = static_cast<std::size_t>(spec.first_step()); value < behind.size(); ++value) {
    const Step& step = spec.step_of(static_cast<int>(value));
    behind[value] = (step.join && step.join->prefix != Prefix::kNone) || std::any_of(step.inputs.begin(), step.inputs.end(), [&](int input) { return behind[static_cast<std::size_t>(input)]; });
  }
  return behind;
}

/// Which values joins of rows, and outputs that follow from no prefix, are made of.
std::vector<bool> read_before_prefixes(const KernelSpec& spec, const std::vector<bool>& behind) {
  std::vector<bool> wanted = no_values(spec);
  for (int store : spec.stores) wanted[static_cast<std::size_t>(store)] = !behind[static_cast<std::size_t>(store)];
  for (int value = static_cast<int>(wanted.size()) - 1; value >= spec.first_step(); --value) {
    const auto at = static_cast<std::size_t>(value);
    if (behind[at] || (!wanted[at] && !spec.step_of(value).join)) continue;
    for (int input : spec.step_of(value).inputs) wanted[static_cast<std::size_t>(input)] = true;
  }
  return wanted;
}

/// Instructions that make an element of arrays, no more than kDear.
int cost_of_element(const KernelSpec& spec, const Passes& passes, int value) {
  if (value < spec.first_step() || !passes.is_element(value)) return 0;
  int cost = spec.step_of(value).cost;
  for (int input : spec.step_of(value).inputs) {
    if (cost < kDear) cost += cost_of_element(spec, passes, input);
  }
  return std::min(cost, kDear);
}

/// Elements that follow from no prefix and that a prefix join, or what follows from one, reads: those that follow from joins of rows, and dear ones that these are made of too.
std::vector<int> elements_before_prefixes(const KernelSpec& spec, const Passes& passes, const std::vector<bool>& behind) {
  std::vector<int> elements;
  const std::vector<bool> made = read_before_prefixes(spec, behind);
  for (int value = spec.first_step(); value < static_cast<int>(behind.size()); ++value) {
    if (behind[static_cast<std::size_t>(value)] || !passes.is_element(value) || spec.step_of(value).is_place) continue;
    if (passes.known(value) == 0 && !(made[static_cast<std::size_t>(value)] && cost_of_element(spec, passes, value) >= kDear)) continue;
    for (int reader = value + 1; reader < static_cast<int>(behind.size()); ++reader) {
      const std::vector<int>& inputs = spec.step_of(reader).inputs;
      if (!behind[static_cast<std::size_t>(reader)] || std::find(inputs.begin(), inputs.end(), value) == inputs.end()) continue;
      elements.push_back(value);
      break;
    }
  }
  return elements;
}

/// Values of rows, ready behind a pass, that later passes read: what follows from them for the row alone is made once, where they are.
std::vector<int> read_later(const KernelSpec& spec, const Passes& passes) {
  std::vector<bool> is_read(static_cast<std::size_t>(spec.first_step()) + spec.steps.size(), false);
  for (int reader = spec.first_step(); reader < static_cast<int>(is_read.size()); ++reader) {
    for (int input : spec.step_of(reader).inputs) {
      if (passes.is_element(reader) || passes.known(reader) > passes.known(input)) is_read[static_cast<std::size_t>(input)] = true;
    }
  }
  std::vector<int> rows;
  for (int value = spec.first_step(); value < static_cast<int>(is_read.size()); ++value) {
    if (is_read[static_cast<std::size_t>(value)] && !passes.is_element(value) && !spec.is_across(value) && passes.known(value) > 0) rows.push_back(value);
  }
  return rows;
}

/// The parts as they are made, and what lies in memory between them.
class Splitter {
 public:
  Splitter(const KernelSpec& spec, std::uint32_t row_axes, bool leaves) : spec_(spec), row_axes_(row_axes), passes_(spec, [](int, const Passes&) { return false; }), behind_prefixes_(values_behind_prefixes(spec)) {
    if (leaves) left_ = elements_before_prefixes(spec, passes_, behind_prefixes_);
  }
  const Passes& passes() const { return passes_; }
  PartBuilder part(bool across = false) const { return PartBuilder(spec_, between_, row_axes_, across); }
  /// A value of rows that later parts read, or elements.
  void leave(PartBuilder& part, int value) {
    const bool is_element = passes_.is_element(value);
    const DType result = spec_.step_of(value).result, dtype = is_element ? result : held(result);
    for (std::size_t output = 0; output < spec_.stores.size() && is_element; ++output) {
      if (spec_.stores[output] != value || spec_.outputs[output] != result) continue;
      made_.emplace(value, spec_.input_count() + static_cast<int>(output));  // it is stored anyway
      return;
    }
    const int parameter = spec_.parameter_count() + static_cast<int>(split_.between.size());
    if (!made_.emplace(value, parameter).second) return;
    part.store(value, dtype, parameter);
    split_.between.push_back({dtype, is_element});
  }
  /// Elements that the part of prefix joins finds in memory.
  const std::vector<int>& left() const { return left_; }
  void store(PartBuilder& part, int output) const { part.store(spec_.stores[static_cast<std::size_t>(output)], spec_.outputs[static_cast<std::size_t>(output)], spec_.input_count() + output, spec_.is_guarded(output)); }
  void end(PartBuilder& part, const std::string& name) {
    if (!part.is_empty()) split_.parts.push_back(part.build(passes_, spec_.name + name));
    between_.insert(made_.begin(), made_.end());
    made_.clear();
  }
  /// Whether the output is the part's of prefix joins, which comes when all values of rows are there.
  bool is_behind_prefixes(int output) const { return behind_prefixes_[static_cast<std::size_t>(spec_.stores[static_cast<std::size_t>(output)])]; }
  /// Values of rows that this part reads.
  std::vector<int> read_by_prefixes() const {
    std::vector<bool> stored = no_values(spec_);
    for (int output = 0; output < static_cast<int>(spec_.stores.size()); ++output) {
      if (is_behind_prefixes(output)) stored[static_cast<std::size_t>(spec_.stores[static_cast<std::size_t>(output)])] = true;
    }
    return rows_read_by(spec_, passes_, std::move(stored), left_);
  }
  /// With the parts of prefix joins and of joins across rows.
  PassSpecs all() {
    PartBuilder prefixes = part();
    for (int output = 0; output < static_cast<int>(spec_.stores.size()); ++output) {
      if (is_behind_prefixes(output)) store(prefixes, output);
    }
    end(prefixes, "_prefixes");
    PartBuilder last = part(true);
    for (int output : passes_.across_stores()) store(last, output);
    end(last, "_across");
    return std::move(split_);
  }

 private:
  const KernelSpec& spec_;
  std::uint32_t row_axes_;
  const Passes passes_;
  const std::vector<bool> behind_prefixes_;  // by value
  std::vector<int> left_;
  std::map<int, int> between_, made_;  // values in memory: of earlier parts, of the one at hand
  PassSpecs split_;
};

}  // namespace

PassSpecs split_passes(const KernelSpec& spec, std::uint32_t row_axes, bool leaves) {
  Splitter split(spec, row_axes, leaves);
  const Passes& passes = split.passes();
  const std::vector<int> across = read_across(spec, passes), later = read_later(spec, passes);
  for (std::size_t pass = 0; pass < passes.all().size(); ++pass) {
    const auto ends_here = [&](int value) { return passes.known(value) == static_cast<int>(pass) + 1 || (passes.known(value) == 0 && pass == 0); };
    PartBuilder part = split.part();
    for (const std::vector<int>* values : {&later, &across}) {
      for (int value : *values) {
        if (ends_here(value)) split.leave(part, value);
      }
    }
    for (int value : split.left()) {
      if (passes.known(value) == static_cast<int>(pass)) split.leave(part, value);
    }
    for (int output : passes.all()[pass].stores) {
      if (!split.is_behind_prefixes(output)) split.store(part, output);
    }
    for (int output : passes.row_stores()) {
      if (ends_here(spec.stores[static_cast<std::size_t>(output)])) split.store(part, output);
    }
    split.end(part, "_pass" + std::to_string(pass));
  }
  return split.all();
}

namespace {

/// What goes along rows in one part that leaves these values of rows, behind it prefix joins and joins across rows.
PassSpecs split_behind_rows(Splitter split, const std::vector<int>& read) {
  PartBuilder rows = split.part();
  for (int value : read) split.leave(rows, value);
  for (int value : split.left()) split.leave(rows, value);
  for (const Passes::Pass& pass : split.passes().all()) {
    for (int output : pass.stores) {
      if (!split.is_behind_prefixes(output)) split.store(rows, output);
    }
  }
  for (int output : split.passes().row_stores()) split.store(rows, output);
  split.end(rows, "_rows");
  return split.all();
}

}  // namespace

PassSpecs split_across(const KernelSpec& spec, std::uint32_t row_axes) {
  const Splitter split(spec, row_axes, false);
  return split_behind_rows(split, read_across(spec, split.passes()));
}

PassSpecs split_prefixes(const KernelSpec& spec, std::uint32_t row_axes, bool leaves) {
  const Splitter split(spec, row_axes, leaves);
  return split_behind_rows(split, split.read_by_prefixes());
}

}  // namespace damo
