// ShortList: a list of elements that mostly are few: up to kFew of them lie in it, and no memory is asked for. They are made without arguments first.
#pragma once
#include <array>
#include <cstddef>
#include <initializer_list>
#include <vector>

namespace damo {

template <class T, std::size_t kFew>
class ShortList {
 public:
  ShortList() = default;
  ShortList(std::initializer_list<T> elements) {
    for (const T& element : elements) push_back(element);
  }

  void push_back(const T& element) {
    if (size_ < kFew) {
      few_[size_] = element;
    } else {
      if (size_ == kFew) many_.assign(few_.begin(), few_.end());
      many_.push_back(element);
    }
    ++size_;
  }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T* data() { return size_ > kFew ? many_.data() : few_.data(); }
  const T* data() const { return size_ > kFew ? many_.data() : few_.data(); }
  T* begin() { return data(); }
  T* end() { return data() + size_; }
  const T* begin() const { return data(); }
  const T* end() const { return data() + size_; }
  T& operator[](std::size_t i) { return data()[i]; }
  const T& operator[](std::size_t i) const { return data()[i]; }

 private:
  std::array<T, kFew> few_;
  std::vector<T> many_;  // all, where they are more
  std::size_t size_ = 0;
};

}  // namespace damo
