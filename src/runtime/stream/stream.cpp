#include <damo/stream.hpp>

#include <utility>

#include <damo/error.hpp>
#include <damo/event.hpp>

#include "runtime/backend.hpp"

namespace damo {

struct Stream::Data {
  Backend* backend;
  void* handle;
  bool is_owned;
  std::uint32_t generation;

  Data(Backend* backend, void* handle, bool is_owned)
      : backend(backend), handle(handle), is_owned(is_owned), generation(backend->generation()) {}
  Data(Backend* backend, StreamOptions options) : Data(backend, backend->create_stream(options), true) {}
  Data(const Data&) = delete;
  Data& operator=(const Data&) = delete;
  ~Data() {
    if (is_owned && generation == backend->generation()) backend->destroy_stream(handle);
  }
};

Stream::Stream(Device device, StreamOptions options)
    : data_(std::make_shared<Data>(&device.backend(), options)) {}

Stream Stream::default_of(Device device) {
  return Stream(std::make_shared<Data>(&device.backend(), device.backend().default_stream(), false));
}

StreamPriorities Stream::priorities(Device device) { return device.backend().stream_priorities(); }

Device Stream::device() const { return Device(data_->backend); }
bool Stream::is_default() const { return !data_->is_owned; }

void* detail::stream_handle(const Stream& stream) {
  const Stream::Data& data = *stream.data_;
  if (data.generation != data.backend->generation()) [[unlikely]]
    refuse_lost(*data.backend, "a stream");
  return data.handle;
}

void* Stream::handle() const {
  void* const handle = detail::stream_handle(*this);
  if (data_->is_owned) data_->backend->note_foreign_work(handle);
  return handle;
}

void Stream::synchronize() const {
  data_->backend->synchronize(detail::stream_handle(*this));
  data_->backend->throw_reported(data_->handle, false);
  data_->backend->throw_found();
}

bool Stream::is_done() const { return data_->backend->is_stream_done(detail::stream_handle(*this)); }

void Stream::wait(const Event& event) const { data_->backend->wait(detail::stream_handle(*this), event.handle()); }

void Stream::add_callback(std::function<void()> function) const {
  if (!function) throw TypeError("add_callback: the function is empty", "give one to call");
  data_->backend->add_callback(detail::stream_handle(*this),
                               [backend = data_->backend, stream = data_->handle, function = std::move(function)] {
                                 try {
                                   function();
                                 } catch (...) {
                                   backend->report_callback(stream, std::current_exception());
                                 }
                               });
}

bool operator==(const Stream& a, const Stream& b) {
  return a.data_ == b.data_ || (a.is_default() && b.is_default() && a.device() == b.device());
}

}  // namespace damo
