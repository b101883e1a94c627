#include "ops/elementwise_thunk.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include <damo/thunk.hpp>
#include "ops/lower.hpp"
#include "runtime/exec/version_table.hpp"
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
struct Part {
  SpecKernel* kernel;
  std::vector<Cell*> cells;
  std::shared_ptr<SpecKernel> owned = {};  // where the kernel is nobody else's
};

/// A part bound to the present layouts of its cells.
struct Launch {
  const Part* part;
  BoundKernel bound;

  Launch(const Part& bound_part, std::uint32_t reduced_axes) : part(&bound_part), bound(*bound_part.kernel) {
    const Arrays arrays = arrays_of(part->cells);
    bound.bind(arrays.space, arrays.layouts, false, reduced_axes);
  }
  void run(void* stream) {
    for (std::size_t i = 0; i < part->cells.size(); ++i) bound.set_pointer(static_cast<int>(i), part->cells[i]->array().data());
    bound.launch(stream);
  }
};

class ElementwiseThunk {
 public:
  ElementwiseThunk(SpecKernel& kernel, std::vector<Cell*> cells, Apply node, Stream stream, std::uint32_t reduced_axes)
      : bound_({cells.begin(), cells.end()}), whole_{&kernel, std::move(cells)}, node_(std::move(node)), stream_(std::move(stream)), reduced_axes_(reduced_axes) {}

  void operator()() {
    std::vector<Launch>* launches = bound_.find();
    if (!launches) launches = &bound_.add(bind());
    for (Launch& launch : *launches) launch.run(stream_.handle());
  }

  /// Whether every output fills the iteration space. Types cannot always tell: of matrices x, y, z of unknown extents,
  /// x * y and x * z have one type, yet x may stretch to the shape of y in one and to that of z in the other.
  bool has_one_space() const {
    if (whole_.kernel->spec().reduces()) return true;
    const auto first = whole_.cells.end() - node_.output_count();
    return std::all_of(first, whole_.cells.end(), [&](const Cell* cell) { return cell->shape() == (*first)->shape(); });
  }

 private:
  std::vector<Launch> bind() {
    std::vector<Launch> launches;
    if (has_one_space()) {
      launches.emplace_back(whole_, reduced_axes_);
      return launches;
    }
    if (each_.empty()) split();
    for (const Part& part : each_) launches.emplace_back(part, reduced_axes_);
    return launches;
  }
  /// One kernel an output, compiled when first needed: few graphs ever do.
  void split() {
    const FunctionGraph& inner = *node_.op().inner_graph();
    for (int output = 0; output < node_.output_count(); ++output) {
      OutputSpec part = lower_output(inner, output);
      std::vector<Cell*> own;
      for (int input : part.inputs) own.push_back(whole_.cells[static_cast<std::size_t>(input)]);
      own.push_back(whole_.cells[inner.inputs().size() + static_cast<std::size_t>(output)]);
      auto kernel = std::make_shared<SpecKernel>(std::move(part.spec), whole_.kernel->backend());
      each_.push_back({kernel.get(), std::move(own), std::move(kernel)});
    }
  }

  VersionTable<std::vector<Launch>> bound_;
  const Part whole_;
  std::vector<Part> each_;  // by output; empty until it is needed
  Apply node_;
  Stream stream_;
  std::uint32_t reduced_axes_;
};

}  // namespace

Thunk elementwise_thunk(KernelSpec spec, const Apply& node, ThunkContext& context, std::uint32_t reduced_axes) {
  SpecKernel& kernel = context.kernel(spec);
  std::vector<Cell*> cells;
  for (int input : array_inputs(node)) cells.push_back(&context.storage(node.input(input)));
  for (const Variable& output : node.outputs()) cells.push_back(&context.storage(output));
  const auto thunk = std::make_shared<ElementwiseThunk>(kernel, cells, node, context.stream(), reduced_axes);
  try {
    const Arrays expected = arrays_of(cells);
    const Geometry geometry(expected.space, expected.layouts, reduced_axes, kernel.spec().uses_place());
    if (thunk->has_one_space()) context.want(kernel, kernel.layout_of(geometry));
  } catch (const ShapeError&) {  // extents that stand for unknown ones need not fit together: compiled at the first call
  }
  return [thunk] { (*thunk)(); };
}

}  // namespace damo
