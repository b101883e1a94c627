// Event: a point in a stream's work. Two of them measure time, and a stream can wait for one of another stream:
//
//   Event begin(device), end(device);
//   begin.record(stream);  kernel.launch(...);  end.record(stream);
//   end.synchronize();
//   double milliseconds = end.milliseconds_since(begin);
//
// On the CPU an event is the time of its record. An event recorded while its stream is captured (captured_graph.hpp)
// orders work inside the graph and cannot be waited for or timed. See tests/runtime/stream/stream_test.cpp.
#pragma once
#include <memory>

#include <damo/device.hpp>

namespace damo {

class Stream;

struct EventOptions {
  bool timing = true;     ///< false: cheaper to record; has no milliseconds
  bool blocking = false;  ///< true: synchronize() lets the thread sleep, where it else spins
};

class Event {
 public:
  explicit Event(Device device, EventOptions options = {});

  Device device() const;
  /// Again and again if wanted: the last one counts. Throws DeviceError for a stream of another device.
  void record(const Stream& stream) const;
  /// Waits for the work before the last record; returns at once if there was none.
  void synchronize() const;
  bool is_done() const;
  /// Milliseconds from earlier to this; waits for neither. Throws DeviceError unless both were recorded and are done,
  /// and for an event without timing.
  double milliseconds_since(const Event& earlier) const;
  /// CUevent on a GPU.
  void* handle() const;

 private:
  struct Data;
  std::shared_ptr<const Data> data_;
};

}  // namespace damo
