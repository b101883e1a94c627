#include "runtime/kernel/spec_kernel.hpp"

#include <algorithm>
#include <utility>

#include <damo/log.hpp>
#include "graph/base/pass_names.hpp"
#include "runtime/array/array_layout.hpp"
#include "runtime/kernel/cache.hpp"
#include "runtime/kernel/dialect.hpp"
#include "runtime/kernel/framed.hpp"
#include "runtime/kernel/short_integers.hpp"
#include "runtime/kernel/sought_elements.hpp"
#include "runtime/kernel/taken.hpp"
#include "runtime/memory/workspace.hpp"
#include "runtime/stream/work_log.hpp"

namespace damo {

SpecKernel::SpecKernel(KernelSpec spec, Backend& backend, bool contracts) : spec_(std::move(spec)), backend_(backend), contracts_(contracts), seeks_(backend.dialect().seeks_elements() && !is_disabled(kSeekElements) && with_sought_elements(spec_)) {}

const KernelSpec& SpecKernel::form(const std::vector<int>& digits) const {
  if (!may_go_short(spec_) && !seeks_) return spec_;
  const std::lock_guard lock(forms_mutex_);
  const auto found = forms_.find(digits);
  if (found != forms_.end()) return found->second;
  KernelSpec form = with_short_integers(spec_, digits);
  if (seeks_) form = with_sought_elements(form).value_or(form);
  return forms_.emplace(digits, std::move(form)).first->second;
}

const KernelSpec& SpecKernel::spec_for(const Geometry& geometry, std::span<const Scalar> numbers) const { return form(layout_digits(geometry, numbers)); }

std::vector<int> SpecKernel::layout_digits(const Geometry& geometry, std::span<const Scalar> numbers) const {
  const std::vector<int> digits = digits_of(spec_, geometry, numbers);
  if (digits.empty()) return digits;
  const std::lock_guard lock(forms_mutex_);
  const auto found = most_digits_.find(digits);
  return found != most_digits_.end() ? found->second : most_digits_.emplace(digits, most_digits(spec_, digits)).first->second;
}

Layout SpecKernel::layout_of(const Geometry& geometry, bool in_place, std::span<const Scalar> numbers) const {
  Layout layout = spec_.reduces() ? classify_reducing(geometry) : classify(geometry, spec_.input_count(), backend_.dialect().shortest_tile());
  layout.in_place = in_place;
  for (int i = 0; i < spec_.input_count(); ++i) {
    if (spec_.is_value(i)) layout.access[static_cast<std::size_t>(i)] = Access::kValue;
  }
  if (spec_.loop && layout.tile_axis >= 0) {  // each turn would need its own tiles
    layout.tile_axis = -1, layout.tile_inner = layout.tile_other = 0;
    std::replace(layout.access.begin(), layout.access.end(), Access::kTransposed, Access::kStrided);
  }
  layout.digits = layout_digits(geometry, numbers);
  const KernelSpec& spec = spec_of(layout);
  layout = backend_.dialect().adapt(spec, std::move(layout));
  if (spec.reduces()) return backend_.dialect().share_rows(spec, std::move(layout), geometry, processors_of(backend_.limits()));
  return backend_.dialect().lay_flat(spec, std::move(layout), geometry);
}

std::string SpecKernel::source(const Layout& layout) const {
  const Dialect& dialect = backend_.dialect();
  for (const Override& by_hand : spec_.overrides) {
    if (by_hand.dialect == dialect.name()) return by_hand.text(layout);
  }
  return dialect.emit(spec_of(layout), layout);
}

CompileRequest SpecKernel::request(const Layout& layout) const {
  CompileRequest request;
  request.source = source(layout);
  request.file_name = "generated";
  request.kernels = entry_names(spec_, layout);
  if (spec_.users_text) {
    request.kind = SourceKind::kCudaC;
    request.flags = spec_.users_text->flags;
  }
  request.options.contract = contracts_;
  request.options.line_info = spec_.has_users_code();  // what Damo writes does not fault
  return request;
}

std::unique_ptr<SpecKernel::Variant> SpecKernel::make_variant(const Layout& layout, const LoadedModule& module) const {
  auto variant = std::make_unique<Variant>(layout, std::vector<std::shared_ptr<const LoadedKernel>>());
  for (const std::string& name : entry_names(spec_, layout)) variant->kernels.push_back(module.kernel(name));
  return variant;
}

void SpecKernel::add(const Layout& layout, std::shared_ptr<const LoadedModule> module) {
  std::unique_ptr<Variant> variant = make_variant(layout, *module);
  const std::lock_guard lock(mutex_);
  variants_.push_back(std::move(variant));
}

bool SpecKernel::has(const Layout& layout) const {
  const std::lock_guard lock(mutex_);
  for (const auto& variant : variants_) {
    if (variant->layout == layout) return true;
  }
  return false;
}

const SpecKernel::Variant* SpecKernel::find(const Layout& layout, std::int64_t count) const {
  const std::lock_guard lock(mutex_);
  const Variant* serving = nullptr;
  for (const auto& variant : variants_) {
    if (variant->layout == layout) return variant.get();
    if (!serving && serves(variant->layout, layout, count)) serving = variant.get();
  }
  return serving;
}

const SpecKernel::Variant& SpecKernel::exact_variant(const Layout& layout) {
  if (!has(layout)) add(layout, backend_.cache().get(request(layout)));
  return *find(layout, 0);
}

const SpecKernel::Variant& SpecKernel::variant(const Layout& layout, std::int64_t count) {
  if (const Variant* found = find(layout, count)) return *found;
  log(LogLevel::kDebug, "compiling " + entry_name(spec_) + " for a new layout: " + to_string(layout));
  add(layout, backend_.cache().get(request(layout)));
  return *find(layout, count);
}

std::vector<const SpecKernel::Variant*> SpecKernel::variants() const {
  const std::lock_guard lock(mutex_);
  std::vector<const Variant*> all;
  for (const auto& variant : variants_) all.push_back(variant.get());
  return all;
}

std::size_t bytes_of(const KernelSpec& spec, const Geometry& geometry) {
  std::size_t sum = 0;
  for (int i = 0; i < spec.parameter_count(); ++i) {
    const auto at = static_cast<std::size_t>(i);
    auto bytes = static_cast<std::size_t>(spec.element_bytes(i));
    const auto taken = std::find_if(geometry.taken.begin(), geometry.taken.end(), [&](const TakenAxes& axes) { return axes.array == i; });
    const bool is_taken = taken != geometry.taken.end();
    const auto times = [&](const Shape& extents, const Strides& strides, const Strides* positions) {
      for (int axis = 0; axis < extents.rank(); ++axis) {
        if (strides[axis] != 0 || (positions && (*positions)[axis] != 0)) bytes *= static_cast<std::size_t>(extents[axis]);
      }
    };
    times(geometry.extents, geometry.strides[at], is_taken ? &taken->kept : nullptr);
    times(geometry.reduced.extents, geometry.reduced.strides[at], is_taken ? &taken->reduced : nullptr);
    sum += bytes;
  }
  return sum;
}

Geometry geometry_of(const KernelSpec& spec, const Shape& space, std::span<const ArrayLayout> arrays, std::uint32_t reduced_axes) {
  std::vector<int> across;
  for (int output = 0; output < static_cast<int>(spec.outputs.size()); ++output) {
    if (spec.is_across(spec.stores[static_cast<std::size_t>(output)])) across.push_back(spec.input_count() + output);
  }
  static const Shape kNumber{};
  static const Strides kNoStrides{};
  if (!spec.has_ordinals() && !spec.has_tables()) return Geometry(space, arrays, reduced_axes, spec.uses_place(), across);
  std::vector<Shape> shapes;
  std::vector<Strides> strides;
  for (const auto& axes : spec.ordinals) {
    Shape& shape = shapes.emplace_back(space);
    for (int axis = 0; axis < space.rank(); ++axis) {
      if (axes && !(*axes >> (space.rank() - 1 - axis) & 1u)) shape[axis] = 1;
    }
    strides.push_back(contiguous_strides(shape));
  }
  std::vector<ArrayLayout> all;
  std::int64_t longest_table = 0;
  std::size_t next = 0;
  for (int i = 0; i < spec.parameter_count(); ++i) {
    const auto at = static_cast<std::size_t>(i);
    if (spec.is_ordinals(i)) all.push_back({&shapes[at], &strides[at]});
    else if (spec.is_table(i)) all.push_back({&kNumber, &kNoStrides}), longest_table = std::max(longest_table, arrays[next++].shape->size());  // it lies along none of the space's axes
    else all.push_back(arrays[next++]);
  }
  Geometry geometry(space, all, reduced_axes, spec.uses_place(), across);
  geometry.longest_table = longest_table;
  return geometry;
}

namespace {

/// Of clusters that stay as many as the device holds at once have the work: one that came when others have ended would go through its rows alone. Those that are not beside others in a group of multiprocessors
/// count as none.
Work resident_work(const Dialect& dialect, const KernelSpec& spec, const SpecKernel::Variant& variant, const Geometry& geometry, Processors processors) {
  const Work work = dialect.work(spec, variant.layout, geometry, processors);
  if (variant.layout.ahead == 0 || variant.layout.cluster == 1) return work;
  const LaunchConfig& config = work.launches[0].config;
  const std::int64_t resident = variant.kernels[0]->resident_clusters(variant.layout.cluster, static_cast<int>(config.block.x), config.shared_bytes) * variant.layout.cluster / std::max(variant.layout.residents, 1);
  if (resident == 0 || resident >= processors.count) return work;
  processors.count = static_cast<int>(resident);
  return dialect.work(spec, variant.layout, geometry, processors);
}

}  // namespace

BoundKernel::BoundKernel(SpecKernel& kernel, std::span<const Scalar> numbers) : kernel_(&kernel), numbers_(numbers) {
  for (int i = 0; i < kernel.spec().parameter_count(); ++i) {
    if (!kernel.spec().is_ordinals(i)) parameters_.push_back(i);
  }
}

bool BoundKernel::bind(const Shape& space, std::span<const ArrayLayout> arrays, bool in_place, std::uint32_t reduced_axes, const WantKernel* want) {
  launches_.clear();
  unaligned_.clear();
  undecided_.reset();
  scratch_bytes_ = zeroed_bytes_ = 0;
  const KernelSpec& spec = kernel_->spec();
  Geometry geometry = geometry_of(spec, space, arrays, reduced_axes);
  if (geometry.count == 0 || (spec.scans() && geometry.reduced.count == 0)) return true;
  const SpecKernel::Choice choice = kernel_->choose(geometry, in_place, numbers_);
  if (!follows_positions(spec, choice.layout, geometry)) throw InternalError("a kernel was given arrays at positions that its form does not follow: " + to_string(choice.layout));
  if (!follows_frames(spec, choice.layout, geometry, kernel_->backend().dialect())) throw InternalError("a kernel was given framed arrays that its form does not follow: " + to_string(choice.layout));
  if (want && !(*want)(*kernel_, choice.layout, geometry.count)) return false;
  const SpecKernel::Variant& variant = kernel_->variant(choice.layout, geometry.count);
  if (!spec.reduces()) geometry = with_rank(std::move(geometry), variant.layout.rank);
  const std::size_t bytes = bytes_of(spec, geometry);
  prepare(variant, geometry, bytes);
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    const int parameter = parameters_[i];
    if (!spec.is_table(parameter)) continue;
    if (!is_contiguous(*arrays[i].shape, *arrays[i].strides)) throw InternalError("a kernel was given a table that does not lie in C order");
    block_.set_size(parameter, arrays[i].shape->size());
  }
  if (!numbers_.empty()) block_.set_numbers(numbers_);
  bind_finish(space, arrays, reduced_axes);
  if (choice.trial) await_choice(choice.trial, std::move(geometry), bytes, arrays);
  return true;
}

/// All but addresses and values of one way to share the work out.
void BoundKernel::prepare(const SpecKernel::Variant& variant, const Geometry& geometry, std::size_t bytes) {
  const KernelSpec& spec = kernel_->spec_of(variant.layout);
  const Dialect& dialect = kernel_->backend().dialect();
  const Work work = resident_work(dialect, spec, variant, geometry, processors_of(kernel_->backend().limits()));
  variant_ = &variant;
  launches_.clear();
  unaligned_.clear();
  block_ = ArgumentBlock(spec, variant.layout, geometry, dialect.vector_width(spec, variant.layout), work);
  block_.set_streams(dialect.streams(bytes));
  scratch_bytes_ = work.scratch_bytes;
  zeroed_bytes_ = work.zeroed_bytes;
  for (Work::Launch launch : work.launches) {
    const LoadedKernel& code = *variant.kernels[static_cast<std::size_t>(launch.entry)];
    check_launch(code, launch.config);
    code.block_bytes.store(static_cast<std::uint32_t>(block_.size()), std::memory_order_relaxed);
    if (launch.entry == 0) {
      variant.threads.store(static_cast<int>(launch.config.block[0] * launch.config.block[1] * launch.config.block[2]), std::memory_order_relaxed);
      variant.shared_bytes.store(static_cast<std::uint32_t>(launch.config.shared_bytes), std::memory_order_relaxed);
    }
    launches_.push_back({&code, launch.config});
  }
}

namespace {

/// An array of the whole space is no value of rows, of which there is one along the reduced axes, and none of columns, if the space extends along both.
bool extends_along_both(const Shape& space, std::uint32_t reduced_axes) {
  std::int64_t reduced = 1, kept = 1;
  for (int axis = 0; axis < space.rank(); ++axis) (reduced_axes >> axis & 1u ? reduced : kept) *= space[axis];
  return reduced > 1 && kept > 1;
}

}  // namespace

void BoundKernel::bind_finish(const Shape& space, std::span<const ArrayLayout> arrays, std::uint32_t reduced_axes) {
  finished_.clear();
  if (launches_.size() < 2) return;
  const KernelSpec& spec = kernel_->spec();
  const bool has_whole = extends_along_both(space, reduced_axes);
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    const int parameter = parameters_[i];
    Finished& array = finished_.emplace_back();
    if (spec.is_table(parameter)) {
      array.bytes = static_cast<std::size_t>(arrays[i].shape->size()) * itemsize(spec.parameter_dtype(parameter));
      continue;
    }
    if (spec.is_value(parameter) || (has_whole && *arrays[i].shape == space)) continue;
    const ByteRange range = range_of(arrays[i], itemsize(spec.parameter_dtype(parameter)));
    array = {nullptr, range.first, range.bytes(), spec.is_output(parameter)};
  }
}

void BoundKernel::note_finish(WorkLog& log, const Scratch& scratch) const {
  log.split_step();
  log.touch(scratch.data(), scratch.bytes(), false);
  for (const Finished& array : finished_) log.touch(static_cast<const std::byte*>(array.address) + array.first, array.bytes, array.writes);
}

/// The same launches of another text, where there is one.
const std::vector<BoundKernel::Launch>& BoundKernel::unaligned_launches() {
  if (!unaligned_.empty()) return unaligned_;
  const std::optional<Layout> layout = kernel_->backend().dialect().unaligned(variant_->layout);
  if (!layout) return launches_;
  const SpecKernel::Variant& other = kernel_->exact_variant(*layout);
  for (const Launch& launch : launches_) {
    const auto same = std::find_if(variant_->kernels.begin(), variant_->kernels.end(), [&](const auto& kernel) { return kernel.get() == launch.code; });
    const LoadedKernel& code = *other.kernels[static_cast<std::size_t>(same - variant_->kernels.begin())];
    check_launch(code, launch.config);
    unaligned_.push_back({&code, launch.config});
  }
  return unaligned_;
}

void BoundKernel::launch(void* stream, bool is_last) {
  if (undecided_) [[unlikely]] decide(stream);
  if (launches_.empty()) return;
  kernel_->backend().launches.fetch_add(launches_.size(), std::memory_order_relaxed);
  run(stream, is_last);
}

void BoundKernel::run(void* stream, bool is_last) {
  Backend& backend = kernel_->backend();
  const Scratch scratch(backend, scratch_bytes_);
  if (scratch_bytes_ > 0) {
    block_.set_scratch(scratch.data());
    const std::uint64_t zero = 0;
    if (zeroed_bytes_ > 0) backend.fill(scratch.data(), &zero, sizeof zero, zeroed_bytes_ / sizeof zero, stream);
  }
  const std::vector<Launch>& launches = block_.set_fast() ? launches_ : unaligned_launches();
  void* arguments[] = {block_.data()};
  for (const Launch& launch : launches) {
    if (WorkLog* log = is_last && &launch != launches.data() ? current_log(backend) : nullptr) note_finish(*log, scratch);
    backend.launch(*launch.code, launch.config, arguments, stream);
  }
}

}  // namespace damo
