#include "ops/conv/conv_op.hpp"

#include <memory>
#include <vector>

#include <damo/ops/shape.hpp>
#include <damo/thunk.hpp>
#include "ops/gradient_parts.hpp"
#include "runtime/exec/version_table.hpp"
#include "runtime/library/convolution_library.hpp"
#include "runtime/memory/workspace.hpp"

namespace damo {
namespace {

/// A convolution whose sizes are known, with its kernels.
struct BoundConvolution {
  ConvolutionRole role;
  std::shared_ptr<PreparedConvolution> prepared;  // null: the result has no elements, or sums of none

  BoundConvolution(Backend& backend, ConvolutionRole role, const WindowForm& form, bool tf32, DType dtype, std::span<const Shape> inputs, const Shape& out) : role(role) {
    const bool is_forward = role == ConvolutionRole::kForward, is_input = role == ConvolutionRole::kInputGradient;
    const Shape &x = is_input ? out : inputs[0], &w = role == ConvolutionRole::kWeightGradient ? out : inputs[1], &y = is_forward ? out : is_input ? inputs[0] : inputs[1];
    if (x.size() == 0 || w.size() == 0 || y.size() == 0) return;
    Convolution convolution = form.convolution(role, dtype, x, w, y);
    convolution.tf32 = tf32 && dtype == float32;
    prepared = ConvolutionLibrary::of(backend)->prepare(convolution);
  }

  void run(const Array& first, const Array& second, const Array& out, void* stream) const {
    if (out.size() == 0) return;
    if (!prepared) {
      const std::uint64_t zero = 0;
      out.device().backend().fill(out.data(), &zero, itemsize(out.dtype()), static_cast<std::size_t>(out.size()), stream);
      return;
    }
    const Scratch workspace(out.device().backend(), prepared->workspace_bytes());
    ConvolutionAddresses at{first.data(), second.data(), out.data()};
    if (role == ConvolutionRole::kInputGradient) at = {out.data(), second.data(), first.data()};
    if (role == ConvolutionRole::kWeightGradient) at = {first.data(), out.data(), second.data()};
    prepared->run(at, workspace.data(), stream);
  }
};

class ConvolutionThunk {
 public:
  ConvolutionThunk(ConvolutionRole role, const WindowForm& form, bool tf32, std::vector<Cell*> cells, ThunkContext& context)
      : role_(role), form_(form), tf32_(tf32), cells_(std::move(cells)), bound_({cells_.begin(), cells_.end()}), device_(context.device()), stream_(context.stream()) {}

  void operator()() {
    bound().run(cells_[0]->array(), cells_[1]->array(), cells_.back()->array(), stream_.handle());
  }

  /// See ThunkContext::foresee_memory. Before a library has measured its ways of computing it: for any of them.
  ThunkMemory memory() {
    const BoundConvolution& convolution = bound();
    return {.workspace = convolution.prepared ? convolution.prepared->workspace_bytes() : 0};
  }

 private:
  const BoundConvolution& bound() {
    if (const BoundConvolution* known = bound_.find()) return *known;
    std::vector<Shape> shapes;
    for (const Cell* cell : cells_) shapes.push_back(cell->shape());
    return bound_.add(BoundConvolution(device_.backend(), role_, form_, tf32_, cells_.back()->dtype(), std::span(shapes).first(shapes.size() - 1), shapes.back()));
  }

  ConvolutionRole role_;
  WindowForm form_;
  bool tf32_;
  std::vector<Cell*> cells_;  // the inputs, the result
  VersionTable<BoundConvolution> bound_;
  Device device_;
  Stream stream_;
};

}  // namespace

void convolve(ConvolutionRole role, const WindowForm& form, bool tf32, std::span<const Array> inputs, const Array& out, void* stream) {
  std::vector<Shape> shapes;
  for (const Array& input : inputs) shapes.push_back(input.shape());
  BoundConvolution(out.device().backend(), role, form, tf32, out.dtype(), shapes, out.shape()).run(inputs[0], inputs[1], out, stream);
}

std::string ConvolutionOp::name() const {
  return role_ == ConvolutionRole::kForward ? "convolution" : role_ == ConvolutionRole::kInputGradient ? "convolution_by_input" : "convolution_by_weight";
}

Props ConvolutionOp::props() const {
  Props props = form_.props();
  props.push_back({"for", form_.name});
  props.push_back({"role", std::int64_t{static_cast<int>(role_)}});
  if (tf32_) props.push_back({"tf32", true});
  return props;
}

Apply ConvolutionOp::make_node(Inputs inputs) const {
  const bool has_like = role_ == ConvolutionRole::kWeightGradient || (role_ == ConvolutionRole::kInputGradient && inputs.size() == 3);
  inputs.require_count(has_like ? 3 : 2);
  require_dtype(inputs.at(1), inputs.at(0).dtype());
  std::vector<Variable> operands{contiguous(inputs.at(0)), contiguous(inputs.at(1))};
  if (has_like) operands.push_back(inputs.at(2));
  std::vector<Shape> shapes;
  for (const Variable& operand : operands) shapes.push_back(operand.dims());
  return {*this, operands, {{inputs.at(0).dtype(), shape(shapes)}}};
}

Shapes ConvolutionOp::infer_shape(const Apply&, std::span<const Shape> inputs) const { return {{shape(inputs)}}; }

Shape ConvolutionOp::shape(std::span<const Shape> inputs) const {
  if (role_ == ConvolutionRole::kForward) return form_.convolved(inputs[0], inputs[1]);
  return inputs.size() == 3 ? inputs[2] : form_.transposed(inputs[0], inputs[1]);
}

Thunk ConvolutionOp::make_thunk(const Apply& node, ThunkContext& context) const {
  std::vector<Cell*> cells;
  for (const Variable& input : node.inputs()) cells.push_back(&context.storage(input));
  cells.push_back(&context.storage(node.output()));
  context.promise_recordable();
  context.promise_contained();
  const auto thunk = std::make_shared<ConvolutionThunk>(role_, form_, tf32_, std::move(cells), context);
  context.foresee_memory([thunk] { return thunk->memory(); });
  return [thunk] { (*thunk)(); };
}

/// The sum over all triples is linear in each of x, w and y.
Gradients ConvolutionOp::gradient(const Apply& node, std::span<const Variable> output_gradients) const {
  const SourceLine line = node.where();
  const Variable &g = output_gradients[0], &first = node.input(0), &second = node.input(1);
  const auto made = [&](ConvolutionRole role, std::vector<Variable> inputs) { return Gradient(std::make_shared<const ConvolutionOp>(role, form_, tf32_)->apply(inputs, line).output()); };
  Gradients gradients(node.inputs().size(), Gradient::disconnected());
  switch (role_) {
    case ConvolutionRole::kForward:
      gradients[0] = made(ConvolutionRole::kInputGradient, {g, second, first});
      gradients[1] = made(ConvolutionRole::kWeightGradient, {first, g, second});
      break;
    case ConvolutionRole::kInputGradient:
      gradients[0] = made(ConvolutionRole::kForward, {g, second});
      gradients[1] = made(ConvolutionRole::kWeightGradient, {g, first, second});
      break;
    case ConvolutionRole::kWeightGradient:
      gradients[0] = made(ConvolutionRole::kInputGradient, {second, g, first});
      gradients[1] = made(ConvolutionRole::kForward, {first, g});
      break;
  }
  return gradients;
}

}  // namespace damo
