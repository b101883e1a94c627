#include <damo/dlpack.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <vector>

#include <damo/array.hpp>

#include "support/host_backend.hpp"

namespace damo {
namespace {

using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;
using testing::HostBackend;

// The ABI of DLPack 0.x on 64-bit machines, as other libraries were compiled with it.
static_assert(sizeof(DLDevice) == 8 && sizeof(DLDataType) == 4 && sizeof(DLTensor) == 48 &&
              sizeof(DLManagedTensor) == 64);
static_assert(offsetof(DLTensor, device) == 8 && offsetof(DLTensor, ndim) == 16 && offsetof(DLTensor, dtype) == 20);
static_assert(offsetof(DLTensor, shape) == 24 && offsetof(DLTensor, strides) == 32 &&
              offsetof(DLTensor, byte_offset) == 40);
static_assert(offsetof(DLManagedTensor, manager_ctx) == 48 && offsetof(DLManagedTensor, deleter) == 56);

/// Another library's tensor, which counts the calls of its deleter.
struct Foreign {
  std::vector<float> values = {0, 1, 2, 3, 4, 5, 6, 7};
  std::vector<std::int64_t> shape = {2, 3}, strides = {3, 1};
  DLManagedTensor tensor{};
  int deleted = 0;

  Foreign() {
    tensor.dl_tensor = {values.data(), {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, shape.data(), strides.data(), 0};
    tensor.manager_ctx = this;
    tensor.deleter = [](DLManagedTensor* self) { ++static_cast<Foreign*>(self->manager_ctx)->deleted; };
  }
};

TEST(DLPack, LendsElementsWithoutACopy) {
  HostBackend backend;
  Array array = Array::from<float>({0, 1, 2, 3, 4, 5}, {2, 3}, Device(&backend));
  const void* address = array.data();
  DLManagedTensor* tensor = array.transpose().to_dlpack();
  EXPECT_EQ(tensor->dl_tensor.data, address);
  EXPECT_EQ(tensor->dl_tensor.ndim, 2);
  EXPECT_EQ(tensor->dl_tensor.shape[0], 3);
  EXPECT_EQ(tensor->dl_tensor.strides[1], 3);
  EXPECT_EQ(tensor->dl_tensor.device.device_type, kDLCPU);
  EXPECT_EQ(tensor->dl_tensor.byte_offset, 0u);
  array = Array();
  EXPECT_EQ(backend.pool().statistics().in_use_bytes, 512u);  // the tensor keeps it
  EXPECT_EQ(static_cast<const float*>(tensor->dl_tensor.data)[5], 5.0f);
  tensor->deleter(tensor);
  EXPECT_EQ(backend.pool().statistics().in_use_bytes, 0u);
}

TEST(DLPack, TakesElementsWithoutACopy) {
  if (!DAMO_HAS_CPU) GTEST_SKIP() << "needs the CPU back end: host tensors are taken by it";
  Foreign foreign;
  Array array = Array::from_dlpack(&foreign.tensor);
  EXPECT_EQ(array.data(), foreign.values.data());
  EXPECT_EQ(array.dtype(), float32);
  EXPECT_EQ(array.device().kind(), DeviceKind::kCpu);
  EXPECT_THAT(array.to_vector<float>(), ElementsAre(0, 1, 2, 3, 4, 5));
  Array view = array.slice({{1, {}}});
  array = Array();
  EXPECT_EQ(foreign.deleted, 0);
  view = Array();
  EXPECT_EQ(foreign.deleted, 1);
}

TEST(DLPack, ReturnsToTheSameAddress) {
  if (!DAMO_HAS_CPU) GTEST_SKIP() << "needs the CPU back end: host tensors are taken by it";
  HostBackend backend;
  {
    const Array array = Array::from<double>({1, 2, 3}, Device(&backend));
    const Array back = Array::from_dlpack(array.to_dlpack());
    EXPECT_EQ(back.data(), array.data());
    EXPECT_FALSE(array.is_unique());
    EXPECT_EQ(back.to_vector<double>(), array.to_vector<double>());
  }
  EXPECT_EQ(backend.pool().statistics().in_use_bytes, 0u);
}

TEST(DLPack, CarriesEveryDtype) {
  if (!DAMO_HAS_CPU) GTEST_SKIP() << "needs the CPU back end: host tensors are taken by it";
  HostBackend backend;
  for (DType dtype : kAllDTypes) {
    const Array back = Array::from_dlpack(Array::ones({2}, dtype, Device(&backend)).to_dlpack());
    EXPECT_EQ(back.dtype(), dtype);
    EXPECT_THAT(back.to_doubles(), ElementsAre(1, 1));
  }
}

TEST(DLPack, TakesStridedTensorsAtAnOffset) {
  if (!DAMO_HAS_CPU) GTEST_SKIP() << "needs the CPU back end: host tensors are taken by it";
  Foreign foreign;
  foreign.strides = {-1, 3};
  foreign.tensor.dl_tensor.byte_offset = sizeof(float);
  const Array array = Array::from_dlpack(&foreign.tensor);
  EXPECT_EQ(array.data(), foreign.values.data() + 1);
  EXPECT_THAT(array.to_vector<float>(), ElementsAre(1, 4, 7, 0, 3, 6));
}

TEST(DLPack, ReadsMissingStridesAsCOrder) {
  if (!DAMO_HAS_CPU) GTEST_SKIP() << "needs the CPU back end: host tensors are taken by it";
  Foreign foreign;
  foreign.tensor.dl_tensor.strides = nullptr;
  EXPECT_EQ(Array::from_dlpack(&foreign.tensor).strides(), (Strides{3, 1}));
}

TEST(DLPack, TakesTensorsWithoutElementsAxesOrDeleter) {
  if (!DAMO_HAS_CPU) GTEST_SKIP() << "needs the CPU back end: host tensors are taken by it";
  Foreign none, scalar;
  none.shape = {0, 3};
  none.tensor.dl_tensor.data = nullptr;
  EXPECT_EQ(Array::from_dlpack(&none.tensor).size(), 0);
  EXPECT_EQ(none.deleted, 1);
  scalar.tensor.dl_tensor.ndim = 0;
  scalar.tensor.dl_tensor.shape = scalar.tensor.dl_tensor.strides = nullptr;
  scalar.tensor.deleter = nullptr;
  EXPECT_EQ(Array::from_dlpack(&scalar.tensor).item().as_double(), 0.0);
}

TEST(DLPack, LeavesATensorToTheCallerIfItCannotTakeIt) {
  Foreign foreign;
  const auto text = [&] { return error_of([&] { Array::from_dlpack(&foreign.tensor); }); };
  foreign.tensor.dl_tensor.dtype = {kDLComplex, 64, 1};
  EXPECT_THAT(text(), HasSubstr("from_dlpack: no dtype of Damo holds elements of type complex64"));
  foreign.tensor.dl_tensor.dtype = {kDLFloat, 32, 4};
  EXPECT_THAT(text(), HasSubstr("float32 x 4"));
  foreign.tensor.dl_tensor.dtype = {77, 8, 1};
  EXPECT_THAT(text(), HasSubstr("code 77, 8"));
  foreign.tensor.dl_tensor.dtype = {kDLFloat, 32, 1};
  foreign.tensor.dl_tensor.device = {kDLMetal, 0};
  EXPECT_THAT(text(), HasSubstr("Damo has no device of DLPack's type 8"));
  foreign.tensor.dl_tensor.device = {kDLCPU, 0};
  foreign.tensor.dl_tensor.ndim = 17;
  EXPECT_THAT(text(), HasSubstr("the tensor has 17 axes, an Array at most 16"));
  foreign.tensor.dl_tensor.ndim = 2;
  foreign.tensor.dl_tensor.shape = nullptr;
  EXPECT_THAT(text(), HasSubstr("from_dlpack: the tensor has 2 axes and no shape"));
  foreign.tensor.dl_tensor.shape = foreign.shape.data();
  foreign.shape[1] = -1;
  EXPECT_THAT(text(), HasSubstr("the tensor's shape is (2, ?)"));
  EXPECT_EQ(foreign.deleted, 0);
}

TEST(DLPack, RefusesATensorWithoutData) {
  try {
    cpu();
  } catch (const DeviceError& error) {
    GTEST_SKIP() << "needs the CPU back end: " << error.what();
  }
  Foreign foreign;
  foreign.tensor.dl_tensor.data = nullptr;
  EXPECT_THAT(error_of<TypeError>([&] { Array::from_dlpack(&foreign.tensor); }),
              HasSubstr("from_dlpack: the tensor of shape (2, 3) has no data"));
  EXPECT_EQ(foreign.deleted, 0);
  foreign.shape[0] = 0;
  EXPECT_EQ(Array::from_dlpack(&foreign.tensor).size(), 0);
}

TEST(DLPack, ThrowsTheTypeOfErrorThatTheHeaderNames) {
  Foreign foreign;
  foreign.tensor.dl_tensor.dtype = {kDLInt, 4, 1};
  EXPECT_THROW(Array::from_dlpack(&foreign.tensor), TypeError);
  foreign.tensor.dl_tensor.dtype = {kDLInt, 32, 1};
  foreign.tensor.dl_tensor.device = {kDLROCM, 0};
  EXPECT_THROW(Array::from_dlpack(&foreign.tensor), DeviceError);
  EXPECT_THROW(Array::from_dlpack(nullptr), TypeError);
  EXPECT_THROW(Array().to_dlpack(), TypeError);
}

TEST(DLPack, WaitsForAGpuWhenATensorComesBackWhoseArrayIsStillHeld) {
  HostBackend gpu("cuda:3", DeviceKind::kCuda);
  const Array array = Array::empty({4}, float32, Device(&gpu));
  DLManagedTensor* const tensor = array.to_dlpack();
  const int before = gpu.synchronisations;
  tensor->deleter(tensor);
  EXPECT_EQ(gpu.synchronisations, before + 1) << "the array's next use knows nothing of the other library's streams";
}

TEST(DLPack, WaitsForAGpuWhenElementsChangeHands) {
  HostBackend gpu("cuda:3", DeviceKind::kCuda);
  DLManagedTensor* tensor = Array::zeros({2}, float32, Device(&gpu)).to_dlpack();
  EXPECT_EQ(tensor->dl_tensor.device.device_type, kDLCUDA);
  EXPECT_EQ(tensor->dl_tensor.device.device_id, 3);
  EXPECT_EQ(gpu.synchronisations, 1);
  tensor->deleter(tensor);
  EXPECT_EQ(gpu.synchronisations, 2);
}

}  // namespace
}  // namespace damo
