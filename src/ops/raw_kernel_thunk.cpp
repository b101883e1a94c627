#include <damo/thunk.hpp>

#include "graph/base/counted.hpp"
#include "ops/raw_kernel_op.hpp"
#include "runtime/exec/version_table.hpp"

namespace damo {
namespace {

/// What follows from shapes and strides, and room for what each launch fills in.
struct RawBinding {
  std::vector<Shape> shapes;              // of the cells
  std::vector<KernelArgument> arguments;  // addresses and given scalars: set at each launch
};

class RawKernelThunk {
 public:
  RawKernelThunk(std::shared_ptr<const RawKernelOp> op, const Apply& node, ThunkContext& context)
      : op_(std::move(op)), kernel_(context.compile(op_->source(), op_->definition().kernel, op_->definition().flags)), cells_(cells_of(node, context)),
        bound_({cells_.begin(), cells_.end()}) {
    for (int cell : op_->parameter_cells()) parameters_.push_back(cells_[static_cast<std::size_t>(cell)]);
  }

  void operator()() {
    RawBinding* binding = bound_.find();
    if (!binding) binding = &bound_.add(bind());
    // The user's functions at each launch: they may look at more than shapes, a step's number or a rate.
    const std::span<const Shape> shapes(binding->shapes);
    const std::size_t inputs = op_->inputs().size();
    const KernelShapes given{shapes.subspan(0, inputs), shapes.subspan(inputs)};
    const LaunchConfig config = op_->definition().launch(given);
    set_values(given, binding->arguments);
    if (config.grid.count() == 0) return;
    // The address alone: strides are this op's own business (check_order).
    for (std::size_t i = 0; i < parameters_.size(); ++i)
      binding->arguments[i] = KernelArgument::address_of(parameters_[i]->array());
    kernel_.launch_arguments(config, binding->arguments);
  }

 private:
  static std::vector<Cell*> cells_of(const Apply& node, ThunkContext& context) {
    std::vector<Cell*> cells;
    for (const Variable& input : node.inputs()) cells.push_back(&context.storage(input));
    for (const Variable& output : node.outputs()) cells.push_back(&context.storage(output));
    return cells;
  }

  void check_order() const {
    for (std::size_t i = 0; i < op_->inputs().size(); ++i) {
      if (!op_->inputs()[i].is_strided && !is_contiguous(cells_[i]->shape(), cells_[i]->strides())) {
        throw GraphError(op_->name() + ": " + op_->inputs()[i].declaration + " is not in C order",
                         "a pass took its contiguous node away: keep it, or declare the input strided");
      }
    }
  }

  RawBinding bind() const {
    check_order();
    RawBinding binding;
    for (const Cell* cell : cells_) binding.shapes.push_back(cell->shape());
    binding.arguments.assign(parameters_.size(), KernelArgument(0));
    for (const RawScalar& scalar : op_->scalars()) {
      const bool is_given = scalar.fact == RawScalar::Fact::kGiven;
      binding.arguments.push_back(is_given ? KernelArgument(0) : KernelArgument(checked(scalar).cast(scalar.parameter.dtype)));
    }
    return binding;
  }

  void set_values(const KernelShapes& shapes, std::vector<KernelArgument>& arguments) const {
    const std::vector<Scalar> values =
        op_->definition().values ? op_->definition().values(shapes) : std::vector<Scalar>();
    std::size_t used = 0;
    for (std::size_t i = 0; i < op_->scalars().size(); ++i) {
      const RawScalar& scalar = op_->scalars()[i];
      if (scalar.fact != RawScalar::Fact::kGiven) continue;
      if (used == values.size())
        throw GraphError(op_->name() + ": .values gave no value for " + scalar.parameter.declaration,
                         "let it give one for each scalar whose name says none, in their order");
      arguments[parameters_.size() + i] = KernelArgument(values[used++].cast(scalar.parameter.dtype));
    }
    if (used != values.size())
      throw GraphError(op_->name() + ": .values gave " + std::to_string(values.size()) + " values for " +
                           counted(used, "scalar"),
                       "let it give one for each scalar whose name says none, in their order");
  }

  Scalar checked(const RawScalar& scalar) const {
    const Cell& cell = *cells_[static_cast<std::size_t>(scalar.array)];
    const std::string& declaration = scalar.parameter.declaration;
    if (scalar.fact != RawScalar::Fact::kSize && scalar.axis >= cell.shape().rank()) {
      throw ShapeError(op_->name() + ": \"" + declaration + "\" asks for axis " + std::to_string(scalar.axis) +
                           " of an array of shape " + to_string(cell.shape()),
                       "count the axes from 0, or give the array more by expand_dims");
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
  VersionTable<RawBinding> bound_;
};

}  // namespace

Thunk raw_kernel_thunk(const RawKernelOp& op, const Apply& node, ThunkContext& context) {
  context.promise_recordable();
  auto shared = std::static_pointer_cast<const RawKernelOp>(op.shared_from_this());
  return [thunk = std::make_shared<RawKernelThunk>(std::move(shared), node, context)] { (*thunk)(); };
}

}  // namespace damo
