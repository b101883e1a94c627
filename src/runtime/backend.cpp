#include "runtime/backend.hpp"

#include <algorithm>
#include <utility>

#include <damo/error.hpp>

#include "runtime/kernel/cache.hpp"
#include "runtime/kernel_time_limit.hpp"
#include "runtime/memory_pool.hpp"

namespace damo {

Backend::Backend(std::string name, DeviceKind kind)
    : name_(std::move(name)),
      kind_(kind),
      pool_(std::make_unique<MemoryPool>(*this)),
      cache_(std::make_unique<KernelCache>(*this)) {
  kernel_time_limit = kernel_time_limit_of_environment();
  tell_kernel_time_limit(*this, kernel_time_limit);
}

Backend::~Backend() = default;

const DeviceProperties& Backend::limits() const {
  std::call_once(limits_known_, [this] { limits_ = properties(); });
  return limits_;
}

namespace {

constexpr const char* kAxes[] = {"x", "y", "z"};

[[noreturn]] void refuse(const LoadedKernel& kernel, const std::string& what, const std::string& remedy = {}) {
  throw DeviceError("launch of '" + kernel.name() + "': " + what, remedy);
}

/// extents: of a grid or of a block, what tells which.
void check_extents(const LoadedKernel& kernel, const char* what, const Dim3& extents, const std::int64_t (&limits)[3]) {
  for (int axis = 0; axis < 3; ++axis) {
    const std::string text =
        std::string(what) + " of " + std::to_string(extents[axis]) + " along " + kAxes[axis] + ": ";
    if (extents[axis] < 1)
      refuse(kernel, text + "an extent is at least 1", "launch nothing where there is nothing to do");
    if (extents[axis] > limits[axis]) {
      refuse(kernel, text + kernel.backend->name() + " allows " + std::to_string(limits[axis]),
             "let each thread take several elements, with a grid-stride loop");
    }
  }
}

bool within(const Dim3& extents, const std::int64_t (&limits)[3]) {
  return extents[0] >= 1 && extents[1] >= 1 && extents[2] >= 1 && extents[0] <= limits[0] && extents[1] <= limits[1] &&
         extents[2] <= limits[2];
}

void check_threads(const LoadedKernel& kernel, std::int64_t threads, std::int64_t of_device) {
  const std::string text = "block of " + std::to_string(threads) + " threads: ";
  if (threads > of_device) refuse(kernel, text + kernel.backend->name() + " allows " + std::to_string(of_device));
  if (kernel.max_threads_per_block > 0 && threads > kernel.max_threads_per_block) {
    refuse(
        kernel,
        text + "this kernel allows " + std::to_string(kernel.max_threads_per_block) + " on " + kernel.backend->name(),
        "it needs " + std::to_string(kernel.registers) + " registers a thread; __launch_bounds__ would lower that");
  }
}

}  // namespace

void check_launch(const LoadedKernel& kernel, const LaunchConfig& config) {
  const DeviceProperties& limits = kernel.backend->limits();
  if (!within(config.block, limits.max_block) || !within(config.grid, limits.max_grid)) {  // texts cost; here only
    // A block of 2048 breaks two limits: the product is the one that people know.
    if (const auto [x, y, z] = config.block; x >= 1 && x < 1 << 20 && y >= 1 && y < 1 << 20 && z >= 1 && z < 1 << 20) {
      check_threads(kernel, x * y * z, limits.max_threads_per_block);
    }
    check_extents(kernel, "block", config.block, limits.max_block);
    check_extents(kernel, "grid", config.grid, limits.max_grid);
  }
  const std::int64_t threads = config.block.count();
  const std::int64_t of_kernel =
      kernel.max_threads_per_block > 0 ? kernel.max_threads_per_block : limits.max_threads_per_block;
  if (threads > std::min<std::int64_t>(limits.max_threads_per_block, of_kernel)) {
    check_threads(kernel, threads, limits.max_threads_per_block);
  }
  if (kernel.static_shared_bytes + config.shared_bytes > limits.max_shared_bytes) {
    refuse(kernel, "shared memory of " + std::to_string(config.shared_bytes) + " bytes and " +
                       std::to_string(kernel.static_shared_bytes) + " in the kernel's text: " + kernel.backend->name() +
                       " allows " + std::to_string(limits.max_shared_bytes) + " a block");
  }
}

}  // namespace damo
