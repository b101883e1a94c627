#include <damo/device.hpp>

#include <cmath>
#include <string>
#include <utility>

#include <damo/error.hpp>

#include "runtime/backend.hpp"
#include "runtime/device_registry.hpp"
#include "runtime/kernel_time_limit.hpp"
#include "runtime/memory/memory_pool.hpp"
#include "runtime/memory/pinned_pool.hpp"

namespace damo {

Device::Device() : backend_(&default_backend()) {}
Device::Device(std::string_view name) : backend_(&backend_named(name)) {}

const std::string& Device::name() const { return backend_->name(); }
DeviceKind Device::kind() const { return backend_->kind(); }

DeviceProperties Device::properties() const {
  DeviceProperties properties = backend_->properties();
  properties.copy_bytes_per_second = backend_->copy_bytes_per_second;
  return properties;
}

MemoryStatistics Device::memory() const { return backend_->pool().statistics(); }
MemoryStatistics Device::pinned_memory() const { return backend_->pinned_pool().statistics(); }
void Device::reset_peak() const { backend_->pool().reset_peak(); }
void Device::free_cache() const {
  backend_->pool().free_cache();
  backend_->pinned_pool().free_cache();
}
void Device::set_memory_limit(std::size_t bytes) const { backend_->pool().set_limit(bytes); }
void Device::set_kernel_time_limit(double seconds) const {
  if (!std::isfinite(seconds) || seconds < 0) {
    throw OptionError("a kernel's time limit of " + std::to_string(seconds) + " seconds makes no sense", "give a number of seconds; 0: no limit");
  }
  backend_->kernel_time_limit = seconds;
  tell_kernel_time_limit(*backend_, seconds);
}
void Device::reset() const { backend_->reset(); }

void Device::synchronize() const {
  backend_->synchronize();
  backend_->throw_reported(nullptr, true);
  backend_->throw_found();
}

double Device::measure_copy() const {
  constexpr std::size_t kBytes = std::size_t{256} << 20;
  MemoryPool& pool = backend_->pool();
  void* const from = pool.allocate(kBytes, "measure_copy");
  void* to = nullptr;
  const auto give_back = [&] {
    if (to) pool.release(to, kBytes);
    pool.release(from, kBytes);
  };
  try {
    to = pool.allocate(kBytes, "measure_copy");
    const Stream stream = Stream::default_of(*this);
    const Event begin(*this), end(*this);
    const std::uint32_t zero = 0;
    backend_->fill(from, &zero, 4, kBytes / 4, stream.handle());  // the system maps pages at their first write
    backend_->copy(to, from, kBytes, CopyKind::kDeviceToDevice, stream.handle());
    begin.record(stream);
    backend_->copy(to, from, kBytes, CopyKind::kDeviceToDevice, stream.handle());
    end.record(stream);
    end.synchronize();
    backend_->copy_bytes_per_second = 2.0 * kBytes / (end.milliseconds_since(begin) * 1e-3);
  } catch (...) {
    give_back();
    throw;
  }
  give_back();
  return backend_->copy_bytes_per_second;
}

Device cpu() { return Device("cpu"); }
Device cuda(int index) { return Device("cuda:" + std::to_string(index)); }

std::vector<Device> devices() {
  std::vector<Device> all;
  for (Backend* backend : usable_backends()) all.emplace_back(backend);
  return all;
}

}  // namespace damo
