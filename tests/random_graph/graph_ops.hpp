// What a user might add to the built-in rows: rows, RawKernels and class ops, for random graphs. A printed program
// carries this file with it.
#pragma once
#include <algorithm>

#include <damo/damo.hpp>

namespace damo::testing {

inline const Elementwise fuzz_blend{{.name = "fuzz_blend",
                                     .doc = "a quarter of x and half of y; of integers: x ^ y",
                                     .code = "x0 * T(0.25) + x1 * T(0.5)",
                                     .integer_code = "x0 ^ x1",
                                     .bool_code = "x0 != x1",
                                     .ulp = 2}};
inline const Elementwise fuzz_gate{{.name = "fuzz_gate", .doc = "z where x > y, else y", .code = "x0 > x1 ? x2 : x1"}};

inline const RawKernel raw_mix{{.name = "raw_mix",
                                .inputs = {"const float* a", "const float* b"},
                                .outputs = {"float* y"},
                                .scalars = {"int size"},
                                .body = "int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < size) y[i] = 0.5f * a[i] - 0.25f * b[i];"}};
inline const RawKernel raw_strided{{.name = "raw_strided",
                                    .inputs = {"strided const int* x"},
                                    .outputs = {"int* y"},
                                    .scalars = {"int size", "long long x_stride0"},
                                    .body = "int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < size) y[i] = (int)((unsigned)x[i * x_stride0] + 7u);"}};
inline const RawKernel raw_into{{.name = "raw_into",
                                 .inputs = {"float* t", "const float* x"},
                                 .outputs = {"float* t"},
                                 .scalars = {"int size"},
                                 .body = "int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < size) t[i] = 0.5f * (t[i] + x[i]);",
                                 .overwrites = {"t"}}};
/// Reads elements of x that other threads have written by then, if x and t were one memory.
inline const RawKernel raw_mirror{{.name = "raw_mirror",
                                   .inputs = {"int* t", "const int* x"},
                                   .outputs = {"int* t"},
                                   .scalars = {"int size"},
                                   .body = "int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < size) t[i] = (int)((unsigned)t[i] - (unsigned)x[size - 1 - i]);",
                                   .overwrites = {"t"}}};
inline const RawKernel raw_both{{.name = "raw_both",
                                 .inputs = {"int* a", "int* b"},
                                 .outputs = {"int* a", "int* b"},
                                 .scalars = {"int size"},
                                 .body = R"(
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= size) return;
    unsigned x = a[i], y = b[i];
    a[i] = (int)(x - y);
    b[i] = (int)(x + 2 * y);)",
                                 .overwrites = {"a", "b"}}};

/// x backwards along its last axis: a view.
class BackwardsOp final : public Op {
 public:
  std::string name() const override { return "backwards"; }
  bool takes_float8() const override { return true; }
  Apply make_node(Inputs in) const override { return {*this, {in.at(0)}, {in.at(0).type()}}; }
  int view_of(int) const override { return 0; }
  Layout view_layout(const Apply&, std::span<const Layout> inputs) const override {
    const Layout& x = inputs[0];
    Layout view = x;
    view.offset += std::max<std::int64_t>(x.shape[-1] - 1, 0) * x.strides[-1];
    view.strides[-1] = -x.strides[-1];
    return view;
  }
};
inline const auto backwards = make_op<BackwardsOp>();

/// The same, written over x.
class BackwardsIntoOp final : public Op {
 public:
  std::string name() const override { return "backwards_into"; }
  Apply make_node(Inputs in) const override { return {*this, {in.at(0)}, {in.at(0).type()}}; }
  Shapes infer_shape(const Apply&, std::span<const Shape> in) const override { return {{in[0]}}; }
  int overwrites(int) const override { return 0; }
  Thunk make_thunk(const Apply& node, ThunkContext& context) const override {
    Cell& y = context.storage(node.output());
    return [&y] {
      std::vector<Slice> slices(static_cast<std::size_t>(y.array().rank()));
      slices.back().step = -1;
      y.array().copy_from(y.array().slice(slices));
    };
  }
};
inline const auto backwards_into = make_op<BackwardsIntoOp>();

/// x, by a thunk that the host writes.
class CopiedOp final : public Op {
 public:
  std::string name() const override { return "copied"; }
  bool takes_float8() const override { return true; }
  Apply make_node(Inputs in) const override { return {*this, {in.at(0)}, {in.at(0).type()}}; }
  Shapes infer_shape(const Apply&, std::span<const Shape> in) const override { return {{in[0]}}; }
  Thunk make_thunk(const Apply& node, ThunkContext& context) const override {
    Cell &x = context.storage(node.input(0)), &y = context.storage(node.output());
    return [&x, &y] { y.array().copy_from(x.array()); };
  }
};
inline const auto copied = make_op<CopiedOp>();

/// x with elements moved along an axis, by parts and what is put together of them; of x's shape.
inline Variable parts_of(const std::string& how, const Variable& x, int axis, int number) {
  const auto along = [&](Index index) {
    std::vector<Index> indices(static_cast<std::size_t>(axis) + 1);
    indices.back() = index;
    return indices;
  };
  const Index evens(std::nullopt, std::nullopt, 2), odds(1, std::nullopt, 2);
  const Variable value = constant(Scalar(static_cast<std::int64_t>(number)).cast(x.dtype()));
  if (how == "roll") return roll(x, number, axis);
  if (how == "doubled") return subtensor(concatenate({x, x}, axis), along(evens));
  if (how == "repeated") return subtensor(repeat(x, 2, axis), along(evens));
  if (how == "set_flipped") return set_subtensor(x, along({}), flip(x, axis));
  if (how == "set_number") return set_subtensor(x, along(odds), value);
  return inc_subtensor(x, along(odds), value);  // "add_number"
}

/// The first n rows of x: its shape depends on data.
class HeadOp final : public Op {
 public:
  std::string name() const override { return "head"; }
  bool takes_float8() const override { return true; }
  Apply make_node(Inputs in) const override {
    TensorType type = in.at(0).type();
    type.dims[0] = kUnknown;
    return {*this, {in.at(0), in.at(1)}, {type}};
  }
  Shapes infer_shape(const Apply&, std::span<const Shape>) const override { return std::nullopt; }
  Thunk make_thunk(const Apply& node, ThunkContext& context) const override {
    Cell &x = context.storage(node.input(0)), &n = context.storage(node.input(1)), &y = context.storage(node.output());
    return [&x, &n, &y] {
      Shape shape = x.shape();
      shape[0] = std::clamp<std::int64_t>(static_cast<std::int64_t>(n.array().to_doubles()[0]), 0, shape[0]);
      y.resize(shape);
      if (shape[0] > 0) y.array().copy_from(x.array().slice({{0, shape[0]}}));
    };
  }
};
inline const auto head = make_op<HeadOp>();

}  // namespace damo::testing
