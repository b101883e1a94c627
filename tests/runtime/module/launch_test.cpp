// Arguments of launches, checked against what the compilers tell of the parameters.
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

constexpr const char* kLaunchSource = R"(
struct Pair { float a; int b; };
struct Large { float values[200]; };
struct List { int length; float* values; };
enum Mode { kAdd, kMultiply };
__global__ void scale(const float* x, float* y, float by, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] * by;
}
__global__ void numbers(double* out, bool a, signed char b, unsigned short c, long long d, unsigned e, double f) {
  out[0] = a; out[1] = b; out[2] = c; out[3] = d; out[4] = e; out[5] = f;
}
__global__ void structs(float* out, Pair pair, Large large) {
  out[0] = pair.a + pair.b; out[1] = large.values[0] + large.values[199];
}
__global__ void lists(List* list) {
  for (int i = threadIdx.x; i < list[blockIdx.x].length; i += blockDim.x) list[blockIdx.x].values[i] *= 2;
}
__global__ void by_value(List list) { for (int i = 0; i < list.length; ++i) list.values[i] *= 2; }
__global__ void mode(float* x, Mode m) { x[0] = m == kMultiply ? x[0] * 3 : x[0] + 3; }
__global__ void bytes(void* x, const unsigned char* y) { static_cast<unsigned char*>(x)[0] = y[0]; }
__global__ void lanes(float4* x) { x[0].w = 7; }
__global__ void null(float* x, int* is_null) { is_null[0] = x == nullptr; }
__global__ void nothing() {}
__global__ void shares(float* x) { __shared__ float s; s = 1; x[0] = s; }
)";

struct LaunchOnEachDevice : damo::testing::ModuleOnEachDevice {
  LaunchOnEachDevice() : ModuleOnEachDevice(kLaunchSource) {}
};

TEST_P(LaunchOnEachDevice, RunsWithArraysAndNumbers) {
  const Array x = range({1000}), y = array(std::vector<float>(1000));
  kernel("scale")({.grid = {4}, .block = {256}}, x, y, 2.0f, 1000);
  kernel("scale").launch_1d(500, y, y, 2.0f, 500);
  EXPECT_EQ(y.to_vector<float>()[499], 4 * 499.0f);
  EXPECT_EQ(y.to_vector<float>()[999], 2 * 999.0f);
  kernel("nothing")({});
}

TEST_P(LaunchOnEachDevice, PassesEveryKindOfNumber) {
  const Array out = Array::zeros({6}, float64, device());
  kernel("numbers")({}, out, true, std::int8_t{-3}, std::uint16_t{65535}, -5LL, 4000000000u, 0.25);
  EXPECT_THAT(out.to_vector<double>(), ElementsAre(1, -3, 65535, -5, 4e9, 0.25));
  kernel("numbers")({}, out, false, Scalar(std::int8_t{7}), Scalar(std::uint16_t{8}), std::int64_t{9}, 10, Scalar(0.5));
  EXPECT_THAT(out.to_vector<double>(), ElementsAre(0, 7, 8, 9, 10, 0.5));
}

struct Pair { float a; int b; };
struct Large { float values[200]; };
struct List { int length; float* values; };

TEST_P(LaunchOnEachDevice, PassesStructsByValue) {
  Large large{};
  large.values[0] = 10, large.values[199] = 20;
  const Array out = array({0, 0});
  kernel("structs")({}, out, Pair{1.5f, 2}, large);
  EXPECT_THAT(out.to_vector<float>(), ElementsAre(3.5f, 30));
  const Array x = array({1, 2, 3});
  kernel("by_value")({}, List{3, static_cast<float*>(x.data())});
  EXPECT_THAT(x.to_vector<float>(), ElementsAre(2, 4, 6));
}

TEST_P(LaunchOnEachDevice, PassesStructsThatHoldPointers) {
  const Array first = array({1, 2, 3}), second = array({0, 4});
  std::vector<List> lists = {{3, static_cast<float*>(first.data())}, {2, static_cast<float*>(second.data())}};
  kernel("lists")({.grid = {2}, .block = {32}}, In(lists));
  EXPECT_THAT(first.to_vector<float>(), ElementsAre(2, 4, 6));
  EXPECT_THAT(second.to_vector<float>(), ElementsAre(0, 8));
  kernel("lists")({.block = {32}}, In(lists.data() + 1, 1));
  EXPECT_THAT(first.to_vector<float>(), ElementsAre(2, 4, 6));
  EXPECT_THAT(second.to_vector<float>(), ElementsAre(0, 16));
}

TEST_P(LaunchOnEachDevice, PassesPointersIntoArrays) {
  const Array x = range({10}), y = array(std::vector<float>(4));
  kernel("scale")({.block = {4}}, static_cast<const float*>(x.data()) + 3, y, 1.0f, 4);
  EXPECT_THAT(y.to_vector<float>(), ElementsAre(3, 4, 5, 6));
  const Array is_null = Array::zeros({1}, int32, device());
  kernel("null")({}, nullptr, is_null);
  EXPECT_EQ(is_null.to_vector<std::int32_t>()[0], 1);
  kernel("null")({}, x, is_null);
  EXPECT_EQ(is_null.to_vector<std::int32_t>()[0], 0);
}

TEST_P(LaunchOnEachDevice, PassesDeviceMemoryAndPlacesInIt) {
  DeviceMemory memory = DeviceMemory::from(device(), std::vector<float>{1, 2, 3, 4});
  const Array y = array({0, 0});
  kernel("scale")({.block = {2}}, memory + 2 * sizeof(float), y, 10.0f, 2);
  EXPECT_THAT(y.to_vector<float>(), ElementsAre(30, 40));
  kernel("scale")({.block = {2}}, y, memory, 0.5f, 2);
  EXPECT_THAT(memory.to_vector<float>(), ElementsAre(15, 20, 3, 4));
  const DevicePointer place = memory + 4;
  memory.free();
  EXPECT_THAT(error_of([&] { kernel("scale")({.block = {2}}, place, y, 1.0f, 2); }), HasSubstr("freed"));
}

TEST_P(LaunchOnEachDevice, WritesAStructsMembersIntoDeviceMemory) {  // PyCUDA's struct demo: a length at 0, a pointer at 8
  const DeviceMemory first = DeviceMemory::from(device(), std::vector<float>{1, 2, 3}),
                     second = DeviceMemory::from(device(), std::vector<float>{0, 4});
  const DeviceMemory lists(device(), 32);
  int at = 0;
  for (const DeviceMemory* values : {&first, &second}) {
    const DevicePointer list = lists + 16 * static_cast<std::size_t>(at++);
    list.copy_from_host(std::array{static_cast<int>(values->size() / sizeof(float))});
    (list + 8).copy_from_host(std::array{values->data()});
  }
  kernel("lists")({.grid = {2}, .block = {32}}, lists);
  kernel("lists")({.grid = {1}, .block = {32}}, lists + 16);
  EXPECT_THAT(first.to_vector<float>(), ElementsAre(2, 4, 6));
  EXPECT_THAT(second.to_vector<float>(), ElementsAre(0, 16));
}

enum Mode : int { kAdd, kMultiply };

TEST_P(LaunchOnEachDevice, PassesEnumsBytesAndVectorTypes) {
  const Array x = array({5, 0, 0, 0});
  kernel("mode")({}, x, kMultiply);
  kernel("mode")({}, x, 0);
  kernel("lanes")({}, x);
  EXPECT_THAT(x.to_vector<float>(), ElementsAre(18, 0, 0, 7));
  const Array y = Array::full({4}, 0, uint8, device());
  kernel("bytes")({}, x, y);
  kernel("bytes")({}, y, x);
}

TEST_P(LaunchOnEachDevice, RefusesANumberOfAnotherType) {
  const Array x = range({4}), y = range({4});
  EXPECT_EQ(error_of([&] { kernel("scale")({.block = {4}}, x, y, 2.0, 4); }),
            "launch of 'scale': argument 3 of 4 is a float64, the kernel's parameter is 'float'\n  pass a float");
  EXPECT_EQ(error_of([&] { kernel("scale")({.block = {4}}, x, y, 2, 4); }),
            "launch of 'scale': argument 3 of 4 is an int32, the kernel's parameter is 'float'\n  pass a float");
  EXPECT_EQ(error_of([&] { kernel("scale")({.block = {4}}, x, y, 2.0f, std::size_t{4}); }),
            "launch of 'scale': argument 4 of 4 is an uint64, the kernel's parameter is 'int'\n  pass a std::int32_t");
  EXPECT_THAT(error_of([&] { kernel("scale")({.block = {4}}, x, y, 2.0f, 4.0f); }), HasSubstr("argument 4 of 4 is a float32"));
  EXPECT_THAT(error_of([&] { kernel("scale")({.block = {4}}, 1, y, 2.0f, 4); }),
              HasSubstr("pass an Array, a pointer on the device, or host memory in In, Out or InOut"));
  EXPECT_THAT(error_of([&] { kernel("scale")({.block = {4}}, x, y, 2.0f, x); }),
              HasSubstr("argument 4 of 4 is a float32 Array, the kernel's parameter is 'int'"));
}

TEST_P(LaunchOnEachDevice, RefusesAWrongNumberOfArguments) {
  const Array x = range({4});
  EXPECT_THAT(error_of([&] { kernel("scale")({}, x, x); }),
              HasSubstr("launch of 'scale': 2 arguments are given, the kernel has 4 parameters: "));
  EXPECT_THAT(error_of([&] { kernel("nothing")({}, x); }),
              HasSubstr("launch of 'nothing': 1 argument is given, the kernel has 0 parameters"));
}

TEST_P(LaunchOnEachDevice, RefusesAnArrayOfAnotherDtype) {
  const Array x = range({4}), whole = Array::zeros({4}, int32, device());
  const std::string text = error_of([&] { kernel("scale")({.block = {4}}, whole, x, 2.0f, 4); });
  EXPECT_THAT(text, HasSubstr("argument 1 of 4 is an int32 Array, the kernel's parameter is '"));
  EXPECT_THAT(text, HasSubstr("pass elements of float32; to pass the bytes as they are, pass a void*"));
  EXPECT_EQ(error_of([&] { kernel("scale")({.block = {4}}, whole.data(), x, 2.0f, 4); }), "nothing thrown");
  const int* const ints = nullptr;
  EXPECT_THAT(error_of([&] { kernel("scale")({.block = {4}}, ints, x, 2.0f, 4); }),
              HasSubstr("argument 1 of 4 is a pointer to const int32"));
  const float* const constant = static_cast<const float*>(x.data());
  EXPECT_THAT(error_of([&] { kernel("scale")({.block = {4}}, x, constant, 2.0f, 4); }),
              HasSubstr("declare the parameter const, or pass a pointer that is not"));
  EXPECT_THAT(error_of([&] { kernel("lists")({}, x); }), HasSubstr("pass bytes (uint8) or a void* for a pointer to a struct"));
  EXPECT_THAT(error_of([&] { kernel("scale")({}, In(std::vector<double>(4)), x, 2.0f, 4); }),
              HasSubstr("argument 1 of 4 is host memory of float64"));
}

TEST_P(LaunchOnEachDevice, RefusesAStridedArrayForAPointer) {
  const Array x = range({4, 4}), y = range({16});
  EXPECT_EQ(error_of([&] { kernel("scale")({.block = {16}}, x.transpose(), y, 2.0f, 16); }),
            "launch of 'scale': argument 1 of 4 is a float32 Array whose elements are not contiguous, and a bare pointer "
            "knows no strides\n  pass array.contiguous(), or strided(array) to a kernel that declares damo::Strided; a "
            "kernel that gets the strides in other parameters takes array.data()");
  EXPECT_EQ(error_of([&] { kernel("scale")({.block = {16}}, x.transpose().contiguous(), y, 2.0f, 16); }), "nothing thrown");
  EXPECT_THAT(error_of([&] { kernel("scale")({.block = {16}}, strided(x), y, 2.0f, 16); }),
              HasSubstr("argument 1 of 4 is strided(float32 Array with 2 axes)"));
}

TEST_P(LaunchOnEachDevice, RefusesMemoryOfAnotherDevice) {
  const Device other("null");
  const Array x = range({4}), foreign = Array::zeros({4}, float32, other);
  EXPECT_EQ(error_of([&] { kernel("scale")({.block = {4}}, foreign, x, 2.0f, 4); }),
            "launch of 'scale': argument 1 of 4 is on null, the kernel is on " + device().name() +
                "\n  copy it first: array.to(kernel.device()); for host memory use In, Out or InOut");
  EXPECT_THAT(error_of([&] { kernel("scale")({.block = {4}}, Array(), x, 2.0f, 4); }),
              HasSubstr("argument 1 of 4 is an empty Array, without elements or device"));
  EXPECT_THAT(error_of([&] { kernel("nothing")({.stream = Stream(other)}); }),
              HasSubstr("the stream is of null, the kernel is on " + device().name()));
}

TEST_P(LaunchOnEachDevice, TakesAnArrayWithoutElements) {
  const Array none = Array::empty({0}, float32, device());
  kernel("scale")({}, none, none, 2.0f, 0);
  kernel("scale").launch_1d(0, none, none, 2.0f, 0);
  EXPECT_THAT(error_of([&] { kernel("scale").launch_1d(-1, none, none, 2.0f, 0); }), HasSubstr("a count of -1"));
}

TEST_P(LaunchOnEachDevice, TakesNoFloatingNumberForAStruct) {
  const Array out = array({0, 0});
  EXPECT_THAT(error_of([&] { kernel("structs")({}, out, 1.0, Large{}); }),
              HasSubstr("argument 2 of 3 is a float64, the kernel's parameter is 'Pair'\n  pass a struct"));
}

TEST_P(LaunchOnEachDevice, NamesTheLimitThatALaunchBreaks) {
  const Kernel nothing = kernel("nothing");
  const std::string name = device().name();
  EXPECT_THAT(error_of([&] { nothing({.block = {4096}}); }),
              HasSubstr("launch of 'nothing': block of 4096 threads: " + name + " allows 1024"));
  EXPECT_THAT(error_of([&] { nothing({.grid = {0}}); }), HasSubstr("grid of 0 along x: an extent is at least 1"));
  EXPECT_THAT(error_of([&] { nothing({.block = {0}}); }), HasSubstr("block of 0 along x"));
  EXPECT_THAT(error_of([&] { nothing({.grid = {1, 70000}}); }), HasSubstr("grid of 70000 along y: " + name + " allows 65535"));
  EXPECT_THAT(error_of([&] { nothing({.shared_bytes = 1 << 20}); }),
              HasSubstr("shared memory of 1048576 bytes and 0 in the kernel's text: " + name + " allows"));
  EXPECT_THAT(error_of([&] { kernel("shares")({.shared_bytes = std::size_t(-4)}, array({0})); }),
              HasSubstr("shared memory of 18446744073709551612 bytes and "));
}

TEST_P(LaunchOnEachDevice, KeepsWithinTheKernelsLaunchBounds) {
  const Module module(device(), R"(
    __global__ void __launch_bounds__(64) few(int* x) { x[threadIdx.x] = 1; }
    template <int kThreads> __global__ void __launch_bounds__(kThreads, 2) some(int* x) { x[threadIdx.x] = 1; })",
                      {.kernels = {"some<128>"}});
  const Array x = Array::zeros({1024}, int32, device());
  const Kernel few = module.kernel("few"), some = module.kernel("some<128>");
  EXPECT_EQ(few.attributes().max_threads_per_block, 64);
  few({.block = {64}}, x);
  some({.block = {128}}, x);
  EXPECT_THAT(error_of([&] { few({.block = {65}}, x); }), HasSubstr("launch of 'few': block of 65 threads: this kernel allows 64"));
  EXPECT_THAT(error_of([&] { some({.block = {256}}, x); }), HasSubstr("block of 256 threads: this kernel allows 128"));
}

TEST_P(LaunchOnEachDevice, IsThrownAsTypeError) {
  const Array x = range({4});
  EXPECT_THROW(kernel("scale")({}, x, x, 2.0, 4), TypeError);
  EXPECT_THROW(kernel("scale")({}, x), TypeError);
  EXPECT_THROW(Kernel()({}), DeviceError);
}

DAMO_ON_EACH_DEVICE(LaunchOnEachDevice);

}  // namespace
}  // namespace damo
