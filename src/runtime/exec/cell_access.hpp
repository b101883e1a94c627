// What the executor may do with a Cell and thunks may not.
#pragma once
#include <utility>

#include <damo/thunk.hpp>

namespace damo {

class CellAccess {
 public:
  static void prepare(Cell& cell, DType dtype, Device device) {
    cell.dtype_ = dtype;
    cell.device_ = device;
  }
  /// Shape and strides of the values to come; a new version if they are not the present ones.
  static void set_layout(Cell& cell, const Shape& shape, const Strides& strides) {
    if (cell.shape_ == shape && cell.strides_ == strides) return;
    restore(cell, shape, strides, ++cell.newest_);
  }
  /// A layout that the cell had before, with its version.
  static void restore(Cell& cell, const Shape& shape, const Strides& strides, std::uint32_t version) {
    cell.shape_ = shape;
    cell.strides_ = strides;
    cell.version_ = version;
  }
  /// A value of the cell's layout.
  static void set_array(Cell& cell, Array&& array) { cell.array_ = std::move(array); }
  static void set_array(Cell& cell, const Array& array) { cell.array_ = array; }
  static Array& array(Cell& cell) { return cell.array_; }
  /// Before a thunk that sizes its outputs; whether it has.
  static void begin_sizing(Cell& cell) { cell.is_sized_ = false; }
  static bool is_sized(const Cell& cell) { return cell.is_sized_; }
  static void clear(Cell& cell) { cell.array_ = Array(); }
};

}  // namespace damo
