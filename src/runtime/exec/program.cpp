#include "runtime/exec/program.hpp"

#include <algorithm>

#include "graph/user_line.hpp"
#include "runtime/exec/execution_order.hpp"
#include "runtime/exec/overwrite_plan.hpp"
#include "runtime/exec/parts_plan.hpp"
#include "runtime/exec/update_plan.hpp"

namespace damo {

Program::Program(const FunctionGraph& graph, Device device, bool check, bool share_results, std::span<const int> donated, bool guarded, bool contracts) : device_(device), check_(check), guarded_(guarded), contracts_(contracts) {
  add_cells(graph);
  add_nodes(graph);
  find_roles();
  parts_ = plan_parts(nodes_, cells_, updates_);
  plan_overwrites(nodes_, cells_);
  extend_lives();
  std::vector<int> results;
  for (const ProgramResult& result : results_) results.push_back(result.cell);
  plan_updates(updates_, nodes_, cells_, results, guarded_);
  find_results(share_results);
  std::vector<int> given;
  for (int position : donated) given.push_back(inputs_[static_cast<std::size_t>(position)]);
  donations_ = plan_donations(given, results_, updates_, nodes_, cells_);
  kernels_.resize(nodes_.size());
}

void Program::add_cells(const FunctionGraph& graph) {
  cell_of_.assign(static_cast<std::size_t>(graph.value_limit()), -1);
  const auto add = [&](ValueId value) {
    int& cell = cell_of_[static_cast<std::size_t>(value)];
    if (cell >= 0) return cell;
    cell = static_cast<int>(cells_.size());
    cells_.push_back({graph.type(value), graph.name(value)});
    constants_.emplace_back();
    if (const ConstantPtr& constant = graph.constant(value)) {
      cells_.back().role = CellRole::kConstant;
      constants_.back() = Array::from_bytes(constant->bytes.data(), static_cast<std::size_t>(constant->type.dims.size()),
                                            constant->type.dtype, constant->type.dims, device_);
    } else if (graph.shared(value)) {
      add_shared(graph, value, cell);
    }
    return cell;
  };
  for (ValueId value : graph.inputs()) {
    inputs_.push_back(add(value));
    cells_.back().role = CellRole::kInput;
  }
  for (NodeId node : graph.nodes()) {
    for (ValueId value : graph.inputs(node)) add(value);
    for (ValueId value : graph.outputs(node)) add(value);
  }
  const auto results = static_cast<std::size_t>(graph.result_count());
  for (ValueId value : graph.outputs().first(results)) results_.push_back({.cell = add(value), .rivals = {}, .reason = {}});
  for (std::size_t i = 0; i < graph.updated().size(); ++i) {
    const int variable = add(graph.updated()[i]), cell = add(graph.outputs()[results + i]);
    SharedCall::Use& use = shared_uses_[static_cast<std::size_t>(std::find(shared_.begin(), shared_.end(), variable) - shared_.begin())];
    use.is_updated = true;
    updates_.push_back({.variable = variable, .cell = cell, .state = use.state, .copied = {}, .apart = {}, .aliases = {}});
  }
}

void Program::add_shared(const FunctionGraph& graph, ValueId value, int cell) {
  const auto state = std::dynamic_pointer_cast<SharedState>(graph.shared(value));
  if (!state) throw GraphError("the storage of shared variable " + graph.name(value) + " is not Damo's", "make shared variables by shared(name, array)");
  if (state->device() != device_) {
    throw DeviceError(state->label() + " is on " + state->device().name() + ", the function runs on " + device_.name(),
                      "build the function with Options{.device = Device(\"" + state->device().name() + "\")}, or make the variable of an Array on " + device_.name());
  }
  cells_.back().role = CellRole::kShared;
  shared_.push_back(cell);
  shared_uses_.push_back({state.get(), false});
  storages_.push_back(graph.shared(value));
}

void Program::add_nodes(const FunctionGraph& graph) {
  for (NodeId id : execution_order(graph)) {
    ProgramNode node{.id = id, .apply = graph.apply(id), .inputs = {}, .outputs = {}, .overwrites = {}};
    const int number = static_cast<int>(nodes_.size());
    for (ValueId value : graph.inputs(id)) node.inputs.push_back(cell_of_[static_cast<std::size_t>(value)]);
    for (ValueId value : graph.outputs(id)) {
      node.outputs.push_back(cell_of_[static_cast<std::size_t>(value)]);
      cells_[static_cast<std::size_t>(node.outputs.back())].producer = number;
    }
    const int viewed = graph.op(id).view_of(0);
    node.is_view = viewed >= 0;
    if (node.is_view) {
      ProgramCell& cell = cells_[static_cast<std::size_t>(node.outputs[0])];
      cell.role = CellRole::kView;
      cell.base = node.inputs[static_cast<std::size_t>(viewed)];
    }
    nodes_.push_back(std::move(node));
  }
}

int Program::root(int cell) const {
  while (cells_[static_cast<std::size_t>(cell)].role == CellRole::kView) cell = cells_[static_cast<std::size_t>(cell)].base;
  return cell;
}

void Program::find_roles() {
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    for (int cell : nodes_[i].inputs) {
      int& last = cells_[static_cast<std::size_t>(root(cell))].last_use;
      last = std::max(last, static_cast<int>(i));
    }
  }
  const auto leave = [&](int cell) {
    ProgramCell& memory = cells_[static_cast<std::size_t>(root(cell))];
    if (memory.role == CellRole::kTemporary) memory.role = CellRole::kOutput;
  };
  for (const ProgramResult& result : results_) leave(result.cell);
  for (const ProgramUpdate& update : updates_) leave(update.cell);
  for (auto node = nodes_.rbegin(); node != nodes_.rend(); ++node) {
    const int passed = node->apply.op().passes_through(0);
    const ProgramCell& output = cells_[static_cast<std::size_t>(node->outputs[0])];
    if (passed < 0 || output.role != CellRole::kTemporary) continue;  // what leaves the function has its own buffer
    node->passes = passed;
    int& last = cells_[static_cast<std::size_t>(root(node->inputs[static_cast<std::size_t>(passed)]))].last_use;
    last = std::max(last, output.last_use);
  }
}

/// What is overwritten in place lives as long as the new values, and leaves the function where they do.
void Program::extend_lives() {
  const auto follow = [&](int from, int to) {
    ProgramCell &memory = cells_[static_cast<std::size_t>(root(from))], &values = cells_[static_cast<std::size_t>(to)];
    memory.last_use = std::max(memory.last_use, values.last_use);
    if (values.role == CellRole::kOutput && memory.role == CellRole::kTemporary) memory.role = CellRole::kOutput;
  };
  for (auto node = nodes_.rbegin(); node != nodes_.rend(); ++node) {
    if (node->passes >= 0) follow(node->inputs[static_cast<std::size_t>(node->passes)], node->outputs[0]);
    for (const ProgramOverwrite& overwrite : node->overwrites) {
      if (overwrite.in_place) follow(node->inputs[static_cast<std::size_t>(overwrite.input)], node->outputs[static_cast<std::size_t>(overwrite.output)]);
    }
  }
}

/// Constants and shared variables stay what they are, whatever the caller asks for.
void Program::find_results(bool share) {
  for (std::size_t i = 0; i < results_.size(); ++i) {
    ProgramResult& result = results_[i];
    const int memory = root(result.cell);
    const ProgramCell& cell = cells_[static_cast<std::size_t>(memory)];
    const bool is_input = cell.role == CellRole::kInput, is_constant = cell.role == CellRole::kConstant, is_shared = cell.role == CellRole::kShared;
    result.is_copied = is_constant || is_shared || cell.update >= 0 || (is_input && !share);
    if (result.is_copied) {
      const auto named = [](const std::string& what, const std::string& name) { return what + (name.empty() ? "" : " " + name); };
      const auto& of = cells_[static_cast<std::size_t>(cell.update < 0 ? memory : updates_[static_cast<std::size_t>(cell.update)].variable)];
      const std::string what = cell.update >= 0 ? named("the new value of shared variable", of.name) : is_shared ? named("shared variable", of.name)
                               : is_constant ? "a constant" : of.name.empty() ? "an input" : "input " + of.name;
      result.reason = (memory == result.cell ? "it is " : "it is a view of ") + what;
      continue;
    }
    if (share) continue;
    for (std::size_t other = 0; other < i; ++other) {
      if (root(results_[other].cell) == memory) result.rivals.push_back(static_cast<int>(other));
    }
    if (!result.rivals.empty()) result.reason = "it shares elements with result " + std::to_string(result.rivals.front());
  }
}

void Program::check_update(const ProgramUpdate& update, const Shape& shape) const {
  const TensorType& type = update.state->type();
  if (type.accepts(type.dtype, shape)) return;
  throw ShapeError("updates: the new value of " + update.state->label() + " has shape " + to_string(shape),
                   "reshape it, or declare the extents that change as kUnknown where the variable is made");
}

std::string Program::describe(int number) const {
  const ProgramNode& node = nodes_[static_cast<std::size_t>(number)];
  return "node " + std::to_string(number + 1) + " of " + std::to_string(nodes_.size()) + ", " + built_at(node.apply);
}

SpecKernel& Program::kernel(int node, int request, const KernelSpec& spec) {
  const std::lock_guard lock(mutex_);
  auto& kernels = kernels_[static_cast<std::size_t>(node)];
  while (static_cast<int>(kernels.size()) <= request) {
    all_kernels_.push_back(std::make_unique<SpecKernel>(spec, device_.backend(), contracts_));
    kernels.push_back(all_kernels_.back().get());
  }
  return *kernels[static_cast<std::size_t>(request)];
}

SpecKernel& Program::kernel(int node, int request, std::shared_ptr<const KernelSpec> spec) {
  const std::lock_guard lock(mutex_);
  auto& kernels = kernels_[static_cast<std::size_t>(node)];
  if (static_cast<int>(kernels.size()) > request) return *kernels[static_cast<std::size_t>(request)];
  const auto [found, is_new] = like_.try_emplace(spec.get());
  if (is_new) {
    all_kernels_.push_back(std::make_unique<SpecKernel>(*spec, device_.backend(), contracts_));
    found->second = {spec, all_kernels_.back().get()};
  }
  kernels.push_back(found->second.kernel);
  return *kernels.back();
}

std::vector<const SpecKernel*> Program::kernels(int node) const {
  const std::lock_guard lock(mutex_);
  const std::vector<SpecKernel*>& own = kernels_[static_cast<std::size_t>(node)];
  std::vector<const SpecKernel*> all{own.begin(), own.end()};
  const auto inner = inner_.find(node);
  if (inner == inner_.end()) return all;
  for (const auto& program : inner->second) {
    for (std::size_t i = 0; i < program->nodes().size(); ++i) {
      for (const SpecKernel* kernel : program->kernels(static_cast<int>(i))) all.push_back(kernel);
    }
  }
  return all;
}

void Program::add_inner(int node, int number, std::shared_ptr<const Program> program) {
  const std::lock_guard lock(mutex_);
  auto& inner = inner_[node];
  if (static_cast<int>(inner.size()) <= number) inner.push_back(std::move(program));
}

bool Program::copies_first(const ProgramNode& node, const ProgramOverwrite& overwrite) const {
  if (overwrite.in_place) return false;
  const int output = node.outputs[static_cast<std::size_t>(overwrite.output)], input = node.inputs[static_cast<std::size_t>(overwrite.input)];
  return std::none_of(updates_.begin(), updates_.end(), [&](const ProgramUpdate& update) {
    const bool is_old = update.variable == input || std::find(update.aliases.begin(), update.aliases.end(), input) != update.aliases.end();
    return update.cell == output && is_old && update.copied.empty() && update.apart.empty();
  });
}

}  // namespace damo
