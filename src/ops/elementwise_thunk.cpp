#include "ops/elementwise_thunk.hpp"

#include <damo/thunk.hpp>
#include "ops/lower.hpp"
#include "runtime/kernel/spec_kernel.hpp"

namespace damo {
namespace {

class ElementwiseThunk {
 public:
  ElementwiseThunk(SpecKernel& kernel, std::vector<Cell*> cells, Stream stream)
      : bound_(kernel), cells_(std::move(cells)), versions_(cells_.size(), kNone), stream_(std::move(stream)) {}

  void operator()() {
    if (is_new()) bind();
    for (std::size_t i = 0; i < cells_.size(); ++i) bound_.set_pointer(static_cast<int>(i), cells_[i]->array().data());
    bound_.launch(stream_.handle());
  }

 private:
  bool is_new() const {
    for (std::size_t i = 0; i < cells_.size(); ++i) {
      if (cells_[i]->version() != versions_[i]) return true;
    }
    return false;
  }
  void bind();

  BoundKernel bound_;
  std::vector<Cell*> cells_;
  static constexpr std::uint32_t kNone = ~0u;
  std::vector<std::uint32_t> versions_;  // of the cells' layouts that bound_ was made for
  Stream stream_;
};

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

void ElementwiseThunk::bind() {
  const Arrays arrays = arrays_of(cells_);
  bound_.bind(arrays.space, arrays.layouts);
  for (std::size_t i = 0; i < cells_.size(); ++i) versions_[i] = cells_[i]->version();
}

}  // namespace

Thunk elementwise_thunk(KernelSpec spec, const Apply& node, ThunkContext& context) {
  SpecKernel& kernel = context.kernel(spec);
  std::vector<Cell*> cells;
  for (int input : array_inputs(node)) cells.push_back(&context.storage(node.input(input)));
  for (const Variable& output : node.outputs()) cells.push_back(&context.storage(output));
  const Arrays expected = arrays_of(cells);
  const Geometry geometry(expected.space, expected.layouts);
  context.want(kernel, kernel.layout_of(geometry));
  return ElementwiseThunk(kernel, std::move(cells), context.stream());
}

}  // namespace damo
