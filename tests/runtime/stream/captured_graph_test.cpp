#include <damo/captured_graph.hpp>

#include <memory>
#include <stdexcept>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <damo/error.hpp>
#include <damo/event.hpp>
#include <damo/module.hpp>
#include <damo/stream.hpp>

#include "support/counting_backend.hpp"
#include "support/cuda_c_kernel.hpp"
#include "support/devices.hpp"

namespace damo {
namespace {

using damo::testing::error_of;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class CapturedGraphOnEachDevice : public damo::testing::OnEachDevice {
 protected:
  /// Gives the stream a launch that scales all floats of memory.
  void scale(const DevicePointer& memory, float factor, const Stream& stream) {
    if (!kernel_) kernel_ = damo::testing::cuda_c_kernel(device(), "scale", damo::testing::kScale);
    const int count = static_cast<int>(memory.size() / sizeof(float));
    damo::testing::launch(*kernel_, {.grid = {(count + 255) / 256}, .block = {256}}, stream.handle(), memory.data(),
                          count, factor);
  }
  std::shared_ptr<const LoadedKernel> kernel_;
};

TEST_P(CapturedGraphOnEachDevice, RunsNothingWhileItIsCapturedAndAllAtEachReplay) {
  const DeviceMemory memory = DeviceMemory::from(device(), std::vector<float>(1000, 1.0f));
  const Stream stream(device());
  const CapturedGraph graph = capture(stream, [&] {
    scale(memory, 2, stream);
    scale(memory, 3, stream);
  });
  EXPECT_THAT(memory.to_vector<float>(), Each(1.0f));
  EXPECT_EQ(graph.node_count(), 2u);
  graph.launch(stream);
  stream.synchronize();
  EXPECT_THAT(memory.to_vector<float>(), Each(6.0f));
  graph.launch(Stream::default_of(device()));
  graph.launch(Stream::default_of(device()));
  EXPECT_THAT(memory.to_vector<float>(), Each(216.0f));
}

TEST_P(CapturedGraphOnEachDevice, TakesNoHostMemoryThatALaunchCopiesAtOnce) {
  const Module module(device(), "__global__ void f(int* x) { x[0] = 1; }");
  const Stream stream(device());
  std::vector<int> x(1);
  const auto captured = [&](const auto& argument) {
    return error_of([&] { capture(stream, [&] { module.kernel("f")({.stream = stream}, argument); }); });
  };
  const std::string message = "launch of 'f' while a stream is captured: In, Out and InOut copy at once, and nothing runs "
                              "before the graph is launched";
  EXPECT_THAT(captured(Out(x)), HasSubstr(message));
  EXPECT_THAT(captured(In(x)), HasSubstr(message));
  module.kernel("f")({.stream = stream}, InOut(x));  // the stream is as it was
  EXPECT_EQ(x[0], 1);
}

TEST_P(CapturedGraphOnEachDevice, ReadsWhatIsInMemoryAtTheReplay) {
  const PinnedMemory in(400, device()), out(400, device());
  const Stream stream(device());
  const DeviceMemory memory(device(), 400), copy(device(), 400);
  const CapturedGraph graph = capture(stream, [&] {
    memory.copy_from_host(in.as<float>(), stream);
    scale(memory, 10, stream);
    copy.fill(0.5f, 100, stream);
    copy.copy_from(memory, 396, stream);
    copy.copy_to_host(out.as<float>(), stream);
  });
  for (float value : {1.0f, 2.0f}) {
    std::fill(in.as<float>().begin(), in.as<float>().end(), value);
    graph.launch(stream);
    stream.synchronize();
    EXPECT_THAT(out.as<float>().first(99), Each(10 * value));
    EXPECT_EQ(out.as<float>()[99], 0.5f);
  }
}

TEST_P(CapturedGraphOnEachDevice, HoldsItsKernelsAndWhatIsGivenUpMeanwhile) {
  const Stream stream(device());
  const DeviceMemory result(device(), 400);
  const std::size_t before = device().memory().in_use_bytes;
  CapturedGraph graph = capture(stream, [&] {
    DeviceMemory local(device(), 400);
    const PinnedMemory nothing(64, device());
    local.fill(1.5f, 100, stream);
    scale(local, 2, stream);
    result.copy_from(local, 400, stream);
    local.free();
  });
  kernel_.reset();
  const std::vector<DeviceMemory> others = [&] {
    std::vector<DeviceMemory> made;
    for (int i = 0; i < 8; ++i) made.push_back(DeviceMemory::from(device(), std::vector<float>(100, -1.0f)));
    return made;
  }();
  graph.launch(stream);
  stream.synchronize();
  EXPECT_THAT(result.to_vector<float>(), Each(3.0f));
  for (const DeviceMemory& other : others) EXPECT_THAT(other.to_vector<float>(), Each(-1.0f));
  EXPECT_GT(device().memory().in_use_bytes, before + 8 * 512);
  graph = {};
  EXPECT_EQ(device().memory().in_use_bytes, before + 8 * 512);
}

TEST_P(CapturedGraphOnEachDevice, KeepsWhatItIsToldTo) {
  const Stream stream(device());
  const std::size_t before = device().memory().in_use_bytes;
  CapturedGraph graph = capture(stream, [] {});
  {
    const Array array = Array::zeros({100}, float32, device());
    graph.keep(array);
    DeviceMemory memory(device(), 100);
    graph.keep(memory);
    memory.free();
  }
  EXPECT_EQ(device().memory().in_use_bytes, before + 1024);
  EXPECT_EQ(graph.node_count(), 0u);
  graph.launch(stream);
  graph = CapturedGraph();
  EXPECT_EQ(device().memory().in_use_bytes, before);
}

TEST_P(CapturedGraphOnEachDevice, TakesASecondStreamInByAnEvent) {
  const Stream stream(device()), second(device());
  const Event fork(device(), {.timing = false}), join(device(), {.timing = false});
  const DeviceMemory a = DeviceMemory::from(device(), std::vector<float>(10, 1)),
                     b = DeviceMemory::from(device(), std::vector<float>(10, 1));
  const auto work = [&](bool joins) {
    return capture(stream, [&] {
      scale(a, 2, stream);
      fork.record(stream);
      second.wait(fork);
      b.copy_from(a, 40, second);
      scale(b, 5, second);
      join.record(second);
      if (joins) stream.wait(join);
    });
  };
  const CapturedGraph graph = work(true);
  graph.launch(stream);
  stream.synchronize();
  EXPECT_THAT(b.to_vector<float>(), Each(10.0f));
  EXPECT_THAT(error_of([&] { join.synchronize(); }), HasSubstr("recorded in a capture"));
  EXPECT_THAT(error_of([&] { work(false); }), HasSubstr("has work that the captured stream does not wait for"));
  scale(a, 1, stream);  // both streams are out of the capture
  scale(b, 1, second);
  device().synchronize();
}

TEST_P(CapturedGraphOnEachDevice, CallsItsCallbacksAtEachReplay) {
  const Stream stream(device());
  int calls = 0;
  const CapturedGraph graph = capture(stream, [&] { stream.add_callback([&calls] { ++calls; }); });
  EXPECT_EQ(calls, 0);
  graph.launch(stream);
  graph.launch(stream);
  stream.synchronize();
  EXPECT_EQ(calls, 2);
}

TEST_P(CapturedGraphOnEachDevice, EndsWithWhatTheWorkThrows) {
  const Stream stream(device());
  const DeviceMemory memory = DeviceMemory::from(device(), std::vector<float>(10, 1));
  EXPECT_THROW(capture(stream,
                       [&] {
                         scale(memory, 2, stream);
                         throw std::runtime_error("changed my mind");
                       }),
               std::runtime_error);
  scale(memory, 3, stream);  // runs at once again
  stream.synchronize();
  EXPECT_THAT(memory.to_vector<float>(), Each(3.0f));
}

TEST_P(CapturedGraphOnEachDevice, RefusesTheDefaultStream) {
  EXPECT_THAT(error_of([&] { capture(Stream::default_of(device()), [] {}); }),
              HasSubstr("the default stream of " + device().name() + " cannot be captured"));
  const Stream stream(device());
  const DeviceMemory memory(device(), 40);
  EXPECT_THAT(error_of([&] { capture(stream, [&] { memory.fill(1.0f); }); }),
              HasSubstr("work on the default stream of " + device().name() + " during a capture"));
  EXPECT_THAT(error_of([&] { capture(stream, [&] { scale(memory, 2, Stream::default_of(device())); }); }),
              HasSubstr("work on the default stream"));
  EXPECT_THAT(error_of([&] { capture(stream, [&] { (void)memory.to_vector<float>(); }); }),
              HasSubstr("work on the default stream"));
}

TEST_P(CapturedGraphOnEachDevice, RefusesWaitsInACapture) {
  const Stream stream(device());
  const DeviceMemory memory(device(), 40);
  const auto work = [&](auto&& wait) {
    return error_of([&] {
      capture(stream, [&] {
        memory.fill(1.0f, 10, stream);
        wait();
      });
    });
  };
  EXPECT_THAT(work([&] { stream.synchronize(); }), HasSubstr("captured"));
  EXPECT_THAT(work([&] { (void)stream.is_done(); }), HasSubstr("captured"));
  EXPECT_THAT(work([&] { device().synchronize(); }), HasSubstr("captured"));
}

TEST_P(CapturedGraphOnEachDevice, RefusesAnEventOfWorkThatIsNotCaptured) {
  const Stream stream(device()), other(device());
  const Event event(device());
  event.record(other);
  EXPECT_THAT(error_of([&] { capture(stream, [&] { stream.wait(event); }); }),
              HasSubstr("waits for an event of work that is not captured"));
}

TEST_P(CapturedGraphOnEachDevice, RefusesACaptureInACapture) {
  const Stream stream(device()), second(device());
  EXPECT_THAT(error_of([&] { capture(stream, [&] { capture(second, [] {}); }); }),
              HasSubstr("a capture begins inside another one"));
}

DAMO_ON_EACH_DEVICE(CapturedGraphOnEachDevice);

TEST(CapturedGraph, BelongsToADevice) {
  EXPECT_THAT(error_of([] { CapturedGraph().launch(Stream(Device("null"))); }),
              HasSubstr("this CapturedGraph is empty"));
  const Stream stream{Device("null")};
  EXPECT_THAT(error_of([&] { capture(stream, nullptr); }), HasSubstr("capture: the work is empty\n  give a function"));
  const CapturedGraph graph = capture(stream, [] {});
  damo::testing::CountingBackend other;
  EXPECT_THAT(error_of([&] { graph.launch(Stream(Device(&other))); }),
              HasSubstr("captured on null cannot be launched on a stream of counting"));
}

TEST(CapturedGraph, IsANodeOfAnother) {
  const Stream stream{Device("null")};
  const DeviceMemory memory = DeviceMemory::from(Device("null"), std::vector<int>{1, 2});
  const CapturedGraph inner = capture(stream, [&] { (memory + 4).copy_from(memory, 4, stream); });
  const CapturedGraph outer = capture(stream, [&] {
    memory.fill(7, 1, stream);
    inner.launch(stream);
  });
  EXPECT_THAT(memory.to_vector<int>(), ElementsAre(1, 2));
  outer.launch(stream);
  EXPECT_THAT(memory.to_vector<int>(), ElementsAre(7, 7));
}

}  // namespace
}  // namespace damo
