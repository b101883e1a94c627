#include <limits>

#include <damo/thunk.hpp>

#include "ops/raw_kernel_op.hpp"

namespace damo {
namespace {

class RawKernelThunk {
 public:
  RawKernelThunk(std::shared_ptr<const RawKernelOp> op, const Apply& node, ThunkContext& context)
      : op_(std::move(op)), kernel_(context.compile(op_->source(), op_->definition().kernel, op_->definition().flags)) {
    for (const Variable& input : node.inputs()) cells_.push_back(&context.storage(input));
    for (const Variable& output : node.outputs()) cells_.push_back(&context.storage(output));
    versions_.assign(cells_.size(), ~0u);
    for (int cell : op_->parameter_cells()) parameters_.push_back(cells_[static_cast<std::size_t>(cell)]);
  }

  void operator()() {
    if (is_new()) bind();
    // The user's functions at each launch: they may look at more than shapes, a step's number or a rate.
    const std::span<const Shape> shapes(shapes_);
    const std::size_t inputs = op_->inputs().size();
    const KernelShapes given{shapes.subspan(0, inputs), shapes.subspan(inputs)};
    const LaunchConfig config = op_->definition().launch(given);
    set_values(given);
    if (config.grid.count() == 0) return;
    // The address alone: strides are this op's own business (check_order).
    for (std::size_t i = 0; i < parameters_.size(); ++i)
      arguments_[i] = KernelArgument::address_of(parameters_[i]->array());
    kernel_.launch_arguments(config, arguments_);
  }

 private:
  bool is_new() const {
    for (std::size_t i = 0; i < cells_.size(); ++i) {
      if (cells_[i]->version() != versions_[i]) return true;
    }
    return false;
  }

  void check_order() const {
    for (std::size_t i = 0; i < op_->inputs().size(); ++i) {
      if (!op_->inputs()[i].is_strided && !is_contiguous(cells_[i]->shape(), cells_[i]->strides())) {
        throw GraphError(op_->name() + ": " + op_->inputs()[i].declaration + " is not in C order",
                         "a pass took its contiguous node away: keep it, or declare the input strided");
      }
    }
  }

  /// What follows from shapes and strides: computed when one of them changes.
  void bind() {
    check_order();
    shapes_.clear();
    for (const Cell* cell : cells_) shapes_.push_back(cell->shape());
    arguments_.assign(parameters_.size(), KernelArgument(0));
    for (const RawScalar& scalar : op_->scalars()) {
      const bool is_given = scalar.fact == RawScalar::Fact::kGiven;
      arguments_.push_back(is_given ? KernelArgument(0) : KernelArgument(checked(scalar).cast(scalar.parameter.dtype)));
    }
    for (std::size_t i = 0; i < cells_.size(); ++i) versions_[i] = cells_[i]->version();
  }

  void set_values(const KernelShapes& shapes) {
    const std::vector<Scalar> values =
        op_->definition().values ? op_->definition().values(shapes) : std::vector<Scalar>();
    std::size_t used = 0;
    for (std::size_t i = 0; i < op_->scalars().size(); ++i) {
      const RawScalar& scalar = op_->scalars()[i];
      if (scalar.fact != RawScalar::Fact::kGiven) continue;
      if (used == values.size())
        throw GraphError(op_->name() + ": .values gave no value for " + scalar.parameter.declaration);
      arguments_[parameters_.size() + i] = KernelArgument(values[used++].cast(scalar.parameter.dtype));
    }
    if (used != values.size())
      throw GraphError(op_->name() + ": .values gave " + std::to_string(values.size()) + " values for " +
                       std::to_string(used) + " scalars");
  }

  Scalar checked(const RawScalar& scalar) const {
    const Cell& cell = *cells_[static_cast<std::size_t>(scalar.array)];
    const std::string& declaration = scalar.parameter.declaration;
    if (scalar.fact != RawScalar::Fact::kSize && scalar.axis >= cell.shape().rank()) {
      throw ShapeError(op_->name() + ": \"" + declaration + "\" asks for axis " + std::to_string(scalar.axis) +
                       " of an array of shape " + to_string(cell.shape()));
    }
    const std::int64_t value = scalar.fact == RawScalar::Fact::kSize     ? cell.shape().size()
                               : scalar.fact == RawScalar::Fact::kExtent ? cell.shape()[scalar.axis]
                                                                         : cell.strides()[scalar.axis];
    if (!is_floating(scalar.parameter.dtype) && !Scalar(value).fits(scalar.parameter.dtype)) {
      throw ShapeError(op_->name() + ": \"" + declaration + "\" cannot hold " + std::to_string(value),
                       "declare it long long");
    }
    return Scalar(value);
  }

  std::shared_ptr<const RawKernelOp> op_;
  Kernel kernel_;
  std::vector<Cell*> cells_;       // inputs, then outputs
  std::vector<Cell*> parameters_;  // the kernel's array parameters, in order
  std::vector<std::uint32_t> versions_;
  std::vector<Shape> shapes_;      // of the cells
  std::vector<KernelArgument> arguments_;
};

}  // namespace

Thunk raw_kernel_thunk(const RawKernelOp& op, const Apply& node, ThunkContext& context) {
  auto shared = std::static_pointer_cast<const RawKernelOp>(op.shared_from_this());
  return [thunk = std::make_shared<RawKernelThunk>(std::move(shared), node, context)] { (*thunk)(); };
}

}  // namespace damo
