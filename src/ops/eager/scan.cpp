#include "ops/eager/scan.hpp"

#include <algorithm>
#include <cstdlib>

#include "ops/eager/reduction_text.hpp"
#include "runtime/kernel/cache.hpp"
#include "runtime/kernel/layout.hpp"

namespace damo {
namespace {

constexpr std::int64_t kNarrowLimit = (std::int64_t{1} << 31) - 4096;  // room for one step of a block past the end
constexpr std::int64_t kFewLines = 32;  // fewer do not fill a warp: rows then, also with large strides
constexpr std::int64_t kCpuChunk = 65536;
constexpr std::int64_t kGpuSmallestColumn = 64;  // elements of a chunk of a column
constexpr std::size_t kMostKernels = 512;

struct Plan {
  ScanLayout layout;
  std::int64_t lines, length, chunk, chunks;
  LaunchConfig scan, carries;
};

bool is_columns(const AxisGroups& groups) {
  if (groups.kept.rank() == 0 || groups.kept.extents.back() < kFewLines) return false;
  return groups.kept.inner_stride(0) != 0 &&
         std::abs(groups.kept.inner_stride(0)) < std::abs(groups.reduced.inner_stride(0));
}

void plan_gpu(Plan& plan, int multiprocessors) {
  const std::int64_t processors = std::max(multiprocessors, 1);
  std::int64_t chunks;
  if (plan.layout.form == ReductionForm::kRows) {
    // One tile takes the totals of a line: at most kScanTile chunks.
    chunks = std::clamp<std::int64_t>(divide_up(16 * processors, plan.lines), 1,
                                      std::min<std::int64_t>(divide_up(plan.length, 2 * kScanTile), kScanTile));
    plan.chunk = divide_up(divide_up(plan.length, chunks), kScanTile) * kScanTile;
  } else {
    // Half of the threads that a GPU holds: more chunks cost more than they hide (33: 460 us, 17: 422 on an H200).
    chunks = std::clamp<std::int64_t>(divide_up(1024 * processors, plan.lines), 1,
                                      std::min<std::int64_t>(divide_up(plan.length, kGpuSmallestColumn), 64));
    plan.chunk = divide_up(plan.length, chunks);
  }
  plan.chunks = divide_up(plan.length, plan.chunk);
  const std::int64_t blocks = plan.layout.form == ReductionForm::kRows ? plan.lines : divide_up(plan.lines, kScanBlock);
  plan.scan = {{blocks, plan.chunks}, {kScanBlock}};
  plan.carries = {{blocks}, {kScanBlock}};
}

void plan_cpu(Plan& plan, const AxisGroups& groups) {
  const bool columns = plan.layout.form == ReductionForm::kColumns;
  const std::int64_t row = columns ? groups.kept.extents.back() : 1;
  const std::int64_t tiles = columns ? plan.lines / row * divide_up(row, kScanColumns) : plan.lines;
  // Not by the number of threads, or float results would follow it.
  const std::int64_t chunk =
      columns ? std::max<std::int64_t>(kCpuChunk / std::min<std::int64_t>(row, kScanColumns), 64) : kCpuChunk;
  plan.chunk = tiles >= 64 ? plan.length : chunk;
  plan.chunks = divide_up(plan.length, plan.chunk);
  plan.scan = {{tiles * plan.chunks}, {1}};
  plan.carries = {{plan.lines}, {1}};
}

Plan plan_of(Backend& backend, const AxisGroups& groups, bool gpu_text) {
  Plan plan{};
  plan.lines = groups.kept.size;
  plan.length = groups.reduced.size;
  plan.layout.gpu = gpu_text || backend.kind() == DeviceKind::kCuda;
  plan.layout.form = is_columns(groups) ? ReductionForm::kColumns : ReductionForm::kRows;
  plan.layout.kept_rank = groups.kept.rank();
  plan.layout.wide = std::max(plan.lines, plan.length) >= kNarrowLimit;
  const AxisGroup& inner = plan.layout.form == ReductionForm::kColumns ? groups.kept : groups.reduced;
  plan.layout.unit = inner.inner_stride(0) == 1 && inner.inner_stride(1) == 1;
  if (plan.layout.gpu)
    plan_gpu(plan, backend.limits().multiprocessors);
  else
    plan_cpu(plan, groups);
  plan.layout.chunked = plan.chunks > 1;
  return plan;
}

}  // namespace

Scan::Kernels Scan::kernels(Backend& backend, const ScanLayout& layout) {
  const std::pair<Backend*, std::string> place(
      &backend,
      std::string{static_cast<char>(layout.form), static_cast<char>(layout.kept_rank), static_cast<char>(layout.wide),
                  static_cast<char>(layout.chunked), static_cast<char>(layout.unit)});
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = kernels_.find(place); found != kernels_.end()) return found->second;
  }
  CompileRequest request;
  request.source = scan_text(definition_, layout);
  request.kind = definition_.kind;
  request.options.line_info = definition_.kind == SourceKind::kCudaC;
  request.file_name = "generated";
  const std::string name = scan_kernel(definition_);
  request.kernels = {name};
  if (layout.chunked) request.kernels = {name, name + "_totals", name + "_carries"};
  request.flags = definition_.flags;
  const std::shared_ptr<const LoadedModule> module = backend.cache().get(request);
  Kernels made{module->kernel(name), nullptr, nullptr};
  if (layout.chunked) made = {made.scan, module->kernel(name + "_totals"), module->kernel(name + "_carries")};
  const std::lock_guard lock(mutex_);
  if (kernels_.size() >= kMostKernels) kernels_.clear();
  return kernels_.try_emplace(place, std::move(made)).first->second;
}

void Scan::run(const Array& x, const Array& y, int axis) {
  if (x.size() == 0) return;
  Backend& backend = x.device().backend();
  const Array arrays[] = {x, y};
  const AxisGroups groups(x.shape(), arrays, std::uint32_t{1} << axis, false);
  const Plan plan = plan_of(backend, groups, gpu_text_);
  const Kernels kernels = this->kernels(backend, plan.layout);
  Array partial;
  if (plan.chunks > 1) partial = Array::empty({plan.lines * plan.chunks}, int64, Device(&backend));  // eight bytes each
  ReductionArguments block;
  block.put_address(x.data());
  block.put_address(y.data());
  block.put_address(partial ? partial.data() : nullptr);
  for (std::int64_t value : {plan.lines, plan.length, plan.chunk, plan.chunks, groups.reduced.inner_stride(0),
                             groups.reduced.inner_stride(1)}) {
    block.put(static_cast<std::uint64_t>(value));
  }
  block.put(groups.kept.extents);
  block.put(groups.kept.strides[0]);
  block.put(groups.kept.strides[1]);
  void* pointers[] = {block.data()};
  const auto launch = [&](const LoadedKernel& kernel, const LaunchConfig& config) {
    check_launch(kernel, config);
    backend.launches.fetch_add(1, std::memory_order_relaxed);
    backend.launch(kernel, config, pointers, nullptr);
  };
  if (plan.chunks > 1) {
    launch(*kernels.totals, plan.scan);
    launch(*kernels.carries, plan.carries);
  }
  launch(*kernels.scan, plan.scan);
}

}  // namespace damo
