#include "runtime/exec/context.hpp"

#include <algorithm>
#include <utility>

#include "runtime/exec/cell_access.hpp"
#include "runtime/exec/node_context.hpp"
#include "runtime/kernel/cache.hpp"

namespace damo {
namespace {

/// Whether the cell gets its memory from what the node overwrites.
bool is_in_place(const ProgramNode& node, int cell) {
  return std::any_of(node.overwrites.begin(), node.overwrites.end(), [&](const ProgramOverwrite& overwrite) {
    return overwrite.in_place && node.outputs[static_cast<std::size_t>(overwrite.output)] == cell;
  });
}

constexpr std::int64_t kExpectedExtent = 1024;  // stands for an unknown one when layouts are predicted

/// Rethrows with the node's place in the function.
template <class Work>
auto blame(const Program& program, int node, Work&& work) {
  try {
    return work();
  } catch (Error& error) {
    error.add_where(program.describe(node));
    throw;
  }
}

}  // namespace

Context::Context(Program& program, ProfileRecorder* recorder)
    : program_(program), recorder_(recorder), stream_(program.device().backend().default_stream()), cells_(program.cells().size()), passing_(program.nodes().size(), 0) {
  if (recorder) clock_.emplace(program.device());
  for (std::size_t i = 0; i < cells_.size(); ++i) {
    CellAccess::prepare(cells_[i], program.cells()[i].type.dtype, program.device());
    const int number = static_cast<int>(i);
    if (program.cells()[i].role == CellRole::kOutput) owned_outputs_.push_back(number);
    if (program.cells()[i].role == CellRole::kView) views_.push_back(number);
    if (const Array& value = program.constant(number)) {
      CellAccess::set_layout(cells_[i], value.shape(), value.strides());
      CellAccess::set_array(cells_[i], value);
    }
  }
  for (const ProgramNode& node : program.nodes()) {
    for (const ProgramOverwrite& overwrite : node.overwrites) {
      const int output = node.outputs[static_cast<std::size_t>(overwrite.output)];
      if (overwrite.in_place && program.cells()[static_cast<std::size_t>(output)].role != CellRole::kOutput) overwriting_.push_back(output);
    }
  }
  predict();
  make_thunks();
}

Context::~Context() = default;

/// Layouts as if every unknown extent were the same large one: what make_thunk compiles for ahead of the first call.
void Context::predict() {
  for (int input : program_.inputs()) {
    Shape shape = program_.cells()[static_cast<std::size_t>(input)].type.dims;
    std::replace(shape.begin(), shape.end(), kUnknown, kExpectedExtent);
    CellAccess::set_layout(cell(input), shape, contiguous_strides(shape));
  }
  for (std::size_t i = 0; i < program_.nodes().size(); ++i) predict_node(static_cast<int>(i));
}

void Context::predict_node(int number) {
  try {
    if (blame(program_, number, [&] { return bind_node(number); })) return;
  } catch (const ShapeError&) {  // unknown extents that must differ: such a node compiles at its first call
  }
  for (int output : program_.nodes()[static_cast<std::size_t>(number)].outputs) {
    Shape shape = program_.cells()[static_cast<std::size_t>(output)].type.dims;
    std::replace(shape.begin(), shape.end(), kUnknown, kExpectedExtent);
    CellAccess::set_layout(cell(output), shape, contiguous_strides(shape));
  }
}

void Context::make_thunks() {
  PendingKernels pending(program_.device().backend());
  thunks_.resize(program_.nodes().size());
  for (std::size_t i = 0; i < thunks_.size(); ++i) {
    const ProgramNode& node = program_.nodes()[i];
    if (node.is_view) continue;
    const int number = static_cast<int>(i);
    NodeContext context(program_, number, cells_, pending);
    blame(program_, number, [&] {
      thunks_[i] = node.apply.op().make_thunk(node.apply, context);
      if (!thunks_[i]) throw GraphError("make_thunk gave an empty Thunk", "return a function to call, or override view_of for a view");
    });
  }
  pending.compile(program_);
}

std::vector<Array> Context::call(std::span<const Array> inputs) {
  if (!take_inputs(inputs) || !bound_) bind();
  if (sized_by_data_) run_sized_by_data();
  else run();
  std::vector<Array> outputs = results();
  drop_views();
  drop_inputs();
  return outputs;
}

/// False if some layout is new.
bool Context::take_inputs(std::span<const Array> inputs) {
  bool same = true;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    Cell& target = cell(program_.inputs()[i]);
    same &= !CellAccess::set_layout(target, inputs[i].shape(), inputs[i].strides());
    CellAccess::set_array(target, inputs[i]);
  }
  return same;
}

/// A view that stays would hold the caller's input, or count as a holder of an output.
void Context::drop_views() {
  for (int view : views_) CellAccess::clear(cell(view));
  for (std::size_t i = 0; i < passing_.size(); ++i) {
    if (passing_[i]) CellAccess::clear(cell(program_.nodes()[i].outputs[0]));
  }
  for (int overwriting : overwriting_) CellAccess::clear(cell(overwriting));
  for (const auto& [temporary, output] : in_outputs_) CellAccess::clear(cell(temporary));
}

void Context::drop_inputs() {
  for (int input : program_.inputs()) CellAccess::clear(cell(input));
}

void Context::bind() {
  bound_ = sized_by_data_ = false;
  for (int output : owned_outputs_) CellAccess::clear(cell(output));
  for (std::size_t i = 0; i < program_.nodes().size() && !sized_by_data_; ++i) {
    const int number = static_cast<int>(i);
    sized_by_data_ = !blame(program_, number, [&] { return bind_node(number); });
  }
  if (!sized_by_data_) plan_memory();
  bound_ = true;
}

/// Gives the node's outputs their layouts; false if only its thunk can.
bool Context::bind_node(int number) {
  const ProgramNode& node = program_.nodes()[static_cast<std::size_t>(number)];
  if (node.is_view) {
    bind_view(node);
    return true;
  }
  if (node.passes >= 0) {
    const Cell& input = cell(node.inputs[static_cast<std::size_t>(node.passes)]);
    passing_[static_cast<std::size_t>(number)] = is_contiguous(input.shape(), input.strides());
  }
  std::vector<Shape> inputs;
  for (int input : node.inputs) inputs.push_back(cell(input).shape());
  const Shapes outputs = node.apply.op().infer_shape(node.apply, inputs);
  if (!outputs && node.overwrites.empty()) return false;
  if (!outputs) throw GraphError(node.apply.op().name() + " overwrites an input and does not know its shapes before it runs", "override Op::infer_shape");
  if (outputs->size() != node.outputs.size()) throw GraphError("infer_shape gave " + std::to_string(outputs->size()) + " shapes for " + std::to_string(node.outputs.size()) + " outputs");
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    const TensorType& type = program_.cells()[static_cast<std::size_t>(node.outputs[i])].type;
    if (!type.accepts(type.dtype, (*outputs)[i])) {
      throw ShapeError("infer_shape gave " + to_string((*outputs)[i]) + " for an output that make_node declared " + to_string(type));
    }
    CellAccess::set_layout(cell(node.outputs[i]), (*outputs)[i], contiguous_strides((*outputs)[i]));
  }
  check_overwrites(node);
  return true;
}

void Context::check_overwrites(const ProgramNode& node) const {
  for (const ProgramOverwrite& overwrite : node.overwrites) {
    const Cell &output = cell(node.outputs[static_cast<std::size_t>(overwrite.output)]), &input = cell(node.inputs[static_cast<std::size_t>(overwrite.input)]);
    if (output.dtype() == input.dtype() && output.shape() == input.shape()) continue;
    throw ShapeError(node.apply.op().name() + ": output " + std::to_string(overwrite.output) + ", " + to_string(TensorType{output.dtype(), output.shape()}) +
                     ", overwrites input " + std::to_string(overwrite.input) + ", " + to_string(TensorType{input.dtype(), input.shape()}),
                     "an output that overwrites has its input's dtype and shape");
  }
}

Op::Layout Context::bind_view(const ProgramNode& node) {
  const Op& op = node.apply.op();
  const Cell& base = cell(node.inputs[static_cast<std::size_t>(op.view_of(0))]);
  const Op::Layout layout = op.view_layout(node.apply, {base.shape(), base.strides(), 0});
  CellAccess::set_layout(cell(node.outputs[0]), layout.shape, layout.strides);
  return layout;
}

/// For each cell the one whose memory it has in this binding, itself if it has its own.
std::vector<int> Context::memory_of_cells() const {
  std::vector<int> memory(cells_.size());
  for (std::size_t i = 0; i < memory.size(); ++i) memory[i] = static_cast<int>(i);
  const auto follow = [&](int cell, int other) { memory[static_cast<std::size_t>(cell)] = memory[static_cast<std::size_t>(other)]; };
  for (std::size_t i = 0; i < program_.nodes().size(); ++i) {
    const ProgramNode& node = program_.nodes()[i];
    if (node.is_view) follow(node.outputs[0], program_.cells()[static_cast<std::size_t>(node.outputs[0])].base);
    if (passing_[i]) follow(node.outputs[0], node.inputs[static_cast<std::size_t>(node.passes)]);
    for (const ProgramOverwrite& overwrite : node.overwrites) {
      if (overwrite.in_place) follow(node.outputs[static_cast<std::size_t>(overwrite.output)], node.inputs[static_cast<std::size_t>(overwrite.input)]);
    }
  }
  return memory;
}

void Context::plan_memory() {
  const std::vector<int> memory = memory_of_cells();
  std::vector<int> last(cells_.size(), -1), home(cells_.size(), -1);
  for (std::size_t i = 0; i < cells_.size(); ++i) {
    const auto at = static_cast<std::size_t>(memory[i]);
    last[at] = std::max(last[at], program_.cells()[i].last_use);
    if (at != i && program_.cells()[i].role == CellRole::kOutput) home[at] = static_cast<int>(i);
  }
  std::vector<Lifetime> lives;
  std::vector<int> numbers;
  in_outputs_.clear();
  for (std::size_t i = 0; i < cells_.size(); ++i) {
    const ProgramCell& plan = program_.cells()[i];
    if (plan.role != CellRole::kTemporary || plan.producer < 0 || memory[i] != static_cast<int>(i)) continue;
    if (home[i] >= 0) {
      in_outputs_.emplace_back(static_cast<int>(i), home[i]);
      continue;
    }
    const auto bytes = static_cast<std::size_t>(cells_[i].shape().size()) * itemsize(plan.type.dtype);
    lives.push_back({bytes, plan.producer, std::max(plan.producer, last[i])});
    numbers.push_back(static_cast<int>(i));
  }
  place_in_arena(numbers, lives);
}

void Context::place_in_arena(const std::vector<int>& numbers, const std::vector<Lifetime>& lives) {
  const MemoryPlan plan(lives);
  if (!arena_ || plan.bytes > arena_bytes() || plan.bytes < arena_bytes() / 4) {
    for (int number : numbers) CellAccess::clear(cell(number));
    arena_ = Array();  // before the new one is asked for
    const auto largest = std::max_element(lives.begin(), lives.end(), [](const Lifetime& a, const Lifetime& b) { return a.bytes < b.bytes; });
    const auto allocate = [&] { arena_ = Array::empty(Shape{static_cast<std::int64_t>(plan.bytes)}, uint8, program_.device()); };
    if (largest == lives.end()) allocate();
    else blame(program_, largest->first, allocate);
  }
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    Cell& target = cell(numbers[i]);
    const DType dtype = target.dtype();
    const auto offset = static_cast<std::int64_t>(plan.offsets[i] / itemsize(dtype));
    CellAccess::set_array(target, arena_.view(dtype, target.shape(), target.strides(), offset));
  }
}

/// Last call's buffer if nobody else holds it, else a new one.
void Context::set_output(int number) {
  Cell& target = cell(number);
  Array& array = CellAccess::array(target);
  if (array && array.claim()) return;
  blame(program_, program_.cells()[static_cast<std::size_t>(number)].producer, [&] { array = Array::empty(target.shape(), target.dtype(), program_.device()); });
}

void Context::look_through(const ProgramNode& node) {
  const Op::Layout layout = bind_view(node);
  const Cell& base = cell(node.inputs[static_cast<std::size_t>(node.apply.op().view_of(0))]);
  Cell& target = cell(node.outputs[0]);
  CellAccess::set_array(target, base.array().view(target.dtype(), layout.shape, layout.strides, layout.offset));
}

void Context::run() {
  for (int output : owned_outputs_) set_output(output);
  for (const auto& [temporary, output] : in_outputs_) CellAccess::set_array(cell(temporary), cell(output).array());
  for (std::size_t i = 0; i < thunks_.size(); ++i) run_node(static_cast<int>(i));
}

void Context::run_node(int number) {
  const auto at = static_cast<std::size_t>(number);
  if (!thunks_[at]) {
    look_through(program_.nodes()[at]);
    return;
  }
  if (passing_[at]) {
    const ProgramNode& node = program_.nodes()[at];
    CellAccess::set_array(cell(node.outputs[0]), cell(node.inputs[static_cast<std::size_t>(node.passes)]).array());
    return;
  }
  blame(program_, number, [&] {
    if (recorder_) recorder_->begin(*clock_);
    begin_outputs(program_.nodes()[at]);
    thunks_[at]();
    if (recorder_) recorder_->end(*clock_, number, cells_, program_);
  });
}

/// Gives the outputs that overwrite their first values.
void Context::begin_outputs(const ProgramNode& node) {
  for (const ProgramOverwrite& overwrite : node.overwrites) {
    Cell &output = cell(node.outputs[static_cast<std::size_t>(overwrite.output)]), &input = cell(node.inputs[static_cast<std::size_t>(overwrite.input)]);
    if (overwrite.in_place) CellAccess::set_array(output, input.array());
    else output.array().copy_from(input.array());
  }
}

/// Shapes are known only as the nodes run: infers and allocates each node's outputs just before it.
void Context::run_sized_by_data() {
  for (std::size_t i = 0; i < thunks_.size(); ++i) {
    const int number = static_cast<int>(i);
    const ProgramNode& node = program_.nodes()[i];
    const bool known = blame(program_, number, [&] { return bind_node(number); });
    if (known && !node.is_view && !passing_[i]) {
      for (int output : node.outputs) {
        if (is_in_place(node, output)) continue;
        Cell& target = cell(output);
        Array& array = CellAccess::array(target);
        if (!array || array.shape() != target.shape() || !array.claim()) {
          array = Array();
          blame(program_, number, [&] { array = Array::empty(target.shape(), target.dtype(), program_.device()); });
        }
      }
    }
    run_node(number);
    for (int output : node.outputs) {
      const Array& array = cell(output).array();
      if (!array) throw GraphError(program_.describe(number) + " left an output without value", "call Cell::resize in the thunk, or override infer_shape");
      CellAccess::set_layout(cell(output), array.shape(), array.strides());
    }
  }
}

/// Outputs that would share elements with the caller's inputs or with a constant are copied.
std::vector<Array> Context::results() {
  std::vector<Array> outputs;
  outputs.reserve(program_.outputs().size());
  for (int output : program_.outputs()) {
    const CellRole role = program_.cells()[static_cast<std::size_t>(program_.root(output))].role;
    const Array& value = cell(output).array();
    outputs.push_back(role == CellRole::kOutput ? value : value.copy());
  }
  return outputs;
}

}  // namespace damo
