#include <algorithm>
#include <utility>

#include "ops/loop/loop_kernel.hpp"
#include "ops/loop/loop_op.hpp"

namespace damo {
namespace {

using From = LoopKernel::Input::From;

std::vector<Cell*> cells_of(std::span<const Variable> variables, ThunkContext& context) {
  std::vector<Cell*> cells;
  for (const Variable& variable : variables) cells.push_back(&context.storage(variable));
  return cells;
}

Shape without_first(Shape shape) {
  shape.erase(0);
  return shape;
}

}  // namespace

LoopKernelRun::LoopKernelRun(const LoopOp& loop, const Apply& node, ThunkContext& context)
    : plan_(loop.plan()), code_(*loop.kernel()), inputs_(cells_of(node.inputs(), context)), outputs_(cells_of(node.outputs(), context)), constants_(code_.inputs.size()), stream_(context.stream()),
      kernel_(context.kernel(code_.spec)), bound_({inputs_.begin(), inputs_.end()}) {
  run_.strides.resize(static_cast<std::size_t>(code_.spec.parameter_count()));
  run_.begins.resize(outputs_.size());
  for (std::size_t i = 0; i < constants_.size(); ++i) {
    const ConstantPtr& constant = code_.inputs[i].constant;
    if (constant) constants_[i] = Array::from_bytes(constant->bytes.data(), static_cast<std::size_t>(constant->type.dims.size()), constant->type.dtype, constant->type.dims, context.device());
  }
}

void LoopKernelRun::foresee(const Shapes& rows, const WantKernel& want) {
  if (bound_.find()) return;
  if (std::optional<Bound> bound = bind(rows, &want)) bound_.add(std::move(*bound));
}

/// Gives use the space and each parameter's shape and strides; false if the arrays do not broadcast to one space.
template <class Use>
bool LoopKernelRun::with_arrays(const Shapes& rows, Use use) const {
  if (!rows) return false;
  const Shape& space = (*rows)[0];
  if (!std::all_of(rows->begin(), rows->begin() + static_cast<std::ptrdiff_t>(outputs_.size()), [&](const Shape& row) { return row == space; })) return false;
  std::vector<std::pair<Shape, Strides>> parts;
  for (std::size_t i = 0; i < code_.inputs.size(); ++i) {
    const LoopKernel::Input& input = code_.inputs[i];
    const auto number = static_cast<std::size_t>(input.number);
    if (input.from == From::kConstant) {
      parts.emplace_back(constants_[i].shape(), constants_[i].strides());
      continue;
    }
    const bool has_rows = input.from == From::kSequence || input.from == From::kInitial;
    const std::size_t from = input.from == From::kSequence ? static_cast<std::size_t>(plan_.first_sequence()) + number
                             : input.from == From::kOther  ? number
                                                           : static_cast<std::size_t>(plan_.initial_input(number));
    const Cell& cell = *inputs_[from];
    if (has_rows) parts.emplace_back(without_first(cell.shape()), without_first(cell.strides()));
    else parts.emplace_back(cell.shape(), cell.strides());
  }
  for (const auto& [shape, strides] : parts) {
    if (shape.rank() > space.rank()) return false;
    for (int axis = 0; axis < shape.rank(); ++axis) {
      if (shape[axis] != 1 && shape[axis] != space[space.rank() - shape.rank() + axis]) return false;
    }
  }
  parts.insert(parts.end(), outputs_.size(), {space, contiguous_strides(space)});
  std::vector<ArrayLayout> arrays;
  for (const auto& [shape, strides] : parts) arrays.push_back({&shape, &strides});
  use(space, arrays);
  return true;
}

std::optional<LoopKernelRun::Bound> LoopKernelRun::bind(const Shapes& rows, const WantKernel* want) const {
  Bound bound;
  bool is_whole = true;
  bound.serves = with_arrays(rows, [&](const Shape& space, std::span<const ArrayLayout> arrays) { is_whole = bound.kernel.emplace(kernel_).bind(space, arrays, false, 0, want); });
  if (!is_whole) return {};
  return bound;
}

bool LoopKernelRun::serves(const Shapes& rows) {
  const Bound* bound = bound_.find();
  return (bound ? *bound : bound_.add(*bind(rows, nullptr))).serves;
}

const std::byte* LoopKernelRun::first_row(const Array& rows, std::int64_t row) const {
  return static_cast<const std::byte*>(rows.data()) + row * rows.strides()[0] * static_cast<std::int64_t>(itemsize(rows.dtype()));
}

void LoopKernelRun::operator()(std::int64_t count, std::int64_t first, std::span<const LoopRows> rows) {
  BoundKernel& kernel = *bound_.find()->kernel;
  const std::int64_t begin = plan_.is_backward ? count - 1 : first, way = plan_.is_backward ? -1 : 1;  // the first position, and where the next one lies
  run_.turns = count - first;
  const int inputs = code_.spec.input_count();
  for (int i = 0; i < inputs; ++i) {
    const LoopKernel::Input& input = code_.inputs[static_cast<std::size_t>(i)];
    const auto number = static_cast<std::size_t>(input.number);
    switch (input.from) {
      case From::kSequence: {
        const Array& all = inputs_[static_cast<std::size_t>(plan_.first_sequence()) + number]->array();
        kernel.set_pointer(i, first_row(all, begin + plan_.sequences[number].offset));
        run_.strides[static_cast<std::size_t>(i)] = way * all.strides()[0];
        break;
      }
      case From::kInitial:
        kernel.set_pointer(i, first_row(inputs_[static_cast<std::size_t>(plan_.initial_input(number))]->array(), plan_.is_backward ? input.lag - 1 : plan_.outputs[number].depth - input.lag));
        break;
      case From::kSum: kernel.set_pointer(i, inputs_[static_cast<std::size_t>(plan_.initial_input(number))]->array().data()); break;
      case From::kOther: kernel.set_pointer(i, inputs_[number]->array().data()); break;
      case From::kConstant: kernel.set_pointer(i, constants_[static_cast<std::size_t>(i)].data()); break;
    }
  }
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    const LoopOutput& output = plan_.outputs[i];
    const int parameter = inputs + static_cast<int>(i);
    if (output.kind == LoopOutput::Kind::kSum) {
      kernel.set_pointer(parameter, outputs_[i]->array().data());
      continue;
    }
    // Where the first turn's row would lie among the kept ones: turns before it is one of them are not stored.
    const Array& kept = rows[i].kept();
    const std::int64_t row = (output.kind == LoopOutput::Kind::kState ? plan_.written_row(output, begin) : begin + output.offset) - rows[i].first();
    const std::int64_t unkept = std::max<std::int64_t>(0, plan_.is_backward ? row - (kept.shape()[0] - 1) : -row);
    kernel.set_pointer(parameter, first_row(kept, row + way * unkept));
    run_.begins[i] = std::min(unkept, run_.turns);
    run_.strides[static_cast<std::size_t>(parameter)] = way * kept.strides()[0];
  }
  kernel.set_run(run_);
  kernel.launch(stream_.handle());
}

}  // namespace damo
