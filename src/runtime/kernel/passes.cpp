#include "runtime/kernel/passes.hpp"

#include <algorithm>
#include <set>

namespace damo {

Passes::Passes(const KernelSpec& spec, const MayKeep& may_keep) : spec_(spec) {
  for (int i = 0; i < spec.first_step(); ++i) {
    element_.push_back(i < spec.input_count() && !spec.is_row(i) && !spec.is_value(i));
    known_.push_back(0);
  }
  int count = 1;
  for (const Step& step : spec.steps) {
    bool element = step.is_place;
    int known = 0;
    for (int input : step.inputs) {
      element |= is_element(input);
      known = std::max(known, this->known(input));
    }
    if (step.is_at_place) element = false;
    if (step.join) ++known, element = step.join->prefix != Prefix::kNone;
    count = std::max(count, known);
    element_.push_back(element);
    known_.push_back(known);
  }
  for (int store : spec.stores) {
    if (is_element(store)) count = std::max(count, known(store) + 1);
  }
  passes_.resize(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < spec.steps.size(); ++i) {
    const int value = spec.first_step() + static_cast<int>(i);
    if (spec.steps[i].join) {
      Pass& pass = passes_[static_cast<std::size_t>(known(value) - 1)];
      if (spec.accumulates(value)) (spec.is_across(value) ? pass.across : pass.joins).push_back(value);
      if (!spec.is_across(value)) pass.given.push_back(value);
    } else if (is_element(value)) continue;
    else if (known(value) == 0) first_row_steps_.push_back(value);
    else passes_[static_cast<std::size_t>(known(value) - 1)].row_steps.push_back(value);
  }
  for (std::size_t i = 0; i < spec.stores.size(); ++i) {
    const int value = spec.stores[i];
    if (spec.is_across(value)) across_stores_.push_back(static_cast<int>(i));
    else if (is_element(value)) passes_[static_cast<std::size_t>(known(value))].stores.push_back(static_cast<int>(i));
    else row_stores_.push_back(static_cast<int>(i));
  }
  std::vector<bool> made(element_.size(), false);
  for (int pass = 0; pass < count; ++pass) plan(pass, made, may_keep);
}

bool Passes::is_read_late(int input) const {
  int readers = 0;
  for (const Pass& pass : passes_) readers += std::find(pass.inputs.begin(), pass.inputs.end(), input) != pass.inputs.end();
  return readers == 1 && std::find(passes_[0].inputs.begin(), passes_[0].inputs.end(), input) == passes_[0].inputs.end();
}

std::vector<int> Passes::before_joins() const {
  std::vector<bool> wanted(element_.size(), false);
  for (int join : passes_[0].joins) {
    for (int input : spec_.step_of(join).inputs) wanted[static_cast<std::size_t>(input)] = true;
  }
  std::vector<int> steps;
  for (auto value = passes_[0].steps.rbegin(); value != passes_[0].steps.rend(); ++value) {
    if (!wanted[static_cast<std::size_t>(*value)]) continue;
    steps.insert(steps.begin(), *value);
    for (int input : spec_.step_of(*value).inputs) wanted[static_cast<std::size_t>(input)] = true;
  }
  return steps;
}

bool Passes::is_prefix(int value) const { return value >= spec_.first_step() && is_element(value) && spec_.step_of(value).join; }

/// Of making an element's value from arrays, and from what is there already.
int Passes::cost_again(int value, const std::vector<bool>& available) const {
  if (value < spec_.first_step() || !is_element(value) || is_prefix(value) || available[static_cast<std::size_t>(value)]) return 0;
  const Step& step = spec_.step_of(value);
  int cost = step.cost;
  for (int input : step.inputs) {
    if (cost < kDear) cost += cost_again(input, available);
  }
  return cost;
}

void Passes::plan(int number, std::vector<bool>& made, const MayKeep& may_keep) {
  Pass& pass = passes_[static_cast<std::size_t>(number)];
  std::vector<bool> wanted(element_.size(), false), kept(element_.size(), false);
  const auto want = [&](int value) {
    if (is_element(value)) wanted[static_cast<std::size_t>(value)] = true;
  };
  for (const auto* joins : {&pass.joins, &pass.across}) {
    for (int join : *joins) {
      for (int input : spec_.step_of(join).inputs) want(input);
    }
  }
  for (int output : pass.stores) want(spec_.stores[static_cast<std::size_t>(output)]);
  for (int value = static_cast<int>(element_.size()) - 1; value >= spec_.first_step(); --value) {
    const auto at = static_cast<std::size_t>(value);
    if (!wanted[at] || is_prefix(value)) continue;
    if (made[at] && cost_again(value, kept) >= kDear && may_keep(value, *this)) {
      kept[at] = true;
      continue;
    }
    for (int input : spec_.step_of(value).inputs) want(input);
  }
  for (int value = 0; value < static_cast<int>(element_.size()); ++value) {
    const auto at = static_cast<std::size_t>(value);
    if (!wanted[at]) continue;
    if (value < spec_.input_count()) {
      pass.inputs.push_back(value);
    } else if (is_prefix(value)) {
      pass.prefixes.push_back(value);
    } else if (kept[at]) {
      pass.kept.push_back(value);
      // The pass that made it last keeps it, if none has yet.
      for (int earlier = number - 1; earlier >= 0; --earlier) {
        Pass& before = passes_[static_cast<std::size_t>(earlier)];
        if (std::find(before.keeps.begin(), before.keeps.end(), value) != before.keeps.end()) break;
        if (std::find(before.steps.begin(), before.steps.end(), value) == before.steps.end()) continue;
        before.keeps.push_back(value);
        break;
      }
    } else {
      pass.steps.push_back(value);
      made[at] = true;
    }
  }
}

bool joins_in_one_pass(const KernelSpec& spec) {
  const Passes passes(spec, [](int, const Passes&) { return false; });
  return passes.all().size() == 1 && !passes.all()[0].joins.empty() && passes.across_stores().empty();
}

std::size_t kept_bytes(const KernelSpec& spec) {
  std::set<int> kept;
  const Passes passes(spec, [&](int value, const Passes&) { return kept.insert(value), true; });
  std::size_t bytes = 0;
  for (int value : kept) {
    const DType dtype = spec.step_of(value).result;
    bytes += is_floating(dtype) ? std::max(itemsize(dtype), sizeof(float)) : itemsize(dtype);  // as a step computes it (value_type)
  }
  return bytes;
}

std::size_t partial_bytes(const KernelSpec& spec) {
  std::size_t bytes = 0;
  each_accumulator(spec, [&](const Join& join) { bytes += join.across ? 0 : (static_cast<std::size_t>(join.bytes) + 7) / 8 * 8; });
  return bytes;
}

std::size_t across_bytes(const KernelSpec& spec) {
  std::size_t bytes = 0;
  each_accumulator(spec, [&](const Join& join) { bytes += join.across ? static_cast<std::size_t>(join.bytes) : 0; });
  return bytes;
}

}  // namespace damo
