#include "function/nan_guard.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include <damo/array_shape.hpp>
#include <damo/kernel_op.hpp>

#include "function/finite_guard_op.hpp"
#include "graph/base/number_text.hpp"
#include "ops/contraction_op.hpp"
#include "ops/dimshuffle_op.hpp"
#include "ops/joined_op.hpp"
#include "ops/loop/ifelse_op.hpp"
#include "ops/loop/loop_op.hpp"
#include "ops/reshape_op.hpp"
#include "ops/rewrites/fusion_build.hpp"
#include "ops/rewrites/unfuse.hpp"
#include "runtime/exec/executor.hpp"

namespace damo {
namespace {

/// What there is to say of an array's values.
struct Values {
  explicit Values(const Array& array) : shape(array.shape()), values(is_floating(array.dtype()) ? array.to_doubles() : std::vector<double>()) {
    const auto bad = [](double x) { return !std::isfinite(x); };
    count = std::count_if(values.begin(), values.end(), bad);
    first = std::find_if(values.begin(), values.end(), bad) - values.begin();
  }
  bool is_finite() const { return count == 0; }
  /// "nan at (0, 2), as 3 of 12 values"
  std::string fault() const {
    return number_text(values[static_cast<std::size_t>(first)], 6) + " at " + place_text(first, shape) + "; " + std::to_string(count) + " of " + std::to_string(values.size()) + " values are not finite";
  }
  std::string range() const {
    if (values.empty()) return "";
    const auto [least, greatest] = std::minmax_element(values.begin(), values.end());
    return " from " + number_text(*least, 6) + " to " + number_text(*greatest, 6);
  }

  Shape shape;
  std::vector<double> values;
  std::int64_t count = 0, first = 0;
};

/// The first rows of a node's output that it does not compute: the initial ones of a loop's state, which come before what scan() gives.
std::int64_t initial_rows(const Op& op, int output) {
  const auto* const loop = dynamic_cast<const LoopOp*>(&op);
  if (!loop) return 0;
  const LoopOutput& rows = loop->plan().outputs[static_cast<std::size_t>(output)];
  return rows.kind == LoopOutput::Kind::kState && rows.keep < 0 && !loop->plan().is_backward ? rows.depth : 0;
}

/// Gives each value that must be looked at to the kernel that stores it, as far as there is one.
class GuardPlan {
 public:
  GuardPlan(FunctionGraph& graph, FusionRecord& fusion) : graph_(graph), fusion_(fusion), builder_(graph) {}

  void attach() {
    std::unordered_set<ValueId> seen;
    for (ValueId value : std::vector<ValueId>(graph_.outputs().begin(), graph_.outputs().end())) {
      if (is_floating(graph_.type(value).dtype) && seen.insert(value).second) look_at(value);
    }
    for (const auto& [node, guarded] : guarded_) {
      if (const auto* fused = dynamic_cast<const FusedOp*>(&graph_.op(node))) graph_.set_op(node, fused->with_form(form_of(fused->form(), guarded)));
      else guard_members(node, guarded);
    }
    read_apart();
    if (!rest_.empty()) {
      const NodeId first = graph_.owner(rest_.front());
      graph_.add_result(graph_.outputs(graph_.add(std::make_shared<const FiniteGuardOp>(), rest_, first == NodeId::kNone ? SourceLine{} : graph_.where(first)))[0]);
    }
    fusion_.rename(wrapped_);
    graph_.prune();
  }

 private:
  /// Where all elements of the value, and no others, are stored, in whatever order.
  ValueId stored(ValueId value) const {
    for (NodeId node = graph_.owner(value); node != NodeId::kNone; node = graph_.owner(value)) {
      const Op& op = graph_.op(node);
      const int passed = op.passes_through(0), same = passed >= 0 ? passed : dynamic_cast<const ReshapingOp*>(&op) || dynamic_cast<const DimShuffleOp*>(&op) ? 0
                                                                                                                                                             : -1;
      if (same < 0) break;
      value = graph_.inputs(node)[static_cast<std::size_t>(same)];
    }
    return value;
  }

  void look_at(ValueId result) {
    const ValueId value = stored(result);
    NodeId node = graph_.owner(value);
    int output = node == NodeId::kNone ? 0 : graph_.owner_index(value);
    if (node != NodeId::kNone && dynamic_cast<const KernelOp*>(&graph_.op(node))) {
      const auto [known, is_new] = wrapped_.try_emplace(node, NodeId::kNone);
      if (is_new) known->second = builder_.replace({node});
      node = known->second, output = 0;
    }
    const bool is_guarded = node != NodeId::kNone && (dynamic_cast<const FusedOp*>(&graph_.op(node)) || dynamic_cast<const JoinedOp*>(&graph_.op(node)));
    if (!is_guarded) return rest_.push_back(result);
    std::vector<bool>& guarded = guarded_[node];
    guarded.resize(graph_.outputs(node).size());
    guarded[static_cast<std::size_t>(output)] = true;
  }

  /// Groups of one form still have one.
  std::shared_ptr<FusedForm> form_of(const FusedForm& form, const std::vector<bool>& guarded) {
    std::shared_ptr<FusedForm>& known = forms_[{&form, guarded}];
    if (!known) known = form.with_guards(guarded);
    return known;
  }

  /// The members have one text, so an output is guarded in all of them or in none.
  void guard_members(NodeId node, const std::vector<bool>& wanted) {
    const auto& members = static_cast<const JoinedOp&>(graph_.op(node)).members();
    std::vector<bool> guarded(members[0]->inner_graph()->outputs().size(), true);
    for (std::size_t i = 0; i < wanted.size(); ++i) guarded[i % guarded.size()] = guarded[i % guarded.size()] && wanted[i];
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      if (wanted[i] && !guarded[i % guarded.size()]) rest_.push_back(graph_.outputs(node)[i]);
    }
    graph_.set_op(node, std::make_shared<const JoinedOp>(members, guarded));
  }

  /// Old values of shared variables are kept, so a product that adds to one reads it where it lies: it would overwrite a copy.
  void read_apart() {
    for (std::size_t i = 0; i < graph_.updated().size(); ++i) {
      const NodeId node = graph_.owner(graph_.outputs()[static_cast<std::size_t>(graph_.result_count()) + i]);
      const auto* product = node == NodeId::kNone ? nullptr : dynamic_cast<const ContractionOp*>(&graph_.op(node));
      if (product && product->overwrites(0) >= 0) graph_.set_op(node, std::make_shared<const ContractionOp>(product->name(), product->form(), false));
    }
  }

  FunctionGraph& graph_;
  FusionRecord& fusion_;
  FusionBuilder builder_;
  std::map<NodeId, std::vector<bool>> guarded_;  // by output
  std::map<std::pair<const FusedForm*, std::vector<bool>>, std::shared_ptr<FusedForm>> forms_;
  std::unordered_map<NodeId, NodeId> wrapped_;  // ops that were kernels alone
  std::vector<ValueId> rest_;
};

}  // namespace

void attach_guard(FunctionGraph& graph, FusionRecord& fusion) { GuardPlan(graph, fusion).attach(); }

int users_results(const FunctionGraph& graph) {
  const int count = graph.result_count();
  const NodeId last = count == 0 ? NodeId::kNone : graph.owner(graph.outputs()[static_cast<std::size_t>(count) - 1]);
  return count - (last != NodeId::kNone && dynamic_cast<const FiniteGuardOp*>(&graph.op(last)) ? 1 : 0);
}

namespace {

std::optional<NotFiniteError> first_fault(const FunctionGraph& given, std::span<const Array> inputs, Device device, const std::string& within);

/// Of a loop that gives NaN or an infinity of finite operands: its first step that does, op by op. inputs: the node's.
std::optional<NotFiniteError> fault_of_step(const LoopOp& loop, std::span<const Array> inputs, Device device, const std::string& within) {
  const LoopPlan& plan = loop.plan();
  std::vector<Shape> shapes;
  for (const Array& input : inputs) shapes.push_back(input.shape());
  const std::int64_t count = plan.has_count_input ? inputs[0].item().as_int() : loop.count(shapes), first = plan.most < 0 ? 0 : std::max<std::int64_t>(0, count - plan.most);
  const auto row_of = [](const Array& rows, std::int64_t row) { return squeeze(rows.slice({Slice{row, row + 1}}), 0); };
  std::vector<std::map<std::int64_t, Array>> states(plan.outputs.size());
  std::vector<Array> sums;
  for (std::size_t i = 0; i < plan.outputs.size(); ++i) {
    const int initial = plan.initial_input(i);
    if (initial < 0) continue;
    const Array& begin = inputs[static_cast<std::size_t>(initial)];
    if (plan.outputs[i].kind == LoopOutput::Kind::kSum) sums.push_back(begin);
    else for (std::int64_t j = 0; j < plan.outputs[i].depth; ++j) states[i][(plan.is_backward ? count : first) + j] = row_of(begin, j);
  }
  Executor step(loop.graph(), device, false);
  for (std::int64_t done = 0; done < count - first; ++done) {
    const std::int64_t p = plan.is_backward ? count - 1 - done : first + done;
    std::vector<Array> read;
    for (std::size_t i = 0; i < plan.sequences.size(); ++i) read.push_back(row_of(inputs[static_cast<std::size_t>(plan.first_sequence()) + i], p + plan.sequences[i].offset));
    for (std::size_t i = 0; i < plan.outputs.size(); ++i) {
      for (const std::int64_t lag : plan.outputs[i].lags) read.push_back(states[i].at(plan.read_row(plan.outputs[i], p, lag)));
    }
    read.insert(read.end(), inputs.begin() + plan.first_other(), inputs.end());
    read.insert(read.end(), sums.begin(), sums.end());
    const std::vector<Array> made = step.call(read);
    const auto is_finite = [](const Array& array) { return Values(array).is_finite(); };
    if (!std::all_of(made.begin(), made.end(), is_finite)) return first_fault(loop.graph(), read, device, ", in step " + std::to_string(done) + " of " + loop.name() + within);
    for (std::size_t i = 0, sum = 0; i < plan.outputs.size(); ++i) {
      const LoopOutput& output = plan.outputs[i];
      if (output.kind == LoopOutput::Kind::kSum) sums[sum++] = made[i];
      if (output.kind != LoopOutput::Kind::kState) continue;
      const std::int64_t row = plan.written_row(output, p);
      states[i][row] = made[i];
      states[i].erase(plan.is_backward ? row + output.depth : row - output.depth);
    }
    if (plan.has_until && made.back().item().as_double() != 0) break;
  }
  return {};
}

/// Of a node whose operands are finite and whose result is not: the op within its step or branch.
std::optional<NotFiniteError> fault_within(const FunctionGraph& graph, NodeId node, std::span<const Array> inputs, Device device, const std::string& within) {
  const auto* const loop = dynamic_cast<const LoopOp*>(&graph.op(node));
  const auto* const choice = dynamic_cast<const IfElseOp*>(&graph.op(node));
  if (!loop && !choice) return {};
  FunctionGraph operands = graph;
  const std::vector<ValueId> read(operands.inputs(node).begin(), operands.inputs(node).end());
  operands.keep_outputs({}, false);
  for (ValueId value : read) operands.add_output(value);
  operands.prune();
  const std::vector<Array> arrays = Executor(operands, device, false).call(inputs);
  if (loop) return fault_of_step(*loop, arrays, device, within);
  const std::size_t branch = arrays[0].item().as_double() != 0 ? 0 : 1;
  const std::span<const Array> own(arrays.data() + choice->first_input(branch), choice->branch(branch).inputs().size());
  return first_fault(choice->branch(branch), own, device, ", in a branch of ifelse" + within);
}

/// The first op that makes NaN or an infinity of finite operands, within steps and branches too; else the first leaf that has such values, where `within`, which says
/// whose step or branch the graph is, is empty.
std::optional<NotFiniteError> first_fault(const FunctionGraph& given, std::span<const Array> inputs, Device device, const std::string& within) {
  FunctionGraph graph = unfuse(given);
  graph.keep_outputs({}, false);
  // Floating leaves and what nodes compute, in an order in which operands come first.
  std::vector<ValueId> looked_at;
  std::vector<std::ptrdiff_t> place(static_cast<std::size_t>(graph.value_limit()), -1);
  const auto look = [&](ValueId value) {
    std::ptrdiff_t& at = place[static_cast<std::size_t>(value)];
    if (at >= 0 || !is_floating(graph.type(value).dtype) || graph.constant(value)) return;
    at = static_cast<std::ptrdiff_t>(looked_at.size());
    looked_at.push_back(value);
  };
  for (ValueId input : graph.inputs()) look(input);
  const std::vector<NodeId> order = graph.toposort();
  for (NodeId node : order) {
    for (ValueId value : graph.inputs(node)) {
      if (graph.shared(value)) look(value);
    }
    for (ValueId value : graph.outputs(node)) look(value);
  }
  for (ValueId value : looked_at) graph.add_output(value);
  graph.prune();  // the guard
  const std::vector<Array> arrays = Executor(graph, device, false).call(inputs);
  const auto values_of = [&](ValueId value) {
    const std::ptrdiff_t at = place[static_cast<std::size_t>(value)];
    if (at < 0) return std::optional<Values>();
    const Array& array = arrays[static_cast<std::size_t>(at)];
    const NodeId owner = graph.owner(value);
    const std::int64_t initial = owner == NodeId::kNone ? 0 : initial_rows(graph.op(owner), graph.owner_index(value));
    return std::optional<Values>(initial > 0 ? array.slice({Slice{initial, {}}}) : array);
  };
  const auto label = [&](ValueId value) {
    const NodeId owner = graph.owner(value);
    return !graph.name(value).empty() ? graph.name(value) : owner == NodeId::kNone ? "an input" : graph.op(owner).name();
  };
  for (NodeId node : order) {
    for (ValueId output : graph.outputs(node)) {
      const std::optional<Values> made = values_of(output);
      if (!made || made->is_finite()) continue;
      ErrorParts parts{graph.op(node).name() + " gave " + made->fault() + ", of finite operands" + within, {}, graph.describe(node), "see what its operands are: print(x, ...) shows them at each call"};
      bool blameless = true;
      for (ValueId input : graph.inputs(node)) {
        const std::optional<Values> read = values_of(input);
        blameless &= !read || read->is_finite();
        if (read) parts.operands.push_back(label(input) + " " + to_string(TensorType{graph.type(input).dtype, read->shape}) + read->range());
      }
      if (!blameless) continue;
      if (std::optional<NotFiniteError> inner = fault_within(graph, node, inputs, device, within)) return inner;
      return NotFiniteError(std::move(parts));
    }
  }
  for (ValueId value : looked_at) {
    if (!within.empty()) break;
    const std::optional<Values> leaf = graph.owner(value) == NodeId::kNone ? values_of(value) : std::nullopt;
    if (leaf && !leaf->is_finite()) return NotFiniteError((graph.shared(value) ? "shared variable " : "input ") + label(value) + " is " + leaf->fault(), "look at where it comes from");
  }
  return {};
}

}  // namespace

NotFiniteError not_finite(const FunctionGraph& given, std::span<const Array> inputs, Device device) {
  if (std::optional<NotFiniteError> fault = first_fault(given, inputs, device, "")) return *std::move(fault);
  return NotFiniteError("a result is not finite, but no op gives such a value where each is a kernel of its own", "a fused kernel keeps 16-bit floats in float32; or a shared variable was set meanwhile");
}

}  // namespace damo
