// LoopRows: where the rows of one output lie while a loop runs: those that the node gives where they belong, the others in a ring.
#pragma once
#include <algorithm>
#include <cstdint>

#include <damo/array.hpp>

namespace damo {

/// Row `number` along axis 0 of an array of any strides.
inline Array row_of(const Array& all, std::int64_t number) {
  Shape shape = all.shape();
  Strides strides = all.strides();
  const std::int64_t offset = number * strides[0];
  shape.erase(0);
  strides.erase(0);
  return all.view(all.dtype(), shape, strides, shape.size() == 0 ? 0 : offset);
}

class LoopRows {
 public:
  /// kept: rows first, first + 1, ... of the output, C order. slots: of the ring, 0 if nothing lies elsewhere. Whether the ring is another one than before.
  bool begin(Array kept, std::int64_t first, std::int64_t slots) {
    kept_ = std::move(kept);
    first_ = first;
    Shape shape = kept_.shape();
    shape[0] = slots;
    if (slots == 0 ? !ring_ : ring_ && ring_.shape() == shape) return false;
    ring_ = slots == 0 ? Array() : Array::empty(shape, kept_.dtype(), kept_.device());
    return true;
  }
  bool keeps(std::int64_t number) const { return number >= first_ && number - first_ < kept_.shape()[0]; }
  Array row(std::int64_t number) const {
    const std::int64_t at = number - first_;
    return at >= 0 && at < kept_.shape()[0] ? row_of(kept_, at) : row_of(ring_, number % ring_.shape()[0]);
  }
  /// So that a row from the first on has a place, at most `most` of them.
  void grow(std::int64_t number, std::int64_t most) {
    const std::int64_t have = kept_.shape()[0];
    if (number - first_ < have) return;
    Shape shape = kept_.shape();
    shape[0] = std::min(most, std::max<std::int64_t>(2 * have, number - first_ + 1));
    const Array larger = Array::empty(shape, kept_.dtype(), kept_.device());
    if (have > 0) larger.slice({Slice{0, have, 1}}).copy_from(kept_);
    kept_ = larger;
  }
  const Array& kept() const { return kept_; }
  /// The number of the first kept one.
  std::int64_t first() const { return first_; }
  /// Lets go of the kept ones; the ring stays for the next call.
  void end() { kept_ = Array(); }

 private:
  Array kept_, ring_;
  std::int64_t first_ = 0;
};

}  // namespace damo
