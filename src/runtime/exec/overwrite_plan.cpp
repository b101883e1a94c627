#include "runtime/exec/overwrite_plan.hpp"

#include <algorithm>

namespace damo {
namespace {

class OverwritePlanner {
 public:
  OverwritePlanner(std::vector<ProgramNode>& nodes, const std::vector<ProgramCell>& cells)
      : nodes_(nodes),
        cells_(cells),
        memory_(cells.size()),
        is_view_(cells.size(), false),
        last_(cells.size()),
        leaves_(cells.size()) {
    for (std::size_t i = 0; i < cells.size(); ++i) {
      memory_[i] = static_cast<int>(i);
      last_[i] = cells[i].last_use;
      leaves_[i] = cells[i].role == CellRole::kOutput;
    }
  }

  void plan() {
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      ProgramNode& node = nodes_[i];
      for (int output : node.outputs) {
        if (!node.is_view && cells_[at(output)].part >= 0) follow(output, whole_of(output), true);
      }
      if (node.is_view)
        follow(node.outputs[0], cells_[at(node.outputs[0])].base, true);
      else if (node.passes >= 0)
        follow(node.outputs[0], node.inputs[at(node.passes)], false);
      for (std::size_t output = 0; output < node.outputs.size(); ++output) {
        const int input = node.apply.op().overwrites(static_cast<int>(output));
        if (input >= 0) add(static_cast<int>(i), {static_cast<int>(output), input, false, {}});
      }
    }
  }

 private:
  static std::size_t at(int number) { return static_cast<std::size_t>(number); }

  /// Of a part: the array into which it is written, through others perhaps. That is written by no node yet.
  int whole_of(int part) const {
    while (cells_[at(part)].part >= 0) part = cells_[at(part)].base;
    return part;
  }

  /// The cell has, or may have, the other's memory.
  void follow(int cell, int other, bool as_view) {
    memory_[at(cell)] = memory_[at(other)];
    is_view_[at(cell)] = is_view_[at(other)] || as_view;
  }

  void add(int number, ProgramOverwrite overwrite) {
    ProgramNode& node = nodes_[at(number)];
    const int output = node.outputs[at(overwrite.output)], input = node.inputs[at(overwrite.input)];
    overwrite.reason = obstacle(number, overwrite);
    overwrite.in_place = overwrite.reason.empty();
    if (overwrite.in_place) {
      const std::size_t memory = at(memory_[at(input)]);
      last_[memory] = std::max(last_[memory], cells_[at(output)].last_use);
      leaves_[memory] = cells_[at(output)].role == CellRole::kOutput;
      follow(output, input, false);
    }
    node.overwrites.push_back(std::move(overwrite));
  }

  /// Why the memory cannot be shared; empty if it can.
  std::string obstacle(int number, const ProgramOverwrite& overwrite) const {
    const ProgramNode& node = nodes_[at(number)];
    const int input = node.inputs[at(overwrite.input)], memory = memory_[at(input)];
    const CellRole role = cells_[at(memory)].role;
    if (role == CellRole::kInput) return "it is an input of the function";
    if (role == CellRole::kConstant) return "it is a constant";
    if (role == CellRole::kShared) return "it is a shared variable";
    if (leaves_[at(memory)]) return "it is a result of the function";
    // Its elements lie in any order and may be one; behind an op that passes them on only where they do not, they may stay.
    if (cells_[at(input)].role == CellRole::kView) return "it is a view";
    if (last_[at(memory)] > number) {
      const Apply& reader = nodes_[at(last_[at(memory)])].apply;
      const std::string line = to_string(reader.where());
      return reader.op().name() + (line.empty() ? "" : ", built at " + line + ",") + " reads the old values later";
    }
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (static_cast<int>(i) != overwrite.input && memory_[at(node.inputs[i])] == memory)
        return "input " + std::to_string(i) + " has the same values";
    }
    for (const ProgramOverwrite& other : node.overwrites) {
      if (other.in_place && other.input == overwrite.input)
        return "output " + std::to_string(other.output) + " has its place";
    }
    // A result has a buffer of its own, in which the whole temporary would have to lie from the start.
    const bool leaves = cells_[at(node.outputs[at(overwrite.output)])].role == CellRole::kOutput;
    return leaves && is_view_[at(input)] ? "it is a view and the new values are a result of the function" : "";
  }

  std::vector<ProgramNode>& nodes_;
  const std::vector<ProgramCell>& cells_;
  std::vector<int> memory_;    // by cell: the cell whose memory it has, or may have
  std::vector<bool> is_view_;  // by cell: it looks at that memory through a view
  std::vector<int> last_;      // by such a cell: the last node that reads its memory
  std::vector<bool> leaves_;   // by such a cell: the memory is a result of the function
};

}  // namespace

void plan_overwrites(std::vector<ProgramNode>& nodes, const std::vector<ProgramCell>& cells) {
  OverwritePlanner(nodes, cells).plan();
}

}  // namespace damo
