#include "runtime/kernel/body_parts.hpp"

#include "runtime/kernel/body.hpp"

namespace damo {

BodyParts::BodyParts(const KernelSpec& spec, int cost) : spec_(spec) {
  const StepPrinter printer(spec);
  for (int value = 0; value < spec.first_step() + static_cast<int>(spec.steps.size()); ++value) dtypes_.push_back(printer.dtype(value));
  share_out(cost);
  functions_ = printer.functions();
  for (std::size_t part = 0; part < parts_.size(); ++part) {
    std::vector<std::string> parameters;
    if (!spec.numbers.empty()) parameters.emplace_back("const Numbers& numbers");
    for (int value : parts_[part].reads) parameters.push_back(type_of(value) + " " + local_name(value));
    for (int value : parts_[part].leaves) parameters.push_back(type_of(value) + "& left" + number(value));
    for (int output : parts_[part].outputs) parameters.push_back(storage_type(spec.outputs[static_cast<std::size_t>(output)]) + "& y" + number(output));
    functions_ += "DAMO_FUNCTION void part" + std::to_string(part) + "(" + listed(parameters) + ") {\n";
    for (int step = steps_[part].first; step < steps_[part].second; ++step) {
      const int value = spec.first_step() + step;
      functions_ += "  const " + type_of(value) + " " + local_name(value) + " = " + printer.call(value, local_name) + ";\n";
    }
    for (int value : parts_[part].leaves) functions_ += "  left" + number(value) + " = " + local_name(value) + ";\n";
    for (int output : parts_[part].outputs) functions_ += "  y" + number(output) + " = " + printer.stored(output, local_name) + ";\n";
    functions_ += "}\n";
  }
}

std::string BodyParts::type_of(int value) const { return value < spec_.input_count() ? loaded_type(spec_, value) : value_type(dtypes_[static_cast<std::size_t>(value)]); }

std::string BodyParts::listed(const std::vector<std::string>& texts) {
  std::string list;
  for (const std::string& text : texts) list += (list.empty() ? "" : ", ") + text;
  return list;
}

/// Steps in their order. An output is given by the part that makes its value, or by the last one where no step makes it.
void BodyParts::share_out(int cost) {
  const int count = static_cast<int>(spec_.steps.size()), first = spec_.first_step();
  std::vector<int> part_of(dtypes_.size(), -1);  // -1: no step makes it
  int spent = 0;
  for (int step = 0; step < count; ++step) {
    if (step == 0 || spent >= cost) {
      steps_.emplace_back(step, step);
      spent = 0;
    }
    spent += spec_.steps[static_cast<std::size_t>(step)].cost;
    steps_.back().second = step + 1;
    part_of[static_cast<std::size_t>(first + step)] = static_cast<int>(steps_.size()) - 1;
  }
  if (steps_.empty()) steps_.emplace_back(0, 0);
  parts_.resize(steps_.size());
  std::vector<int> seen_by(dtypes_.size(), -1);  // the last part that was told that it reads the value
  std::vector<bool> is_left(dtypes_.size(), false);
  const auto read = [&](int value, int part) {
    const auto at = static_cast<std::size_t>(value);
    const int maker = part_of[at];
    if ((value >= spec_.input_count() && maker < 0) || maker == part || seen_by[at] == part) return;  // a number, a constant, or at hand
    seen_by[at] = part;
    parts_[static_cast<std::size_t>(part)].reads.push_back(value);
    if (maker < 0 || is_left[at]) return;
    is_left[at] = true;
    parts_[static_cast<std::size_t>(maker)].leaves.push_back(value);
  };
  for (int step = 0; step < count; ++step) {
    for (int value : spec_.steps[static_cast<std::size_t>(step)].inputs) read(value, part_of[static_cast<std::size_t>(first + step)]);
  }
  for (int output = 0; output < static_cast<int>(spec_.stores.size()); ++output) {
    const int value = spec_.stores[static_cast<std::size_t>(output)], maker = part_of[static_cast<std::size_t>(value)];
    const int part = maker >= 0 ? maker : static_cast<int>(parts_.size()) - 1;
    read(value, part);
    parts_[static_cast<std::size_t>(part)].outputs.push_back(output);
  }
}

}  // namespace damo
