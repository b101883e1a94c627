#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "runtime/exec/binder.hpp"
#include "runtime/exec/call_plan.hpp"
#include "runtime/exec/cell_access.hpp"
#include "runtime/exec/context.hpp"

namespace damo {

void Context::refuse_target(std::size_t result, const Shape& made, const Shape& wanted) {
  throw ShapeError("result " + std::to_string(result) + " has shape " + to_string(made) + ", where " + to_string(wanted) + " has its place", "make all steps' values of one shape");
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
  binds_later_ = !binding->waiting.empty();
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
  for (const Binding::Part& part : binding.parts) part_offsets_[static_cast<std::size_t>(part.part)] = part.offset;
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

const Array* Context::target_of(int number) const {
  for (std::size_t i = 0; i < targets_.size(); ++i) {
    if (program_.results()[i].cell == number && targets_[i]) return &targets_[i];
  }
  return nullptr;
}

void Context::clear_placed(Stage& stage) {
  for (int placed : stage.placed) CellAccess::clear(cell(placed));
  stage.placed.clear();
}

void Context::give_up_arenas() {
  for (Stage& stage : stages_) {
    clear_placed(stage);
    stage.arena = Array();
  }
  leave_stages();
}

/// The cells' layouts are about to be others than the last call's: the next one sets them again.
void Context::leave_stages() {
  for (Stage& stage : stages_) stage.binding = nullptr;
}

}  // namespace damo
