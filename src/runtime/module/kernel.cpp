#include <damo/kernel.hpp>

#include <algorithm>

#include <damo/error.hpp>

#include "runtime/module/argument_check.hpp"
#include "runtime/backend.hpp"
#include "runtime/stream/capture.hpp"
#include "runtime/memory/host_copies.hpp"

namespace damo {
namespace {

constexpr int kLargestBlock1d = 256;

/// Of the launch's config, else the kernel's own.
void* stream_of(const LoadedKernel& kernel, const LaunchConfig& config, const std::optional<Stream>& own) {
  if (!config.stream) [[likely]]
    return own ? detail::stream_handle(*own) : nullptr;
  if (config.stream->device() != Device(kernel.backend)) {
    throw DeviceError("launch of '" + kernel.name() + "': the stream is of " + config.stream->device().name() +
                          ", the kernel is on " + kernel.backend->name(),
                      "make the stream for the kernel's device: Stream(kernel.device())");
  }
  return detail::stream_handle(*config.stream);
}

void launch_unchecked(const LoadedKernel& kernel, const LaunchConfig& config, void* const* arguments, void* stream) {
  kernel.backend->launches.fetch_add(1, std::memory_order_relaxed);
  kernel.backend->launch(kernel, config, arguments, stream);
}

/// A replay would copy from and to addresses whose owner has been told that the copies are done.
[[noreturn]] void refuse_host_argument(const LoadedKernel& kernel) {
  throw DeviceError("launch of '" + kernel.name() + "' while a stream is captured: In, Out and InOut copy at once, and "
                    "nothing runs before the graph is launched",
                    "pass an Array or DeviceMemory, and copy before or after, or in the capture with PinnedMemory");
}

void launch_with_copies(const LoadedKernel& kernel, const LaunchConfig& config, const KernelArgument* arguments,
                        std::size_t count, void* stream) {
  HostCopies copies(kernel, arguments, count, stream);
  std::vector<void*> pointers(count);
  for (std::size_t i = 0; i < count; ++i) pointers[i] = copies.value(i);
  launch_unchecked(kernel, config, pointers.data(), stream);
  copies.finish();
}

}  // namespace

const std::string& Kernel::name() const {
  static const std::string none = "(no kernel)";
  return loaded_ ? loaded_->name() : none;
}

const LoadedKernel& Kernel::loaded() const {
  if (!loaded_) throw DeviceError("launch of an empty Kernel", "get one from Module::kernel or ThunkContext::compile");
  return loaded_->resolved();
}

Device Kernel::device() const {
  if (!loaded_) throw DeviceError("an empty Kernel has no device", "get one from Module::kernel or ThunkContext::compile");
  return Device(loaded_->backend);
}

void Kernel::launch_with(const LaunchConfig& config, const KernelArgument* arguments, std::size_t count) const {
  const LoadedKernel& kernel = loaded();
  check_arguments(kernel, arguments, count);
  check_launch(kernel, config);
  void* const stream = stream_of(kernel, config, stream_);
  constexpr std::size_t kOnStack = 32;
  void* few[kOnStack];
  std::vector<void*> many;
  void** pointers = few;
  if (count > kOnStack) {
    many.resize(count);
    pointers = many.data();
  }
  bool has_host = false;
  for (std::size_t i = 0; i < count; ++i) {
    pointers[i] = arguments[i].value();
    has_host |= arguments[i].host() != nullptr;
  }
  if (has_host && current_capture(*kernel.backend) != nullptr) refuse_host_argument(kernel);
  if (has_host) return launch_with_copies(kernel, config, arguments, count, stream);
  launch_unchecked(kernel, config, pointers, stream);
}

LaunchConfig Kernel::config_1d(std::int64_t count) const {
  const LoadedKernel& kernel = loaded();
  if (count < 0) {
    throw ShapeError("launch_1d of '" + kernel.name() + "': a count of " + std::to_string(count),
                     "a count is 0 or more");
  }
  int block = kernel.block_1d.load(std::memory_order_relaxed);
  if (block == 0) {
    block = std::clamp(kernel.suggested_threads(0), 1, kLargestBlock1d);
    kernel.block_1d.store(block, std::memory_order_relaxed);
  }
  return {.grid = {count / block + (count % block != 0)}, .block = {block}};
}

KernelAttributes Kernel::attributes() const {
  const LoadedKernel& kernel = loaded();
  return {.registers = kernel.registers,
          .shared_bytes = kernel.static_shared_bytes,
          .local_bytes = static_cast<std::size_t>(kernel.local_bytes),
          .constant_bytes = kernel.constant_bytes,
          .max_threads_per_block = kernel.max_threads_per_block,
          .ptx_version = kernel.ptx_version,
          .binary_version = kernel.binary_version};
}

std::vector<ParameterType> Kernel::parameters() const {
  return loaded().parameters().value_or(std::vector<ParameterType>());
}

Occupancy Kernel::occupancy(int block, std::size_t shared_bytes) const {
  const LoadedKernel& kernel = loaded();
  if (block < 1) {
    throw DeviceError("occupancy of '" + kernel.name() + "': a block of " + std::to_string(block) + " threads",
                      "a block has at least one thread");
  }
  const DeviceProperties& limits = kernel.backend->limits();
  const int threads = kernel.max_threads_per_block > 0 ? kernel.max_threads_per_block : limits.max_threads_per_block;
  const bool fits = block <= threads && shared_bytes <= limits.max_shared_bytes &&
                    kernel.static_shared_bytes <= limits.max_shared_bytes - shared_bytes;
  return fits ? kernel.occupancy(block, shared_bytes) : Occupancy();
}

int Kernel::suggested_block(std::size_t shared_bytes) const { return loaded().suggested_threads(shared_bytes); }

void detail::check_prepared(const LoadedKernel& kernel, const KernelArgument* arguments, std::size_t count) {
  check_arguments(kernel, arguments, count);
}

void detail::launch_prepared(const LoadedKernel& kernel, const LaunchConfig& config, void* const* arguments,
                             void* stream) {
  check_launch(kernel, config);
  launch_unchecked(kernel, config, arguments, stream);
}

}  // namespace damo
