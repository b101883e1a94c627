// Lists of Arrays that a thread has let go of, for its next calls. A call of a Function returns its results in a vector, whose memory would else come and go
// with each call. A thread keeps few, and no long ones.
#pragma once
#include <cstddef>
#include <utility>
#include <vector>

#include <damo/array.hpp>

namespace damo {

/// Empty, with room for count Arrays.
std::vector<Array> take_array_list(std::size_t count);
/// Drops the Arrays and may take the list's memory.
void keep_array_list(std::vector<Array>&& list) noexcept;

/// A list for the time of a call.
class ArrayList {
 public:
  explicit ArrayList(std::size_t count) : arrays_(take_array_list(count)) {}
  ArrayList(const ArrayList&) = delete;
  ArrayList& operator=(const ArrayList&) = delete;
  ~ArrayList() { keep_array_list(std::move(arrays_)); }
  std::vector<Array>& operator*() { return arrays_; }
  std::vector<Array>* operator->() { return &arrays_; }

 private:
  std::vector<Array> arrays_;
};

}  // namespace damo
