#include "ops/loop/loop_kernel.hpp"

#include <algorithm>
#include <utility>

#include "ops/loop/loop_op.hpp"
#include "ops/lower.hpp"
#include "ops/rewrites/unfuse.hpp"
#include "runtime/kernel/pressure.hpp"

namespace damo {
namespace {

using Kind = LoopOutput::Kind;
using From = LoopKernel::Input::From;
using Source = SerialLoop::Source;

/// From the graph of a step to that of its kernel, which has the inputs that are read, those that hold what lies between the lags, and arrays that are constants.
class KernelBuild {
 public:
  explicit KernelBuild(const LoopOp& loop) : plan_(loop.plan()), step_(unfuse(loop.graph())), made_(static_cast<std::size_t>(step_.value_limit()), ValueId::kNone), kernel_(std::make_shared<LoopKernel>()) {}

  std::shared_ptr<const LoopKernel> build(const FusionLimits& limits) {
    const std::vector<NodeId> order = step_.toposort();
    for (NodeId node : order) {
      const auto* op = dynamic_cast<const KernelOp*>(&step_.op(node));
      if (!op || op->reduced_axes() || op->counts_elements()) return nullptr;
      if (reads_tables(step_, node)) return nullptr;  // what is carried lies in no memory that others may look into
    }
    for (std::size_t i = 0; i < plan_.outputs.size(); ++i) {
      if (step_.owner(step_.outputs()[i]) == NodeId::kNone && step_.constant(step_.outputs()[i])) return nullptr;  // a row of which no element is computed
    }
    add_inputs();
    for (NodeId node : order) add(node);
    SerialLoop loop;
    for (std::size_t i = 0; i < plan_.outputs.size(); ++i) {
      graph_.add_output(at(step_.outputs()[i]));
      loop.last.push_back(plan_.outputs[i].kind == Kind::kSum);
    }
    KernelSpec& spec = kernel_->spec;
    spec = lower(graph_);
    spec.name = "loop_" + spec.name;
    loop.inputs = std::move(sources_);
    int held = words_held(spec);
    for (int i = 0; i < spec.input_count(); ++i) held += words_of(spec.inputs[static_cast<std::size_t>(i)]);  // what is carried or is the same in all turns lives through them
    spec.loop = std::move(loop);
    const bool fits = spec.input_count() <= limits.inputs && static_cast<int>(spec.outputs.size()) <= limits.outputs && spec.cost() <= limits.cost && held <= limits.registers;
    return fits ? kernel_ : nullptr;
  }

 private:
  ValueId& at(ValueId value) { return made_[static_cast<std::size_t>(value)]; }

  ValueId add_input(const TensorType& type, LoopKernel::Input input, SerialLoop::Input source) {
    kernel_->inputs.push_back(std::move(input));
    sources_.push_back(source);
    return graph_.add_input(type);
  }
  void add_input(ValueId value, LoopKernel::Input input, SerialLoop::Input source) { at(value) = add_input(step_.type(value), std::move(input), source); }

  bool is_read(ValueId value) const { return !step_.uses(value).empty(); }

  void add_inputs() {
    std::size_t next = 0;
    const auto inputs = step_.inputs();
    for (std::size_t i = 0; i < plan_.sequences.size(); ++i, ++next) {
      if (is_read(inputs[next])) add_input(inputs[next], {From::kSequence, static_cast<int>(i), 0, {}}, {Source::kRow});
    }
    for (std::size_t i = 0; i < plan_.outputs.size(); ++i) {
      const LoopOutput& output = plan_.outputs[i];
      const int number = static_cast<int>(i);
      std::int64_t deepest = 0;
      for (std::size_t k = 0; k < output.lags.size(); ++k) deepest = is_read(inputs[next + k]) ? std::max(deepest, output.lags[k]) : deepest;
      for (std::int64_t lag = 1; lag <= deepest; ++lag) {
        const LoopKernel::Input from{From::kInitial, number, static_cast<int>(lag), {}};
        const SerialLoop::Input source{Source::kCarried, number, static_cast<int>(lag)};
        const auto found = std::find(output.lags.begin(), output.lags.end(), lag);
        if (found == output.lags.end()) add_input(step_.type(step_.outputs()[i]), from, source);
        else add_input(inputs[next + static_cast<std::size_t>(found - output.lags.begin())], from, source);
      }
      next += output.lags.size();
    }
    const std::size_t sums = inputs.size() - static_cast<std::size_t>(std::count_if(plan_.outputs.begin(), plan_.outputs.end(), [](const LoopOutput& output) { return output.kind == Kind::kSum; }));
    for (int node_input = plan_.first_other(); next < sums; ++next, ++node_input) {
      if (is_read(inputs[next])) add_input(inputs[next], {From::kOther, node_input, 0, {}}, {Source::kOnce});
    }
    for (std::size_t i = 0; i < plan_.outputs.size(); ++i) {
      const int number = static_cast<int>(i);
      if (plan_.outputs[i].kind == Kind::kSum) add_input(inputs[next++], {From::kSum, number, 0, {}}, {Source::kCarried, number, 1});
    }
    for (int i = 0; i < step_.value_limit(); ++i) {
      const auto value = static_cast<ValueId>(i);
      const ConstantPtr& constant = step_.constant(value);
      if (constant && !is_literal(constant) && is_read(value)) add_input(value, {From::kConstant, 0, 0, constant}, {Source::kOnce});
    }
  }

  void add(NodeId node) {
    std::vector<ValueId> read;
    for (ValueId value : step_.inputs(node)) {
      if (at(value) == ValueId::kNone) at(value) = graph_.add_constant(step_.constant(value));
      read.push_back(at(value));
    }
    const TensorType types[] = {step_.type(step_.outputs(node)[0])};
    at(step_.outputs(node)[0]) = graph_.outputs(graph_.add(step_.op_ptr(node), read, types, step_.where(node)))[0];
  }

  const LoopPlan& plan_;
  const FunctionGraph step_;
  FunctionGraph graph_;
  std::vector<ValueId> made_;  // by value of the step
  std::vector<SerialLoop::Input> sources_;
  std::shared_ptr<LoopKernel> kernel_;
};

}  // namespace

std::shared_ptr<const LoopKernel> loop_kernel(const LoopOp& loop, const FusionLimits& limits) {
  return loop.plan().has_until ? nullptr : KernelBuild(loop).build(limits);
}

}  // namespace damo
