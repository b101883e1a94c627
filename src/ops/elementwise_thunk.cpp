#include "ops/elementwise_thunk.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include <damo/thunk.hpp>
#include "ops/lower.hpp"
#include "runtime/kernel/spec_kernel.hpp"

namespace damo {
namespace {

struct Arrays {
  Shape space;
  std::vector<ArrayLayout> layouts;
};

Arrays arrays_of(const std::vector<Cell*>& cells) {
  Arrays arrays;
  std::vector<Shape> shapes;
  for (const Cell* cell : cells) {
    shapes.push_back(cell->shape());
    arrays.layouts.push_back({&cell->shape(), &cell->strides()});
  }
  arrays.space = broadcast_shapes(shapes);
  return arrays;
}

/// A kernel and the cells that are its parameters.
class Run {
 public:
  Run(SpecKernel& kernel, std::vector<Cell*> cells) : bound_(kernel), cells_(std::move(cells)) {}
  Run(std::shared_ptr<SpecKernel> kernel, std::vector<Cell*> cells) : Run(*kernel, std::move(cells)) { owned_ = std::move(kernel); }

  const std::vector<Cell*>& cells() const { return cells_; }
  void bind() {
    const Arrays arrays = arrays_of(cells_);
    bound_.bind(arrays.space, arrays.layouts);
  }
  void launch(void* stream) {
    for (std::size_t i = 0; i < cells_.size(); ++i) bound_.set_pointer(static_cast<int>(i), cells_[i]->array().data());
    bound_.launch(stream);
  }

 private:
  std::shared_ptr<SpecKernel> owned_;
  BoundKernel bound_;
  std::vector<Cell*> cells_;
};

class ElementwiseThunk {
 public:
  ElementwiseThunk(SpecKernel& kernel, std::vector<Cell*> cells, Apply node, Stream stream)
      : whole_(kernel, std::move(cells)), versions_(whole_.cells().size(), kNone), node_(std::move(node)),
        backend_(kernel.backend()), stream_(std::move(stream)) {}

  void operator()() {
    if (is_new()) bind();
    if (one_space_) return whole_.launch(stream_.handle());
    for (Run& run : each_) run.launch(stream_.handle());
  }

  /// Whether every output fills the iteration space. Types cannot always tell: of matrices x, y, z of unknown extents,
  /// x * y and x * z have one type, yet x may stretch to the shape of y in one and to that of z in the other.
  bool has_one_space() const {
    const std::vector<Cell*>& cells = whole_.cells();
    const auto first = cells.end() - node_.output_count();
    return std::all_of(first, cells.end(), [&](const Cell* cell) { return cell->shape() == (*first)->shape(); });
  }

 private:
  bool is_new() const {
    for (std::size_t i = 0; i < versions_.size(); ++i) {
      if (whole_.cells()[i]->version() != versions_[i]) return true;
    }
    return false;
  }
  void bind() {
    one_space_ = has_one_space();
    if (one_space_) {
      whole_.bind();
    } else {
      if (each_.empty()) split();
      for (Run& run : each_) run.bind();
    }
    for (std::size_t i = 0; i < versions_.size(); ++i) versions_[i] = whole_.cells()[i]->version();
  }
  /// One kernel an output, compiled when first needed: few graphs ever do.
  void split() {
    const std::vector<Cell*>& cells = whole_.cells();
    const FunctionGraph& inner = *node_.op().inner_graph();
    for (int output = 0; output < node_.output_count(); ++output) {
      OutputSpec part = lower_output(inner, output);
      std::vector<Cell*> own;
      for (int input : part.inputs) own.push_back(cells[static_cast<std::size_t>(input)]);
      own.push_back(cells[inner.inputs().size() + static_cast<std::size_t>(output)]);
      each_.emplace_back(std::make_shared<SpecKernel>(std::move(part.spec), backend_), std::move(own));
    }
  }

  Run whole_;
  std::vector<Run> each_;
  bool one_space_ = true;
  static constexpr std::uint32_t kNone = ~0u;
  std::vector<std::uint32_t> versions_;  // of the cells' layouts that the kernels were bound for
  Apply node_;
  Backend& backend_;
  Stream stream_;
};

}  // namespace

Thunk elementwise_thunk(KernelSpec spec, const Apply& node, ThunkContext& context) {
  SpecKernel& kernel = context.kernel(spec);
  std::vector<Cell*> cells;
  for (int input : array_inputs(node)) cells.push_back(&context.storage(node.input(input)));
  for (const Variable& output : node.outputs()) cells.push_back(&context.storage(output));
  ElementwiseThunk thunk(kernel, cells, node, context.stream());
  try {
    const Arrays expected = arrays_of(cells);
    const Geometry geometry(expected.space, expected.layouts);
    if (thunk.has_one_space()) context.want(kernel, kernel.layout_of(geometry));
  } catch (const ShapeError&) {  // extents that stand for unknown ones need not fit together: compiled at the first call
  }
  return thunk;
}

}  // namespace damo
