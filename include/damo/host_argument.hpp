// In, Out, InOut: host memory as an argument of a launch. It is copied to the device before the launch (In, InOut) and
// back after it (Out, InOut), in the order of the launch's stream; a launch with an Out or InOut returns when the values
// are there. On the CPU no copy is made where none is needed to keep that meaning.
//
//   std::vector<float> a(400), b(400), dest(400);
//   module.kernel("multiply_them")({.block = {400}}, Out(dest), In(a), In(b));
//
// Taken are contiguous ranges (vector, span, array, C array, also of arrays), one object of a trivially copyable type,
// (pointer, count), (range, count) for its first elements, and contiguous Arrays of the host. What a kernel writes
// through an In is lost; elements of an Out that it does not write have arbitrary values. The memory must stay until the
// launch returns; if it is pinned (PinnedMemory), an In may still be read until the stream is synchronised.
// See tests/runtime/module/host_argument_test.cpp.
#pragma once
#include <array>
#include <cstddef>
#include <memory>
#include <ranges>
#include <type_traits>
#include <utility>

#include <damo/kernel_argument.hpp>

namespace damo {

namespace detail {

/// What a range of ranges is made of: float for std::array<std::array<float, 4>, 4>.
template <class T>
struct Innermost {
  using type = std::remove_all_extents_t<T>;
};
template <class T, std::size_t n>
struct Innermost<std::array<T, n>> : Innermost<T> {};
template <class T, std::size_t n>
struct Innermost<T[n]> : Innermost<T> {};

}  // namespace detail

class HostArgument {
 public:
  using Direction = KernelArgument::Direction;

  Direction direction() const { return direction_; }
  void* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }
  const ElementType& element() const { return element_; }
  /// Of an Array: where it is. Null for other memory, which is the host's.
  const Backend* device() const { return device_; }

 protected:
  explicit HostArgument(Direction direction) : direction_(direction) {}

  template <class T>
  void take(T* data, std::size_t count) {
    static_assert(std::is_trivially_copyable_v<T>, "only trivially copyable elements can be copied to a device");
    if (data == nullptr && count > 0) refuse_null(count);
    data_ = const_cast<void*>(static_cast<const void*>(data));
    bytes_ = count * sizeof(T);
    element_ = ElementType::of<typename detail::Innermost<std::remove_cv_t<T>>::type>();
  }
  template <class X>
  void take_any(X& x) {
    if constexpr (std::is_same_v<std::remove_const_t<X>, Array>) {
      take_array(x);
    } else if constexpr (std::ranges::contiguous_range<X>) {
      take(std::ranges::data(x), std::ranges::size(x));
    } else {
      static_assert(!std::ranges::range<X>, "the range must be contiguous: std::vector<bool> and std::list are not");
      static_assert(!std::is_pointer_v<X>, "give a pointer with its count: In(pointer, count)");
      take(&x, 1);
    }
  }
  template <class X>
  void take_first(X& x, std::size_t count) {
    if constexpr (std::is_pointer_v<X>) {
      take(x, count);
    } else {
      require_count(std::ranges::size(x), count);
      take(std::ranges::data(x), count);
    }
  }
  /// Throws TypeError for an Array that is empty or not contiguous.
  void take_array(const Array& array);
  [[noreturn]] static void refuse_null(std::size_t count);
  static void require_count(std::size_t has, std::size_t count);

 private:
  Direction direction_;
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
  ElementType element_;
  const Backend* device_ = nullptr;
};

class In : public HostArgument {
 public:
  template <class X>
    requires(!std::is_base_of_v<HostArgument, X>)
  explicit In(const X& x) : HostArgument(Direction::kIn) {
    take_any(x);
  }
  template <class X>
  In(const X& x, std::size_t count) : HostArgument(Direction::kIn) {
    take_first(x, count);
  }
};

/// What Out and InOut share: the memory can be written and outlives the call.
class WrittenArgument : public HostArgument {
 protected:
  template <class X>
  WrittenArgument(Direction direction, X&& x) : HostArgument(direction) {
    using Value = std::remove_cvref_t<X>;
    static_assert(std::is_lvalue_reference_v<X&&> || std::ranges::borrowed_range<X> || std::is_same_v<Value, Array>,
                  "a temporary's values would be lost");
    if constexpr (std::is_same_v<Value, Array>) take_array(x);
    else if constexpr (std::ranges::range<Value>) take_any(x), require_writable(std::ranges::data(x));
    else take_any(x), require_writable(&x);
  }
  template <class X>
  WrittenArgument(Direction direction, X&& x, std::size_t count) : HostArgument(direction) {
    take_first(x, count);
    if constexpr (std::is_pointer_v<std::remove_cvref_t<X>>) require_writable(x);
    else require_writable(std::ranges::data(x));
  }

 private:
  template <class T>
  static void require_writable(T*) {
    static_assert(!std::is_const_v<T>, "the kernel writes to it: it cannot be const. Use In for what is only read");
  }
};

class Out : public WrittenArgument {
 public:
  template <class X>
    requires(!std::is_base_of_v<HostArgument, std::remove_cvref_t<X>>)
  explicit Out(X&& x) : WrittenArgument(Direction::kOut, std::forward<X>(x)) {}
  template <class X>
  Out(X&& x, std::size_t count) : WrittenArgument(Direction::kOut, std::forward<X>(x), count) {}
};

class InOut : public WrittenArgument {
 public:
  template <class X>
    requires(!std::is_base_of_v<HostArgument, std::remove_cvref_t<X>>)
  explicit InOut(X&& x) : WrittenArgument(Direction::kInOut, std::forward<X>(x)) {}
  template <class X>
  InOut(X&& x, std::size_t count) : WrittenArgument(Direction::kInOut, std::forward<X>(x), count) {}
};

}  // namespace damo
