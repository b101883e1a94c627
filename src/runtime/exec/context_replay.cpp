#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "runtime/array/array_layout.hpp"
#include "runtime/data_report.hpp"
#include "runtime/exec/context.hpp"
#include "runtime/stream/capture.hpp"

namespace damo {

/// A stage ends with a node that sizes its outputs itself; what waited for their shapes is bound then.
std::vector<Array> Context::run(CaptureScope* capture) {
  const int count = static_cast<int>(thunks_.size());
  Binding* binding = &enter(0, bindings_, deciding_, all_nodes_);
  if (log_of_thread) {  // a thunk's call, behind what the call around it has in its log; this Context's memory may be other thunks' in turn
    log_of_thread->note_uncontained();
    for (int number = 0, stage = 0; number < count; ++number) binding = run_node_of(*binding, number, stage);
    return results();
  }
  // What a log has is launched later, where nothing can be measured: a call at which some schedule may be goes to the device at once.
  const std::uint64_t schedules = program_.device().backend().schedules.load(std::memory_order_acquire);
  const bool decides = std::exchange(schedules_, schedules) != schedules;
  if (!capture && replays_ && !decides && repeats(*binding)) return results();
  const auto wanted = [&] { return capture || (binding->replay.begin() && !decides) ? &log_ : nullptr; };
  WorkLog* const first = capture || replays_ ? wanted() : nullptr;
  if (!first && (!replays_ || binding->waiting.empty())) {
    for (int number = 0, stage = 0; number < count; ++number) binding = run_node_of(*binding, number, stage);
    return results();
  }
  log_.begin(capture != nullptr);
  LogScope scope(first);
  for (int number = 0, stage = 0; number < count; ++number) {
    WorkLog* const log = log_of_thread;
    const int before = stage;
    if (log && !recordable_[static_cast<std::size_t>(number)]) {
      flush(*binding, capture);
      scope.switch_to(nullptr);
    }
    binding = run_step_of(*binding, number, stage, capture ? nullptr : log_of_thread);
    scope.switch_to(stage == before ? log : wanted());
  }
  std::vector<Array> outputs;
  if (capture) outputs = results();  // copied by the graph
  if (log_of_thread) flush(*binding, capture);
  scope.switch_to(nullptr);
  log_.end();
  return capture ? outputs : results();
}

/// Whether the call's addresses are those of a graph, and it was launched. Thunks are left out, and views that are no results: results must lie in buffers of
/// their own.
bool Context::repeats(Binding& binding) {
  addresses_.clear();
  if (!is_repeatable_ || !binding.waiting.empty() || !binding.replay.has_graph()) return false;
  for (const ProgramResult& result : program_.results()) {
    const int memory = program_.root(result.cell);
    const CellRole role = program_.cells()[static_cast<std::size_t>(memory)].role;
    const bool is_owned = std::find(binding.owned.begin(), binding.owned.end(), memory) != binding.owned.end();
    if (role == CellRole::kOutput ? !is_owned : memory != result.cell) return false;
  }
  const auto add = [&](const std::vector<int>& cells) {
    for (int number : cells) addresses_.push_back(cell(number).array().data());
  };
  add(program_.inputs());
  add(program_.shared());
  add(binding.owned);
  addresses_.push_back(stages_[0].arena.data());
  addresses_.push_back(reinterpret_cast<const void*>(log_.epoch()));
  addresses_.push_back(reinterpret_cast<const void*>(repeat_state_->changes));
  addresses_.push_back(reinterpret_cast<const void*>(schedules_));  // a graph has the kernels of its time
  for (const auto& report : repeat_state_->reports) report->check();
  if (!binding.replay.repeat(program_.device().backend(), addresses_)) return false;
  for (const ProgramResult& result : program_.results()) look(result.cell);
  return true;
}

/// Gives a view its place in what it looks at.
void Context::look(int number) {
  const ProgramCell& plan = program_.cells()[static_cast<std::size_t>(number)];
  if (plan.role != CellRole::kView) return;
  look(plan.base);
  run_node(plan.producer, false);
}

void Context::flush(Binding& binding, CaptureScope* capture) {
  if (!capture) return binding.replay.flush(log_, addresses_);
  program_.device().backend().capture_work(log_, capture->stream());
  log_.clear();
}

/// The binding of what comes after it.
Binding* Context::run_node_of(Binding& binding, int number, int& stage) {
  const bool is_sized = !binding.waiting.empty() && binding.waiting.front() == number;
  run_node(number, is_sized);
  if (!is_sized) return &binding;
  const std::span<const int> outputs = program_.nodes()[static_cast<std::size_t>(number)].outputs;
  return &enter(static_cast<std::size_t>(++stage), binding.next, outputs, std::span(binding.waiting).subspan(1));
}

/// The node as a step of the log; null: there is none.
Binding* Context::run_step_of(Binding& binding, int number, int& stage, WorkLog* log) {
  if (!log) return run_node_of(binding, number, stage);
  const std::uint32_t step = log->begin_step(contained_[static_cast<std::size_t>(number)] != 0);
  Binding* const next = run_node_of(binding, number, stage);
  touch_cells(number, *log, step);
  log->end_step();
  return next;
}

/// Tells the log which memory the node's cells have.
void Context::touch_cells(int number, WorkLog& log, std::uint32_t step) {
  if (!contained_[static_cast<std::size_t>(number)]) return;
  const ProgramNode& node = program_.nodes()[static_cast<std::size_t>(number)];
  const auto touch = [&](int at, bool writes) {
    const Array& array = cell(at).array();
    if (!array) return;
    const ByteRange range = byte_range(array.shape(), array.strides(), itemsize(array.dtype()));
    log.touch(step, static_cast<const std::byte*>(array.data()) + range.first, range.bytes(), writes);
  };
  for (int input : node.inputs) touch(input, false);
  for (int output : node.outputs) touch(output, true);
  const Place& work = work_places_[static_cast<std::size_t>(number)];
  if (work.bytes != 0 && !is_logged_step_) log.touch(step, work.memory, work.bytes, true);
}

}  // namespace damo
