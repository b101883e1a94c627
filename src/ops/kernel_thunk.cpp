#include "ops/kernel_thunk.hpp"

#include <algorithm>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include <damo/thunk.hpp>
#include "graph/rewrite/pass_names.hpp"
#include "ops/copies_first.hpp"
#include "ops/fused_op.hpp"
#include "ops/lower.hpp"
#include "ops/reductions.hpp"
#include "runtime/array/copy_kernel.hpp"
#include "runtime/exec/version_table.hpp"
#include "runtime/kernel/dialect.hpp"
#include "runtime/kernel/exponential_sums.hpp"
#include "runtime/kernel/moments.hpp"
#include "runtime/kernel/spec_kernel.hpp"
#include "runtime/kernel/split_passes.hpp"
#include "runtime/memory/workspace.hpp"

namespace damo {
namespace {

/// A kernel and what its parameters are: cells by number, and behind them values that live during the call.
struct Part {
  std::shared_ptr<SpecKernel> kernel;
  std::vector<int> parameters;
  std::uint32_t reduced_axes = 0;
  bool across = false;  ///< it reduces the other axes
};

/// Kernels that do the node's work one after another, and the values between them.
struct Plan {
  std::vector<Part> parts;
  std::vector<TensorType> between;
};

/// A spec that says what the node computes, its kernel, and the kernels that it may be split into.
struct FormOfSpec {
  SpecKernel* kernel = nullptr;     // null: there is no such spec
  std::span<const Scalar> numbers;  // in the place of those of the kernel's spec; empty: those
  Plan passes, across;              // empty until they are needed
};

class KernelThunk {
 public:
  /// joined: of the spec's form that goes through rows once less, with its own numbers; null: it has none.
  KernelThunk(SpecKernel& kernel, SpecKernel* joined, std::vector<Scalar> numbers, std::vector<Cell*> cells, Apply node, ThunkContext& context, std::uint32_t reduced_axes)
      : bound_({cells.begin(), cells.end()}), kernel_(kernel), numbers_(std::move(numbers)), given_{&kernel, numbers_}, joined_{joined}, cells_(std::move(cells)), node_(std::move(node)), fused_(dynamic_cast<const FusedOp*>(&node_.op())), stream_(context.stream()), reduced_axes_(reduced_axes), in_place_(context.runs_in_place()), flag_(kernel.spec().has_guards() ? context.fault_flag() : nullptr) {}

  void operator()() {
    Bound* bound = bound_.find();
    if (!bound) bound = &bound_.add(*bind(nullptr));
    const Scratch between(kernel_.backend(), bound->between_bytes);
    for (Launch& launch : bound->launches) {
      for (std::size_t i = 0; i < launch.parameters.size(); ++i) {
        const auto from = static_cast<std::size_t>(launch.parameters[i]);
        if (size_of(from)) continue;  // set where it was bound
        launch.kernel.set_pointer(static_cast<int>(i), from < cells_.size() ? cells_[from]->array().data() : static_cast<std::byte*>(between.data()) + bound->between[from - cells_.size()]);
      }
      launch.kernel.launch(stream_.handle(), bound->launches.size() == 1);
    }
  }

  /// See ThunkContext::foresee.
  void foresee(const WantKernel& want) {
    if (bound_.find()) return;
    if (std::optional<Bound> bound = bind(&want)) bound_.add(std::move(*bound));
  }

  /// See ThunkContext::foresee_memory.
  ThunkMemory memory() {
    Bound* bound = bound_.find();
    if (!bound) bound = &bound_.add(*bind(nullptr));
    WorkspaceNeed need;
    need.take(bound->between_bytes);
    for (const Launch& launch : bound->launches) need.pass(launch.kernel.scratch_bytes());
    return {.workspace = need.bytes()};
  }

 private:
  struct Launch {
    BoundKernel kernel;
    std::vector<int> parameters;
  };
  struct Bound {
    std::vector<Launch> launches;
    std::vector<std::size_t> between;  ///< offsets of the values between the kernels, of which there is one a row or less, and of copies, in memory that is theirs during a call
    std::size_t between_bytes = 0;

    void add_between(std::int64_t elements, std::size_t bytes) {
      between.push_back(between_bytes);
      between_bytes += WorkspacePieces::rounded(static_cast<std::size_t>(elements) * bytes);
    }
  };

  /// Whether the joins across rows are a kernel of their own. Without rows there are results all the same.
  bool parts_across(const KernelSpec& spec, const Geometry& geometry) const {
    if (!spec.joins_across()) return false;
    return geometry.count == 0 || geometry.reduced.count == 0 || !kernel_.backend().dialect().joins_across(spec, geometry, processors_of(kernel_.backend().limits()));
  }

  std::vector<ArrayLayout> layouts() const {
    std::vector<ArrayLayout> layouts;
    for (std::size_t i = 0; i < cells_.size(); ++i) layouts.push_back(layout_of(i));
    return layouts;
  }

  /// Of a cell, or of the number that stands for its shape.
  ArrayLayout layout_of(std::size_t cell) const {
    static const Shape kNumber{};
    static const Strides kNoStrides{};
    return size_of(cell) ? ArrayLayout{&kNumber, &kNoStrides} : ArrayLayout{&cells_[cell]->shape(), &cells_[cell]->strides()};
  }

  /// Of a cell of which no element is read: the number that the kernel gets. Else null.
  const SizeOp* size_of(std::size_t cell) const {
    return fused_ && fused_->has_sizes() && cell + static_cast<std::size_t>(node_.output_count()) < cells_.size() ? fused_->size(static_cast<int>(cell)) : nullptr;
  }

  void set_sizes(Launch& launch) const {
    for (std::size_t i = 0; i < launch.parameters.size(); ++i) {
      const auto from = static_cast<std::size_t>(launch.parameters[i]);
      if (const SizeOp* size = size_of(from)) launch.kernel.set_value(static_cast<int>(i), size->bits(cells_[from]->shape()));
    }
  }

  /// What all cells broadcast to. A group is over one space and its rows, as far as the graph tells when it is fused: that is so once all nodes
  /// of the graph are bound, some of which may be later than this.
  Shape space() const {
    std::vector<Shape> shapes;
    for (const Cell* cell : cells_) shapes.push_back(cell->shape());
    const std::size_t inputs = cells_.size() - static_cast<std::size_t>(node_.output_count()), cells = shapes.size();
    const FusedOp* fused = fused_;
    std::vector<Shape> all;  // of the inner graph
    if (fused && (reduced_axes_ != 0 || kernel_.spec().has_ordinals())) all = fused->shapes(std::span(shapes).first(inputs));
    for (std::size_t i = 0; i < inputs; ++i) {
      if (size_of(i)) shapes[i] = {};
    }
    if (kernel_.spec().has_ordinals()) shapes.insert(shapes.end(), all.begin(), all.end());  // no array need be as large as what is counted
    const Shape space = broadcast_shapes(shapes), row = reduced_shape(space, reduced_axes_, true), column = reduced_shape(space, other_axes(space), true);
    bool fits = true;
    for (std::size_t i = inputs; i < cells; ++i) fits &= shapes[i] == space || (reduced_axes_ != 0 && (shapes[i] == row || shapes[i] == column));
    if (fused && reduced_axes_ != 0) {
      const FunctionGraph& inner = *fused->inner_graph();
      for (NodeId node : inner.nodes()) {
        if (!kernel_op(inner, node).reduced_axes()) continue;
        const Shape &made = all[static_cast<std::size_t>(inner.outputs(node)[0])], &read = all[static_cast<std::size_t>(inner.inputs(node)[0])];
        fits &= read == space && (made == row || made == space || made == column);
      }
    }
    if (fused && !fits) throw ShapeError("the shapes of a group of ops differ: another op of the graph takes them for equal", "give values of equal shapes");
    return space;
  }

  /// want: see BoundKernel::bind. Nothing where code is missing.
  std::optional<Bound> bind(const WantKernel* want) {
    const Shape space = this->space();
    const Dialect& dialect = kernel_.backend().dialect();
    std::vector<ArrayLayout> arrays = layouts();
    std::vector<int> copied;
    std::list<Strides> in_order;  // of copies
    if (kernel_.spec().reduces() && dialect.copies_first()) copied = copies_first(kernel_.spec(), space, arrays);
    for (int input : copied) {
      ArrayLayout& array = arrays[static_cast<std::size_t>(input)];
      array.strides = &in_order.emplace_back(contiguous_strides(*array.shape));
    }
    const Geometry geometry = geometry_of(kernel_.spec(), space, arrays, reduced_axes_);
    const Processors processors = processors_of(kernel_.backend().limits());
    FormOfSpec& form = form_for(geometry, processors);
    const KernelSpec& spec = form.kernel->spec();
    if (spec.reduces() && dialect.prefers_passes(spec, geometry, processors)) return bind(space, plan(form, form.passes, split_passes, space.rank()), want);
    if (parts_across(spec, geometry)) return bind(space, plan(form, form.across, split_across, space.rank()), want);
    Bound bound;
    std::vector<int> parameters(cells_.size());
    for (std::size_t i = 0; i < parameters.size(); ++i) parameters[i] = static_cast<int>(i);
    bool is_whole = true;
    for (int input : copied) is_whole &= bind_copy(bound, parameters, arrays[static_cast<std::size_t>(input)], input, want);
    bound.launches.push_back({BoundKernel(*form.kernel, form.numbers), std::move(parameters)});
    Launch& last = bound.launches.back();
    is_whole &= last.kernel.bind(space, arrays, in_place_, reduced_axes_, want);
    last.kernel.set_flag(flag_);
    set_sizes(last);
    if (!is_whole) return {};
    return bound;
  }

  /// A copy of an input, which lies as `copy` says and becomes the kernel's.
  bool bind_copy(Bound& bound, std::vector<int>& parameters, const ArrayLayout& copy, int input, const WantKernel* want) {
    const std::size_t bytes = itemsize(cells_[static_cast<std::size_t>(input)]->dtype());
    std::shared_ptr<SpecKernel>& kernel = copies_[bytes];
    if (!kernel) kernel = std::make_shared<SpecKernel>(copy_spec(bytes), kernel_.backend());
    const int target = static_cast<int>(cells_.size() + bound.between.size());
    parameters[static_cast<std::size_t>(input)] = target;
    bound.launches.push_back({BoundKernel(*kernel), {input, target}});
    bound.add_between(copy.shape->size(), bytes);
    const ArrayLayout both[] = {layout_of(static_cast<std::size_t>(input)), copy};
    return bound.launches.back().kernel.bind(*copy.shape, both, false, 0, want);
  }

  /// All parts go over the whole's space.
  std::optional<Bound> bind(const Shape& space, const Plan& plan, const WantKernel* want) const {
    Bound bound;
    bool is_whole = true;
    const Shape row = reduced_shape(space, reduced_axes_, true);
    const Strides row_strides = contiguous_strides(row);
    for (const TensorType& type : plan.between) bound.add_between(row.size(), itemsize(type.dtype));
    for (const Part& part : plan.parts) {
      std::vector<ArrayLayout> arrays;
      for (int parameter : part.parameters) {
        const auto from = static_cast<std::size_t>(parameter);
        if (from < cells_.size()) arrays.push_back(layout_of(from));
        else arrays.push_back({&row, &row_strides});
      }
      bound.launches.push_back({BoundKernel(*part.kernel), part.parameters});
      is_whole &= bound.launches.back().kernel.bind(space, arrays, false, part.across ? other_axes(space) : part.reduced_axes, want);
      bound.launches.back().kernel.set_flag(flag_);
      set_sizes(bound.launches.back());
    }
    if (!is_whole) return {};
    return bound;
  }

  /// The axes of which there is one element for each of the rows.
  std::uint32_t other_axes(const Shape& space) const { return ~reduced_axes_ & static_cast<std::uint32_t>((std::uint64_t{1} << space.rank()) - 1); }

  /// The axes of the rows, counted from the last.
  std::uint32_t row_axes(int rank) const {
    std::uint32_t axes = 0;
    for (int axis = 0; axis < rank; ++axis) axes |= (reduced_axes_ >> axis & 1u) << (rank - 1 - axis);
    return axes;
  }

  /// The node's spec, or its form that goes through these rows once less.
  FormOfSpec& form_for(const Geometry& geometry, const Processors& processors) {
    const bool joins = joined_.kernel && kernel_.backend().dialect().prefers_one_reading(kernel_.spec(), joined_.kernel->spec(), geometry, processors);
    return joins ? joined_ : given_;
  }

  const Plan& plan(const FormOfSpec& form, Plan& plan, PassSpecs (*split)(const KernelSpec&, std::uint32_t), int rank) const {
    if (!plan.parts.empty()) return plan;
    KernelSpec own = form.kernel->spec();
    if (!form.numbers.empty()) own.numbers.assign(form.numbers.begin(), form.numbers.end());
    PassSpecs specs = split(own, row_axes(rank));
    for (PassSpec& part : specs.parts) {
      const std::uint32_t axes = part.spec.reduces() ? reduced_axes_ : 0;
      std::vector<int> parameters;
      for (int parameter : part.parameters) {
        if (const int array = array_of(parameter); array >= 0) parameters.push_back(array);
      }
      plan.parts.push_back({std::make_shared<SpecKernel>(std::move(part.spec), kernel_.backend()), std::move(parameters), axes, part.across});
    }
    for (DType dtype : specs.between) plan.between.push_back({dtype, {}});
    return plan;
  }

  /// Of a parameter of the spec, or of a value between passes behind them: its number without the spec's ordinals; -1 of these and of a part's own.
  int array_of(int parameter) const {
    const KernelSpec& spec = kernel_.spec();
    if (parameter == PassSpec::kPlaces || (parameter < spec.parameter_count() && spec.is_ordinals(parameter))) return -1;
    int array = parameter;
    for (int i = 0; i < std::min(parameter, spec.input_count()); ++i) array -= spec.is_ordinals(i) ? 1 : 0;
    return array;
  }

  VersionTable<Bound> bound_;
  SpecKernel& kernel_;
  std::vector<Scalar> numbers_;  // in the place of those of the kernel's spec; empty: those
  FormOfSpec given_, joined_;
  std::vector<Cell*> cells_;
  Apply node_;
  const FusedOp* fused_;  // of the node; null: another op
  Stream stream_;
  std::uint32_t reduced_axes_;
  bool in_place_;  // an output may have an input's memory
  const void* flag_;  // of guarded outputs
  std::map<std::size_t, std::shared_ptr<SpecKernel>> copies_;  // by the bytes of an item; empty until they are needed
};

}  // namespace

namespace {

/// The spec's form that goes through rows once less, or twice; nothing: it has none.
std::optional<KernelSpec> form_of_one_reading(const KernelSpec& spec) {
  std::optional<KernelSpec> form = is_disabled(kJoinMoments) ? std::nullopt : with_joined_moments(spec);
  std::optional<KernelSpec> further = is_disabled(kJoinExponentials) ? std::nullopt : with_joined_exponentials(form ? *form : spec);
  return further ? further : form;
}

Thunk kernel_thunk(SpecKernel& kernel, std::vector<Scalar> numbers, const Apply& node, ThunkContext& context, std::uint32_t reduced_axes) {
  context.promise_repeatable();
  context.promise_contained();
  std::vector<Cell*> cells;
  for (int input : array_inputs(node)) cells.push_back(&context.storage(node.input(input)));
  for (const Variable& output : node.outputs()) cells.push_back(&context.storage(output));
  std::optional<KernelSpec> form = form_of_one_reading(kernel.spec());
  if (form && !numbers.empty()) form->numbers = numbers;
  const auto thunk = std::make_shared<KernelThunk>(kernel, form ? &context.kernel(*form) : nullptr, std::move(numbers), std::move(cells), node, context, reduced_axes);
  context.foresee([thunk](const WantKernel& want) { thunk->foresee(want); });
  context.foresee_memory([thunk] { return thunk->memory(); });
  return [thunk] { (*thunk)(); };
}

}  // namespace

Thunk kernel_thunk(KernelSpec spec, const Apply& node, ThunkContext& context, std::uint32_t reduced_axes) { return kernel_thunk(context.kernel(spec), {}, node, context, reduced_axes); }

Thunk kernel_thunk(std::shared_ptr<const KernelSpec> spec, std::vector<Scalar> numbers, const Apply& node, ThunkContext& context, std::uint32_t reduced_axes) {
  return kernel_thunk(context.kernel(std::move(spec)), std::move(numbers), node, context, reduced_axes);
}

}  // namespace damo
