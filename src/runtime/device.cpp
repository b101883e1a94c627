#include <damo/device.hpp>

#include <cmath>
#include <string>
#include <utility>

#include <damo/error.hpp>

#include "runtime/backend.hpp"
#include "runtime/device_registry.hpp"
#include "runtime/kernel_time_limit.hpp"
#include "runtime/memory_pool.hpp"

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
void Device::reset_peak() const { backend_->pool().reset_peak(); }
void Device::free_cache() const { backend_->pool().free_cache(); }
void Device::set_memory_limit(std::size_t bytes) const { backend_->pool().set_limit(bytes); }
void Device::set_kernel_time_limit(double seconds) const {
  if (!std::isfinite(seconds) || seconds < 0) {
    throw OptionError("a kernel's time limit of " + std::to_string(seconds) + " seconds makes no sense", "give a number of seconds; 0: no limit");
  }
  backend_->kernel_time_limit = seconds;
  tell_kernel_time_limit(*backend_, seconds);
}
void Device::synchronize() const { backend_->synchronize(); }

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

struct Stream::Data {
  Backend* backend;
  void* handle;
  bool is_owned;

  Data(Backend* backend, void* handle, bool is_owned) : backend(backend), handle(handle), is_owned(is_owned) {}
  Data(const Data&) = delete;
  ~Data() {
    if (is_owned) backend->destroy_stream(handle);
  }
};

Stream::Stream(Device device)
    : data_(std::make_shared<Data>(&device.backend(), device.backend().create_stream(), true)) {}

Stream Stream::default_of(Device device) {
  return Stream(std::make_shared<Data>(&device.backend(), device.backend().default_stream(), false));
}

Device Stream::device() const { return Device(data_->backend); }
void Stream::synchronize() const { data_->backend->synchronize(data_->handle); }
void Stream::wait(const Event& event) const { data_->backend->wait(data_->handle, event.handle()); }
void* Stream::handle() const { return data_->handle; }

struct Event::Data {
  Backend* backend;
  void* handle;

  explicit Data(Backend* backend) : backend(backend), handle(backend->create_event()) {}
  Data(const Data&) = delete;
  ~Data() { backend->destroy_event(handle); }
};

Event::Event(Device device) : data_(std::make_shared<Data>(&device.backend())) {}

void Event::record(const Stream& stream) const {
  if (stream.device() != Device(data_->backend)) {
    throw DeviceError(
        "an event of " + data_->backend->name() + " cannot be recorded on a stream of " + stream.device().name(),
        "make the event for the stream's device: Event(stream.device())");
  }
  data_->backend->record(data_->handle, stream.handle());
}

void Event::synchronize() const { data_->backend->synchronize_event(data_->handle); }
bool Event::is_done() const { return data_->backend->is_done(data_->handle); }
void* Event::handle() const { return data_->handle; }

double Event::milliseconds_since(const Event& earlier) const {
  if (data_->backend != earlier.data_->backend) {
    throw DeviceError(
        "events of " + earlier.data_->backend->name() + " and " + data_->backend->name() + " cannot be compared",
        "each device has its own clock");
  }
  return data_->backend->milliseconds(earlier.data_->handle, data_->handle);
}

PinnedMemory::PinnedMemory(std::size_t bytes, Device device)
    : backend_(&device.backend()), data_(bytes > 0 ? backend_->allocate_pinned(bytes) : nullptr), bytes_(bytes) {
  if (!data_ && bytes > 0) {
    throw OutOfMemoryError("no " + std::to_string(bytes) + " bytes of host memory for " + backend_->name(),
                           "pinned memory stays in RAM: ask for less, or free what the process holds");
  }
}

PinnedMemory::PinnedMemory(PinnedMemory&& other) noexcept
    : backend_(other.backend_), data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}

PinnedMemory& PinnedMemory::operator=(PinnedMemory&& other) noexcept {
  std::swap(backend_, other.backend_);
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

PinnedMemory::~PinnedMemory() {
  if (data_) backend_->release_pinned(data_);
}

}  // namespace damo
