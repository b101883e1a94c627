#include <damo/dlpack.hpp>

#include <charconv>
#include <memory>
#include <string>

#include <damo/array.hpp>

#include "runtime/array/array_layout.hpp"
#include "runtime/backend.hpp"
#include "runtime/memory/buffer.hpp"

namespace damo {
namespace {

DLDataType code_of(DType dtype) {
  const std::uint8_t bits = static_cast<std::uint8_t>(8 * itemsize(dtype));
  const auto code = dtype == bool_       ? kDLBool
                    : dtype == bfloat16  ? kDLBfloat
                    : dtype == float8_e4m3 ? kDLFloat8_e4m3fn
                    : dtype == float8_e5m2 ? kDLFloat8_e5m2
                    : is_floating(dtype) ? kDLFloat
                    : is_signed(dtype)   ? kDLInt
                                         : kDLUInt;
  return {static_cast<std::uint8_t>(code), bits, 1};
}

DType dtype_of_code(DLDataType code) {
  if (code.lanes == 1) {
    for (DType dtype : kAllDTypes) {
      const DLDataType own = code_of(dtype);
      if (own.code == code.code && own.bits == code.bits) return dtype;
    }
  }
  constexpr const char* names[] = {"int", "uint", "float", "opaque handle", "bfloat", "complex", "bool"};
  std::string text = code.code < std::size(names) ? names[code.code] : "code " + std::to_string(code.code) + ", ";
  text += std::to_string(code.bits) + (code.lanes == 1 ? "" : " x " + std::to_string(code.lanes));
  throw TypeError("from_dlpack: no dtype of Damo holds elements of type " + text,
                  "cast the tensor to one of bool, int8-64, uint8-64, float8_e4m3 (e4m3fn), float8_e5m2, float16, bfloat16, float32, float64");
}

DLDevice code_of(const Backend& backend) {
  if (is_host(backend)) return {kDLCPU, 0};
  const std::string& name = backend.name();  // "cuda:1"
  int index = 0;
  const std::size_t colon = name.find(':');
  if (colon != std::string::npos) std::from_chars(name.data() + colon + 1, name.data() + name.size(), index);
  return {kDLCUDA, index};
}

Device device_of_code(DLDevice code) {
  switch (code.device_type) {
    case kDLCPU:
    case kDLCUDAHost:
      return cpu();
    case kDLCUDA:
    case kDLCUDAManaged:
      return cuda(code.device_id);
    default:
      throw DeviceError("from_dlpack: Damo has no device of DLPack's type " + std::to_string(code.device_type),
                        "move the tensor to the CPU or to an NVIDIA GPU");
  }
}

// Before elements change hands: the other side may use them from any stream. A fault is thrown by the next wait.
void wait_for(Backend& backend) noexcept {
  try {
    if (!is_host(backend)) backend.synchronize();
  } catch (...) {
  }
}

// A tensor lent out, with what its pointers point at.
struct Lent {
  DLManagedTensor tensor;
  Array array;
  Shape shape, strides;

  static void destroy(DLManagedTensor* tensor) {
    Lent* lent = static_cast<Lent*>(tensor->manager_ctx);
    if (!lent->array.is_lost()) wait_for(lent->array.device().backend());
    delete lent;
  }
};

// A tensor taken over.
struct Taken {
  DLManagedTensor* tensor;
  Backend* backend;

  static void destroy(void* context) noexcept {
    const std::unique_ptr<Taken> taken(static_cast<Taken*>(context));
    wait_for(*taken->backend);
    if (taken->tensor->deleter != nullptr) taken->tensor->deleter(taken->tensor);
  }
};

Shape shape_of(const DLTensor& tensor) {
  if (tensor.ndim < 0 || tensor.ndim > kMaxRank) {
    throw ShapeError("from_dlpack: the tensor has " + std::to_string(tensor.ndim) + " axes, an Array at most " +
                         std::to_string(kMaxRank),
                     "reshape it to fewer before it is exported");
  }
  if (tensor.ndim > 0 && tensor.shape == nullptr) throw ShapeError("from_dlpack: the tensor has " + std::to_string(tensor.ndim) + " axes and no shape", "the exporter fills in an extent for each axis");
  const Shape shape(std::span<const std::int64_t>(tensor.shape, static_cast<std::size_t>(tensor.ndim)));
  for (std::int64_t extent : shape) {
    if (extent < 0) throw ShapeError("from_dlpack: the tensor's shape is " + to_string(shape), "extents are 0 or more");
  }
  return shape;
}

}  // namespace

DLManagedTensor* Array::to_dlpack() const {
  if (buffer_ == nullptr) throw TypeError("to_dlpack: an empty Array has no elements to share", "check the Array with if (array)");
  Backend& backend = device().backend();
  if (!is_host(backend)) backend.synchronize();
  Lent* lent = new Lent{{}, *this, shape_, strides_};
  DLTensor& tensor = lent->tensor.dl_tensor;
  tensor = {data_, code_of(backend), rank(), code_of(dtype_), lent->shape.begin(), lent->strides.begin(), 0};
  lent->tensor.manager_ctx = lent;
  lent->tensor.deleter = Lent::destroy;
  return &lent->tensor;
}

Array Array::from_dlpack(DLManagedTensor* managed) {
  if (managed == nullptr) throw TypeError("from_dlpack: the tensor is null", "give what the other library exported, which nobody has taken yet");
  const DLTensor& tensor = managed->dl_tensor;
  const DType dtype = dtype_of_code(tensor.dtype);
  const Shape shape = shape_of(tensor);
  const Strides strides =
      tensor.strides == nullptr
          ? contiguous_strides(shape)
          : Strides(std::span<const std::int64_t>(tensor.strides, static_cast<std::size_t>(tensor.ndim)));
  Backend& backend = device_of_code(tensor.device).backend();
  shape.size();  // throws past 2^63, while the tensor is still the caller's
  std::byte* data = static_cast<std::byte*>(tensor.data);
  if (data != nullptr) data += tensor.byte_offset;
  const ByteRange range = byte_range(shape, strides, itemsize(dtype));
  if (backend.kind() != DeviceKind::kNull && data == nullptr && range.bytes() != 0) {
    throw TypeError("from_dlpack: the tensor of shape " + to_string(shape) + " has no data",
                    "its library must compute or allocate it first");
  }
  auto taken = std::make_unique<Taken>(Taken{managed, &backend});
  Buffer* buffer = Buffer::adopt(backend, data == nullptr ? nullptr : data + range.first, range.bytes(), Taken::destroy,
                                 taken.get());
  taken.release();
  return Array(buffer, dtype, shape, strides, data);
}

}  // namespace damo
