#include "ops/diagonal.hpp"

#include <damo/array_math.hpp>
#include <damo/op.hpp>
#include <damo/thunk.hpp>

#include "ops/eager/overlap.hpp"

namespace damo {
namespace {

Variable embedded(const Variable& x, int a, int b, SourceLine line);

class DiagonalOp final : public Op {
 public:
  DiagonalOp(int a, int b) : a_(a), b_(b) {}
  std::string name() const override { return "diagonal"; }
  bool takes_float8() const override { return true; }
  Props props() const override { return {{"axes", std::vector<std::int64_t>{a_, b_}}}; }
  Apply make_node(Inputs inputs) const override {
    inputs.require_count(1);
    return {*this, {inputs.at(0)}, {{inputs.at(0).dtype(), shape(inputs.at(0).dims())}}};
  }
  Shapes infer_shape(const Apply&, std::span<const Shape> inputs) const override { return {{shape(inputs[0])}}; }
  int view_of(int) const override { return 0; }
  Layout view_layout(const Apply&, std::span<const Layout> inputs) const override {
    const Layout& input = inputs[0];
    Strides strides = input.strides;
    strides[a_] += strides[b_];
    strides.erase(b_);
    return {shape(input.shape), strides, input.offset};
  }
  Gradients gradient(const Apply& node, std::span<const Variable> output_gradients) const override { return embedded(output_gradients[0], a_, b_, node.where()); }

 private:
  Shape shape(Shape dims) const {
    if (dims[a_] != dims[b_] && dims[a_] != kUnknown && dims[b_] != kUnknown) {
      throw ShapeError("diagonal: axis " + std::to_string(a_) + " of " + to_string(dims) + " has " + std::to_string(dims[a_]) + " elements, axis " + std::to_string(b_) + " " +
                           std::to_string(dims[b_]), "slice one of them: a diagonal is of two axes of one extent");
    }
    if (dims[a_] == kUnknown) dims[a_] = dims[b_];
    dims.erase(b_);
    return dims;
  }
  int a_, b_;
};

/// The diagonal's gradient: its elements there, and zeros beside.
class EmbedDiagonalOp final : public Op {
 public:
  EmbedDiagonalOp(int a, int b) : a_(a), b_(b) {}
  std::string name() const override { return "embed_diagonal"; }
  bool takes_float8() const override { return true; }
  Props props() const override { return {{"axes", std::vector<std::int64_t>{a_, b_}}}; }
  Apply make_node(Inputs inputs) const override {
    inputs.require_count(1);
    return {*this, {inputs.at(0)}, {{inputs.at(0).dtype(), shape(inputs.at(0).dims())}}};
  }
  Shapes infer_shape(const Apply&, std::span<const Shape> inputs) const override { return {{shape(inputs[0])}}; }
  Thunk make_thunk(const Apply& node, ThunkContext& context) const override {
    Cell &x = context.storage(node.input(0)), &out = context.storage(node.output());
    context.promise_recordable();
    context.promise_contained();
    return [&x, &out, a = a_, b = b_] {
      assign(out.array(), 0);
      Strides strides = out.strides();
      strides[a] += strides[b];
      strides.erase(b);
      copy_into(out.array().view(out.dtype(), x.shape(), strides, 0), x.array());
    };
  }
  Gradients gradient(const Apply& node, std::span<const Variable> output_gradients) const override { return diagonal(output_gradients[0], a_, b_, node.where()); }

 private:
  Shape shape(Shape dims) const {
    dims.insert(b_, dims[a_]);
    return dims;
  }
  int a_, b_;
};

Variable embedded(const Variable& x, int a, int b, SourceLine line) {
  return std::make_shared<const EmbedDiagonalOp>(a, b)->apply(std::span(&x, 1), line).output();
}

}  // namespace

Variable diagonal(const Variable& x, int a, int b, SourceLine line) {
  return std::make_shared<const DiagonalOp>(a, b)->apply(std::span(&x, 1), line).output();
}

}  // namespace damo
