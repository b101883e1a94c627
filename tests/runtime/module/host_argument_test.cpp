#include <damo/cuda_c.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/module_on_each_device.hpp"

namespace damo {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using damo::testing::error_of;

constexpr const char* kHostArgumentSource = R"(
__global__ void multiply_them(float* dest, const float* a, const float* b) {
  const int i = threadIdx.x;
  dest[i] = a[i] * b[i];
}
__global__ void doublify(float* a) { a[threadIdx.x + threadIdx.y * blockDim.x] *= 2; }
__global__ void reverse(const float* __restrict__ x, float* __restrict__ y, int n) {
  const int i = threadIdx.x;
  if (i < n) y[i] = x[n - 1 - i];
}
__global__ void halves(float4* x) { x[threadIdx.x].x *= 0.5f; }
)";

struct HostArgumentOnEachDevice : damo::testing::ModuleOnEachDevice {
  HostArgumentOnEachDevice() : ModuleOnEachDevice(kHostArgumentSource) {}
};

TEST_P(HostArgumentOnEachDevice, IsCopiedBeforeAndBackAfter) {
  std::vector<float> a(400), b(400), dest(400);
  for (int i = 0; i < 400; ++i) a[i] = 0.5f * i, b[i] = 3.0f - i;
  kernel("multiply_them")({.block = {400}}, Out(dest), In(a), In(b));
  for (int i = 0; i < 400; ++i) ASSERT_EQ(dest[i], a[i] * b[i]) << i;
}

TEST_P(HostArgumentOnEachDevice, ThatGetsValuesIsForAParameterThatIsWritten) {
  std::vector<float> a(4), b(4), dest(4);
  const std::string error = error_of([&] { kernel("multiply_them")({.block = {4}}, In(dest), Out(a), In(b)); });
  // The compilers spell it 'const float *' and 'float const*'.
  EXPECT_THAT(error, HasSubstr("launch of 'multiply_them': argument 2 of 3 is host memory of float32, the kernel's parameter is '"));
  EXPECT_THAT(error, HasSubstr("\n  the kernel cannot write to it: pass In, or InOut, or declare the parameter without const"));
  EXPECT_NO_THROW(kernel("multiply_them")({.block = {4}}, Out(dest), InOut(a), In(b)));
}

TEST_P(HostArgumentOnEachDevice, IsNoNullPointerWithACount) {
  float* const none = nullptr;
  EXPECT_THAT(error_of([&] { kernel("doublify")({.block = {4}}, InOut(none, 4)); }),
              HasSubstr("In, Out or InOut of 4 elements at a null pointer"));
  EXPECT_NO_THROW(InOut(none, 0));
}

TEST_P(HostArgumentOnEachDevice, IsAnyContiguousMemory) {
  std::array<std::array<float, 4>, 4> matrix{};
  matrix[1][2] = 5;
  kernel("doublify")({.block = {4, 4}}, InOut(matrix));
  EXPECT_EQ(matrix[1][2], 10);
  float plain[3] = {1, 2, 3};
  kernel("doublify")({.block = {3}}, InOut(plain));
  EXPECT_THAT(plain, ElementsAre(2, 4, 6));
  kernel("doublify")({.block = {2}}, InOut(std::span<float>(plain).subspan(1)));
  EXPECT_THAT(plain, ElementsAre(2, 8, 12));
  float single = 21;
  kernel("doublify")({}, InOut(single));
  EXPECT_EQ(single, 42);
  kernel("doublify")({.block = {2}}, InOut(plain, 2));
  kernel("doublify")({}, InOut(plain + 2, 1));
  EXPECT_THAT(plain, ElementsAre(4, 16, 24));
#if DAMO_HAS_CPU
  const Array on_host = Array::from<float>({1, 2}, cpu());
  kernel("doublify")({.block = {2}}, InOut(on_host));
  EXPECT_THAT(on_host.to_vector<float>(), ElementsAre(2, 4));
#endif
}

TEST_P(HostArgumentOnEachDevice, KeepsWhatGoesInAsItWas) {
  const std::vector<float> a = {1, 2, 3, 4};
  kernel("doublify")({.block = {4}}, In(a));
  EXPECT_THAT(a, ElementsAre(1, 2, 3, 4));
}

TEST_P(HostArgumentOnEachDevice, IsMemoryOfItsOwnForEachArgument) {
  std::vector<float> a(64);
  for (int i = 0; i < 64; ++i) a[i] = static_cast<float>(i);
  kernel("reverse")({.block = {64}}, In(a), Out(a), 64);  // in place: correct only on copies
  for (int i = 0; i < 64; ++i) ASSERT_EQ(a[i], 63.0f - i) << i;
}

TEST_P(HostArgumentOnEachDevice, MayStandAtAnyAddress) {
  alignas(16) float memory[9] = {0, 1, 2, 3, 4, 5, 6, 7, 8};
  kernel("halves")({.block = {2}}, InOut(std::span<float>(memory).subspan(1)));
  EXPECT_THAT(memory, ElementsAre(0, 0.5f, 2, 3, 4, 2.5f, 6, 7, 8));
}

TEST_P(HostArgumentOnEachDevice, GoesThroughAStreamOfTheCallers) {
  const Stream stream(device());
  std::vector<float> a(256, 3);
  for (int i = 0; i < 20; ++i) {
    kernel("doublify")({.block = {256}, .stream = stream}, In(a));
    kernel("doublify")({.block = {256}, .stream = stream}, InOut(a));
    for (float& x : a) x /= 2;
  }
  EXPECT_THAT(a, Each(3));
}

TEST_P(HostArgumentOnEachDevice, GivesItsDeviceMemoryBack) {
  std::vector<float> a(1000);
  const std::size_t before = device().memory().in_use_bytes;
  kernel("doublify")({.block = {1000}}, InOut(a));
  kernel("doublify")({.block = {1000}}, In(a));
  EXPECT_EQ(device().memory().in_use_bytes, before);
}

TEST_P(HostArgumentOnEachDevice, MayBeEmpty) {
  std::vector<float> none;
  kernel("reverse")({}, In(none), Out(none), 0);
}

TEST_P(HostArgumentOnEachDevice, IsRefusedIfTheRangeIsSmallerThanItsCount) {
  std::vector<float> a(10);
  EXPECT_EQ(error_of([&] { kernel("doublify")({.block = {10}}, Out(a, 20)); }),
            "In, Out or InOut of 20 elements: the host range has 10\n  give a range that large, or a smaller count");
}

TEST_P(HostArgumentOnEachDevice, IsRefusedForAnArrayWithStridesOrWithout) {
#if DAMO_HAS_CPU
  const Array x = Array::from<float>({1, 2, 3, 4}, {2, 2}, cpu());
  EXPECT_THAT(error_of([&] { kernel("doublify")({}, In(x.transpose())); }),
              HasSubstr("In, Out or InOut of an Array whose elements are not contiguous"));
#endif
  EXPECT_THAT(error_of([&] { kernel("doublify")({}, In(Array())); }), HasSubstr("of an empty Array"));
}

DAMO_ON_EACH_DEVICE(HostArgumentOnEachDevice);

}  // namespace
}  // namespace damo
