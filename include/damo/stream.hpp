// Stream: work that runs in order. Streams of a GPU run beside each other; on the CPU every stream runs in the calling
// thread, so work is done when the call that gave it returns.
//
//   Stream copies(device), kernels(device);
//   memory.copy_from_host(pinned, copies);         // returns at once
//   event.record(copies);  kernels.wait(event);    // what is given to kernels from here on comes after the copy
//   kernels.add_callback([&] { ++finished; });
//
// Streams are not ordered with each other, nor with the default stream that Functions use: let one wait for an event of
// the other before it reads what the other writes. Memory that is given up while a stream still uses it is safe: what
// reuses it, another Array or a Function's next result, comes after the copies that use it and after all kernels, graphs
// and callbacks that other streams were given so far. A Stream may be destroyed while its work is under way.
// See tests/runtime/stream/stream_test.cpp, stream_reuse_test.cpp.
#pragma once
#include <functional>
#include <memory>

#include <damo/device.hpp>

namespace damo {

class Event;
class Stream;

namespace detail {
/// For Damo's own calls: what they give a stream they note themselves.
void* stream_handle(const Stream& stream);
}  // namespace detail

struct StreamOptions {
  int priority = 0;           ///< lower numbers go first; brought into Stream::priorities()
  bool non_blocking = false;  ///< true: not ordered with CUDA's legacy default stream, which other libraries may use
};

struct StreamPriorities {
  int least = 0, greatest = 0;  ///< greatest <= least: -5 goes before 0
};

class Stream {
 public:
  /// A new stream of the device.
  explicit Stream(Device device, StreamOptions options = {});
  /// The stream that everything uses unless told otherwise.
  static Stream default_of(Device device);
  static StreamPriorities priorities(Device device);

  Device device() const;
  bool is_default() const;
  /// Waits for the stream's work. Throws DeviceError for a fault of an earlier kernel and for what a callback threw.
  void synchronize() const;
  /// Whether all work given so far is done; waits for nothing.
  bool is_done() const;
  /// Later work waits for the event. An event that was never recorded is no wait.
  void wait(const Event& event) const;
  /// Runs the function when all work before it is done; later work waits for it. On a GPU a thread of the driver calls
  /// it: it must not use the device, nor wait for something that does. What it throws is thrown, as a DeviceError
  /// nested with the original, by the next synchronize() of this stream or of the device.
  void add_callback(std::function<void()> function) const;
  /// CUstream on a GPU. On the CPU null for the default stream, an opaque address for others. Once it was asked for,
  /// another library may give the stream work that Damo does not see: any memory that is reused waits for this stream.
  void* handle() const;
  friend bool operator==(const Stream& a, const Stream& b);
  friend void* detail::stream_handle(const Stream& stream);

 private:
  struct Data;
  explicit Stream(std::shared_ptr<const Data> data) : data_(std::move(data)) {}
  std::shared_ptr<const Data> data_;
};

}  // namespace damo
