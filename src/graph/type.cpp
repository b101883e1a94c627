#include <damo/type.hpp>

namespace damo {

bool TensorType::accepts(DType value_dtype, const Shape& shape) const {
  if (value_dtype != dtype || shape.rank() != dims.rank()) return false;
  for (int i = 0; i < dims.rank(); ++i) {
    if (dims[i] != kUnknown && dims[i] != shape[i]) return false;
  }
  return true;
}

std::string to_string(const TensorType& type) { return std::string(name(type.dtype)) + " " + to_string(type.dims); }

}  // namespace damo
