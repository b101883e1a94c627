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
  /// Shape and strides of the values to come; true if they are new.
  static bool set_layout(Cell& cell, const Shape& shape, const Strides& strides) {
    if (cell.shape_ == shape && cell.strides_ == strides) return false;
    cell.shape_ = shape;
    cell.strides_ = strides;
    ++cell.version_;
    return true;
  }
  /// A value of the cell's layout.
  static void set_array(Cell& cell, Array array) { cell.array_ = std::move(array); }
  static Array& array(Cell& cell) { return cell.array_; }
  static void clear(Cell& cell) { cell.array_ = Array(); }
};

}  // namespace damo
