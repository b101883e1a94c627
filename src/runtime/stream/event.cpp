#include <damo/event.hpp>

#include <damo/error.hpp>
#include <damo/stream.hpp>

#include "runtime/backend.hpp"

namespace damo {

struct Event::Data {
  Backend* backend;
  EventOptions options;
  void* handle;
  std::uint32_t generation;

  Data(Backend* backend, EventOptions options)
      : backend(backend), options(options), handle(backend->create_event(options)), generation(backend->generation()) {}
  Data(const Data&) = delete;
  Data& operator=(const Data&) = delete;
  ~Data() {
    if (generation == backend->generation()) backend->destroy_event(handle);
  }
};

Event::Event(Device device, EventOptions options) : data_(std::make_shared<Data>(&device.backend(), options)) {}

Device Event::device() const { return Device(data_->backend); }

void* Event::handle() const {
  if (data_->generation != data_->backend->generation()) [[unlikely]]
    refuse_lost(*data_->backend, "an event");
  return data_->handle;
}

void Event::record(const Stream& stream) const {
  if (stream.device() != device()) {
    throw DeviceError(
        "an event of " + data_->backend->name() + " cannot be recorded on a stream of " + stream.device().name(),
        "make the event for the stream's device: Event(stream.device())");
  }
  data_->backend->record(handle(), detail::stream_handle(stream));
}

void Event::synchronize() const { data_->backend->synchronize_event(handle()); }
bool Event::is_done() const { return data_->backend->is_done(handle()); }

double Event::milliseconds_since(const Event& earlier) const {
  if (data_->backend != earlier.data_->backend) {
    throw DeviceError(
        "events of " + earlier.data_->backend->name() + " and " + data_->backend->name() + " cannot be compared",
        "each device has its own clock");
  }
  if (!data_->options.timing || !earlier.data_->options.timing) {
    throw DeviceError("milliseconds between events: one of them was made without timing",
                      "make it with Event(device) or {.timing = true}");
  }
  return data_->backend->milliseconds(earlier.handle(), handle());
}

}  // namespace damo
