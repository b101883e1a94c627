// Copies and fills of DevicePointer, each checked against both sides.
#include <limits>
#include <string>
#include <vector>

#include <damo/error.hpp>
#include <damo/memory.hpp>
#include <damo/stream.hpp>

#include "runtime/stream/capture.hpp"
#include "runtime/memory/host_address.hpp"
#include "runtime/memory/memory_state.hpp"

namespace damo {
namespace {

std::string count_of(std::size_t bytes) { return std::to_string(bytes) + (bytes == 1 ? " byte" : " bytes"); }

[[noreturn]] void refuse_past_end(const std::string& what, std::size_t wanted, const char* side,
                                  std::size_t available) {
  throw ShapeError(what + ": " + count_of(wanted) + " go past the end: the " + side + " has " + count_of(available),
                   "copy fewer bytes, or make the memory larger");
}

/// Captured copies keep what they use, also past a free().
void hold(Backend& backend, Buffer* buffer) {
  if (CaptureScope* capture = current_capture(backend)) capture->holds().hold(share_of(buffer));
}

/// After a copy or fill was given to the stream.
void note_use(Backend& backend, Buffer* buffer, void* stream) {
  if (stream != nullptr) buffer->note_use(backend.stream_set(stream));
}

/// After a stream of another device was given work that reads the buffer: it may not be written again before that. A
/// graph does the work at its launches: what it holds is given up only when the device is idle.
void note_use_elsewhere(Backend& reader, Buffer* buffer, void* stream) {
  if (CaptureScope* capture = current_capture(reader)) {
    buffer->retain();
    return capture->holds().hold(std::shared_ptr<const void>(buffer, [&reader, buffer](const void*) {
      try {
        reader.synchronize();
      } catch (...) {  // a kernel's fault is reported by whoever waits next
      }
      buffer->release();
    }));
  }
  buffer->backend().wait_for_device(reader, stream);
}

}  // namespace

void DevicePointer::require(std::size_t bytes, const char* what) const {
  if (bytes > bytes_) refuse_past_end(what, bytes, "device memory", bytes_);
}

void DevicePointer::require_host(std::size_t available, std::size_t bytes, const char* what) {
  if (bytes > available) refuse_past_end(what, bytes, "host range", available);
}

void* DevicePointer::handle_of(const Stream* stream, const char* what) const {
  if (stream == nullptr) return nullptr;
  if (&stream->device().backend() != &state_->backend) {
    throw DeviceError(std::string(what) + ": the memory is on " + state_->backend.name() + ", the stream on " +
                          stream->device().name(),
                      "use a stream of the memory's device");
  }
  return detail::stream_handle(*stream);
}

void DevicePointer::copy_in(const void* host, std::size_t bytes, const Stream* stream) const {
  Backend& backend = state("copy_from_host").backend;
  require(bytes, "copy_from_host");
  void* const handle = handle_of(stream, "copy_from_host");
  if (bytes == 0) return;
  require_host_address(host, bytes, "copy_from_host");
  if (stream != nullptr) hold(backend, state_->buffer);
  backend.copy(data(), host, bytes, CopyKind::kHostToDevice, handle);
  note_use(backend, state_->buffer, handle);
  // Plain host memory has been read by now, but may lie in the driver's buffer still: another stream would not wait for it.
  if (stream == nullptr) backend.synchronize(nullptr);
}

void DevicePointer::copy_out(void* host, std::size_t bytes, const Stream* stream) const {
  Backend& backend = state("copy_to_host").backend;
  require(bytes, "copy_to_host");
  void* const handle = handle_of(stream, "copy_to_host");
  if (bytes == 0) return;
  require_host_address(host, bytes, "copy_to_host");
  if (stream != nullptr) hold(backend, state_->buffer);
  backend.copy(host, data(), bytes, CopyKind::kDeviceToHost, handle);
  note_use(backend, state_->buffer, handle);
  if (stream != nullptr) return;
  backend.synchronize(nullptr);
  backend.throw_found();
}

void DevicePointer::copy_from_host(const void* host, std::size_t bytes) const { copy_in(host, bytes, nullptr); }
void DevicePointer::copy_from_host(const void* host, std::size_t bytes, const Stream& stream) const {
  copy_in(host, bytes, &stream);
}
void DevicePointer::copy_to_host(void* host, std::size_t bytes) const { copy_out(host, bytes, nullptr); }
void DevicePointer::copy_to_host(void* host, std::size_t bytes, const Stream& stream) const {
  copy_out(host, bytes, &stream);
}
void DevicePointer::copy_from(const DevicePointer& from, std::size_t bytes) const { copy_across(from, bytes, nullptr); }
void DevicePointer::copy_from(const DevicePointer& from, std::size_t bytes, const Stream& stream) const {
  copy_across(from, bytes, &stream);
}

void DevicePointer::copy_across(const DevicePointer& from, std::size_t bytes, const Stream* stream) const {
  Backend& here = state("copy_from").backend;
  Backend& there = from.state("copy_from").backend;
  require(bytes, "copy_from, destination");
  from.require(bytes, "copy_from, source");
  void* const handle = handle_of(stream, "copy_from");
  if (bytes == 0) return;
  if (stream != nullptr) {
    hold(here, state_->buffer);
    hold(here, from.state_->buffer);
  }
  if (&here == &there) {
    here.copy(data(), from.data(), bytes, CopyKind::kDeviceToDevice, handle);
    note_use(here, from.state_->buffer, handle);
    return note_use(here, state_->buffer, handle);
  }
  // The other device's work so far must be seen. Its default stream is the one that ordinary work is on.
  there.join_streams(kAllStreams);
  there.synchronize(nullptr);
  if (here.kind() == DeviceKind::kCuda && there.kind() == DeviceKind::kCuda) {
    here.copy_peer(data(), there, from.data(), bytes, handle);
    note_use_elsewhere(here, from.state_->buffer, handle);
    note_use(here, state_->buffer, handle);
  } else if (here.kind() == DeviceKind::kCuda) {
    here.copy(data(), from.data(), bytes, CopyKind::kHostToDevice, handle);
    note_use(here, state_->buffer, handle);
  } else if (there.kind() == DeviceKind::kCuda) {
    there.copy(data(), from.data(), bytes, CopyKind::kDeviceToHost, nullptr);
    there.synchronize(nullptr);
  } else {
    here.copy(data(), from.data(), bytes, CopyKind::kDeviceToDevice, handle);
  }
}

void DevicePointer::fill_bytes(const void* element, std::size_t element_bytes, std::size_t count,
                               const Stream* stream) const {
  Backend& backend = state("fill").backend;
  if (count > bytes_ / element_bytes) {
    constexpr std::size_t kMost = std::numeric_limits<std::size_t>::max();
    const std::size_t wanted = count > kMost / element_bytes ? kMost : count * element_bytes;
    refuse_past_end("fill of " + std::to_string(count) + " elements", wanted, "device memory", bytes_);
  }
  void* const handle = handle_of(stream, "fill");
  if (count == 0) return;
  if (stream != nullptr) hold(backend, state_->buffer);
  backend.fill(data(), element, element_bytes, count, handle);
  note_use(backend, state_->buffer, handle);
}

void DevicePointer::fill_rows(const void* element, std::size_t element_bytes, std::size_t pitch, std::size_t columns,
                              std::size_t rows, const Stream* stream) const {
  Backend& backend = state("fill_2d").backend;
  void* const handle = handle_of(stream, "fill_2d");
  if (columns == 0 || rows == 0) return;
  const std::size_t row_bytes = columns > bytes_ / element_bytes ? bytes_ + 1 : columns * element_bytes;
  Rows(*this, pitch).require(row_bytes, rows, "fill_2d");
  if (pitch % element_bytes != 0) {
    throw ShapeError("fill_2d: a pitch of " + std::to_string(pitch) + " bytes is no multiple of the element's " +
                         std::to_string(element_bytes),
                     "give a pitch of whole elements");
  }
  if (stream != nullptr) hold(backend, state_->buffer);
  backend.fill_rows({data(), pitch, element, element_bytes, columns, rows}, handle);
  note_use(backend, state_->buffer, handle);
}

Rows::Rows(const DeviceMemory& memory) : device_(memory), bytes_(memory.size()), pitch_(memory.pitch()) {
  if (pitch_ == 0)
    throw TypeError("this DeviceMemory has no pitch",
                    "make it with DeviceMemory::pitched, or give Rows(memory, pitch)");
}

void Rows::require(std::size_t row_bytes, std::size_t rows, const char* side) const {
  const std::string what =
      std::string(side) + " of " + std::to_string(rows) + " rows of " + std::to_string(row_bytes) + " bytes";
  if (rows > 1 && pitch_ < row_bytes) {
    throw ShapeError(what + ": the rows begin " + std::to_string(pitch_) + " bytes apart",
                     "a pitch is at least a row's bytes");
  }
  const std::size_t room = bytes_ < row_bytes ? 0 : rows <= 1 ? 1 : (bytes_ - row_bytes) / pitch_ + 1;
  if (rows > room) {
    throw ShapeError(what + " goes past the end: at " + std::to_string(pitch_) + " bytes a row the memory of " +
                         count_of(bytes_) + " has room for " + std::to_string(room),
                     "copy fewer rows, or make the memory larger");
  }
}

namespace {

/// Through the host: for two devices.
void copy_rows_between(Backend& here, Backend& there, const RowsCopy& rows, void* stream) {
  if (current_capture(here) != nullptr) {
    throw DeviceError("copy_2d between " + there.name() + " and " + here.name() + " while a stream is captured: it goes "
                      "through the host at once", "copy before or after the capture");
  }
  std::vector<std::byte> staging(rows.row_bytes * rows.rows);
  const RowsCopy down{staging.data(), rows.row_bytes, rows.from, rows.from_pitch, rows.row_bytes, rows.rows};
  const RowsCopy up{rows.to, rows.to_pitch, staging.data(), rows.row_bytes, rows.row_bytes, rows.rows};
  there.join_streams(kAllStreams);
  there.copy_rows(down, CopyKind::kDeviceToHost, nullptr);
  there.synchronize(nullptr);
  here.copy_rows(up, CopyKind::kHostToDevice, stream);
  here.synchronize(stream);
}

}  // namespace

void copy_2d(const Rows& to, const Rows& from, std::size_t row_bytes, std::size_t rows, const Stream* stream) {
  if (to.host_ && from.host_)
    throw TypeError("copy_2d: both sides are host memory", "one side is a DeviceMemory or an Array");
  if (!to.is_writable_) throw TypeError("copy_2d: the destination's elements are const", "copy into memory that is not const");
  if (rows == 0 || row_bytes == 0) return;
  to.require(row_bytes, rows, "copy_2d, destination");
  from.require(row_bytes, rows, "copy_2d, source");
  const DevicePointer& own = to.host_ ? from.device_ : to.device_;
  Backend& backend = own.state("copy_2d").backend;
  void* const handle = own.handle_of(stream, "copy_2d");
  const RowsCopy copy{to.data(), to.pitch_, from.data(), from.pitch_, row_bytes, rows};
  if (stream != nullptr) hold(backend, own.state_->buffer);
  if (!to.host_ && !from.host_) {
    Backend& there = from.device_.state("copy_2d").backend;
    if (&there != &backend) return copy_rows_between(backend, there, copy, handle);
    if (stream != nullptr) hold(backend, from.device_.state_->buffer);
    backend.copy_rows(copy, CopyKind::kDeviceToDevice, handle);
    note_use(backend, from.device_.state_->buffer, handle);
    return note_use(backend, own.state_->buffer, handle);
  }
  backend.copy_rows(copy, to.host_ ? CopyKind::kDeviceToHost : CopyKind::kHostToDevice, handle);
  note_use(backend, own.state_->buffer, handle);
  if (stream != nullptr) return;
  backend.synchronize(nullptr);
  if (to.host_) backend.throw_found();
}

}  // namespace damo
