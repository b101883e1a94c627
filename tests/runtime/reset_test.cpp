// What a reset loses, on a device of host memory that can lose it; tests/runtime/cuda/fault_test.cpp has the GPU's.
#include <optional>
#include <set>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <damo/captured_graph.hpp>
#include <damo/dlpack.hpp>
#include <damo/error.hpp>
#include <damo/memory.hpp>
#include <damo/stream.hpp>

#include "runtime/memory/memory_pool.hpp"
#include "runtime/memory/pinned_pool.hpp"
#include "runtime/synchronous_backend.hpp"
#include "support/devices.hpp"

namespace damo {
namespace {

using damo::testing::error_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// A reset takes all that was made, as a GPU's does: what touches it afterwards is an error of the address sanitizer. Counts
/// releases, so that one of a lost block shows.
class ResettableBackend final : public SynchronousBackend {
 public:
  ResettableBackend() : SynchronousBackend("resettable", DeviceKind::kNull) {}
  ~ResettableBackend() override { pool().free_cache(); }

  int releases = 0;

  void* allocate(std::size_t bytes) override { return noted(blocks_, SynchronousBackend::allocate(bytes)); }
  void release(void* memory) noexcept override {
    ++releases;
    blocks_.erase(memory);
    SynchronousBackend::release(memory);
  }
  void* create_stream(StreamOptions options) override { return noted(streams_, SynchronousBackend::create_stream(options)); }
  void destroy_stream(void* stream) noexcept override {
    streams_.erase(stream);
    SynchronousBackend::destroy_stream(stream);
  }
  void* create_event(EventOptions options) override { return noted(events_, SynchronousBackend::create_event(options)); }
  void destroy_event(void* event) noexcept override {
    events_.erase(event);
    SynchronousBackend::destroy_event(event);
  }
  void reset() override {
    begin_generation();
    for (void* const event : std::exchange(events_, {})) SynchronousBackend::destroy_event(event);
    for (void* const stream : std::exchange(streams_, {})) SynchronousBackend::destroy_stream(stream);
    for (void* const block : std::exchange(blocks_, {})) SynchronousBackend::release(block);
  }
  DeviceProperties properties() const override { return host_properties(); }
  const Compiler& compiler() override { throw InternalError("no compiler"); }
  const Dialect& dialect() override { throw InternalError("no dialect"); }
  std::shared_ptr<const LoadedModule> load(std::span<const std::byte>, const std::string&) override { return nullptr; }
  void launch(const LoadedKernel&, const LaunchConfig&, void* const*, void*) override {}

 private:
  static void* noted(std::set<void*>& all, void* made) {
    if (made) all.insert(made);
    return made;
  }
  std::set<void*> blocks_, streams_, events_;
};

class Reset : public ::testing::Test {
 protected:
  ResettableBackend backend_;
  Device device_{&backend_};
};

TEST_F(Reset, WhatWasMadeBeforeIsRefusedByName) {
  const std::string lost = "of resettable was made before the device was reset and is lost";
  const Array array = Array::zeros({4}, float32, device_);
  const DeviceMemory memory(device_, 16);
  const DevicePointer place = memory + 4;
  const Stream stream(device_), usual = Stream::default_of(device_);
  const Event event(device_);
  const PinnedMemory pinned(16, device_);
  const CapturedGraph graph = capture(stream, [] {});
  device_.reset();
  const Stream fresh(device_);
  EXPECT_EQ(error_of([&] { array.device(); }),
            "an Array " + lost + "\n  make arrays, streams, modules and functions anew after Device::reset");
  EXPECT_THAT(error_of([&] { array.to_vector<float>(); }), HasSubstr("an Array " + lost));
  EXPECT_THAT(error_of([&] { Array::zeros({4}, float32, device_).copy_from(array); }), HasSubstr("an Array " + lost));
  EXPECT_THAT(error_of([&] { array.to_dlpack(); }), HasSubstr("an Array " + lost));
  EXPECT_THAT(error_of([&] { memory.data(); }), HasSubstr("this DeviceMemory of 16 bytes " + lost));
  EXPECT_THAT(error_of([&] { place.to_vector<float>(); }), HasSubstr("this DeviceMemory of 16 bytes " + lost));
  EXPECT_THAT(error_of([&] { stream.synchronize(); }), HasSubstr("a stream " + lost));
  EXPECT_THAT(error_of([&] { usual.synchronize(); }), HasSubstr("a stream " + lost));
  EXPECT_THAT(error_of([&] { event.record(fresh); }), HasSubstr("an event " + lost));
  EXPECT_THAT(error_of([&] { fresh.wait(event); }), HasSubstr("an event " + lost));
  EXPECT_THAT(error_of([&] { pinned.data(); }), HasSubstr("PinnedMemory " + lost));
  EXPECT_THAT(error_of([&] { graph.launch(fresh); }), HasSubstr("a captured graph " + lost));
  EXPECT_TRUE(array.is_lost());
  EXPECT_EQ(describe(array), "lost Array");
}

TEST_F(Reset, DestroyingWhatIsLostTouchesNothing) {
  std::optional<Array> array = Array::zeros({4}, float32, device_);
  std::optional<DeviceMemory> memory(DeviceMemory(device_, 16)), freed(DeviceMemory(device_, 16));
  std::optional<PinnedMemory> pinned(PinnedMemory(16, device_));
  std::optional<Stream> stream(device_);
  std::optional<CapturedGraph> graph = capture(*stream, [&] { DeviceMemory(device_, 16); });
  DLManagedTensor* const tensor = array->to_dlpack();
  Array::zeros({4000}, float32, device_);  // one block in the cache
  device_.reset();
  freed->free();
  array.reset();
  memory.reset();
  pinned.reset();
  graph.reset();
  stream.reset();
  tensor->deleter(tensor);
  EXPECT_EQ(backend_.releases, 0);
  EXPECT_EQ(device_.memory().in_use_bytes, 0u);
  EXPECT_EQ(device_.memory().cached_bytes, 0u);
  EXPECT_EQ(device_.pinned_memory().in_use_bytes, 0u);
}

TEST_F(Reset, TheDeviceWorksAfterwards) {
  device_.set_memory_limit(1 << 20);
  Array::zeros({4}, float32, device_);
  device_.reset();
  const DeviceMemory memory = DeviceMemory::from(device_, std::vector<int>{1, 2});
  EXPECT_THAT(memory.to_vector<int>(), ElementsAre(1, 2));
  EXPECT_EQ(device_.memory().in_use_bytes, 512u);
  EXPECT_EQ(device_.memory().limit_bytes, 1u << 20) << "the limit stays";
  Stream(device_).synchronize();
}

class Plans final : public Companion {
 public:
  explicit Plans(Backend& device) : generation(device.generation()) {}
  const std::uint32_t generation;
};
class Handles final : public Companion {
 public:
  explicit Handles(Backend&) {}
};

TEST_F(Reset, WhatALaterLayerKeepsWithTheDeviceIsMadeAnew) {
  const auto plans = backend_.companion<Plans>();
  EXPECT_EQ(backend_.companion<Plans>(), plans);
  EXPECT_NE(static_cast<Companion*>(backend_.companion<Handles>().get()), plans.get()) << "found by its kind";
  device_.reset();
  const auto anew = backend_.companion<Plans>();
  EXPECT_NE(anew, plans);
  EXPECT_EQ(anew->generation, plans->generation + 1);
  EXPECT_EQ(plans.use_count(), 1) << "who used it meanwhile still holds it, the device does not";
}

TEST(ResetOnCpu, LosesNothing) {
  try {
    const Device device("cpu");
    const Array array = Array::ones({2}, float32, device);
    device.reset();
    EXPECT_THAT(array.to_vector<float>(), ElementsAre(1, 1));
  } catch (const DeviceError& error) {
    GTEST_SKIP() << "needs the CPU back end: " << error.what();
  }
}

}  // namespace
}  // namespace damo
