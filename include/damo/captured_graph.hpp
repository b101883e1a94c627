// CapturedGraph: a sequence of launches and copies, taken down once and replayed with one call. On a GPU it is a CUDA
// graph: a replay costs a few microseconds, however many kernels there are.
//
//   Stream stream(device);
//   CapturedGraph step = capture(stream, [&] {
//     a.copy_from_host(pinned_values, stream);   // nothing runs yet
//     first.launch(...);  second.launch(...);    // on stream
//   });
//   for (int i = 0; i < 100; ++i) step.launch(stream);
//
// A replay repeats the same kernels with the same addresses and scalars; it reads and writes what is in memory then.
// A second stream that waits for an event of the captured one is captured with it, and must be joined by an event
// before the end. Not possible in a capture: work on the default stream, waiting for a captured stream or for the
// device, reading results on the host, launches with In, Out or InOut. Each is a DeviceError.
//
// What a graph uses must live as long as the graph: it holds its kernels, the DeviceMemory of its copies and fills, and
// everything given up while it was captured (an Array local to the function). An Array that is given up later is held
// if keep() was called with it. See tests/runtime/stream/captured_graph_test.cpp.
#pragma once
#include <cstddef>
#include <functional>
#include <memory>

#include <damo/array.hpp>
#include <damo/device.hpp>
#include <damo/memory.hpp>

namespace damo {

class CapturedGraph {
 public:
  CapturedGraph() = default;  ///< empty

  explicit operator bool() const { return data_ != nullptr; }
  Device device() const;
  /// In stream order, on any stream of the device; the default one too.
  void launch(const Stream& stream) const;
  /// Kernels, copies, fills and callbacks; one call may make several.
  std::size_t node_count() const;
  /// Holds it as long as this graph lives.
  void keep(const Array& array) const;
  void keep(const DevicePointer& memory) const;
  void keep(std::shared_ptr<const void> anything) const;

 private:
  friend CapturedGraph capture(const Stream& stream, const std::function<void()>& work);
  struct Data;
  explicit CapturedGraph(std::shared_ptr<Data> data) : data_(std::move(data)) {}
  const Data& data() const;
  std::shared_ptr<Data> data_;
};

/// Runs work, which gives launches and copies to stream, and takes them down instead of running them. What work throws
/// ends the capture and comes through. Throws DeviceError for the default stream: make a Stream.
CapturedGraph capture(const Stream& stream, const std::function<void()>& work);

}  // namespace damo
