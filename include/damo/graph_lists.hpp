// The lists that a FunctionGraph consists of, and that a call of an op on Arrays gathers its operands in. A graph of a million nodes has a few large pieces of memory rather than several small ones a
// node, and what a list holds stays where it is while the list grows: spans and references that a pass took outlive what it adds.
#pragma once
#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <type_traits>
#include <utility>

namespace damo {

/// A list that only grows, in pages of 16, 32, 64, ... elements.
template <class T>
class PagedList {
 public:
  PagedList() = default;
  PagedList(const PagedList& other) : PagedList() {  // made from here on: where memory runs out, what was copied goes
    for (std::size_t i = 0; i < other.size_; ++i) push_back(other[i]);
  }
  PagedList(PagedList&& other) noexcept : pages_(std::exchange(other.pages_, {})), size_(std::exchange(other.size_, 0)) {}
  PagedList& operator=(PagedList other) noexcept {
    std::swap(pages_, other.pages_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~PagedList() {
    for (std::size_t i = 0; i < size_; ++i) std::destroy_at(&(*this)[i]);
    for (std::size_t page = 0; page < pages_.size() && pages_[page]; ++page) std::allocator<T>().deallocate(pages_[page], kFirst << page);
  }

  std::size_t size() const { return size_; }
  T& operator[](std::size_t i) { return *place(i); }
  const T& operator[](std::size_t i) const { return *place(i); }
  T& push_back(T value) {
    const auto page = static_cast<std::size_t>(page_of(size_));
    if (!pages_[page]) pages_[page] = std::allocator<T>().allocate(kFirst << page);
    T* const made = std::construct_at(place(size_), std::move(value));
    ++size_;
    return *made;
  }

 private:
  static constexpr std::size_t kFirst = 16;
  static int page_of(std::size_t i) { return static_cast<int>(std::bit_width(i + kFirst)) - static_cast<int>(std::bit_width(kFirst)); }
  /// What page_of and std::bit_floor say, without their question whether a number is 0: every look at a graph comes here.
  T* place(std::size_t i) const {
    const std::size_t n = i + kFirst;
    const int top = 63 - __builtin_clzll(n);
    return pages_[static_cast<std::size_t>(top - (static_cast<int>(std::bit_width(kFirst)) - 1))] + (n ^ (std::size_t{1} << top));
  }

  std::array<T*, 28> pages_ = {};  // room for 2^32 elements
  std::size_t size_ = 0;
};

/// A list of values that need no destructor; up to kInside of them need no memory of their own.
template <class T, std::uint32_t kInside>
class SmallList {
  static_assert(std::is_trivially_destructible_v<T> && kInside > 0);

 public:
  SmallList() {}
  SmallList(std::initializer_list<T> values) { append(values.begin(), values.size()); }
  SmallList(const SmallList& other) { append(other.data(), other.size_); }
  SmallList(SmallList&& other) noexcept { take(other); }
  SmallList& operator=(SmallList other) noexcept {
    free();
    take(other);
    return *this;
  }
  ~SmallList() { free(); }

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T* data() { return capacity_ > kInside ? outside_ : inside_; }
  const T* data() const { return capacity_ > kInside ? outside_ : inside_; }
  T* begin() { return data(); }
  T* end() { return data() + size_; }
  const T* begin() const { return data(); }
  const T* end() const { return data() + size_; }
  T& operator[](std::size_t i) { return data()[i]; }
  const T& operator[](std::size_t i) const { return data()[i]; }

  void push_back(T value) {
    if (size_ == capacity_) reserve(size_ + 1);
    std::construct_at(end(), value);
    ++size_;
  }
  /// from: not of this list.
  void append(const T* from, std::size_t count) {
    reserve(size_ + static_cast<std::uint32_t>(count));
    std::uninitialized_copy_n(from, count, end());
    size_ += static_cast<std::uint32_t>(count);
  }
  template <class Holds>
  void erase_if(Holds holds) {
    size_ = static_cast<std::uint32_t>(std::remove_if(begin(), end(), holds) - begin());
  }

 private:
  void free() noexcept {
    if (capacity_ > kInside) std::allocator<T>().deallocate(outside_, capacity_);
  }
  /// This list has no memory of its own.
  void take(SmallList& other) noexcept {
    size_ = std::exchange(other.size_, 0);
    capacity_ = std::exchange(other.capacity_, kInside);
    if (capacity_ > kInside) outside_ = other.outside_;
    else std::uninitialized_copy_n(other.inside_, size_, inside_);
  }
  void reserve(std::uint32_t count) {
    if (count <= capacity_) return;
    const std::uint32_t capacity = std::max(count, 2 * capacity_);
    T* const larger = std::allocator<T>().allocate(capacity);
    std::uninitialized_copy_n(data(), size_, larger);
    free();
    outside_ = larger;
    capacity_ = capacity;
  }

  std::uint32_t size_ = 0, capacity_ = kInside;
  union {
    T inside_[kInside];
    T* outside_;
  };
};

}  // namespace damo
