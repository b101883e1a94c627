#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "runtime/array/array_layout.hpp"
#include "runtime/exec/binder.hpp"
#include "runtime/exec/cell_access.hpp"
#include "runtime/exec/context.hpp"

namespace damo {

void Context::run_node(int number, bool is_sized) {
  const auto at = static_cast<std::size_t>(number);
  const ProgramNode& node = program_.nodes()[at];
  if (node.is_view) {
    Cell& target = cell(node.outputs[0]);
    const Array& base = cell(program_.cells()[static_cast<std::size_t>(node.outputs[0])].base).array();
    CellAccess::set_array(target, base.view(target.dtype(), target.shape(), target.strides(), view_offsets_[at]));
    return;
  }
  if (passing_[at]) {
    CellAccess::set_array(cell(node.outputs[0]), cell(node.inputs[static_cast<std::size_t>(node.passes)]).array());
    return;
  }
  blame_with_operands(number, [&] {
    if (recorder_) recorder_->begin(*clock_, program_, number);
    begin_outputs(node, is_sized);
    run_thunk(at);
    check_outputs(node, is_sized);
    if (recorder_) recorder_->end(*clock_, number, cells_, program_);
  });
}

/// With its workspace. Steps of a loop that go to a log run side by side, where they would wait for each other if all had one: they have theirs from the log (WorkLog::take).
void Context::run_thunk(std::size_t node) {
  const Place& place = work_places_[node];
  if (place.bytes == 0 || is_logged_step_) return thunks_[node]();
  workspace_->begin(place.memory, place.bytes);
  struct Lent {  // also where the thunk throws
    Context& context;
    ~Lent() {
      if (!context.workspace_->is_free()) context.leave_workspace();
    }
  } const lent{*this};
  const WorkspaceScope scope(workspace_.get());
  thunks_[node]();
  if (!workspace_->is_free()) throw GraphError("the thunk keeps memory of its workspace, which is other nodes' when it has run", "let go of Arrays when it returns");
}

/// To the Arrays that a thunk has kept of it against its word, with the memory they lie in, for good: when they are let go of, nobody is there who knows of them.
void Context::leave_workspace() {
  static std::mutex mutex;
  static auto& left = *new std::vector<std::pair<std::unique_ptr<Workspace>, Array>>;
  auto another = std::make_unique<Workspace>(program_.device().backend());
  const std::lock_guard lock(mutex);
  for (const Stage& stage : stages_) {
    if (stage.arena) left.emplace_back(nullptr, stage.arena);
  }
  workspace_->leave();
  left.emplace_back(std::exchange(workspace_, std::move(another)), Array());
}

/// "x float32 (3, 4) strides (1, 3)"; strides where the value is not in C order.
std::vector<std::string> Context::describe_operands(const ProgramNode& node) const {
  std::vector<std::string> operands;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const Cell& value = cell(node.inputs[i]);
    const std::string& name = program_.cells()[static_cast<std::size_t>(node.inputs[i])].name;
    operands.push_back((name.empty() ? "input " + std::to_string(i) : name) + " " + to_string(TensorType{value.dtype(), value.shape()}));
    if (!is_contiguous(value.shape(), value.strides())) operands.back() += " strides " + to_string(value.strides());
  }
  return operands;
}

/// Gives new values of shared variables their memory, and the outputs that overwrite their first values.
void Context::begin_outputs(const ProgramNode& node, bool is_sized) {
  for (int output : node.outputs) {
    if (is_sized) CellAccess::begin_sizing(cell(output));
  }
  for (std::size_t i = 0; node.writes_parts && i < node.outputs.size(); ++i) {
    if (program_.cells()[static_cast<std::size_t>(node.outputs[i])].part >= 0) place_part(node.outputs[i]);
  }
  if (!(program_.updates().empty() && program_.donations().empty()) && !is_sized) {
    for (int output : node.outputs) {
      const ProgramCell& plan = program_.cells()[static_cast<std::size_t>(output)];
      if (plan.update >= 0 && !program_.is_guarded()) begin_update(program_.updates()[static_cast<std::size_t>(plan.update)]);
      else if (plan.donation >= 0) begin_update(program_.donations()[static_cast<std::size_t>(plan.donation)]);
    }
  }
  for (const ProgramOverwrite& overwrite : node.overwrites) {
    Cell &output = cell(node.outputs[static_cast<std::size_t>(overwrite.output)]), &input = cell(node.inputs[static_cast<std::size_t>(overwrite.input)]);
    if (overwrite.in_place) CellAccess::set_array(output, input.array());
    else if (output.array().data() != input.array().data()) output.array().copy_from(input.array());
  }
}

/// Its window of the larger array, which may be a part itself, whose node has yet to run.
void Context::place_part(int number) {
  const ProgramCell& plan = program_.cells()[static_cast<std::size_t>(number)];
  const std::int64_t offset = part_offsets_[static_cast<std::size_t>(plan.part)];
  Cell& target = cell(number);
  if (offset == Binding::Part::kApart) {
    CellAccess::set_array(target, Array::empty(target.shape(), target.dtype(), program_.device()));
    return;
  }
  if (program_.cells()[static_cast<std::size_t>(plan.base)].part >= 0) place_part(plan.base);
  CellAccess::set_array(target, cell(plan.base).array().view(target.dtype(), target.shape(), target.strides(), offset));
}

void Context::begin_update(const ProgramUpdate& update) {
  Cell &value = cell(update.cell), &old = cell(update.variable);
  bool is_taken = false;
  const bool is_kept = update.state && binds_later_;  // shapes that do not fit, or memory that is not there, would end the call
  if (update.apart.empty() && !is_kept && value.shape() == old.shape()) {
    const auto is_view = [&](int alias) { return program_.cells()[static_cast<std::size_t>(alias)].role == CellRole::kView; };
    for (int alias : update.aliases) {  // what passed the old value on may also have made a copy, in memory of its own, of a view that lay otherwise
      const Array& passed = cell(alias).array();
      if (is_view(alias) || (passed && passed.data() == old.array().data() && passed.shape() == old.shape() && passed.strides() == old.strides())) CellAccess::clear(cell(alias));
    }
    is_taken = update.state ? shared_->take(*update.state, old.array()) : is_contiguous(old.shape(), old.strides()) && old.array().claim();
    for (int alias : update.aliases) {  // nobody reads its views any more, but the node may overwrite what passed it on
      if (!is_view(alias) && !cell(alias).array()) CellAccess::set_array(cell(alias), old.array());
    }
  }
  CellAccess::set_array(value, is_taken ? old.array() : Array::empty(value.shape(), value.dtype(), program_.device()));
}

/// A thunk that sizes its outputs must do so, and any other must leave them as they were bound.
void Context::check_outputs(const ProgramNode& node, bool is_sized) const {
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    const Cell& output = cell(node.outputs[i]);
    const Op& op = node.apply.op();
    if (!is_sized && output.version() == versions_[static_cast<std::size_t>(node.outputs[i])]) continue;
    if (!is_sized) {
      throw ShapeError(op.name() + ": the thunk resized output " + std::to_string(i) + " to " + to_string(output.shape()) + ", which infer_shape had sized",
                       "return nullopt from infer_shape, or leave the shape as it is");
    }
    if (!output.array() || !CellAccess::is_sized(output)) throw GraphError(op.name() + " left an output without value", "call Cell::resize in the thunk, or override infer_shape");
    check_shape("the thunk", op, static_cast<int>(i), program_.cells()[static_cast<std::size_t>(node.outputs[i])].type, output.array().shape());
  }
}

}  // namespace damo
