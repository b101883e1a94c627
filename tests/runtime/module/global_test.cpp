#include <damo/cuda_c.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/devices.hpp"

namespace damo {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using damo::testing::error_of;

constexpr const char* kGlobalSource = R"(
__constant__ float table[4] = {1, 2, 3, 4};
__device__ int counter;
namespace space { __device__ double value = 0.5; }
__global__ void look(float* y) { y[threadIdx.x] = table[threadIdx.x]; }
__global__ void count(int* by) { counter += by[0]; space::value += 1; }
)";

class GlobalOnEachDevice : public damo::testing::OnEachDevice {
 protected:
  Module module() const { return Module(device(), kGlobalSource); }
};

TEST_P(GlobalOnEachDevice, IsWrittenAndRead) {
  const Module module = this->module();
  const Global table = module.global("table");
  EXPECT_EQ(table.name(), "table");
  EXPECT_EQ(table.bytes(), 16u);
  EXPECT_THAT(table.to_vector<float>(), ElementsAre(1, 2, 3, 4));
  table.set(std::vector<float>{5, 6, 7, 8});
  table.set(9.0f, 3 * sizeof(float));
  const Array y = array({0, 0, 0, 0});
  module.kernel("look")({.block = {4}}, y);
  EXPECT_THAT(y.to_vector<float>(), ElementsAre(5, 6, 7, 9));
  EXPECT_EQ((table.get<std::array<float, 4>>()[3]), 9);
}

TEST_P(GlobalOnEachDevice, ShowsWhatAKernelWrote) {
  const Module module = this->module();
  const Global counter = module.global("counter");
  counter.set(40);
  module.kernel("count")({}, In(std::array{2}));
  EXPECT_EQ(counter.get<int>(), 42);
  EXPECT_EQ(module.global("space::value").get<double>(), 1.5);
}

TEST_P(GlobalOnEachDevice, IsAPointerForALaunch) {
  const Module module = this->module();
  module.global("counter").set(3);
  module.kernel("count")({}, module.global("counter"));
  EXPECT_EQ(module.global("counter").get<int>(), 6);
}

TEST_P(GlobalOnEachDevice, StaysAfterItsModule) {
  std::optional<Global> table;
  {
    table = module().global("table");
  }
  EXPECT_THAT(table->to_vector<float>(), ElementsAre(1, 2, 3, 4));
}

TEST_P(GlobalOnEachDevice, ChecksSizes) {
  const Global table = module().global("table");
  EXPECT_THAT(error_of([&] { table.set(std::vector<float>(5)); }),
              HasSubstr("global 'table' has 16 bytes: 20 from byte 0 on cannot be written"));
  EXPECT_THAT(error_of([&] { table.set(1.0, 12); }), HasSubstr("8 from byte 12 on cannot be written"));
  EXPECT_THAT(error_of([&] { table.get<float>(); }), HasSubstr("has 16 bytes, the type asked for 4"));
  EXPECT_THAT(error_of([&] { table.to_vector<std::array<float, 3>>(); }), HasSubstr("no multiple of the element's 12"));
  EXPECT_NO_THROW(table.set(std::vector<float>()));
}

TEST_P(GlobalOnEachDevice, IsRefusedByNameIfThereIsNone) {
  EXPECT_THAT(error_of([&] { module().global("absent"); }),
              HasSubstr("module 'kernel.cu' has no variable 'absent'; it has table, counter, space::value"));
  EXPECT_FALSE(module().has_global("absent"));
  EXPECT_TRUE(module().has_global("table"));
}

TEST_P(GlobalOnEachDevice, IsNoKernel) {
  EXPECT_THAT(error_of([&] { module().global("look"); }), HasSubstr("has no variable 'look'"));
  EXPECT_FALSE(module().has_global("look"));
}

TEST_P(GlobalOnEachDevice, RefusesANullAddress) {
  const Global counter = module().global("counter");
  EXPECT_THAT(error_of([&] { counter.write(nullptr, 4); }), HasSubstr("Global::write: the host address is null"));
  EXPECT_THAT(error_of([&] { counter.read(nullptr, 4); }), HasSubstr("Global::read: the host address is null"));
}

DAMO_ON_EACH_DEVICE(GlobalOnEachDevice);

}  // namespace
}  // namespace damo
