#include "ops/not_empty.hpp"

#include <memory>
#include <span>
#include <utility>

#include <damo/gradient.hpp>
#include <damo/kernel_op.hpp>

namespace damo {
namespace {

/// No IdentityOp: those go when a function is built.
class NotEmptyOp final : public KernelOp {
 public:
  explicit NotEmptyOp(NeededRows rows) : rows_(std::move(rows)) {}
  std::string name() const override { return "not_empty"; }
  Props props() const override { return {{"rows_for", rows_.user}, {"of", rows_.of}, {"axes", std::int64_t{rows_.axes}}}; }
  bool takes_float8() const override { return true; }
  int cost() const override { return 0; }
  void lower(KernelBuilder& kernel) const override { kernel.output(kernel.input(0)); }
  Shape output_shape(std::span<const Shape>, std::span<const Shape> shapes) const override {
    rows_.require(shapes[0]);
    return shapes[0];
  }
  Gradients gradient(const Apply&, std::span<const Variable> output_gradients) const override { return Gradients(output_gradients[0]); }

 private:
  NeededRows rows_;
};

}  // namespace

void NeededRows::require(const Shape& shape) const {
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (!(axes >> axis & 1u) || shape[axis] != 0) continue;
    throw ShapeError(user + ": there are no rows: the extent of axis " + std::to_string(axis) + " of " + of + " is 0", "leave an empty minibatch out: nothing is learnt from it");
  }
}

std::optional<NeededRows> NeededRows::to_look_at(const Shape& dims) const {
  for (int axis = 0; axis < dims.rank(); ++axis) {
    if ((axes >> axis & 1u) && (dims[axis] == kUnknown || dims[axis] == 0)) return *this;
  }
  return {};
}

Variable not_empty(const Variable& x, const NeededRows& rows, SourceLine line) {
  std::optional<NeededRows> looked_at = rows.to_look_at(x.dims());
  return looked_at ? std::make_shared<const NotEmptyOp>(*std::move(looked_at))->apply(std::span(&x, 1), line).output() : x;
}

}  // namespace damo
