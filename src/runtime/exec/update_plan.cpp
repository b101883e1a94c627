#include "runtime/exec/update_plan.hpp"

#include <algorithm>
#include <numeric>

namespace damo {
namespace {

class UpdatePlanner {
 public:
  UpdatePlanner(std::vector<ProgramUpdate>& updates, std::vector<ProgramNode>& nodes, std::vector<ProgramCell>& cells, const std::vector<int>& results)
      : updates_(updates), nodes_(nodes), cells_(cells), memory_(cells.size()), leaves_(cells.size(), false) {
    std::iota(memory_.begin(), memory_.end(), 0);
    for (const ProgramNode& node : nodes) {
      if (node.is_view) memory_[at(node.outputs[0])] = memory_[at(cells[at(node.outputs[0])].base)];
      else if (node.passes >= 0) memory_[at(node.outputs[0])] = memory_[at(node.inputs[at(node.passes)])];
    }
    for (int result : results) leaves_[at(memory_[at(result)])] = true;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      if (nodes[i].apply.op().may_refuse()) last_refusal_ = static_cast<int>(i);
    }
  }

  void plan(bool keeps_old) {
    for (ProgramUpdate& update : updates_) {
      update.copied = reason_to_copy(update);
      if (!update.copied.empty()) leaves_[at(memory_[at(update.cell)])] = true;
      else cells_[at(update.cell)].update = static_cast<int>(&update - updates_.data());
    }
    for (ProgramUpdate& update : updates_) {
      if (!update.copied.empty()) continue;
      update.apart = keeps_old ? "it is kept until the new one is known to be finite" : refusal_behind(update);
      if (update.apart.empty()) update.apart = obstacle(update);
      if (update.apart.empty()) write_over(update);
    }
  }

  void plan_donation(int input, const std::vector<ProgramResult>& results, std::vector<ProgramUpdate>& donations) {
    for (const ProgramResult& result : results) {
      ProgramUpdate donation{.variable = input, .cell = result.cell, .state = nullptr, .copied = {}, .apart = {}, .aliases = {}};
      if (result.is_copied || !result.rivals.empty() || cells_[at(result.cell)].has_parts || cells_[at(result.cell)].donation >= 0 || !(cells_[at(input)].type == cells_[at(result.cell)].type)) continue;
      if (!reason_to_copy(donation).empty() || !obstacle(donation).empty()) continue;
      write_over(donation);
      cells_[at(result.cell)].donation = static_cast<int>(donations.size());
      donations.push_back(std::move(donation));
      return;
    }
  }

 private:
  void write_over(ProgramUpdate& update) {
    ProgramNode& node = nodes_[at(cells_[at(update.cell)].producer)];
    const auto reads = [&](int input) { return memory_[at(input)] == update.variable; };
    node.runs_in_place |= std::any_of(node.inputs.begin(), node.inputs.end(), reads);
    for (int cell = 0; cell < static_cast<int>(cells_.size()); ++cell) {
      if (cell != update.variable && memory_[at(cell)] == update.variable) update.aliases.push_back(cell);
    }
  }

  static int place_of(const ProgramNode& node, int output) { return static_cast<int>(std::find(node.outputs.begin(), node.outputs.end(), output) - node.outputs.begin()); }
  static std::size_t at(int number) { return static_cast<std::size_t>(number); }
  std::string label(int cell) const { return cells_[at(cell)].name.empty() ? "" : " " + cells_[at(cell)].name; }

  std::string reason_to_copy(const ProgramUpdate& update) const {
    const int memory = memory_[at(update.cell)];
    const std::string is = memory == update.cell ? "it is " : "it is a view of ";
    const ProgramCell& cell = cells_[at(memory)];
    if (cell.role == CellRole::kInput) return is + "input" + label(memory);
    if (cell.role == CellRole::kConstant) return is + "a constant";
    if (cell.role == CellRole::kShared) return is + "shared variable" + label(memory);
    if (memory != update.cell) return "it is a view";
    const ProgramNode& node = nodes_[at(cell.producer)];
    if (node.is_in_place(place_of(node, update.cell))) return "it has the memory of what " + node.apply.op().name() + " overwrites";
    if (cell.update >= 0) return "it is the new value of" + label(updates_[at(cell.update)].variable) + " too";
    return {};
  }

  /// A call that is refused leaves all values as they were. execution_order() puts what may refuse in front, where it needs nothing that the node gives.
  std::string refusal_behind(const ProgramUpdate& update) const {
    if (last_refusal_ <= cells_[at(update.cell)].producer) return {};
    return nodes_[at(last_refusal_)].apply.op().name() + ", which runs later, may refuse its data: the old value is kept until then";
  }

  /// Why the new value cannot be written where the old one lies; empty if it can.
  std::string obstacle(const ProgramUpdate& update) const {
    const int number = cells_[at(update.cell)].producer, last = cells_[at(update.variable)].last_use;
    const ProgramNode& node = nodes_[at(number)];
    if (leaves_[at(update.variable)]) return "the old value is a result, or another variable's new one";
    if (last > number) return nodes_[at(last)].apply.op().name() + " reads the old value later";
    const Op& op = node.apply.op();
    const int overwritten = op.overwrites(place_of(node, update.cell));
    for (int i = 0; i < static_cast<int>(node.inputs.size()); ++i) {
      const int input = node.inputs[at(i)];
      if (memory_[at(input)] != update.variable || (i == overwritten && cells_[at(input)].role != CellRole::kView)) continue;
      if (input != update.variable) return op.name() + " reads the old value through a view";
      if (!op.may_run_in_place(place_of(node, update.cell), i)) return op.name() + " may read elements of the old value after it has written them";
    }
    return {};
  }

  std::vector<ProgramUpdate>& updates_;
  std::vector<ProgramNode>& nodes_;
  std::vector<ProgramCell>& cells_;
  std::vector<int> memory_;    // by cell: the cell whose memory it has, or may have
  std::vector<bool> leaves_;   // by such a cell: it is read when all nodes have run
  int last_refusal_ = -1;      // the last node that may refuse what its inputs hold
};

}  // namespace

void plan_updates(std::vector<ProgramUpdate>& updates, std::vector<ProgramNode>& nodes, std::vector<ProgramCell>& cells, const std::vector<int>& results, bool keeps_old) {
  UpdatePlanner(updates, nodes, cells, results).plan(keeps_old);
}

std::vector<ProgramUpdate> plan_donations(std::span<const int> donated, const std::vector<ProgramResult>& results, std::vector<ProgramUpdate>& updates, std::vector<ProgramNode>& nodes, std::vector<ProgramCell>& cells) {
  std::vector<int> leaving;
  for (const ProgramResult& result : results) leaving.push_back(result.cell);
  for (const ProgramUpdate& update : updates) {
    if (!update.copied.empty()) leaving.push_back(update.cell);
  }
  UpdatePlanner planner(updates, nodes, cells, leaving);
  std::vector<ProgramUpdate> donations;
  for (int input : donated) planner.plan_donation(input, results, donations);
  return donations;
}

}  // namespace damo
