#include "ops/window_thunk.hpp"

#include <memory>
#include <optional>
#include <utility>

#include <damo/thunk.hpp>
#include "ops/elementwise_op.hpp"
#include "runtime/exec/version_table.hpp"
#include "runtime/kernel/spec_kernel.hpp"
#include "runtime/stream/work_log.hpp"

namespace damo {
namespace {

KernelSpec spec_of(WindowWrite write, DType dtype) {
  KernelSpec spec;
  spec.outputs = {dtype};
  if (write != WindowWrite::kAdd) {
    spec.name = "copy";
    spec.inputs = {dtype};
    spec.stores = {0};
    return spec;
  }
  const auto& add = static_cast<const ElementwiseOp&>(*elementwise_op(*find_elementwise("add")));
  const DType dtypes[] = {dtype, dtype};
  spec.name = "add_to";
  spec.inputs = {dtype, dtype};
  spec.steps = {add.step(dtypes, {0, 1})};
  spec.stores = {2};
  return spec;
}

class WindowThunk {
 public:
  /// in_place: by input, see ThunkContext::lies_in_place.
  WindowThunk(SpecKernel& kernel, std::vector<Cell*> inputs, std::vector<bool> in_place, Cell& output, Stream stream, WindowWrite write, Windows windows)
      : bound_(watched(inputs, output)), kernel_(kernel), inputs_(std::move(inputs)), in_place_(std::move(in_place)), output_(output), stream_(stream), write_(write), windows_(std::move(windows)) {}

  void operator()() {
    std::vector<Launch>* launches = bound_.find();
    if (!launches) launches = &bound_.add(*bind(nullptr));
    const auto bytes = static_cast<std::int64_t>(itemsize(output_.dtype()));
    if (WorkLog* log = current_log(kernel_.backend()); log && write_ == WindowWrite::kSetApart) log->note_apart();
    for (Launch& launch : *launches) {
      const std::byte* from = inputs_[static_cast<std::size_t>(launch.input)]->data<const std::byte>() + launch.from * bytes;
      const std::byte* to = output_.data<const std::byte>() + launch.to * bytes;
      if (launch.expected) {
        if (from == to) continue;
        if (!launch.kernel) launch.kernel.emplace(kernel_).bind(launch.expected->to.shape, arrays(*launch.expected), false);
      }
      launch.kernel->set_pointer(0, from);
      launch.kernel->set_pointer(1, to);
      if (write_ == WindowWrite::kAdd) launch.kernel->set_pointer(2, to);
      launch.kernel->launch(stream_.handle());
    }
  }

  /// See ThunkContext::foresee.
  void foresee(const WantKernel& want) {
    if (bound_.find()) return;
    if (std::optional<std::vector<Launch>> launches = bind(&want)) bound_.add(std::move(*launches));
  }

 private:
  struct Launch {
    std::optional<BoundKernel> kernel;
    int input;
    std::int64_t from, to;  ///< offsets, in elements
    std::optional<Window> expected;  ///< of an input that mostly lies in place: it has a kernel once it did not
  };

  static std::vector<const Cell*> watched(const std::vector<Cell*>& inputs, const Cell& output) {
    std::vector<const Cell*> cells(inputs.begin(), inputs.end());
    cells.push_back(&output);
    return cells;
  }
  std::vector<Window> windows() const {
    std::vector<Op::Layout> layouts;
    for (const Cell* input : inputs_) layouts.push_back({input->shape(), input->strides(), 0});
    return windows_(layouts, {output_.shape(), output_.strides(), 0});
  }
  std::vector<ArrayLayout> arrays(const Window& window) const {
    const ArrayLayout from{.shape = &window.from.shape, .strides = &window.from.strides, .frame = window.frame ? &*window.frame : nullptr}, to{&window.to.shape, &window.to.strides};
    return write_ == WindowWrite::kAdd ? std::vector{from, to, to} : std::vector{from, to};
  }
  /// want: see BoundKernel::bind. Nothing where code is missing.
  std::optional<std::vector<Launch>> bind(const WantKernel* want) const {
    std::vector<Launch> launches;
    bool is_whole = true;
    for (const Window& window : windows()) {
      if (window.to.shape.size() == 0) continue;
      launches.push_back({{}, window.input, window.from.offset, window.to.offset, {}});
      if (in_place_[static_cast<std::size_t>(window.input)]) {
        launches.back().expected = window;
        continue;
      }
      is_whole &= launches.back().kernel.emplace(kernel_).bind(window.to.shape, arrays(window), write_ == WindowWrite::kAdd, 0, want);
    }
    if (!is_whole) return {};
    return launches;
  }

  VersionTable<std::vector<Launch>> bound_;
  SpecKernel& kernel_;
  std::vector<Cell*> inputs_;
  std::vector<bool> in_place_;
  Cell& output_;
  Stream stream_;
  WindowWrite write_;
  Windows windows_;
};

}  // namespace

Op::Layout between(const Op::Layout& x, int axis, std::int64_t first, std::int64_t count) {
  Op::Layout part = x;
  part.shape[axis] = count;
  if (part.shape.size() > 0) part.offset += first * x.strides[axis];
  return part;
}

Thunk window_thunk(const Apply& node, ThunkContext& context, WindowWrite write, Windows windows) {
  context.promise_repeatable();
  context.promise_contained();
  SpecKernel& kernel = context.kernel(spec_of(write, node.output().dtype()));
  std::vector<Cell*> inputs;
  std::vector<bool> in_place;
  for (const Variable& input : node.inputs()) {
    in_place.push_back(context.lies_in_place(static_cast<int>(inputs.size())));
    inputs.push_back(&context.storage(input));
  }
  const auto thunk = std::make_shared<WindowThunk>(kernel, std::move(inputs), std::move(in_place), context.storage(node.output()), context.stream(), write, std::move(windows));
  context.foresee([thunk](const WantKernel& want) { thunk->foresee(want); });
  return [thunk] { (*thunk)(); };
}

}  // namespace damo
