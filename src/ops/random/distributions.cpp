#include "ops/random/distributions.hpp"

#include <damo/ops/math.hpp>
#include "graph/base/computed_dtype.hpp"
#include "graph/user_line.hpp"

namespace damo {

const ElementwiseRow& scaled_row() {
  static const ElementwiseRow row{.name = "random_scaled",
                                  .doc = "x0 * x1 + x2, rounded twice on every device",
                                  .code = "random_scaled<T>(x0, x1, x2)",
                                  .domain = Domain::kFloats,
                                  .cost = 2,
                                  .gradient = [](auto& g, auto& in, auto& out) {
                                    const BuiltAt here(out.where());
                                    return std::vector<Gradient>{g * in[1], g * in[0], g};
                                  }};
  return row;
}

const ElementwiseRow& between_row() {
  static const ElementwiseRow row{.name = "random_between",
                                  .doc = "x1 + (x2 - x1) * x0, below x2",
                                  .code = "random_between<T>(x0, x1, x2)",
                                  .domain = Domain::kFloats,
                                  .cost = 5,
                                  .gradient = [](auto& g, auto& in, auto& out) {
                                    const BuiltAt here(out.where());
                                    return std::vector<Gradient>{g * (in[2] - in[1]), g * (1 - in[0]), g * in[0]};
                                  }};
  return row;
}

void check_draw_shape(const std::string& name, const Shape& shape) {
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (shape[axis] < 0) throw ShapeError(name + ": the extent of axis " + std::to_string(axis) + " is " + std::to_string(shape[axis]), "give extents of 0 or more, or a Variable of that shape");
  }
}

void check_draw_dtype(const std::string& name, DType dtype) {
  require_computed(name, dtype);
  if (!is_floating(dtype)) throw TypeError(name + ": " + std::string(damo::name(dtype)) + " is no floating dtype", "cast what is drawn, or draw by randint");
}

}  // namespace damo
