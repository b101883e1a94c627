#include "ops/eager/overlap.hpp"

#include "ops/eager/kernels.hpp"
#include "ops/elementwise_op.hpp"
#include "runtime/array/array_layout.hpp"

namespace damo {

bool would_overwrite(const Array& out, const Array& input) {
  if (!share_memory(out, input)) return false;
  const bool same = out.data() == input.data() && out.shape() == input.shape() && out.strides() == input.strides() &&
                    out.dtype() == input.dtype();
  return !same;
}

void check_writable(std::string_view name, const Array& out) {
  const std::string shared = shared_places(out.shape(), out.strides(), "the result");
  if (!shared.empty()) throw ShapeError(std::string(name) + ": " + shared, "copy() it first");
}

void copy_into(const Array& to, const Array& from) {
  if (to.dtype() == from.dtype() && is_narrow(to.dtype())) {  // as words: by way of a float NaNs would become one NaN
    const auto words = [](const Array& array) { return array.view(itemsize(array.dtype()) == 1 ? uint8 : uint16, array.shape(), array.strides(), 0); };
    return copy_into(words(to), words(from));
  }
  const EagerInput inputs[] = {{&from, {}}};
  static const std::shared_ptr<const ElementwiseOp> cast = cast_op(float32);
  EagerKernels::of(to.device().backend())->kernel(cast->row(), inputs, to.dtype(), true)->run(inputs, to);
}

Array packed_copy(const Array& array, DType dtype) {
  Array out = Array::empty(array.shape(), dtype, array.device());
  if (dtype == array.dtype() && array.is_contiguous())
    out.copy_from(array);
  else
    copy_into(out, array);
  return out;
}

}  // namespace damo
