#include "ops/kernel_thunk.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include <damo/thunk.hpp>
#include "ops/fused_op.hpp"
#include "ops/lower.hpp"
#include "ops/reduce_op.hpp"
#include "ops/reduced_shape.hpp"
#include "runtime/exec/version_table.hpp"
#include "runtime/kernel/dialect.hpp"
#include "runtime/kernel/spec_kernel.hpp"
#include "runtime/kernel/split_passes.hpp"

namespace damo {
namespace {

/// A kernel and what its parameters are: cells by number, and behind them values that live during the call.
struct Part {
  std::shared_ptr<SpecKernel> kernel;
  std::vector<int> parameters;
  std::uint32_t reduced_axes = 0;
};

/// Kernels that do the node's work one after another, and the values between them.
struct Plan {
  std::vector<Part> parts;
  std::vector<TensorType> between;
};

class KernelThunk {
 public:
  KernelThunk(SpecKernel& kernel, std::vector<Cell*> cells, Apply node, ThunkContext& context, std::uint32_t reduced_axes)
      : bound_({cells.begin(), cells.end()}), kernel_(kernel), cells_(std::move(cells)), node_(std::move(node)), stream_(context.stream()), device_(context.device()), reduced_axes_(reduced_axes) {}

  void operator()() {
    Bound* bound = bound_.find();
    if (!bound) bound = &bound_.add(bind());
    std::vector<Array> between;
    for (const TensorType& type : bound->between) between.push_back(Array::empty(type.dims, type.dtype, device_));
    for (Launch& launch : bound->launches) {
      for (std::size_t i = 0; i < launch.parameters.size(); ++i) {
        const auto from = static_cast<std::size_t>(launch.parameters[i]);
        launch.kernel.set_pointer(static_cast<int>(i), from < cells_.size() ? cells_[from]->array().data() : between[from - cells_.size()].data());
      }
      launch.kernel.launch(stream_.handle());
    }
  }

  /// The layout that one kernel would have for these cells; none if it takes several.
  std::optional<Layout> expected() const {
    const std::optional<Shape> space = this->space();
    if (!space) return std::nullopt;
    const Geometry geometry(*space, layouts(), reduced_axes_, kernel_.spec().uses_place());
    return kernel_.layout_of(geometry);
  }

 private:
  struct Launch {
    BoundKernel kernel;
    std::vector<int> parameters;
  };
  struct Bound {
    std::vector<Launch> launches;
    std::vector<TensorType> between;
  };

  std::vector<ArrayLayout> layouts() const {
    std::vector<ArrayLayout> layouts;
    for (const Cell* cell : cells_) layouts.push_back({&cell->shape(), &cell->strides()});
    return layouts;
  }

  /// What all cells broadcast to, if each of the node's values fills it, or is the row's that it should be. Types cannot
  /// always tell: of matrices x, y, z of unknown extents, x * y and x * z have one type, yet x may stretch to the shape
  /// of y in one and to that of z in the other.
  std::optional<Shape> space() const {
    std::vector<Shape> shapes;
    for (const Cell* cell : cells_) shapes.push_back(cell->shape());
    Shape space;
    try {
      space = broadcast_shapes(shapes);
    } catch (const ShapeError&) {
      return std::nullopt;
    }
    const auto* fused = dynamic_cast<const FusedOp*>(&node_.op());
    if (!fused) return space;
    const Shape row = reduced_shape(space, reduced_axes_, true);
    const std::size_t inputs = cells_.size() - static_cast<std::size_t>(node_.output_count());
    for (std::size_t i = inputs; i < shapes.size(); ++i) {
      if (!(shapes[i] == space) && !(reduced_axes_ != 0 && shapes[i] == row)) return std::nullopt;
    }
    if (reduced_axes_ == 0) return space;
    const FunctionGraph& inner = *fused->inner_graph();
    const std::vector<Shape> all = fused->shapes(std::span(shapes).first(inputs));
    for (NodeId node : inner.nodes()) {
      const bool reduces = dynamic_cast<const ReduceOp*>(&inner.op(node));
      const Shape &made = all[static_cast<std::size_t>(inner.outputs(node)[0])], &read = all[static_cast<std::size_t>(inner.inputs(node)[0])];
      if (reduces && (!(read == space) || !(made == row))) return std::nullopt;
    }
    return space;
  }

  Bound bind() {
    if (const std::optional<Shape> space = this->space()) {
      const Geometry geometry(*space, layouts(), reduced_axes_, kernel_.spec().uses_place());
      const Dialect& dialect = kernel_.backend().dialect();
      if (!kernel_.spec().reduces() || !dialect.prefers_passes(kernel_.spec(), geometry, processors_of(kernel_.backend().limits()))) {
        Bound bound;
        std::vector<int> parameters(cells_.size());
        for (std::size_t i = 0; i < parameters.size(); ++i) parameters[i] = static_cast<int>(i);
        bound.launches.push_back({BoundKernel(kernel_), std::move(parameters)});
        bound.launches[0].kernel.bind(*space, layouts(), false, reduced_axes_);
        return bound;
      }
      if (passes_.parts.empty()) plan_passes();
      Plan plan = passes_;
      for (TensorType& type : plan.between) type.dims = reduced_shape(*space, reduced_axes_, true);
      return bind(plan);
    }
    return bind(plan_nodes());
  }

  Bound bind(const Plan& plan) const {
    Bound bound;
    bound.between = plan.between;
    std::vector<Strides> strides;
    for (const TensorType& type : plan.between) strides.push_back(contiguous_strides(type.dims));
    for (const Part& part : plan.parts) {
      std::vector<ArrayLayout> arrays;
      std::vector<Shape> shapes;
      for (int parameter : part.parameters) {
        const auto from = static_cast<std::size_t>(parameter);
        if (from < cells_.size()) arrays.push_back({&cells_[from]->shape(), &cells_[from]->strides()});
        else arrays.push_back({&plan.between[from - cells_.size()].dims, &strides[from - cells_.size()]});
        shapes.push_back(*arrays.back().shape);
      }
      bound.launches.push_back({BoundKernel(*part.kernel), part.parameters});
      bound.launches.back().kernel.bind(broadcast_shapes(shapes), arrays, false, part.reduced_axes);
    }
    return bound;
  }

  void plan_passes() {
    PassSpecs specs = split_passes(kernel_.spec());
    for (PassSpec& part : specs.parts) {
      const std::uint32_t axes = part.spec.reduces() ? reduced_axes_ : 0;
      passes_.parts.push_back({std::make_shared<SpecKernel>(std::move(part.spec), kernel_.backend()), std::move(part.parameters), axes});
    }
    for (DType dtype : specs.between) passes_.between.push_back({dtype, {}});
  }

  /// A kernel for each node of the group.
  Plan plan_nodes() {
    const auto& fused = static_cast<const FusedOp&>(node_.op());
    const FunctionGraph& inner = *fused.inner_graph();
    std::vector<Shape> inputs;
    for (std::size_t i = 0; i < inner.inputs().size(); ++i) inputs.push_back(cells_[i]->shape());
    const std::vector<Shape> shapes = fused.shapes(inputs);
    std::vector<int> place(static_cast<std::size_t>(inner.value_limit()), -1);
    const auto at = [&](ValueId value) -> int& { return place[static_cast<std::size_t>(value)]; };
    for (std::size_t i = 0; i < inner.inputs().size(); ++i) at(inner.inputs()[i]) = static_cast<int>(i);
    for (std::size_t i = 0; i < inner.outputs().size(); ++i) at(inner.outputs()[i]) = static_cast<int>(inner.inputs().size() + i);
    Plan plan;
    std::size_t number = 0;
    for (NodeId node : inner.nodes()) {
      const ValueId output = inner.outputs(node)[0];
      Part part;
      for (ValueId input : inner.inputs(node)) {
        if (!is_literal(inner.constant(input))) part.parameters.push_back(at(input));
      }
      if (at(output) < 0) {
        at(output) = static_cast<int>(cells_.size() + plan.between.size());
        plan.between.push_back({inner.type(output).dtype, shapes[static_cast<std::size_t>(output)]});
      }
      part.parameters.push_back(at(output));
      if (const auto* reduction = dynamic_cast<const ReduceOp*>(&inner.op(node))) part.reduced_axes = reduction->axes();
      if (nodes_.size() == number) nodes_.push_back(std::make_shared<SpecKernel>(lower_node(inner, node), kernel_.backend()));
      part.kernel = nodes_[number++];
      plan.parts.push_back(std::move(part));
    }
    return plan;
  }

  VersionTable<Bound> bound_;
  SpecKernel& kernel_;
  std::vector<Cell*> cells_;
  Apply node_;
  Stream stream_;
  Device device_;
  std::uint32_t reduced_axes_;
  Plan passes_;                                     // empty until it is needed, as are
  std::vector<std::shared_ptr<SpecKernel>> nodes_;  // these, by node
};

}  // namespace

Thunk kernel_thunk(KernelSpec spec, const Apply& node, ThunkContext& context, std::uint32_t reduced_axes) {
  SpecKernel& kernel = context.kernel(spec);
  std::vector<Cell*> cells;
  for (int input : array_inputs(node)) cells.push_back(&context.storage(node.input(input)));
  for (const Variable& output : node.outputs()) cells.push_back(&context.storage(output));
  const auto thunk = std::make_shared<KernelThunk>(kernel, std::move(cells), node, context, reduced_axes);
  try {
    if (const std::optional<Layout> layout = thunk->expected()) context.want(kernel, *layout);
  } catch (const ShapeError&) {  // extents that stand for unknown ones need not fit together: compiled at the first call
  }
  return [thunk] { (*thunk)(); };
}

}  // namespace damo
