// Array: a value: dtype, shape, strides in elements (any sign, 0 allowed), and a share of a buffer on a device.
// Copying an Array shares its elements; slicing, transposing and broadcasting give views; copy() makes new elements.
// Work on the elements is ordered by the device's default stream; to_host() waits for it.
// See tests/runtime/array/array_test.cpp.
#pragma once
#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <damo/device.hpp>
#include <damo/dtype.hpp>
#include <damo/error.hpp>
#include <damo/scalar.hpp>
#include <damo/shape.hpp>

struct DLManagedTensor;  // dlpack.hpp

namespace damo {

/// [start, stop) by step along one axis, as in Python: negative positions count from the end.
struct Slice {
  std::optional<std::int64_t> start, stop;
  std::int64_t step = 1;
};

/// Shared ownership of one allocation. Intrusive, so that an Array is as cheap to pass as two pointers.
class Buffer;

class Array {
 public:
  Array() = default;  ///< empty: no device, no elements; explicit bool is false

  /// Elements with arbitrary contents, C order.
  static Array empty(const Shape& shape, DType dtype = float32, Device device = Device());
  static Array full(const Shape& shape, Scalar value, DType dtype = float32, Device device = Device());
  static Array zeros(const Shape& shape, DType dtype = float32, Device device = Device());
  static Array ones(const Shape& shape, DType dtype = float32, Device device = Device());
  /// Copies host values, C order. Throws ShapeError if their number is not the shape's.
  template <class T>
  static Array from(std::span<const T> values, const Shape& shape, Device device = Device()) {
    return from_bytes(values.data(), values.size(), dtype_of<T>(), shape, device);
  }
  template <class T>
  static Array from(const std::vector<T>& values, const Shape& shape, Device device = Device()) {
    if constexpr (std::is_same_v<T, bool>) {  // whose elements lie in bits
      const std::vector<unsigned char> bytes(values.begin(), values.end());
      return from_bytes(bytes.data(), bytes.size(), bool_, shape, device);
    } else {
      return from(std::span<const T>(values), shape, device);
    }
  }
  template <class T>
  static Array from(const std::vector<T>& values, Device device = Device()) {
    return from(values, Shape{static_cast<std::int64_t>(values.size())}, device);
  }
  /// Array::from({1.0, 2.0, 3.0}), Array::from({1.0, 2.0}, {2, 1}).
  template <class T>
  static Array from(std::initializer_list<T> values, Device device = Device()) {
    return from(std::vector<T>(values), device);
  }
  template <class T>
  static Array from(std::initializer_list<T> values, const Shape& shape, Device device = Device()) {
    return from(std::vector<T>(values), shape, device);
  }
  static Array scalar(Scalar value, Device device = Device());
  /// Host elements of the caller's, which must outlive every Array that shares them; on a CPU device no copy is made.
  static Array borrow(void* elements, DType dtype, const Shape& shape, const Strides& strides, Device device);
  static Array from_bytes(const void* elements, std::size_t count, DType dtype, const Shape& shape, Device device);

  Array(const Array& other);
  Array(Array&& other) noexcept;
  Array& operator=(const Array& other);
  Array& operator=(Array&& other) noexcept;
  /// Of one layout, as a shared variable's old and new value are, they exchange two pointers.
  friend void swap(Array& a, Array& b) noexcept;
  ~Array();

  /// Whether it has a buffer. Of an expression this is no question: `if (x > y)` and `!isnan(x)` do not compile; all(), any() and logical_not() ask for the elements.
  explicit operator bool() const& { return buffer_ != nullptr; }
  explicit operator bool() const&& = delete;
  IsEmpty operator!() const& { return {buffer_ == nullptr}; }
  IsEmpty operator!() const&& = delete;
  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  const Strides& strides() const { return strides_; }
  int rank() const { return shape_.rank(); }
  std::int64_t size() const { return size_; }
  std::size_t nbytes() const { return static_cast<std::size_t>(size_) * itemsize(dtype_); }
  /// Throws TypeError for an empty Array, DeviceError if the device was reset since the Array was made.
  Device device() const;
  /// The device was reset: the elements are gone.
  bool is_lost() const;
  /// Address of the first element, on the device.
  void* data() const { return data_; }
  bool is_contiguous() const { return damo::is_contiguous(shape_, strides_); }
  /// No other Array shares the buffer.
  bool is_unique() const;
  /// is_unique(), and the memory is Damo's own; then what other streams have yet to do with the elements comes before the default stream's later work,
  /// so that they may be written again.
  bool claim() const;
  bool shares_buffer_with(const Array& other) const { return buffer_ && buffer_ == other.buffer_; }
  /// The addresses that the elements lie in, [first, second).
  std::pair<const std::byte*, const std::byte*> address_range() const;

  // Views: no element is copied. Each throws ShapeError if it does not fit.
  Array transpose() const;                             ///< axes reversed
  Array permute(std::span<const int> axes) const;      ///< axis i of the result is axis axes[i]
  Array slice(std::span<const Slice> slices) const;    ///< axes beyond the slices are kept whole
  Array slice(std::initializer_list<Slice> slices) const { return slice(std::span(slices.begin(), slices.size())); }
  Array broadcast_to(const Shape& shape) const;        ///< an extent of -1: that of x
  Array reshape(const Shape& shape) const;             ///< copies where strides don't allow a view; one extent may be -1
  Array view(DType dtype, const Shape& shape, const Strides& strides, std::int64_t offset_elements) const;  ///< unchecked

  Array copy() const;                        ///< contiguous, same device
  Array contiguous() const;                  ///< this if it is, else a copy
  Array to(Device device) const;             ///< this if it is there, else a copy
  void copy_from(const Array& other) const;  ///< same dtype and shape, any strides, any device

  /// All elements in C order. Throws TypeError if T is not the dtype's host type.
  template <class T>
  std::vector<T> to_vector() const {
    require_dtype(dtype_of<T>());
    if constexpr (std::is_same_v<T, bool>) {  // whose vector has no elements to point at
      const auto values = std::make_unique<bool[]>(static_cast<std::size_t>(size_));
      to_host(values.get());
      return std::vector<bool>(values.get(), values.get() + size_);
    } else {
      std::vector<T> values(static_cast<std::size_t>(size_));
      to_host(values.data());
      return values;
    }
  }
  std::vector<double> to_doubles() const;  ///< any dtype
  void to_host(void* elements) const;      ///< nbytes() in C order
  Scalar item() const;                     ///< of a one-element array; throws ShapeError otherwise

  /// Shares the elements with another library, without a copy. The caller calls the tensor's deleter.
  DLManagedTensor* to_dlpack() const;
  /// Takes the tensor over. Throws TypeError or DeviceError for what Damo has no dtype or device for.
  static Array from_dlpack(DLManagedTensor* tensor);

 private:
  friend class Cell;
  friend class DevicePointer;
  Array(Buffer* buffer, DType dtype, const Shape& shape, const Strides& strides, void* data);
  void require_dtype(DType dtype) const;

  Buffer* buffer_ = nullptr;
  void* data_ = nullptr;
  std::int64_t size_ = 0;
  DType dtype_ = float32;
  Shape shape_;
  Strides strides_;
};

/// "float32 (3, 4) on cuda:0".
std::string describe(const Array& array);
/// Values as NumPy prints them, long arrays abridged.
std::string to_string(const Array& array);
std::ostream& operator<<(std::ostream& out, const Array& array);

}  // namespace damo
