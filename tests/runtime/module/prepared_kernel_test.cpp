#include <damo/cuda_c.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/devices.hpp"

namespace damo {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;
using damo::testing::error_of;

constexpr const char* kPreparedSource = R"(
__global__ void scale(float* x, float by, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] *= by;
}
__global__ void nothing() {}
__device__ float value = 3;
)";

class PreparedKernelOnEachDevice : public damo::testing::OnEachDevice {
 protected:
  void SetUp() override {
    OnEachDevice::SetUp();
    if (!IsSkipped()) module_.emplace(device(), kPreparedSource);
  }
  Kernel scale() const { return module_->kernel("scale"); }
  std::optional<Module> module_;
};

TEST_P(PreparedKernelOnEachDevice, LaunchesWithArraysPointersAndNumbers) {
  const Array x = array(std::vector<float>(1000, 1));
  const auto with_array = scale().prepare<Array, float, int>();
  with_array({.grid = {4}, .block = {256}}, x, 2.0f, 1000);
  const auto with_pointer = scale().prepare<float*, float, int>();
  with_pointer({.grid = {4}, .block = {256}}, static_cast<float*>(x.data()), 2.0f, 1000);
  EXPECT_THAT(x.to_vector<float>(), Each(4));
  module_->kernel("nothing").prepare<>()({});
  EXPECT_EQ(with_array.name(), "scale");
}

TEST_P(PreparedKernelOnEachDevice, MayHaveTheShapeOfTheLaunchFixed) {
  const Array x = array(std::vector<float>(1000, 1));
  const Stream stream(device());
  device().synchronize();
  const auto launch = scale().prepare<Array, float, int>().with({.grid = {4}, .block = {256}, .stream = stream});
  launch(x, 3.0f, 1000);
  launch(x, 3.0f, 1000);
  stream.synchronize();
  EXPECT_THAT(x.to_vector<float>(), Each(9));
}

TEST_P(PreparedKernelOnEachDevice, TakesOtherTypesByTheirHook) {
  const auto with_global = scale().prepare<Global, float, int>();
  with_global({}, module_->global("value"), 2.0f, 1);
  EXPECT_EQ(module_->global("value").get<float>(), 6);
}

TEST_P(PreparedKernelOnEachDevice, ChecksTheTypesWhenItIsMade) {
  EXPECT_EQ(error_of([&] { scale().prepare<Array, double, int>(); }),
            "launch of 'scale': argument 2 of 3 is a float64, the kernel's parameter is 'float'\n  pass a float");
  EXPECT_THAT(error_of([&] { scale().prepare<Array, float>(); }), HasSubstr("2 arguments are given"));
  EXPECT_THAT(error_of([&] { scale().prepare<float, float, int>(); }), HasSubstr("argument 1 of 3 is a float32"));
  EXPECT_THAT(error_of([&] { scale().prepare<const float*, float, int>(); }), HasSubstr("a pointer to const float32"));
  EXPECT_THAT(error_of([&] { Kernel().prepare<>(); }), HasSubstr("launch of an empty Kernel"));
}

TEST_P(PreparedKernelOnEachDevice, StillKnowsTheLimitsOfALaunch) {
  const Array x = array({1});
  const auto prepared = scale().prepare<Array, float, int>();
  EXPECT_THAT(error_of([&] { prepared({.block = {5000}}, x, 1.0f, 1); }), HasSubstr("block of 5000 threads"));
  EXPECT_THAT(error_of([&] { prepared({.block = {0}}, x, 1.0f, 1); }), HasSubstr("block of 0 along x"));
}

TEST_P(PreparedKernelOnEachDevice, KeepsTheCodeLoaded) {
  std::optional<PreparedKernel<Array, float, int>> prepared;
  {
    prepared = Module(device(), kPreparedSource).kernel("scale").prepare<Array, float, int>();
  }
  const Array x = array({2});
  (*prepared)({}, x, 4.0f, 1);
  EXPECT_EQ(x.to_vector<float>()[0], 8);
}

DAMO_ON_EACH_DEVICE(PreparedKernelOnEachDevice);

}  // namespace
}  // namespace damo
