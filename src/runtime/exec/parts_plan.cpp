#include "runtime/exec/parts_plan.hpp"

#include <algorithm>
#include <utility>

namespace damo {
namespace {

class PartsPlanner {
 public:
  PartsPlanner(std::vector<ProgramNode>& nodes, std::vector<ProgramCell>& cells, const std::vector<ProgramUpdate>& updates) : nodes_(nodes), cells_(cells), updates_(updates), wants_order_(cells.size(), false) {}

  std::vector<ProgramPart> plan() {
    if (std::none_of(nodes_.begin(), nodes_.end(), [](const ProgramNode& node) { return node.apply.op().places_inputs(); })) return {};
    find_readers();
    for (std::size_t i = nodes_.size(); i-- > 0;) {
      if (nodes_[i].apply.op().places_inputs() && !is_update(nodes_[i].outputs[0])) place_inputs(static_cast<int>(i));
    }
    return std::move(parts_);
  }

 private:
  static std::size_t at(int number) { return static_cast<std::size_t>(number); }

  int root(int cell) const {
    while (cells_[at(cell)].role == CellRole::kView) cell = cells_[at(cell)].base;
    return cell;
  }

  /// Before any part is placed, so that roots are what views look into.
  void find_readers() {
    for (const ProgramNode& node : nodes_) {
      const Op& op = node.apply.op();
      if (node.is_view ? op.views_any_strides() : op.may_write_window(0) || op.places_inputs()) continue;
      for (int input : node.inputs) wants_order_[at(root(input))] = true;
    }
  }

  /// New values get their memory when their node runs.
  bool is_update(int cell) const {
    return std::any_of(updates_.begin(), updates_.end(), [&](const ProgramUpdate& update) { return update.cell == cell; });
  }

  void place_inputs(int number) {
    const ProgramNode& node = nodes_[at(number)];
    const ProgramCell& whole = cells_[at(node.outputs[0])];
    std::vector<Shape> shapes;
    for (int input : node.inputs) shapes.push_back(cells_[at(input)].type.dims);
    for (std::size_t input = node.inputs.size(); input-- > 0;) {
      const auto place = node.apply.op().place_in_output(static_cast<int>(input), shapes, {whole.type.dims, Shape::filled(whole.type.rank(), 0), 0});
      if (place) try_part({.cell = node.inputs[input], .node = number, .input = static_cast<int>(input), .views = {}});
    }
  }

  void try_part(ProgramPart part) {
    for (int producer = cells_[at(part.cell)].producer; producer >= 0 && nodes_[at(producer)].is_view; producer = cells_[at(part.cell)].producer) {
      const ProgramCell& view = cells_[at(part.cell)];
      if (!nodes_[at(producer)].apply.op().layout_behind({view.type.dims, Shape::filled(view.type.rank(), 0), 0}, cells_[at(view.base)].type.dims)) return;
      part.views.push_back(producer);
      part.cell = view.base;
    }
    ProgramCell& cell = cells_[at(part.cell)];
    if (cell.role != CellRole::kTemporary || wants_order_[at(part.cell)]) return;
    ProgramNode& maker = nodes_[at(cell.producer)];
    const int output = static_cast<int>(std::find(maker.outputs.begin(), maker.outputs.end(), part.cell) - maker.outputs.begin());
    if (maker.passes >= 0 || maker.apply.op().overwrites(output) >= 0 || !maker.apply.op().may_write_window(output)) return;
    ProgramNode& node = nodes_[at(part.node)];
    cell.role = CellRole::kView;
    cell.base = node.outputs[0];
    cell.part = static_cast<int>(parts_.size());
    cells_[at(cell.base)].has_parts = true;
    int& last = cells_[at(root(cell.base))].last_use;
    last = std::max(last, cell.last_use);
    maker.writes_parts = true;
    node.placed.push_back(part.input);
    parts_.push_back(std::move(part));
  }

  std::vector<ProgramNode>& nodes_;
  std::vector<ProgramCell>& cells_;
  const std::vector<ProgramUpdate>& updates_;
  std::vector<bool> wants_order_;  // by cell: somebody reads it who may want C order
  std::vector<ProgramPart> parts_;
};

}  // namespace

std::vector<ProgramPart> plan_parts(std::vector<ProgramNode>& nodes, std::vector<ProgramCell>& cells, const std::vector<ProgramUpdate>& updates) {
  return PartsPlanner(nodes, cells, updates).plan();
}

}  // namespace damo
