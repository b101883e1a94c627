// DLPack's structures, version 0.x: how tensor libraries of one process share elements without a copy. The layout is a
// fixed ABI; Array::to_dlpack and Array::from_dlpack speak it. A program that also has DLPack's own dlpack.h includes
// that first, and this header leaves the structures to it.
//
// Who owns what: a tensor from to_dlpack keeps its elements alive until its deleter is called. A tensor given to
// from_dlpack belongs to the Array, which calls the deleter with the last view; if from_dlpack throws, it is still the
// caller's.
// Streams: to_dlpack waits for the device, so that any stream may read at once. Elements given to from_dlpack must be
// complete, or ordered before the device's default stream. Both deleters wait for the device too.
// See tests/runtime/array/dlpack_test.cpp.
#pragma once
#ifndef DLPACK_DLPACK_H_
#include <cstdint>

extern "C" {

enum DLDeviceType : std::int32_t {
  kDLCPU = 1,
  kDLCUDA = 2,
  kDLCUDAHost = 3,  // pinned host memory
  kDLOpenCL = 4,
  kDLVulkan = 7,
  kDLMetal = 8,
  kDLROCM = 10,
  kDLCUDAManaged = 13
};

struct DLDevice {
  DLDeviceType device_type;
  std::int32_t device_id;
};

enum DLDataTypeCode : std::uint32_t {
  kDLInt = 0,
  kDLUInt = 1,
  kDLFloat = 2,
  kDLOpaqueHandle = 3,
  kDLBfloat = 4,
  kDLComplex = 5,
  kDLBool = 6,
  kDLFloat8_e4m3fn = 10,
  kDLFloat8_e5m2 = 12
};

/// A kind of number, its bits, and how many of them an element packs.
struct DLDataType {
  std::uint8_t code;
  std::uint8_t bits;
  std::uint16_t lanes;
};

/// Strides are in elements; null: C order. The first element is byte_offset past data.
struct DLTensor {
  void* data;
  DLDevice device;
  std::int32_t ndim;
  DLDataType dtype;
  std::int64_t* shape;
  std::int64_t* strides;
  std::uint64_t byte_offset;
};

struct DLManagedTensor {
  DLTensor dl_tensor;
  void* manager_ctx;
  void (*deleter)(DLManagedTensor* self);  // may be null
};

}  // extern "C"
#endif
