#include "runtime/exec/context.hpp"

#include <algorithm>
#include <memory>
#include <mutex>
#include <numeric>
#include <utility>
#include <vector>

#include <damo/log.hpp>

#include "runtime/array/array_layout.hpp"
#include "runtime/data_report.hpp"
#include "runtime/exec/array_lists.hpp"
#include "runtime/exec/binder.hpp"
#include "runtime/exec/call_plan.hpp"
#include "runtime/exec/cell_access.hpp"
#include "runtime/exec/node_context.hpp"
#include "runtime/stream/capture.hpp"

namespace damo {
namespace {

// Stand for unknown extents when layouts are predicted: kernels for the first, a large one, are compiled before the first call in any case; for the others as far as threads are left.
constexpr std::int64_t kExpectedExtent = 1024, kOtherExtents[] = {64};

bool has_unknown(const Program& program) {
  return std::any_of(program.cells().begin(), program.cells().end(), [](const ProgramCell& cell) { return !cell.type.dims.is_known(); });
}

[[noreturn]] void refuse_target(std::size_t result, const Shape& made, const Shape& wanted) {
  throw ShapeError("result " + std::to_string(result) + " has shape " + to_string(made) + ", where " + to_string(wanted) + " has its place", "make all steps' values of one shape");
}

}  // namespace

Context::Context(std::shared_ptr<Program> owner, ProfileRecorder* recorder, bool replays, RepeatState* outer, PendingKernels* around)
    : owner_(std::move(owner)), program_(*owner_), recorder_(recorder), default_stream_(Stream::default_of(program_.device())), faults_(program_.device()), workspace_(std::make_unique<Workspace>(program_.device().backend())), cells_(program_.cells().size()), recordable_(program_.nodes().size(), 1), contained_(program_.nodes().size(), 0), replays_(replays && !recorder && program_.device().backend().least_replayed != 0), is_repeatable_((program_.updates().empty() || program_.swaps_buffers()) && program_.donations().empty()), repeat_state_(outer ? outer : &own_state_), log_(program_.device().backend()), work_places_(program_.nodes().size()), passing_(program_.nodes().size(), 0), view_offsets_(program_.nodes().size(), 0), versions_(cells_.size(), 0), all_nodes_(program_.nodes().size()) {
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
  make_thunks(predict(kExpectedExtent), around);
}

Context::~Context() = default;

/// Layouts as if every unknown extent were this one: those to compile for ahead of the first call. Gives the nodes that would hand their input on.
std::vector<int> Context::predict(std::int64_t extent) {
  const auto declare = [&](int number) {
    Shape shape = program_.cells()[static_cast<std::size_t>(number)].type.dims;
    std::replace(shape.begin(), shape.end(), kUnknown, extent);
    CellAccess::set_layout(cell(number), shape, contiguous_strides(shape));
  };
  Binder binder(program_, cells_);
  Binding none;
  for (int input : program_.inputs()) declare(input);
  for (int number : all_nodes_) {
    try {
      if (blame(program_, number, [&] { return binder.bind_node(number, none); })) continue;
    } catch (const ShapeError&) {  // unknown extents that must differ: such a node compiles at its first call
    }
    for (int output : program_.nodes()[static_cast<std::size_t>(number)].outputs) declare(output);
  }
  return none.passing;
}

/// passing: nodes of which no thunk is expected to run.
void Context::make_thunks(std::span<const int> passing, PendingKernels* around) {
  PendingKernels own(program_.device().backend()), &pending = around ? *around : own;
  thunks_.resize(program_.nodes().size());
  foresights_.resize(program_.nodes().size());
  memory_.resize(program_.nodes().size());
  std::vector<Guess> guesses;
  for (std::size_t i = 0; i < thunks_.size(); ++i) {
    const ProgramNode& node = program_.nodes()[i];
    if (node.is_view) continue;
    const int number = static_cast<int>(i);
    NodeContext context(program_, number, cells_, pending, faults_, *repeat_state_, foresights_[i], memory_[i]);
    blame(program_, number, [&] {
      thunks_[i] = node.apply.op().make_thunk(node.apply, context);
      recordable_[i] = context.is_recordable();
      contained_[i] = context.is_contained();
      are_thunks_repeatable_ &= context.is_repeatable();
      if (!thunks_[i]) throw GraphError("make_thunk gave an empty Thunk", "return a function to call, or override view_of for a view");
      if (context.is_guessed() || context.code()) guesses.push_back({number, context.code()});
      if (!context.is_guessed() || std::binary_search(passing.begin(), passing.end(), number)) return;
      try {
        foresights_[i]([&](SpecKernel& kernel, const Layout& layout, std::int64_t) { return pending.add(program_, number, kernel, layout), false; });
      } catch (const ShapeError&) {  // extents that stand for unknown ones need not fit together: the first call's layouts tell
      }
    });
  }
  is_repeatable_ &= are_thunks_repeatable_;
  guess_further(guesses, pending);
  if (!own.is_empty()) {
    log(LogLevel::kDebug, "compiling for expected layouts: " + own.names());
    if (const std::string names = own.maybe_names(); !names.empty()) log(LogLevel::kDebug, "and as far as threads are left, for other layouts: " + names);
    own.compile();
  }
  for (std::size_t i = 0; replays_ && i < thunks_.size(); ++i) {
    if (!recordable_[i] && program_.tells_splits()) {
      log(LogLevel::kInfo, program_.describe(static_cast<int>(i)) + ": its thunk does not promise_recordable(), so a call is not replayed as one graph, but in parts before and after it");
    }
  }
  program_.told_splits();
}

/// What may be compiled beside the kernels for expected layouts: kernels for other extents, and code that thunks have compiled at a first call.
void Context::guess_further(std::span<const Guess> guesses, PendingKernels& pending) {
  const auto add = [&](bool has_kernels, std::span<const int> passing) {
    for (const Guess& guess : guesses) {
      if (std::binary_search(passing.begin(), passing.end(), guess.node)) continue;
      try {
        if (guess.code) {
          CodeRequests wanted = guess.code();
          for (CompileRequest& request : wanted.all) pending.add_maybe(std::move(request));
        } else if (!has_kernels) {
          foresights_[static_cast<std::size_t>(guess.node)]([&](SpecKernel& kernel, const Layout& layout, std::int64_t count) { return pending.add_maybe(kernel, layout, count), false; });
        }
      } catch (const Error&) {  // what is wrong the call says
      }
    }
  };
  add(true, {});
  if (!has_unknown(program_)) return;
  for (const std::int64_t extent : kOtherExtents) add(false, predict(extent));
}

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

CallPlan Context::plan(std::span<const Shape> shapes) {
  leave_stages();
  set_known_layouts(program_, cells_);
  for (std::size_t i = 0; i < shapes.size(); ++i) CellAccess::set_layout(cell(program_.inputs()[i]), shapes[i], contiguous_strides(shapes[i]));
  Binding binding;
  work_out(all_nodes_, binding);
  return plan_of(program_, cells_, binding);
}

ThunkMemory Context::step_memory(std::span<const ArrayLayout> inputs) {
  leave_stages();
  for (std::size_t i = 0; i < inputs.size(); ++i) CellAccess::set_layout(cell(program_.inputs()[i]), *inputs[i].shape, *inputs[i].strides);
  Binding binding;
  work_out(all_nodes_, binding);
  return {.workspace = binding.arena_bytes, .kept = binding.kept_bytes};
}

/// The cells' layouts are about to be others than the last call's: the next one sets them again.
void Context::leave_stages() {
  for (Stage& stage : stages_) stage.binding = nullptr;
}

void Context::give_up_arenas() {
  for (Stage& stage : stages_) {
    clear_placed(stage);
    stage.arena = Array();
  }
  leave_stages();
}

bool Context::is_recordable() const { return std::all_of(recordable_.begin(), recordable_.end(), [](char is) { return is != 0; }); }

const Array* Context::target_of(int number) const {
  for (std::size_t i = 0; i < targets_.size(); ++i) {
    if (program_.results()[i].cell == number && targets_[i]) return &targets_[i];
  }
  return nullptr;
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

void Context::refuse_captured_update() const {
  throw GraphError("a Function that updates " + program_.updates().front().state->label() + " cannot be captured: launches of the graph would not change what the variable holds",
                   "call it outside of the capture: its calls are replayed as a graph anyway");
}

/// Makes the binding for the arrays of the deciding cells the present one. nodes: those that it can bind.
Binding& Context::enter(std::size_t number, BindingTable& table, std::span<const int> deciding, std::span<const int> nodes) {
  Binding* binding = table.find([&](const Binding& other) {
    return std::all_of(other.key.begin(), other.key.end(), [&](const Binding::CellLayout& layout) {
      const Array& array = cell(layout.cell).array();
      return array.shape() == layout.shape && array.strides() == layout.strides;
    });
  });
  if (!binding) binding = &bind(table, deciding, nodes);
  binding->last_call = call_;
  if (stages_.size() <= number) stages_.resize(number + 1);
  const bool tidies = call_ % BindingTable::kLife == 0;
  if (tidies) table.forget(call_);
  if (stages_[number].binding != binding || tidies) {
    // Layouts that followed from others. Their cells may be this stage's now: whether an extent is known early can differ from call to call.
    for (std::size_t i = number + 1; i < stages_.size(); ++i) {
      stages_[i].binding = nullptr;
      clear_placed(stages_[i]);
    }
    apply(*binding, stages_[number], table.arena_bytes());
  }
  for (int owned : binding->owned) set_owned(owned);
  return *binding;
}

Binding& Context::bind(BindingTable& table, std::span<const int> deciding, std::span<const int> nodes) {
  auto binding = std::make_unique<Binding>();
  for (int number : deciding) {
    const Array& array = cell(number).array();
    CellAccess::set_layout(cell(number), array.shape(), array.strides());
    binding->key.push_back({number, array.shape(), array.strides(), cell(number).version()});
  }
  work_out(nodes, *binding);
  require_memory(program_, plan_of(program_, cells_, *binding), *binding, held_bytes());
  return table.add(std::move(binding));
}

/// A workspace's bytes follow from the kernel that is launched, and which that is from what there is compiled: so kernels come before the places.
void Context::work_out(std::span<const int> nodes, Binding& binding) {
  Binder binder(program_, cells_);
  binder.bind(nodes, binding);
  compile_ahead(binding);
  foresee_memory(binding);
  binder.place(binding);
}

/// As with kernels: what fails here a thunk says again when it runs.
void Context::foresee_memory(Binding& binding) const {
  for (int number : binding.nodes) {
    const auto& memory = memory_[static_cast<std::size_t>(number)];
    if (!memory || std::binary_search(binding.passing.begin(), binding.passing.end(), number)) continue;
    try {
      const ThunkMemory needed = memory();
      if (needed.workspace != 0) binding.work.push_back({number, needed.workspace, 0});
      binding.kept_bytes += needed.kept;
    } catch (const Error&) {
    }
  }
}

/// Kernels that no guess foresaw, and that thunks would compile one after the other when they run. What fails here is left to them: a thunk that asks again throws
/// with its node's line and operands, and only once all nodes before it have run.
void Context::compile_ahead(const Binding& binding) {
  PendingKernels pending(program_.device().backend());
  for (int number : binding.nodes) {
    const Foresight& foresight = foresights_[static_cast<std::size_t>(number)];
    if (!foresight || std::binary_search(binding.passing.begin(), binding.passing.end(), number)) continue;
    try {
      foresight([&](SpecKernel& kernel, const Layout& layout, std::int64_t count) { return pending.add_unserved(program_, number, kernel, layout, count); });
    } catch (const Error&) {
    }
  }
  if (pending.is_empty()) return;
  log(LogLevel::kDebug, "compiling for the layouts of a call: " + pending.names());
  try {
    pending.compile();
  } catch (const Error&) {
  }
}

/// What a call with other layouts gives up: arenas, also thunks', and results that the caller let go of.
std::size_t Context::held_bytes() const {
  std::size_t bytes = 0;
  for (const Stage& stage : stages_) bytes += (stage.arena ? stage.arena.nbytes() : 0) + (stage.binding ? stage.binding->kept_bytes : 0);
  for (std::size_t i = 0; i < cells_.size(); ++i) {
    const Array& array = cells_[i].array();
    if (program_.cells()[i].role == CellRole::kOutput && array && array.is_unique()) bytes += array.nbytes();
  }
  return bytes;
}

void Context::apply(const Binding& binding, Stage& stage, std::size_t arena_bytes) {
  for (const auto* layouts : {&binding.key, &binding.cells}) {
    for (const Binding::CellLayout& layout : *layouts) {
      CellAccess::restore(cell(layout.cell), layout.shape, layout.strides, layout.version);
      versions_[static_cast<std::size_t>(layout.cell)] = layout.version;
    }
  }
  for (int node : binding.nodes) passing_[static_cast<std::size_t>(node)] = 0;
  for (const auto* nodes : {&binding.nodes, &binding.waiting}) {
    for (int node : *nodes) work_places_[static_cast<std::size_t>(node)] = {};
  }
  for (int node : binding.passing) passing_[static_cast<std::size_t>(node)] = 1;
  for (const Binding::View& view : binding.views) view_offsets_[static_cast<std::size_t>(view.node)] = view.offset;
  clear_placed(stage);
  allocate_arena(binding, stage, arena_bytes);
  for (const Binding::Place& place : binding.places) {
    Cell& target = cell(place.cell);
    const auto offset = static_cast<std::int64_t>(place.offset / itemsize(target.dtype()));
    CellAccess::set_array(target, stage.arena.view(target.dtype(), target.shape(), target.strides(), offset));
    stage.placed.push_back(place.cell);
  }
  for (const Binding::Work& work : binding.work) work_places_[static_cast<std::size_t>(work.node)] = {static_cast<std::byte*>(stage.arena.data()) + work.offset, work.bytes};
  stage.binding = &binding;
}

void Context::clear_placed(Stage& stage) {
  for (int placed : stage.placed) CellAccess::clear(cell(placed));
  stage.placed.clear();
}

/// bytes: what the largest of the kept bindings needs, so that those in turn share one arena.
void Context::allocate_arena(const Binding& binding, Stage& stage, std::size_t bytes) {
  const std::size_t have = stage.arena ? stage.arena.nbytes() : 0;
  if (stage.arena && bytes <= have && bytes >= have / 4) return;
  stage.arena = Array();  // before the new one is asked for
  ++repeat_state_->changes;
  const WorkspaceScope scope(lender_);
  const auto allocate = [&] { stage.arena = Array::empty(Shape{static_cast<std::int64_t>(bytes)}, uint8, program_.device()); };
  if (binding.largest_node < 0) allocate();
  else blame(program_, binding.largest_node, allocate);
}

/// Last call's buffer if it has the shape and nobody else holds it, else a new one.
void Context::set_owned(int number) {
  Cell& target = cell(number);
  Array& array = CellAccess::array(target);
  if (const Array* given = target_of(number)) {
    if (!(given->shape() == target.shape())) refuse_target(static_cast<std::size_t>(given - targets_.data()), target.shape(), given->shape());
    array = *given;
    return;
  }
  if (array && array.shape() == target.shape() && array.claim()) return;
  if (repeat_state_ != &own_state_ && (array || !current_log(program_.device().backend()))) ++repeat_state_->changes;  // what the log gave is the log's business
  array = Array();
  blame(program_, program_.cells()[static_cast<std::size_t>(number)].producer, [&] { array = Array::empty(target.shape(), target.dtype(), program_.device()); });
}

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
  blame(program_, number, [&] {
    try {
      if (recorder_) recorder_->begin(*clock_, program_, number);
      begin_outputs(node, is_sized);
      run_thunk(at);
      check_outputs(node, is_sized);
      if (recorder_) recorder_->end(*clock_, number, cells_, program_);
    } catch (Error& error) {
      error.add_operands(describe_operands(node));
      throw;
    }
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

void Context::begin_update(const ProgramUpdate& update) {
  Cell &value = cell(update.cell), &old = cell(update.variable);
  bool is_taken = false;
  if (update.apart.empty() && value.shape() == old.shape()) {
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
