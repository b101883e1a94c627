// KernelArgument: one argument of a launch, with what is needed to check it against the kernel's parameter.
//   an Array            the address of its first element; it must be contiguous and on the kernel's device
//   strided(array)      a damo::Strided: address, shape and strides (strided.hpp)
//   a number, a Scalar  its bytes; the parameter must be of the same dtype (an int also fits unsigned)
//   a struct            its bytes, at most 4096; trivially copyable, laid out as in CUDA C
//   a pointer T*        an address on the device, as it is: array.data<T>() + 3; nullptr too
//   In, Out, InOut      host memory, copied to the device and back (host_argument.hpp)
// Another type joins by a function "KernelArgument to_kernel_argument(const Type&)" beside it, found by its name.
// See tests/runtime/module/host_argument_test.cpp.
#pragma once
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <string>
#include <type_traits>

#include <damo/array.hpp>
#include <damo/parameter_type.hpp>
#include <damo/strided.hpp>

namespace damo {

class HostArgument;  // host_argument.hpp
class KernelArgument;

namespace detail {

template <class T>
concept HasArgumentHook = requires(const T& x) {
  { to_kernel_argument(x) } -> std::same_as<KernelArgument>;
};
template <class T>
concept PassedByValue = std::is_trivially_copyable_v<T> && !std::is_array_v<T> && !std::is_null_pointer_v<T> &&
                        !std::is_base_of_v<HostArgument, T> && !std::is_same_v<T, StridedArray> && !std::is_same_v<T, Scalar>;

}  // namespace detail

/// Bytes that all parameters of a kernel may have together, CUDA's limit.
inline constexpr std::size_t kMaxArgumentBytes = 4096;

class KernelArgument {
 public:
  enum class Kind : std::uint8_t { kNumber, kEnum, kClass, kPointer, kNull, kArray, kStrided, kHost };
  enum class Direction : std::uint8_t { kIn, kOut, kInOut };

  KernelArgument(const Array& array) : KernelArgument(address_of(array)) {
    if (!array) kind_ = Kind::kNull, is_empty_array_ = true;
    else kind_ = Kind::kArray, is_contiguous_ = array.is_contiguous();
  }
  KernelArgument(const StridedArray& strided);
  KernelArgument(const HostArgument& host);
  KernelArgument(std::nullptr_t) : kind_(Kind::kNull), bytes_(sizeof(void*)) { put<void*>(nullptr); }
  /// A value of the Scalar's dtype.
  KernelArgument(const Scalar& value);
  template <class T>
    requires(detail::PassedByValue<T> && !detail::HasArgumentHook<T>)
  KernelArgument(const T& value) : KernelArgument(of_type<T>()) {
    static_assert(sizeof(T) <= kMaxArgumentBytes, "a kernel's parameters have at most 4096 bytes");
    if constexpr (fits_inline<T>()) {
      put(value);
    } else {
      auto* const copy = new T(value);
      large_ = std::shared_ptr<void>(copy, [](void* memory) { delete static_cast<T*>(memory); });
    }
  }
  template <class T>
    requires detail::HasArgumentHook<T>
  KernelArgument(const T& value) : KernelArgument(to_kernel_argument(value)) {}

  /// The same for a value that outlives the argument, as those of a call do: a large one is not copied.
  template <class T>
  static KernelArgument of_call(const T& value) {
    if constexpr (detail::PassedByValue<T> && !detail::HasArgumentHook<T>) {
      if constexpr (!fits_inline<T>()) {
        static_assert(sizeof(T) <= kMaxArgumentBytes, "a kernel's parameters have at most 4096 bytes");
        KernelArgument argument = of_type<T>();
        argument.large_ = std::shared_ptr<void>(std::shared_ptr<void>(), const_cast<T*>(&value));
        return argument;
      }
    }
    return KernelArgument(value);
  }

  /// The address alone, whatever the strides: for kernels that get them in other parameters.
  static KernelArgument address_of(const Array& array) {
    KernelArgument argument(Kind::kPointer, sizeof(void*));
    argument.element_ = ElementType::of(array.dtype());
    argument.device_ = array ? &array.device().backend() : nullptr;
    argument.put(array.data());
    return argument;
  }
  /// An address on the device, of elements of that type: for to_kernel_argument. Checked to be the kernel's device.
  static KernelArgument address_on(Device device, void* address, ElementType element = {}, bool is_const = false) {
    KernelArgument argument(Kind::kPointer, sizeof(void*));
    argument.element_ = element;
    argument.is_const_ = is_const;
    argument.device_ = &device.backend();
    argument.put(address);
    return argument;
  }
  /// An argument of type T without a value: what a launch's checks see of it.
  template <class T>
  static KernelArgument of_type();

  void* value() const { return large_ ? large_.get() : const_cast<std::byte*>(value_); }
  std::size_t bytes() const { return bytes_; }
  Kind kind() const { return kind_; }
  /// Of a number, of what a pointer points at, of an array's elements.
  const ElementType& element() const { return element_; }
  bool is_const() const { return is_const_; }
  /// Of kStrided.
  int rank() const { return rank_; }
  bool is_contiguous() const { return is_contiguous_; }
  bool is_empty_array() const { return is_empty_array_; }
  /// Where the memory is; null if that is not known.
  const Backend* device() const { return device_; }
  const HostArgument* host() const { return host_; }

 private:
  static constexpr std::size_t kInline = 80;  // a Strided of rank 4 has 72
  template <class T>
  static constexpr bool fits_inline() {
    return sizeof(T) <= kInline && alignof(T) <= 16;
  }
  KernelArgument(Kind kind, std::size_t bytes) : kind_(kind), bytes_(static_cast<std::uint32_t>(bytes)) {}
  template <class T>
  void put(const T& value) {
    ::new (static_cast<void*>(value_)) T(value);
  }

  alignas(16) std::byte value_[kInline];
  Kind kind_;
  bool is_const_ = false, is_contiguous_ = true, is_empty_array_ = false;
  std::uint32_t bytes_;
  ElementType element_;
  int rank_ = 0;
  const Backend* device_ = nullptr;
  const HostArgument* host_ = nullptr;
  std::shared_ptr<void> large_;  // a value that value_ has no room for; of_call: not owned
};

namespace detail {

template <class T>
struct IsStrided : std::false_type {};
template <class T, int rank_>
struct IsStrided<Strided<T, rank_>> : std::true_type {
  using Element = T;
  static constexpr int rank = rank_;
};

}  // namespace detail

template <class T>
KernelArgument KernelArgument::of_type() {
  KernelArgument argument(Kind::kClass, sizeof(T));
  argument.element_ = {ElementType::Kind::kOther};
  if constexpr (std::is_same_v<T, Array>) {
    argument.kind_ = Kind::kPointer;
    argument.bytes_ = sizeof(void*);
    argument.element_ = {};  // an Array's dtype is no part of its type
  } else if constexpr (std::is_pointer_v<T>) {
    using Pointee = std::remove_pointer_t<T>;
    static_assert(!std::is_function_v<Pointee>, "a host function has no address on the device");
    argument.kind_ = Kind::kPointer;
    argument.is_const_ = std::is_const_v<Pointee>;
    argument.element_ = ElementType::of<Pointee>();
  } else if constexpr (detail::IsStrided<T>::value) {
    using Element = typename detail::IsStrided<T>::Element;
    argument.kind_ = Kind::kStrided;
    argument.is_const_ = std::is_const_v<Element>;
    argument.element_ = ElementType::of(dtype_of<Element>());
    argument.rank_ = detail::IsStrided<T>::rank;
  } else if constexpr (std::is_enum_v<T>) {
    argument.kind_ = Kind::kEnum;
    argument.element_ = ElementType::of(dtype_of<std::underlying_type_t<T>>());
  } else if constexpr (is_small_float<T> || (std::is_arithmetic_v<T> && sizeof(T) <= 8)) {
    argument.kind_ = Kind::kNumber;
    argument.element_ = ElementType::of(dtype_of<T>());
  }
  return argument;
}

/// "a float64", "a float32 Array": for errors.
std::string describe(const KernelArgument& argument);

}  // namespace damo
