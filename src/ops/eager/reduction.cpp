#include "ops/eager/reduction.hpp"

#include <algorithm>
#include <cstdlib>

#include "ops/eager/overlap.hpp"
#include "ops/eager/snippet.hpp"
#include "runtime/kernel/cache.hpp"
#include "runtime/kernel/layout.hpp"

namespace damo {
namespace {

constexpr std::int64_t kNarrowReduction = (std::int64_t{1} << 31) - 4096;  // room for one step of a block past the end
constexpr int kGpuBlock = 256;
constexpr std::int64_t kGpuSmallestChunk = 4096;  // elements of a block of which there are several an output
constexpr std::int64_t kCpuTask = 16384;          // elements: enough that handing a task to a thread does not show
constexpr std::int64_t kMostChunks = 65535;       // the grid's second axis

/// Whether neighbours of the first array lie along a kept axis rather than along a reduced one.
bool is_columns(const AxisGroups& groups) {
  if (groups.kept.rank() == 0 || groups.reduced.rank() == 0) return false;
  const std::int64_t kept = std::abs(groups.kept.inner_stride(0)), reduced = std::abs(groups.reduced.inner_stride(0));
  return kept != 0 && (reduced == 0 || kept < reduced);
}

int gpu_lanes(ReductionForm form, std::int64_t length, std::int64_t outputs, std::int64_t wanted_blocks) {
  if (form == ReductionForm::kColumns) {
    if (length <= 16 && outputs >= kGpuBlock) return 1;
    int slots = 1;
    while (slots < 32 && slots < outputs) slots *= 2;
    return kGpuBlock / slots;
  }
  if (length <= 16) return 4;
  return length <= 4096 && outputs / 8 >= wanted_blocks ? 32 : 256;
}

int cpu_lanes(ReductionForm form, std::int64_t length, std::size_t accumulator_bytes) {
  const bool is_number = accumulator_bytes > 0 && accumulator_bytes <= 8;  // a struct does not vectorise
  if (form == ReductionForm::kColumns) return is_number ? 2048 : 256;
  if (!is_number) return length < 32 ? 1 : 4;
  return length < 32 ? 1 : length < 512 ? 16 : 64;
}

}  // namespace

struct Reduction::Plan {
  ReductionLayout layout;
  std::int64_t outputs, length, chunk, chunks, tile;
  LaunchConfig main, finish;
};

Reduction::Reduction(ReductionDefinition definition) : definition_(std::move(definition)) {
  std::string rest = without_elements(definition_.map.text, definition_.parameters);
  for (const RawParameter& parameter : definition_.parameters) {
    if (parameter.is_pointer) plain_.push_back(!only_at_i(definition_.map.text, parameter.name));
  }
  const auto is_r = [](const RawParameter& parameter) { return parameter.name == "r"; };
  const bool r_is_place = std::none_of(definition_.parameters.begin(), definition_.parameters.end(), is_r);
  with_index_ = names(rest, "i") || (r_is_place && names(rest, "r")) ||
                std::find(plain_.begin(), plain_.end(), true) != plain_.end();
}

Reduction::Plan Reduction::plan(Backend& backend, const AxisGroups& groups) const {
  Plan plan{};
  ReductionLayout& layout = plan.layout;
  plan.outputs = groups.kept.size;
  plan.length = groups.reduced.size;
  const std::int64_t length = std::max<std::int64_t>(plan.length, 1);  // of none, main stores post(neutral)
  layout.gpu = gpu_text_ || backend.kind() == DeviceKind::kCuda;
  layout.form = is_columns(groups) ? ReductionForm::kColumns : ReductionForm::kRows;
  layout.kept_rank = groups.kept.rank();
  layout.reduced_rank = groups.reduced.rank();
  layout.wide = plan.outputs >= kNarrowReduction || plan.length >= kNarrowReduction;
  layout.with_index = with_index_;
  layout.plain = plain_;
  const AxisGroup& inner = layout.form == ReductionForm::kColumns ? groups.kept : groups.reduced;
  for (std::size_t a = 0; a <= plain_.size(); ++a) layout.unit.push_back(inner.inner_stride(a) == 1);

  const bool columns = layout.form == ReductionForm::kColumns;
  plan.tile = 1;
  if (layout.gpu) {
    const std::int64_t wanted =
        std::int64_t{32} * std::max(backend.limits().multiprocessors, 1);  // blocks that share the work evenly
    layout.lanes = gpu_lanes(layout.form, length, plan.outputs, wanted);
    const std::int64_t blocks = divide_up(plan.outputs, kGpuBlock / layout.lanes);
    const std::int64_t smallest = std::max<std::int64_t>(kGpuSmallestChunk * layout.lanes / kGpuBlock, 1);
    const std::int64_t most = std::min({divide_up(wanted, blocks), divide_up(length, smallest), kMostChunks});
    plan.chunk = divide_up(length, std::max<std::int64_t>(most, 1));
    plan.chunk = divide_up(plan.chunk, 32) * 32;  // chunks begin where a line of the cache does
    plan.chunks = divide_up(length, plan.chunk);
    plan.main = {{blocks, plan.chunks}, {kGpuBlock}};
    plan.finish = {{blocks}, {kGpuBlock}};
  } else {
    layout.lanes = cpu_lanes(layout.form, length, definition_.accumulator_bytes);
    const std::int64_t width = columns ? std::min<std::int64_t>(layout.lanes, groups.kept.extents.back()) : 1;
    const std::int64_t tiles =
        columns ? plan.outputs / groups.kept.extents.back() * divide_up(groups.kept.extents.back(), layout.lanes)
                : plan.outputs;
    // A reduction of few outputs is cut into chunks, so that there is work for every thread; their number must not
    // follow the number of threads, or sums would.
    plan.chunk = tiles >= 64 ? length : std::max<std::int64_t>(kCpuTask / width, 64);
    plan.chunks = divide_up(length, plan.chunk);
    if (!columns && plan.chunks == 1) plan.tile = std::max<std::int64_t>(kCpuTask / length, 1);
    plan.main = {{divide_up(tiles, plan.tile) * plan.chunks}, {1}};
    plan.finish = {{divide_up(plan.outputs, plan.tile)}, {1}};
  }
  layout.finishes = plan.chunks == 1;
  return plan;
}

Reduction::Kernels Reduction::kernels(Backend& backend, const ReductionLayout& layout) {
  std::string key{static_cast<char>(layout.form), static_cast<char>(layout.kept_rank),
                  static_cast<char>(layout.reduced_rank), static_cast<char>(layout.wide),
                  static_cast<char>(layout.finishes)};
  key += std::to_string(layout.lanes);
  for (bool unit : layout.unit) key += unit ? 'u' : 's';
  const std::pair<Backend*, std::string> place(&backend, std::move(key));
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = kernels_.find(place); found != kernels_.end()) return found->second;
  }
  CompileRequest request;
  request.source = reduction_text(definition_, layout);
  request.kind = SourceKind::kCudaC;
  request.file_name = "generated";
  request.kernels = {main_kernel(definition_)};
  if (!layout.finishes) request.kernels.push_back(finish_kernel(definition_));
  request.flags = definition_.flags;
  const std::shared_ptr<const LoadedModule> module = backend.cache().get(request);
  Kernels made{module->kernel(request.kernels.front()),
               layout.finishes ? nullptr : module->kernel(request.kernels.back())};
  const std::lock_guard lock(mutex_);
  if (kernels_.size() >= kMostKernels) kernels_.clear();
  return kernels_.try_emplace(place, std::move(made)).first->second;
}

ReductionArguments Reduction::arguments(const Plan& plan, const AxisGroups& groups, std::span<const Array> arrays,
                                        std::span<const std::uint64_t> scalars, const Array& out,
                                        const Array& partial) const {
  ReductionArguments block;
  std::size_t array = 0, scalar = 0;
  for (const RawParameter& parameter : definition_.parameters) {
    if (parameter.is_pointer)
      block.put_address(arrays[array++].data());
    else
      block.put(scalars[scalar++]);
  }
  block.put_address(out.data());
  block.put_address(partial ? partial.data() : nullptr);
  for (std::int64_t value : {plan.outputs, plan.length, plan.chunk, plan.chunks, plan.tile})
    block.put(static_cast<std::uint64_t>(value));
  block.put(groups.kept.extents);
  block.put(groups.reduced.extents);
  for (std::size_t a = 0; a <= plain_.size(); ++a) {
    const bool has_offsets = a == plain_.size() ? with_index_ : !plain_[a];
    if (!has_offsets) continue;
    block.put(groups.kept.strides[a]);
    block.put(groups.reduced.strides[a]);
  }
  return block;
}

void Reduction::run(Backend& backend, std::span<const Array> arrays, std::span<const std::uint64_t> scalars,
                    const Shape& space, std::uint32_t reduced_axes, const Array& out) {
  if (out.size() == 0) return;
  std::vector<Array> inputs;
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    const Array whole = plain_[i] ? arrays[i].broadcast_to(space) : arrays[i];
    inputs.push_back(plain_[i] && !whole.is_contiguous() ? packed_copy(whole) : whole);
  }
  const AxisGroups groups(space, inputs, reduced_axes, with_index_);
  const Plan plan = this->plan(backend, groups);
  const Kernels kernels = this->kernels(backend, plan.layout);
  const std::size_t bytes = definition_.accumulator_bytes ? definition_.accumulator_bytes : kMostAccumulatorBytes;
  Array partial;
  if (kernels.finish)
    partial = Array::empty({plan.outputs * plan.chunks * static_cast<std::int64_t>(bytes)}, uint8, Device(&backend));
  ReductionArguments block = arguments(plan, groups, inputs, scalars, out, partial);
  void* pointers[] = {block.data()};
  const auto launch = [&](const LoadedKernel& kernel, const LaunchConfig& config) {
    check_launch(kernel, config);
    backend.launches.fetch_add(1, std::memory_order_relaxed);
    backend.launch(kernel, config, pointers, nullptr);
  };
  launch(*kernels.main, plan.main);
  if (kernels.finish) launch(*kernels.finish, plan.finish);
}

}  // namespace damo
