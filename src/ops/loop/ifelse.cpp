#include <algorithm>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include <damo/loop.hpp>
#include <damo/module_options.hpp>
#include <damo/thunk.hpp>
#include "ops/loop/ifelse_op.hpp"
#include "runtime/exec/context.hpp"
#include "runtime/exec/version_table.hpp"

namespace damo {
namespace {

FunctionGraph identity_of(std::span<const Variable> values) {
  FunctionGraph graph;
  for (const Variable& value : values) graph.add_output(graph.add_input(value.type(), value.name()));
  return graph;
}

class IfElseThunk {
 public:
  IfElseThunk(const IfElseOp& op, const Apply& node, ThunkContext& context)
      : condition_(context.storage(node.input(0))), inputs_(cells_of(node.inputs(), context)), outputs_(cells_of(node.outputs(), context)), is_sized_({inputs_.begin(), inputs_.end()}),
        op_(std::static_pointer_cast<const IfElseOp>(op.shared_from_this())), node_(node) {
    for (std::size_t i = 0; i < 2; ++i) {
      const auto program = std::make_shared<Program>(op.branch(i), context.device(), ModuleOptions::default_check(), true, std::span<const int>(), false, context.contracts());
      branches_[i].context = std::make_unique<Context>(program, nullptr, false, nullptr, &context.pending());
      context.runs(program);
      const int first = op.first_input(i);
      branches_[i].inputs = std::span(inputs_).subspan(static_cast<std::size_t>(first), op.branch(i).inputs().size());
    }
  }

  void operator()() {
    Branch& branch = branches_[condition_.array().item().as_int() != 0 ? 0 : 1];
    const bool* const known = is_sized_.find();
    const bool is_sized = known ? *known : is_sized_.add(sizes_outputs());
    given_.clear(), targets_.clear();
    for (const Cell* input : branch.inputs) given_.push_back(input->array());
    for (const Cell* output : outputs_) targets_.push_back(is_sized ? Array() : output->array());
    branch.context->step(given_, targets_, Context::Arenas::kTheCallers);
    for (std::size_t i = 0; is_sized && i < outputs_.size(); ++i) {
      outputs_[i]->resize(targets_[i].shape());
      outputs_[i]->array().copy_from(targets_[i]);
    }
    given_.clear(), targets_.clear();  // the cells' Arrays are the Context's
  }
  /// See ThunkContext::foresee_memory. One branch runs at a time.
  ThunkMemory memory() {
    ThunkMemory both;
    for (Branch& branch : branches_) {
      std::vector<ArrayLayout> layouts;
      for (const Cell* input : branch.inputs) layouts.push_back({&input->shape(), &input->strides()});
      const ThunkMemory one = branch.context->step_memory(layouts);
      both.workspace = std::max(both.workspace, one.workspace);
      both.kept += one.kept;
    }
    return both;
  }

 private:
  struct Branch {
    std::unique_ptr<Context> context;
    std::span<Cell* const> inputs;
  };
  static std::vector<Cell*> cells_of(std::span<const Variable> variables, ThunkContext& context) {
    std::vector<Cell*> cells;
    for (const Variable& variable : variables) cells.push_back(&context.storage(variable));
    return cells;
  }
  /// Whether the outputs' shapes do not follow from the inputs'.
  bool sizes_outputs() const {
    std::vector<Shape> shapes;
    for (const Cell* input : inputs_) shapes.push_back(input->shape());
    return !op_->infer_shape(node_, shapes);
  }
  Cell& condition_;
  Branch branches_[2];
  const std::vector<Cell*> inputs_, outputs_;
  VersionTable<bool> is_sized_;
  std::shared_ptr<const IfElseOp> op_;
  Apply node_;
  std::vector<Array> given_, targets_;  // of the call in progress
};

}  // namespace

IfElseOp::IfElseOp(std::vector<TensorType> types, FunctionGraph then, FunctionGraph otherwise)
    : types_(std::move(types)), graphs_{std::move(then), std::move(otherwise)}, shapes_{InnerShapes(graphs_[0]), InnerShapes(graphs_[1])} {}

std::shared_ptr<const IfElseOp> IfElseOp::of(std::vector<TensorType> types, std::span<const Variable> then, std::span<const Variable> otherwise) {
  return std::make_shared<const IfElseOp>(std::move(types), identity_of(then), identity_of(otherwise));
}

OpPtr IfElseOp::with_graphs(std::vector<FunctionGraph> graphs) const { return std::make_shared<const IfElseOp>(types_, std::move(graphs[0]), std::move(graphs[1])); }

Props IfElseOp::props() const { return {{"then", std::int64_t{graphs_[0].node_count()}}, {"otherwise", std::int64_t{graphs_[1].node_count()}}}; }

Apply IfElseOp::make_node(Inputs inputs) const {
  inputs.require_count(1 + static_cast<int>(graphs_[0].inputs().size() + graphs_[1].inputs().size()));
  return {*this, {inputs.begin(), inputs.end()}, types_};
}

Shapes IfElseOp::infer_shape(const Apply&, std::span<const Shape> inputs) const {
  Shapes shapes[2];
  for (std::size_t i = 0; i < 2; ++i) {
    try {
      shapes[i] = shapes_[i](inputs.subspan(static_cast<std::size_t>(first_input(i)), graphs_[i].inputs().size()));
    } catch (const ShapeError&) {  // of a branch that may not be taken
    }
  }
  return shapes[0] == shapes[1] ? shapes[0] : Shapes();
}

Thunk IfElseOp::make_thunk(const Apply& node, ThunkContext& context) const {
  const auto thunk = std::make_shared<IfElseThunk>(*this, node, context);
  context.foresee_memory([thunk] { return thunk->memory(); });
  return [thunk] { (*thunk)(); };
}

/// To each branch what arrives: the walk that asks knows that it holds where the branch was taken (branch_of).
Gradients IfElseOp::gradient(const Apply& node, std::span<const Variable> output_gradients) const {
  std::vector<Gradient> result(node.inputs().size(), Gradient::disconnected());
  for (std::size_t branch = 0; branch < 2; ++branch) {
    for (std::size_t i = 0; i < types_.size(); ++i) {
      if (output_gradients[i]) result[static_cast<std::size_t>(first_input(branch)) + i] = output_gradients[i];
    }
  }
  return result;
}

std::optional<Branch> branch_of(const Apply& node, int input) {
  const auto* const op = dynamic_cast<const IfElseOp*>(&node.op());
  if (!op || input == 0) return std::nullopt;
  return Branch{node.input(0), input < op->first_input(1)};
}

std::vector<Variable> ifelse(const Operand& condition, std::span<const Variable> then, std::span<const Variable> otherwise) {
  const auto refuse = [&]<class E>(E*, const std::string& message, const std::string& remedy, std::vector<std::string> operands = {}) {
    ErrorParts parts{"ifelse: " + message, std::move(operands), {}, remedy};
    if (condition.where()) parts.where = "built at " + to_string(condition.where());
    throw E(std::move(parts));
  };
  const Variable chosen = condition.as(condition.promotable().dtype);
  if (chosen.dtype() != bool_) refuse(static_cast<TypeError*>(nullptr), "the condition is no bool", "compare: x > 0", {describe(chosen)});
  if (chosen.rank() != 0) refuse(static_cast<ShapeError*>(nullptr), "the condition must be 0-d", "where() chooses element by element; all(x) and any(x) reduce", {describe(chosen)});
  if (then.size() != otherwise.size()) refuse(static_cast<GraphError*>(nullptr), std::to_string(then.size()) + " values or else " + std::to_string(otherwise.size()), "give as many for either case");
  if (then.empty()) refuse(static_cast<GraphError*>(nullptr), "there are no values to choose between", "give one or more for either case");
  std::vector<TensorType> types;
  std::vector<Variable> inputs{chosen};
  for (std::size_t i = 0; i < then.size(); ++i) {
    if (!then[i] || !otherwise[i]) refuse(static_cast<GraphError*>(nullptr), "value " + std::to_string(i) + " is an empty Variable", "give a Variable for either case");
    const TensorType &a = then[i].type(), &b = otherwise[i].type();
    const std::vector<std::string> both{describe(then[i]), describe(otherwise[i])};
    if (a.dtype != b.dtype) refuse(static_cast<TypeError*>(nullptr), "values " + std::to_string(i) + " differ in dtype", "cast one of them", both);
    if (a.rank() != b.rank()) refuse(static_cast<ShapeError*>(nullptr), "values " + std::to_string(i) + " differ in rank", "reshape one of them", both);
    Shape dims = a.dims;
    for (int axis = 0; axis < dims.rank(); ++axis) dims[axis] = a.dims[axis] == b.dims[axis] ? a.dims[axis] : kUnknown;
    types.push_back({a.dtype, dims});
  }
  inputs.insert(inputs.end(), then.begin(), then.end());
  inputs.insert(inputs.end(), otherwise.begin(), otherwise.end());
  return IfElseOp::of(std::move(types), then, otherwise)->apply(inputs, condition.where()).outputs();
}

}  // namespace damo
