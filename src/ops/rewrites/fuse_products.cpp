#include "ops/rewrites/fuse_products.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "ops/contraction_op.hpp"
#include "ops/conv/conv_op.hpp"
#include "ops/elementwise_op.hpp"
#include "ops/lower.hpp"
#include "ops/rewrites/fusion_groups.hpp"
#include "ops/rewrites/fusion_reductions.hpp"

namespace damo {
namespace {

const ContractionOp* contraction(const FunctionGraph& graph, NodeId node) { return dynamic_cast<const ContractionOp*>(&graph.op(node)); }

bool is_row(const FunctionGraph& graph, NodeId node, const char* name) {
  const auto* op = node == NodeId::kNone ? nullptr : dynamic_cast<const ElementwiseOp*>(&graph.op(node));
  return op && op->row() == *find_elementwise(name);
}

/// A finite number other than 0 that a node reads.
std::optional<double> factor(const FunctionGraph& graph, ValueId value) {
  if (!graph.is_literal(value)) return std::nullopt;
  const double number = graph.number(value).as_double();
  return std::isfinite(number) && number != 0 ? std::optional(number) : std::nullopt;
}

/// Which nodes of the graph, as it was before products were fused, will share a kernel. Found when it is first asked for.
class ExpectedKernels {
 public:
  explicit ExpectedKernels(const FunctionGraph& graph) : graph_(graph) {}

  /// Whether one kernel computes both.
  bool have(NodeId a, NodeId b) {
    if (!is_known_) find();
    return kernel_of(a) >= 0 && kernel_of(a) == kernel_of(b);
  }

 private:
  void find() {
    kernels_.assign(static_cast<std::size_t>(graph_.node_limit()), -1);
    const ReductionGroups groups(graph_, FusionGroups(graph_).groups(), {});
    for (std::size_t group = 0; group < groups.groups().size(); ++group) {
      for (NodeId node : groups.groups()[group]) kernels_[static_cast<std::size_t>(node)] = static_cast<int>(group);
    }
    is_known_ = true;
  }
  int kernel_of(NodeId node) const { return static_cast<std::size_t>(node) < kernels_.size() ? kernels_[static_cast<std::size_t>(node)] : -1; }

  const FunctionGraph& graph_;
  std::vector<int> kernels_;  // by node
  bool is_known_ = false;
};

class ProductFusion {
 public:
  ProductFusion(FunctionGraph& graph, NodeId node, bool has_epilogues, ExpectedKernels& kernels)
      : graph_(graph), kernels_(kernels), op_(*contraction(graph, node)), form_(op_.form()), has_epilogues_(has_epilogues), inputs_(graph.inputs(node).begin(), graph.inputs(node).end()), out_(graph.outputs(node)[0]), where_(graph.where(node)) {}

  void run() {
    const ValueId first = out_;
    while (form_.activation == Activation::kNone && take_reader()) {
    }
    if (out_ == first) return;
    const TensorType types[] = {graph_.type(out_)};
    const NodeId made = graph_.add(std::make_shared<const ContractionOp>(op_.name(), form_, in_place_), inputs_, types, where_);
    graph_.replace(out_, graph_.outputs(made)[0]);
  }

 private:
  /// The only reader of a value; none if there are several, or if it leaves the function.
  NodeId reader_of(ValueId value) const {
    const auto uses = graph_.uses(value);
    return uses.size() == 1 ? uses[0].node : NodeId::kNone;
  }

  /// Whether the value is written to memory: something reads it that is not of the kernel which would compute it.
  bool is_written(ValueId value) const {
    const auto uses = graph_.uses(value);
    return std::any_of(uses.begin(), uses.end(), [&](const Use& use) { return use.node == NodeId::kNone || !kernels_.have(graph_.owner(value), use.node); });
  }

  static std::optional<Activation> activation_of(const FunctionGraph& graph, NodeId node) {
    if (is_row(graph, node, "gelu_tanh")) return Activation::kGeluTanh;
    return std::nullopt;
  }
  bool activates(ValueId value) const {
    const NodeId reader = reader_of(value);
    return has_epilogues_ && form_.tf32 && form_.result != float64 && reader != NodeId::kNone && activation_of(graph_, reader) && is_written(graph_.outputs(reader)[0]);
  }

  bool take_reader() {
    const NodeId reader = reader_of(out_);
    if (reader == NodeId::kNone || graph_.outputs(reader).size() != 1) return false;
    const ValueId result = graph_.outputs(reader)[0];
    if (take_cast(reader, result)) return true;
    if (graph_.type(result).dtype != form_.result) return false;
    if (take_sum(reader, result)) return true;
    return graph_.type(result) == graph_.type(out_) && (take_scale(reader, result) || take_activation(reader, result));
  }

  /// Whether the result has the product's extents in every call, or there is none: where one of them is not known, that of the result is, and
  /// not by stretching what the product has. The op checks it (ContractionOp::infer_shape).
  bool is_unstretched(ValueId result) const {
    const Shape &product = graph_.type(out_).dims, &sum = graph_.type(result).dims;
    if (product.rank() != sum.rank()) return false;
    for (int axis = 0; axis < sum.rank(); ++axis) {
      if (product[axis] != sum[axis] && product[axis] != kUnknown) return false;
    }
    return true;
  }

  bool take_cast(NodeId reader, ValueId result) {
    if (!is_half(graph_.type(inputs_[0]).dtype) || !is_half(form_.result) || form_.beta != 0 || !graph_.op(reader).equals(*cast_op(float32))) return false;
    form_.result = float32;
    out_ = result;
    return true;
  }

  bool take_scale(NodeId reader, ValueId result) {
    const auto inputs = graph_.inputs(reader);
    std::optional<double> number;
    if (is_row(graph_, reader, "neg")) number = -1;
    else if (is_row(graph_, reader, "mul")) number = factor(graph_, inputs[inputs[0] == out_ ? 1 : 0]);
    else if (is_row(graph_, reader, "true_div") && inputs[0] == out_) number = factor(graph_, inputs[1]);
    if (!number) return false;
    const double by = is_row(graph_, reader, "true_div") ? 1 / *number : *number;
    form_.alpha *= by;
    form_.beta *= by;
    out_ = result;
    return true;
  }

  bool take_sum(NodeId reader, ValueId result) {
    const bool adds = is_row(graph_, reader, "add"), subtracts = is_row(graph_, reader, "sub");
    if (form_.beta != 0 || !(adds || subtracts) || !is_unstretched(result) || !(is_written(result) || activates(result))) return false;
    const auto inputs = graph_.inputs(reader);
    const bool is_first = inputs[0] == out_;
    ValueId c = inputs[is_first ? 1 : 0];
    if (c == out_ || graph_.is_literal(c) || graph_.type(c).dtype != form_.result) return false;
    double beta = subtracts && is_first ? -1 : 1;
    if (subtracts && !is_first) form_.alpha = -form_.alpha;
    const NodeId owner = graph_.owner(c);
    if (is_row(graph_, owner, "mul") && reader_of(c) == reader) {
      for (int i = 0; i < 2; ++i) {
        const std::optional<double> number = factor(graph_, graph_.inputs(owner)[static_cast<std::size_t>(i)]);
        const ValueId other = graph_.inputs(owner)[static_cast<std::size_t>(1 - i)];
        if (!number || graph_.is_literal(other) || !(graph_.type(other) == graph_.type(c))) continue;
        beta *= *number;
        c = other;
        break;
      }
    }
    form_.beta = beta;
    in_place_ = is_free(c, result);
    inputs_.push_back(c);
    out_ = result;
    return true;
  }

  /// Whether the result may have c's memory: a value of the function's own, of its shape for certain, which nobody else reads,
  /// or a shared variable whose new value it may be.
  bool is_free(ValueId c, ValueId result) const {
    if (!(graph_.type(c) == graph_.type(result)) || !graph_.type(c).dims.is_known()) return false;
    if (graph_.shared(c)) return graph_.is_output(result);
    const NodeId owner = graph_.owner(c);
    return owner != NodeId::kNone && graph_.op(owner).view_of(0) < 0 && graph_.uses(c).size() == 1;
  }

  bool take_activation(NodeId reader, ValueId result) {
    if (!activates(out_)) return false;
    form_.activation = *activation_of(graph_, reader);
    out_ = result;
    return true;
  }

  FunctionGraph& graph_;
  ExpectedKernels& kernels_;
  const ContractionOp& op_;
  ContractionForm form_;
  bool has_epilogues_, in_place_ = false;
  std::vector<ValueId> inputs_;
  ValueId out_;
  SourceLine where_;
};

/// The same product or convolution with TF32; null if the node is neither.
std::shared_ptr<const Op> with_tf32(const FunctionGraph& graph, NodeId node) {
  if (const ContractionOp* op = contraction(graph, node)) {
    ContractionForm form = op->form();
    form.tf32 = true;
    return std::make_shared<const ContractionOp>(op->name(), form, op->overwrites(0) >= 0);
  }
  const auto* op = dynamic_cast<const ConvolutionOp*>(&graph.op(node));
  return op ? std::make_shared<const ConvolutionOp>(op->role(), op->form(), true) : nullptr;
}

}  // namespace

FunctionGraph fuse_products(FunctionGraph graph, Device device) {
  if (!graph.has_op<ContractionOp>()) return graph;
  ExpectedKernels kernels(graph);
  for (NodeId node : graph.toposort()) {
    const ContractionOp* op = contraction(graph, node);
    if (!op || op->has_start() || !is_floating(op->form().result)) continue;
    const MatrixEngine* engine = MatrixLibrary::of(device.backend())->engine();
    ProductFusion(graph, node, engine && engine->has_epilogues(graph.type(graph.inputs(node)[0]).dtype), kernels).run();
  }
  graph.prune();
  return graph;
}

FunctionGraph use_tf32(FunctionGraph graph) {
  for (NodeId node : graph.nodes()) {
    const auto op = with_tf32(graph, node);
    if (!op || graph.type(graph.inputs(node)[0]).dtype != float32) continue;
    const auto outputs = graph.outputs(node);
    const TensorType types[] = {graph.type(outputs[0])};
    const std::vector<ValueId> inputs(graph.inputs(node).begin(), graph.inputs(node).end());
    const ValueId old = outputs[0];
    const NodeId made = graph.add(op, inputs, types, graph.where(node));
    graph.replace(old, graph.outputs(made)[0]);
  }
  graph.prune();
  return graph;
}

}  // namespace damo
