#include <damo/cuda_c.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/module_on_each_device.hpp"

namespace damo {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using damo::testing::error_of;

constexpr const char* kStridedSource = R"(
__global__ void twice(damo::Strided<float, 2> x) {
  const int i = threadIdx.y, j = threadIdx.x;
  if (i < x.shape[0] && j < x.shape[1]) x(i, j) *= 2;
}
__global__ void gather(damo::Strided<const float, 2> x, float* y) {
  y[threadIdx.y * x.shape[1] + threadIdx.x] = x(threadIdx.y, threadIdx.x);
}
__global__ void deep(damo::Strided<float, 5> x, float* y) { y[0] = x(0, 1, 0, 1, 2); }
)";

struct StridedOnEachDevice : damo::testing::ModuleOnEachDevice {
  StridedOnEachDevice() : ModuleOnEachDevice(kStridedSource) {}
};

TEST_P(StridedOnEachDevice, CarriesShapeAndStridesIntoAKernel) {
  const Array x = range({2, 3}), y = array(std::vector<float>(6));
  kernel("gather")({.block = {2, 3}}, strided(x.transpose()), y);
  EXPECT_THAT(y.to_vector<float>(), ElementsAre(0, 3, 1, 4, 2, 5));
  kernel("gather")({.block = {2, 2}}, strided(x.slice({{}, {.step = -2}})), y);
  EXPECT_THAT(y.slice({{.stop = 4}}).to_vector<float>(), ElementsAre(2, 0, 5, 3));
}

TEST_P(StridedOnEachDevice, LetsAKernelWriteThroughAView) {
  const Array x = range({3, 4});
  kernel("twice")({.block = {4, 4}}, strided(x.slice({{.start = 1}, {.start = 1, .step = 2}})));
  EXPECT_THAT(x.to_vector<float>(), ElementsAre(0, 1, 2, 3, 4, 10, 6, 14, 8, 18, 10, 22));
}

TEST_P(StridedOnEachDevice, HasAsManyAxesAsTheKernelDeclares) {
  const Array x = range({2, 2, 2, 2, 3}), y = array({0});
  kernel("deep")({}, strided(x), y);
  EXPECT_EQ(y.to_vector<float>()[0], 1 * 12 + 1 * 3 + 2);
  EXPECT_THAT(error_of([&] { kernel("twice")({}, strided(range({4}))); }),
              HasSubstr("argument 1 of 1 is strided(float32 Array with 1 axis), the kernel's parameter is 'damo::Strided<"));
  EXPECT_THAT(error_of([&] { kernel("twice")({}, strided(Array::zeros({2, 2}, int32, device()))); }),
              HasSubstr("pass strided(array) of a float32 Array with 2 axes"));
  EXPECT_THAT(error_of([&] { kernel("twice")({}, range({2, 2})); }),
              HasSubstr("argument 1 of 1 is a float32 Array, the kernel's parameter is 'damo::Strided<float, 2>'"));
  EXPECT_THAT(error_of([&] { kernel("twice")({}, strided(Array())); }), HasSubstr("an empty Array"));
}

TEST_P(StridedOnEachDevice, HasAFixedTypeForPreparedKernels) {
  const auto twice = kernel("twice").prepare<Strided<float, 2>>();
  const Array x = range({2, 2});
  twice({.block = {2, 2}}, strided<float, 2>(x.transpose()));
  EXPECT_THAT(x.to_vector<float>(), ElementsAre(0, 2, 4, 6));
  EXPECT_THAT(error_of([&] { strided<float, 3>(x); }), HasSubstr("strided<float32, 3>() of a float32 Array with 2 axes"));
  EXPECT_THAT(error_of([&] { kernel("twice").prepare<Strided<float, 1>>(); }), HasSubstr("argument 1 of 1"));
}

DAMO_ON_EACH_DEVICE(StridedOnEachDevice);

}  // namespace
}  // namespace damo
