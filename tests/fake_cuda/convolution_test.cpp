// What cuDNN's handles do with streams, by a driver and a cuDNN of the tests' own (driver/, cudnn/).
#include <damo/damo.hpp>

#include <dlfcn.h>

#include <atomic>
#include <optional>
#include <thread>
#include <vector>

#include <gmock/gmock.h>

#include "runtime/backend.hpp"
#include "runtime/cuda/cuda_backend.hpp"
#include "support/scratch_directory.hpp"

namespace damo {
namespace {

class FakeCudnnNvrtc : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const auto problem = nvrtc_problem()) GTEST_SKIP() << "needs NVRTC: " << *problem;
    device_ = Device("cuda:0");
    const Variable x = tensor4("x"), w = input({float32, {2, 3, 3, 3}}, "w");
    x_ = Array::zeros({2, 3, 8, 8}, float32, *device_), w_ = Array::zeros({2, 3, 3, 3}, float32, *device_);
    convolve_.emplace(function({x, w}, {tanh(conv2d(x, w))}, {.device = *device_}));
  }
  Array call() const { return (*convolve_)(x_, w_); }
  void convolve_eagerly() const { conv2d(x_, w_); }
  Device device() const { return *device_; }

  static int asked(const char* function) { return reinterpret_cast<int (*)()>(dlsym(dlopen(DAMO_FAKE_CUDNN, RTLD_NOW), function))(); }
  static int mistakes() { return asked("fake_cudnn_take_mistakes"); }
  static int handles() { return asked("fake_cudnn_handles"); }

 private:
  testing::Environment library_{"DAMO_CUDNN_PATH", DAMO_FAKE_CUDNN}, first_algorithm_{"DAMO_TUNE", "0"};
  std::optional<Device> device_;
  Array x_, w_;
  std::optional<Function> convolve_;
};

TEST_F(FakeCudnnNvrtc, CapturesOfReplaysLeaveNoHandleOnAStreamThatIsGone) {
  std::atomic<int>& least = device().backend().least_replayed;
  const int before = least.exchange(1);
  for (int i = 0; i < 6; ++i) call();
  convolve_eagerly();
  std::vector<std::thread> threads;
  for (int k = 0; k < 4; ++k) {
    threads.emplace_back([&] {
      for (int i = 0; i < 6; ++i) call();
    });
  }
  for (std::thread& thread : threads) thread.join();
  least = before;
  EXPECT_EQ(mistakes(), 0);
}

TEST_F(FakeCudnnNvrtc, HandlesOfStreamsThatEndServeOthers) {
  call();
  int before = 0;
  for (int i = 0; i < 5; ++i) {
    const Stream first(device()), second(device());
    for (const Stream* stream : {&first, &second}) static_cast<void>(capture(*stream, [&] { call(); }));
    if (i == 0) before = handles();
  }
  call();
  EXPECT_EQ(handles(), before);
  EXPECT_EQ(mistakes(), 0);
}

}  // namespace
}  // namespace damo
