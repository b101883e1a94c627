#include "runtime/exec/context.hpp"

#include <algorithm>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "runtime/array/array_layout.hpp"
#include "runtime/exec/array_lists.hpp"
#include "runtime/exec/call_plan.hpp"
#include "runtime/exec/cell_access.hpp"
#include "runtime/stream/capture.hpp"

namespace damo {

Context::Context(std::shared_ptr<Program> owner, ProfileRecorder* recorder, bool replays, RepeatState* outer, PendingKernels* around)
    : owner_(std::move(owner)), program_(*owner_), recorder_(recorder), default_stream_(Stream::default_of(program_.device())), faults_(program_.device()), workspace_(std::make_unique<Workspace>(program_.device().backend())), cells_(program_.cells().size()), recordable_(program_.nodes().size(), 1), contained_(program_.nodes().size(), 0), replays_(replays && !recorder && program_.device().backend().least_replayed != 0), is_repeatable_((program_.updates().empty() || program_.swaps_buffers()) && program_.donations().empty()), repeat_state_(outer ? outer : &own_state_), log_(program_.device().backend()), work_places_(program_.nodes().size()), passing_(program_.nodes().size(), 0), view_offsets_(program_.nodes().size(), 0), part_offsets_(program_.parts().size(), Binding::Part::kApart), versions_(cells_.size(), 0), all_nodes_(program_.nodes().size()) {
  const Program& program = program_;
  std::iota(all_nodes_.begin(), all_nodes_.end(), 0);
  if (recorder) clock_.emplace(program.device());
  set_known_layouts(program, cells_);
  for (std::size_t i = 0; i < cells_.size(); ++i) {
    const int number = static_cast<int>(i);
    if (program.cells()[i].role == CellRole::kView) borrowing_.push_back(number);
    if (const Array& value = program.constant(number)) CellAccess::set_array(cells_[i], value);
  }
  deciding_ = program.inputs();
  for (std::size_t i = 0; i < program.shared().size(); ++i) {
    const int number = program.shared()[i];
    borrowing_.push_back(number);
    shared_values_.push_back(&CellAccess::array(cell(number)));
    if (!program.shared_uses()[i].state->type().dims.is_known()) deciding_.push_back(number);
  }
  for (const ProgramUpdate& update : program.updates()) {
    // Else the cell keeps its value: a constant has it from call to call; what publish() leaves of a guarded call is the old value's buffer, the next new value's.
    if (update.copied.empty() && !program.is_guarded()) borrowing_.push_back(update.cell);
  }
  for (const ProgramUpdate& donation : program.donations()) borrowing_.push_back(donation.cell);
  for (const ProgramNode& node : program.nodes()) {
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      if (node.is_in_place(static_cast<int>(i))) borrowing_.push_back(node.outputs[i]);
    }
  }
  make_thunks(around);
}

Context::~Context() = default;

std::vector<Array> Context::call(std::span<const Array> inputs, std::span<Array> given_up) {
  ++call_;
  CaptureScope* const capture = current_capture(program_.device().backend());
  if (capture && !program_.updates().empty()) refuse_captured_update();
  if (capture && program_.is_guarded()) throw GraphError("a Function with Options::nan_guard cannot be captured: it reads its results", "build it without for the capture");
  faults_.clear();
  SharedCall shared(program_.shared_uses(), shared_values_);
  shared_ = &shared;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (given_up.empty()) CellAccess::set_array(cell(program_.inputs()[i]), inputs[i]);
    else CellAccess::set_array(cell(program_.inputs()[i]), std::move(given_up[i]));
  }
  std::vector<Array> outputs = run(capture);
  if (capture) return outputs;  // what the cells hold is part of the graph
  if (WorkLog* log = program_.shared_uses().empty() ? nullptr : current_log(program_.device().backend())) {
    log->flush_for_other_work();  // a thunk's call: other threads may use the variables once it is over
  }
  collect_new_values();
  if (program_.is_guarded()) {
    tidy();  // while the device works
    refuse_faults();
    shared.publish(new_values_);
  } else {
    shared.publish(new_values_);
    tidy();
  }
  copies_.clear();  // they are the old values now
  return outputs;
}

void Context::step(std::span<Array> inputs, std::span<Array> targets, Arenas arenas) {
  ++call_;
  for (std::size_t i = 0; i < inputs.size(); ++i) CellAccess::set_array(cell(program_.inputs()[i]), std::move(inputs[i]));
  targets_ = targets;
  lender_ = arenas == Arenas::kTheCallers ? current_workspace(program_.device().backend()) : nullptr;
  struct GiveBack {  // also where a node throws: the next call's memory of the caller is another
    Context& context;
    ~GiveBack() {
      if (context.lender_) context.give_up_arenas();
    }
  } const at_the_end{*this};
  const WorkspaceScope not_of_who_calls(nullptr);
  Binding* binding = &enter(0, bindings_, deciding_, all_nodes_);
  WorkLog* const log = current_log(program_.device().backend());
  is_logged_step_ = log != nullptr;
  for (int number = 0, stage = 0; number < static_cast<int>(thunks_.size()); ++number) binding = run_step_of(*binding, number, stage, log);
  targets_ = {};
  for (std::size_t i = 0; i < targets.size(); ++i) {
    Array& value = CellAccess::array(cell(program_.results()[i].cell));
    if (!targets[i]) {
      targets[i] = value;
      continue;
    }
    if (value.data() != targets[i].data() || value.shape().size() == 0) {
      if (!(value.shape() == targets[i].shape())) refuse_target(i, value.shape(), targets[i].shape());
      targets[i].copy_from(value);
    }
  }
  for (std::size_t i = 0; i < targets.size(); ++i) {  // they are the caller's, and may be somebody else's at the next step
    Array& value = CellAccess::array(cell(program_.results()[i].cell));
    if (value && value.shares_buffer_with(targets[i])) value = Array();
  }
  tidy();
}

void Context::refuse_captured_update() const {
  throw GraphError("a Function that updates " + program_.updates().front().state->label() + " cannot be captured: launches of the graph would not change what the variable holds",
                   "call it outside of the capture: its calls are replayed as a graph anyway");
}

void Context::refuse_faults() {
  default_stream_.synchronize();
  if (faults_.is_set()) throw NotFiniteFound();
}

void Context::collect_new_values() {
  new_values_.clear();
  copies_.clear();
  copies_.reserve(program_.updates().size());
  for (const ProgramUpdate& update : program_.updates()) {
    Array* value = &CellAccess::array(cell(update.cell));
    if (!update.copied.empty()) value = &copies_.emplace_back(value->copy());
    new_values_.push_back({update.state, value});
  }
}

std::vector<Array> Context::results() {
  std::vector<Array> outputs = take_array_list(program_.results().size());
  for (const ProgramResult& result : program_.results()) {
    const Array& value = cell(result.cell).array();
    if (!result.is_copied && is_apart(result, outputs)) {
      outputs.push_back(value);
      continue;
    }
    try {
      outputs.push_back(value.copy());
    } catch (Error& error) {
      error.add_where("result " + std::to_string(outputs.size()) + ", copied as " + result.reason);
      throw;
    }
  }
  return outputs;
}

/// Whether none of the results before it has any of its elements.
bool Context::is_apart(const ProgramResult& result, std::span<const Array> earlier) const {
  const Array& value = cell(result.cell).array();
  return std::none_of(result.rivals.begin(), result.rivals.end(), [&](int other) { return share_memory(earlier[static_cast<std::size_t>(other)], value); });
}

/// What stays in a cell would hold the caller's input, or count as a holder of an output.
void Context::tidy() {
  for (int input : program_.inputs()) CellAccess::clear(cell(input));
  for (int number : borrowing_) CellAccess::clear(cell(number));
  for (std::size_t i = 0; i < passing_.size(); ++i) {
    if (passing_[i]) CellAccess::clear(cell(program_.nodes()[i].outputs[0]));
  }
}

}  // namespace damo
