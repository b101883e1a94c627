#include <damo/kernel_argument.hpp>

#include <cstring>

#include <damo/host_argument.hpp>

#include "graph/base/counted.hpp"
#include "runtime/backend.hpp"

namespace damo {

KernelArgument::KernelArgument(const Scalar& value) : kind_(Kind::kNumber) {
  bytes_ = static_cast<std::uint32_t>(itemsize(value.dtype()));
  element_ = ElementType::of(value.dtype());
  value.store(value_);
}

/// The bytes of a Strided<T, rank>: address, shape, strides.
KernelArgument::KernelArgument(const StridedArray& strided) : kind_(Kind::kStrided) {
  const Array& array = strided.array;
  const int rank = array.rank();
  if (!array) {
    is_empty_array_ = true;
  } else if (rank < 1 || rank > 8) {
    throw TypeError("strided(): the Array has " + std::to_string(rank) + " axes", "a Strided has 1 to 8 axes");
  }
  bytes_ = static_cast<std::uint32_t>(sizeof(void*) + 2 * sizeof(std::int64_t) * static_cast<std::size_t>(rank));
  element_ = ElementType::of(array.dtype());
  rank_ = rank;
  device_ = array ? &array.device().backend() : nullptr;
  std::int64_t words[1 + 2 * kMaxRank];
  words[0] = reinterpret_cast<std::int64_t>(array.data());
  for (int axis = 0; axis < rank; ++axis) {
    words[1 + axis] = array.shape()[axis];
    words[1 + rank + axis] = array.strides()[axis];
  }
  if (bytes_ > kInline) large_ = std::shared_ptr<void>(new std::byte[bytes_], [](void* memory) { delete[] static_cast<std::byte*>(memory); });
  std::memcpy(value(), words, bytes_);
}

KernelArgument::KernelArgument(const HostArgument& host)
    : kind_(Kind::kHost), bytes_(sizeof(void*)), element_(host.element()), device_(host.device()), host_(&host) {
  put(host.data());
}

void detail::require_strided(const Array& array, DType dtype, int rank) {
  if (array && array.dtype() == dtype && array.rank() == rank) return;
  throw TypeError("strided<" + std::string(name(dtype)) + ", " + std::to_string(rank) + ">() of " +
                      (array ? "a " + std::string(name(array.dtype())) + " Array with " +
                                   counted_axes(array.rank())
                             : std::string("an empty Array")),
                  "name the array's own dtype and number of axes");
}

namespace {

std::string elements_text(const ElementType& element) {
  if (element.kind == ElementType::Kind::kNumber) return std::string(name(element.dtype));
  return element.kind == ElementType::Kind::kAny ? "bytes" : "structs";
}

}  // namespace

std::string describe(const KernelArgument& argument) {
  const std::string elements = elements_text(argument.element());
  const std::string article = elements.starts_with("int") || elements.starts_with("ui") ? "an " : "a ";
  switch (argument.kind()) {
    case KernelArgument::Kind::kNumber: return article + elements;
    case KernelArgument::Kind::kEnum: return "an enum of " + elements;
    case KernelArgument::Kind::kClass: return "a struct of " + std::to_string(argument.bytes()) + " bytes";
    case KernelArgument::Kind::kPointer:
      return std::string("a pointer to ") + (argument.is_const() ? "const " : "") + elements;
    case KernelArgument::Kind::kNull: return argument.is_empty_array() ? "an empty Array" : "nullptr";
    case KernelArgument::Kind::kArray: return article + elements + " Array";
    case KernelArgument::Kind::kStrided:
      return "strided(" + elements + " Array with " + counted_axes(argument.rank()) + ")";
    case KernelArgument::Kind::kHost: return "host memory of " + elements;
  }
  return "an argument";
}

void HostArgument::take_array(const Array& array) {
  if (!array) {
    throw TypeError("In, Out or InOut of an empty Array, without elements or device",
                    "make one with Array::empty(shape)");
  }
  if (!array.is_contiguous()) {
    throw TypeError("In, Out or InOut of an Array whose elements are not contiguous",
                    "pass array.contiguous(), or strided(array) to a kernel that declares damo::Strided");
  }
  data_ = array.data();
  bytes_ = array.nbytes();
  element_ = ElementType::of(array.dtype());
  device_ = &array.device().backend();
}

void HostArgument::refuse_null(std::size_t count) {
  throw TypeError("In, Out or InOut of " + std::to_string(count) + (count == 1 ? " element" : " elements") +
                      " at a null pointer",
                  "give host memory; for a null pointer as the argument pass nullptr itself");
}

void HostArgument::require_count(std::size_t has, std::size_t count) {
  if (count <= has) return;
  throw ShapeError("In, Out or InOut of " + std::to_string(count) + " elements: the host range has " +
                       std::to_string(has),
                   "give a range that large, or a smaller count");
}

}  // namespace damo
