#include "runtime/exec/cell_access.hpp"

namespace damo {

void Cell::resize(const Shape& shape) {
  is_sized_ = true;
  if (array_ && array_.shape() == shape && array_.claim()) return;
  array_ = Array::empty(shape, dtype_, device_);
  CellAccess::set_layout(*this, shape, array_.strides());
}

}  // namespace damo
