#include "ops/kernel_thunk.hpp"

#include <algorithm>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include <damo/thunk.hpp>
#include "graph/base/pass_names.hpp"
#include "ops/copies_first.hpp"
#include "ops/eager/index_kernels.hpp"
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
#include "runtime/kernel/taken.hpp"
#include "runtime/memory/workspace.hpp"

namespace damo {
namespace {

/// A kernel and what its parameters are: cells by number, and behind them values that live during the call.
struct Part {
  std::shared_ptr<SpecKernel> kernel;
  std::vector<int> parameters;
  std::uint32_t reduced_axes = 0;
  bool across = false;  ///< it reduces the axes that rows are joined across
};

/// Kernels that do the node's work one after another, and the values between them.
struct Plan {
  std::vector<Part> parts;
  std::vector<PassSpecs::Between> between;
};

/// A spec that says what the node computes, its kernel, and the kernels that it may be split into.
struct FormOfSpec {
  SpecKernel* kernel = nullptr;     // null: there is no such spec
  std::span<const Scalar> numbers;  // in the place of those of the kernel's spec; empty: those
  Plan passes, apart;               // empty until they are needed
};

class KernelThunk {
 public:
  /// joined: of the spec's form that goes through rows once less, with its own numbers; null: it has none. cells: of the group's inputs, and of its outputs; positions: of those inputs that are taken.
  KernelThunk(SpecKernel& kernel, SpecKernel* joined, std::vector<Scalar> numbers, std::vector<Cell*> cells, std::vector<Cell*> positions, Apply node, ThunkContext& context, std::uint32_t reduced_axes)
      : bound_(all_of(cells, positions)), kernel_(kernel), numbers_(std::move(numbers)), given_{&kernel, numbers_}, joined_{joined}, cells_(std::move(cells)), positions_(std::move(positions)), node_(std::move(node)), fused_(dynamic_cast<const FusedOp*>(&node_.op())), stream_(context.stream()), reduced_axes_(reduced_axes), in_place_(context.runs_in_place()), flag_(kernel.spec().has_guards() ? context.fault_flag() : nullptr) {}

  void operator()() {
    Bound* bound = bound_.find();
    if (!bound) bound = &bound_.add(*bind(nullptr));
    taken_.clear();  // what a call that failed has left
    if (bound->copies_takes) copy_takes();
    const Scratch between(kernel_.backend(), bound->between_bytes);
    for (Launch& launch : bound->launches) {
      for (std::size_t i = 0; i < launch.parameters.size(); ++i) {
        const auto from = static_cast<std::size_t>(launch.parameters[i]);
        if (size_of(from)) continue;  // set where it was bound
        launch.kernel.set_pointer(static_cast<int>(i), from < cells_.size() ? array_of_cell(from).data() : static_cast<std::byte*>(between.data()) + bound->between[from - cells_.size()]);
      }
      const bool takes = !bound->copies_takes && &launch == &bound->launches.back();
      for (std::size_t i = 0; i < positions_.size() && takes; ++i) launch.kernel.set_positions(fused_->takes()[i].input, positions_[i]->array().data());
      launch.kernel.launch(stream_.handle(), bound->launches.size() == 1 && !bound->copies_takes);
    }
    taken_.clear();
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
    for (std::size_t i = 0; i < positions_.size() && bound->copies_takes; ++i) need.take(static_cast<std::size_t>(taken_shape_of(i).size()) * itemsize(taken_from(i).dtype()));
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
    std::vector<std::size_t> between;  ///< offsets of the values between the kernels, and of copies, in memory that is theirs during a call
    std::size_t between_bytes = 0;
    bool copies_takes = false;         ///< what is taken is copied first

    void add_between(std::int64_t elements, std::size_t bytes) {
      between.push_back(between_bytes);
      between_bytes += WorkspacePieces::rounded(static_cast<std::size_t>(elements) * bytes);
    }
  };

  /// Whether the joins across rows, or the prefix joins, are a kernel of their own. Without rows, or elements of them, there are results all the same.
  bool comes_apart(const FormOfSpec& form, const Geometry& geometry) const {
    const KernelSpec& spec = form.kernel->spec();
    if (!spec.joins_across() && !spec.scans_beside_rows()) return false;
    if (geometry.count == 0 || geometry.reduced.count == 0) return true;
    const Dialect& dialect = kernel_.backend().dialect();
    const KernelSpec& short_spec = form.kernel->spec_for(geometry, form.numbers);
    const Processors processors = processors_of(kernel_.backend().limits());
    return spec.joins_across() ? !dialect.joins_across(short_spec, geometry, processors) : !dialect.scans_rows(short_spec, geometry, processors);
  }

  static std::vector<const Cell*> all_of(const std::vector<Cell*>& cells, const std::vector<Cell*>& positions) {
    std::vector<const Cell*> all(cells.begin(), cells.end());
    all.insert(all.end(), positions.begin(), positions.end());
    return all;
  }

  static std::size_t cell_of(int input) { return static_cast<std::size_t>(input); }
  std::span<const FramedInput> frames() const { return fused_ ? std::span(fused_->frames()) : std::span<const FramedInput>(); }

  // Of what take number i takes.
  const Cell& taken_from(std::size_t i) const { return *cells_[static_cast<std::size_t>(fused_->takes()[i].input)]; }
  Shape taken_shape_of(std::size_t i) const { return fused_->takes()[i].op->shape(taken_from(i).shape(), positions_[i]->shape()); }

  void copy_takes() {
    for (std::size_t i = 0; i < positions_.size(); ++i) {
      const TakeOp& take = *fused_->takes()[i].op;
      const Array& x = taken_from(i).array();
      gather(x, positions_[i]->array(), taken_.emplace_back(Array::empty(taken_shape_of(i), x.dtype(), x.device())), take.axis(), take.axes(), take.is_strided());
    }
  }

  /// A cell's array, or the copy of what is taken from it.
  const Array& array_of_cell(std::size_t cell) const {
    for (std::size_t i = 0; i < taken_.size(); ++i) {
      if (static_cast<std::size_t>(fused_->takes()[i].input) == cell) return taken_[i];
    }
    return cells_[cell]->array();
  }

  /// The shapes of the group's arrays.
  std::vector<Shape> shapes_of_arrays() const {
    std::vector<Shape> shapes;
    for (const Cell* cell : cells_) shapes.push_back(cell->shape());
    for (std::size_t i = 0; i < positions_.size(); ++i) shapes[static_cast<std::size_t>(fused_->takes()[i].input)] = taken_shape_of(i);
    for (const FramedInput& frame : frames()) shapes[cell_of(frame.input)] = frame.op->shape(shapes[cell_of(frame.input)]);
    return shapes;
  }

  /// How the group's arrays lie. Those that are taken: as copies in C order, or where they are.
  struct Arrays {
    std::vector<ArrayLayout> layouts;
    std::list<Shape> shapes;
    std::list<Strides> strides;
    std::list<TakenLayout> taken;
    std::list<FrameLayout> frames;
  };

  /// Copies: what is taken lies in C order; else in the arrays that it is taken from. Nothing where it cannot be said so: axes that positions count through do not lie like one.
  std::optional<Arrays> arrays(bool copies) const {
    std::optional<Arrays> all(std::in_place);
    for (std::size_t i = 0; i < cells_.size(); ++i) all->layouts.push_back(layout_of(i));
    for (const FramedInput& frame : frames()) {
      ArrayLayout& layout = all->layouts[cell_of(frame.input)];
      std::uint64_t bits = 0;
      frame.value.store(&bits);
      layout.frame = &all->frames.emplace_back(frame.op->frame(*layout.shape, bits));
      layout.shape = &all->shapes.emplace_back(frame.op->shape(*layout.shape));
    }
    for (std::size_t i = 0; i < positions_.size(); ++i) {
      ArrayLayout& layout = all->layouts[static_cast<std::size_t>(fused_->takes()[i].input)];
      layout.shape = &all->shapes.emplace_back(taken_shape_of(i));
      Strides& strides = all->strides.emplace_back(contiguous_strides(*layout.shape));
      layout.strides = &strides;
      if (copies) continue;
      std::optional<TakenLayout> taken = taken_layout(*fused_->takes()[i].op, taken_from(i), *positions_[i], strides);
      if (!taken) return {};
      layout.taken = &all->taken.emplace_back(std::move(*taken));
    }
    return all;
  }

  /// strides: those of what is taken, where it is.
  static std::optional<TakenLayout> taken_layout(const TakeOp& take, const Cell& x, const Cell& positions, Strides& strides) {
    const int walked = take.axis() + take.axes(), behind = x.shape().rank() - walked;
    TakenLayout taken{.shape = positions.shape(), .strides = positions.strides()};
    for (int axis = 0; axis < behind; ++axis) {
      taken.shape.push_back(1);
      taken.strides.push_back(0);
    }
    strides = Strides();
    for (int axis = 0; axis < take.axis(); ++axis) strides.push_back(x.strides()[axis]);
    for (int axis = 0; axis < positions.shape().rank(); ++axis) strides.push_back(0);
    for (int axis = walked; axis < x.shape().rank(); ++axis) strides.push_back(x.strides()[axis]);
    taken.extent = walked_extent(x.shape(), take.axis(), take.axes());
    std::int64_t counted = 1;
    for (int axis = walked - 1; axis >= take.axis(); --axis) {
      if (x.shape()[axis] == 1) continue;
      if (counted == 1) taken.apart = x.strides()[axis];
      else if (x.strides()[axis] != taken.apart * counted) return {};
      counted *= x.shape()[axis];
    }
    return taken;
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
    std::vector<Shape> shapes = shapes_of_arrays();
    const std::size_t inputs = cells_.size() - static_cast<std::size_t>(node_.output_count()), cells = shapes.size();
    const FusedOp* fused = fused_;
    std::vector<Shape> all;  // of the inner graph
    if (fused && (reduced_axes_ != 0 || kernel_.spec().has_ordinals())) all = fused->shapes(std::span(shapes).first(inputs));
    for (std::size_t i = 0; i < inputs; ++i) {
      const bool is_table = kernel_.spec().is_table(static_cast<int>(i));
      if (size_of(i) || is_table) shapes[i] = {};
      if (is_table && !all.empty()) all[static_cast<std::size_t>(fused->inner_graph()->inputs()[i])] = {};
    }
    if (kernel_.spec().has_ordinals()) shapes.insert(shapes.end(), all.begin(), all.end());  // no array need be as large as what is counted
    const Shape space = broadcast_shapes(shapes), row = reduced_shape(space, reduced_axes_, true), column = reduced_shape(space, across_axes(), true);
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
    if (std::optional<Arrays> found = positions_.empty() ? std::nullopt : this->arrays(false)) {
      bool follows = true;
      std::optional<Bound> bound = bind(found->layouts, false, follows, want);
      if (follows) return bound;
    }
    for (std::size_t i = 0; i < positions_.size(); ++i) prepare_gather(Device(&kernel_.backend()), taken_from(i).dtype(), fused_->takes()[i].op->is_strided());
    bool follows = true;
    return bind(this->arrays(true)->layouts, true, follows, want);
  }

  /// follows: whether the kernel finds what is taken; without it nothing is bound.
  std::optional<Bound> bind(std::vector<ArrayLayout>& arrays, bool copies_takes, bool& follows, const WantKernel* want) {
    const Shape space = this->space();
    const Dialect& dialect = kernel_.backend().dialect();
    std::list<Strides> in_order;  // of copies
    const std::vector<std::pair<int, ArrayLayout>> tables = put_tables_in_order(arrays, in_order);
    const std::vector<ArrayLayout> lying = arrays;
    std::vector<int> copied;
    if (kernel_.spec().reduces() && dialect.copies_first()) copied = copies_first(kernel_.spec(), space, arrays);
    for (int input : copied) {
      ArrayLayout& array = arrays[static_cast<std::size_t>(input)];
      array.strides = &in_order.emplace_back(contiguous_strides(*array.shape));
    }
    const Geometry geometry = geometry_of(kernel_.spec(), space, arrays, reduced_axes_);
    const Processors processors = processors_of(kernel_.backend().limits());
    FormOfSpec& form = form_for(geometry, processors);
    const KernelSpec& spec = form.kernel->spec();
    const bool in_passes = spec.reduces() && dialect.prefers_passes(spec, geometry, processors), apart = !in_passes && comes_apart(form, geometry);
    if (!geometry.taken.empty() && geometry.count > 0) {
      follows = !in_passes && !apart && follows_positions(spec, form.kernel->layout_of(geometry, in_place_), geometry);
      if (!follows) return {};
    }
    Bound bound;
    bound.copies_takes = copies_takes && !positions_.empty();
    std::vector<int> parameters(cells_.size());
    for (std::size_t i = 0; i < parameters.size(); ++i) parameters[i] = static_cast<int>(i);
    bool is_whole = true;
    for (const auto& [input, array] : tables) is_whole &= bind_copy(bound, parameters, array, arrays[static_cast<std::size_t>(input)], input, want);
    const auto in_parts = [&](std::optional<Bound> parts) { return is_whole ? std::move(parts) : std::nullopt; };
    const bool leaves = dialect.leaves_elements();
    const auto by_pass = [&](const KernelSpec& own, std::uint32_t rows) { return split_passes(own, rows, leaves); };
    const auto at_prefixes = [&](const KernelSpec& own, std::uint32_t rows) { return split_prefixes(own, rows, leaves); };
    if (in_passes) return in_parts(bind(std::move(bound), space, lying, parameters, plan(form, form.passes, by_pass, space.rank()), want));
    if (apart && spec.joins_across()) return in_parts(bind(std::move(bound), space, lying, parameters, plan(form, form.apart, split_across, space.rank()), want));
    for (int input : copied) is_whole &= bind_copy(bound, parameters, lying[static_cast<std::size_t>(input)], arrays[static_cast<std::size_t>(input)], input, want);
    if (apart) return in_parts(bind(std::move(bound), space, arrays, parameters, plan(form, form.apart, at_prefixes, space.rank()), want));
    bound.launches.push_back({BoundKernel(*form.kernel, form.numbers), std::move(parameters)});
    Launch& last = bound.launches.back();
    is_whole &= last.kernel.bind(space, arrays, in_place_, reduced_axes_, want);
    last.kernel.set_flag(flag_);
    set_sizes(last);
    if (!is_whole) return {};
    return bound;
  }

  /// The tables that do not lie in C order, which a kernel gets copies of: their layouts become those of the copies. Gives how they lie.
  std::vector<std::pair<int, ArrayLayout>> put_tables_in_order(std::vector<ArrayLayout>& arrays, std::list<Strides>& in_order) const {
    std::vector<std::pair<int, ArrayLayout>> tables;
    for (int input = 0; input < kernel_.spec().input_count(); ++input) {
      if (!kernel_.spec().is_table(input)) continue;
      ArrayLayout& array = arrays[static_cast<std::size_t>(input)];
      if (is_contiguous(*array.shape, *array.strides)) continue;
      tables.emplace_back(input, array);
      array.strides = &in_order.emplace_back(contiguous_strides(*array.shape));
    }
    return tables;
  }

  /// A copy of an input, which lies as `copy` says and becomes the kernel's.
  bool bind_copy(Bound& bound, std::vector<int>& parameters, const ArrayLayout& array, const ArrayLayout& copy, int input, const WantKernel* want) {
    const std::size_t bytes = itemsize(cells_[static_cast<std::size_t>(input)]->dtype());
    std::shared_ptr<SpecKernel>& kernel = copies_[bytes];
    if (!kernel) kernel = std::make_shared<SpecKernel>(copy_spec(bytes), kernel_.backend());
    const int target = static_cast<int>(cells_.size() + bound.between.size());
    parameters[static_cast<std::size_t>(input)] = target;
    bound.launches.push_back({BoundKernel(*kernel), {input, target}});
    bound.add_between(copy.shape->size(), bytes);
    const ArrayLayout both[] = {array, copy};
    return bound.launches.back().kernel.bind(*copy.shape, both, false, 0, want);
  }

  /// All parts go over the whole's space. cells: what stands for each cell, which lies as `lying` says: itself, or a copy.
  std::optional<Bound> bind(Bound bound, const Shape& space, const std::vector<ArrayLayout>& lying, const std::vector<int>& cells, const Plan& plan, const WantKernel* want) const {
    bool is_whole = true;
    const std::size_t copies = bound.between.size();
    const Shape row = reduced_shape(space, reduced_axes_, true);
    const Strides row_strides = contiguous_strides(row), space_strides = contiguous_strides(space);
    for (const PassSpecs::Between& each : plan.between) bound.add_between(each.is_element ? space.size() : row.size(), itemsize(each.dtype));
    for (const Part& part : plan.parts) {
      std::vector<ArrayLayout> arrays;
      std::vector<int> parameters;
      for (int parameter : part.parameters) {
        const auto from = static_cast<std::size_t>(parameter);
        parameters.push_back(from < cells_.size() ? cells[from] : static_cast<int>(from + copies));
        if (from < cells_.size()) arrays.push_back(lying[from]);
        else if (plan.between[from - cells_.size()].is_element) arrays.push_back({&space, &space_strides});
        else arrays.push_back({&row, &row_strides});
      }
      bound.launches.push_back({BoundKernel(*part.kernel), std::move(parameters)});
      is_whole &= bound.launches.back().kernel.bind(space, arrays, false, part.across ? across_axes() : part.reduced_axes, want);
      bound.launches.back().kernel.set_flag(flag_);
      set_sizes(bound.launches.back());
    }
    if (!is_whole) return {};
    return bound;
  }

  /// The axes that rows are joined across.
  std::uint32_t across_axes() const { return fused_ ? fused_->across_axes() : 0; }

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

  template <class Split>
  const Plan& plan(const FormOfSpec& form, Plan& plan, const Split& split, int rank) const {
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
      plan.parts.push_back({std::make_shared<SpecKernel>(std::move(part.spec), kernel_.backend(), kernel_.contracts()), std::move(parameters), axes, part.across});
    }
    plan.between = std::move(specs.between);
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
  std::vector<Cell*> positions_;  // of inputs that are taken
  std::vector<Array> taken_;      // during a call: copies of these, where the kernel does not find them
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
  std::vector<Cell*> cells, positions;
  const auto* fused = dynamic_cast<const FusedOp*>(&node.op());
  for (int input : array_inputs(node)) (fused && input >= fused->array_count() ? positions : cells).push_back(&context.storage(node.input(input)));
  for (const Variable& output : node.outputs()) cells.push_back(&context.storage(output));
  std::optional<KernelSpec> form = form_of_one_reading(kernel.spec());
  if (form && !numbers.empty()) form->numbers = numbers;
  const auto thunk = std::make_shared<KernelThunk>(kernel, form ? &context.kernel(*form) : nullptr, std::move(numbers), std::move(cells), std::move(positions), node, context, reduced_axes);
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
