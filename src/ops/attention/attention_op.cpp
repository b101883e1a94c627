#include "ops/attention/attention_op.hpp"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <vector>

#include <damo/thunk.hpp>

namespace damo {
namespace {

constexpr int kMostFeatures = 128;

/// The extents of (batch, heads, n, features), the batch's 1 where there is none.
struct Extents {
  std::int64_t batch, heads, rows, features;
  explicit Extents(const Shape& shape) : batch(shape.rank() == 4 ? shape[0] : 1), heads(shape[-3]), rows(shape[-2]), features(shape[-1]) {}
};

/// (batch, n, heads, features) of (batch, heads, n, features).
Shape turned(Shape shape) {
  std::swap(shape[shape.rank() - 3], shape[shape.rank() - 2]);
  return shape;
}

/// (batch, n, 3, heads, features) of (batch, n, heads, features).
Shape three_of(const Shape& shape) {
  Shape all;
  for (int i = 0; i < shape.rank(); ++i) {
    if (i == shape.rank() - 2) all.push_back(3);
    all.push_back(shape[i]);
  }
  return all;
}

Shape without_features(const Shape& shape) {
  Shape left;
  for (int i = 0; i + 1 < shape.rank(); ++i) left.push_back(shape[i]);
  return left;
}

void check_extents(std::span<const Shape> inputs, const Shape* mask) {
  const Extents q(inputs[0]), k(inputs[1]), v(inputs[2]);
  const auto differ = [](std::int64_t a, std::int64_t b) { return a != b && a != kUnknown && b != kUnknown; };
  bool fits = !differ(q.batch, k.batch) && !differ(q.batch, v.batch) && !differ(k.rows, v.rows) && !differ(k.heads, v.heads) && !differ(q.features, k.features) && !differ(k.features, v.features);
  if (mask) {
    const std::int64_t wanted[] = {q.batch, q.heads, q.rows, k.rows};
    for (int axis = 1; axis <= mask->rank(); ++axis) fits &= (*mask)[-axis] == 1 || !differ((*mask)[-axis], wanted[4 - axis]);
  }
  if (!fits) {
    throw ShapeError("attention: query " + to_string(inputs[0]) + ", key " + to_string(inputs[1]) + " and value " + to_string(inputs[2]) + (mask ? ", mask " + to_string(*mask) : "") + " do not fit",
                     "give (batch, heads, n, features), (batch, groups, m, features) twice, and a mask that broadcasts to (batch, heads, n, m)");
  }
  for (const std::int64_t rows : {q.rows, k.rows}) {
    if (rows > std::numeric_limits<int>::max() / 2) throw ShapeError("attention: an array of " + std::to_string(rows) + " queries or keys is too long", "split it");
  }
}

/// An operand as the kernels read it: rows contiguous, all at multiples of 16 bytes. Others are copied.
Array readable(const Array& array) {
  const Strides& strides = array.strides();
  bool is_readable = (strides[-1] == 1 || array.shape()[-1] == 1) && reinterpret_cast<std::uintptr_t>(array.data()) % 16 == 0;
  for (int axis = 0; axis + 1 < strides.rank(); ++axis) is_readable &= strides[axis] % 8 == 0 || array.shape()[axis] == 1;
  return is_readable ? array : array.copy();
}

AttentionRows rows_of(const Array& array) {
  const Strides& strides = array.strides();
  return {array.data(), strides.rank() == 4 ? strides[0] : 0, strides[-3], strides[-2]};
}

/// Of a result (batch, n, heads, features).
AttentionRows rows_of_result(const Array& array) {
  const Strides& strides = array.strides();
  return {array.data(), strides.rank() == 4 ? strides[0] : 0, strides[-2], strides[-3]};
}

/// Part i of a result (batch, n, 3, heads, features).
AttentionRows rows_of_part(const Array& array, int i) {
  const Strides& strides = array.strides();
  return {static_cast<const std::byte*>(array.data()) + i * strides[-3] * static_cast<std::int64_t>(itemsize(array.dtype())), strides.rank() == 5 ? strides[0] : 0, strides[-2], strides[-4]};
}

AttentionMask mask_of(const Array& array) {
  AttentionMask mask{.base = array.data()};
  long long* const steps[] = {&mask.column, &mask.row, &mask.head, &mask.batch};
  for (int axis = 1; axis <= array.rank(); ++axis) *steps[axis - 1] = array.shape()[-axis] == 1 ? 0 : array.strides()[-axis];
  return mask;
}

int architecture(Device device) { return std::atoi(device.properties().architecture.c_str() + 3); }  // 90 of "sm_90"

/// What both ops' thunks have in common: the cells of inputs, then outputs.
struct AttentionCells {
  AttentionForm form;
  bool masked, warpgroups = false;
  std::vector<Cell*> inputs, outputs;

  AttentionCells(const AttentionForm& form, const Apply& node, ThunkContext& context, std::size_t unmasked) : form(form), masked(node.inputs().size() > unmasked) {
    for (const Variable& input : node.inputs()) inputs.push_back(&context.storage(input));
    for (const Variable& output : node.outputs()) outputs.push_back(&context.storage(output));
    warpgroups = architecture(context.device()) == 90;
    context.promise_recordable();
    context.promise_contained();
  }
  AttentionVariant variant() const {
    return {.features = static_cast<int>(inputs[0]->shape()[-1]), .dtype = inputs[0]->dtype(), .causal = form.causal, .masked = masked, .warpgroups = warpgroups};
  }
  AttentionMask mask() const { return masked ? mask_of(inputs.back()->array()) : AttentionMask{}; }
  AttentionSizes sizes() const {
    const Extents q(inputs[0]->shape()), k(inputs[1]->shape());
    return {static_cast<int>(q.rows), static_cast<int>(k.rows), static_cast<int>(q.heads), static_cast<int>(k.heads), static_cast<float>(form.scale)};
  }
  /// A block for so many rows of each head of each batch.
  LaunchConfig config(const AttentionKernel& kernel, const Shape& of) const {
    const Extents extents(of);
    return {.grid = {(extents.rows + kernel.rows - 1) / kernel.rows * extents.heads * extents.batch}, .block = {kernel.threads}, .shared_bytes = kernel.shared_bytes};
  }
};

Kernel compiled(ThunkContext& context, const AttentionKernel& kernel) { return context.compile(*kernel.source, kernel.name, kernel.flags); }

void launch(const Kernel& kernel, const LaunchConfig& config, std::initializer_list<KernelArgument> arguments) {
  if (config.grid.x > 0) kernel.launch_arguments(config, std::span(arguments.begin(), arguments.size()));
}

KernelArgument address(const Cell* cell) { return KernelArgument::address_of(cell->array()); }

}  // namespace

bool has_attention_kernel(const AttentionForm& form, const TensorType& query, const TensorType& key, const TensorType& value, const TensorType* mask, Device device) {
  if (device.kind() != DeviceKind::kCuda || architecture(device) < 80) return false;
  const std::int64_t features = query.dims[-1];
  const int rank = query.rank();
  bool fits = is_half(query.dtype) && key.dtype == query.dtype && value.dtype == query.dtype && (rank == 3 || rank == 4) && form.scale > 0;
  fits = fits && features != kUnknown && features > 0 && features % 16 == 0 && features <= kMostFeatures && key.dims[-1] == features && value.dims[-1] == features;
  if (fits && rank == 4) fits = key.dims[0] == query.dims[0] && value.dims[0] == query.dims[0];  // else one may stretch
  return fits && key.dims[-2] == value.dims[-2] && (!mask || (mask->dtype == bool_ && mask->rank() <= rank));
}

Apply AttentionOp::make_node(Inputs inputs) const {
  const Shape& dims = inputs.at(0).dims();
  return {*this, {inputs.begin(), inputs.end()}, {{inputs.at(0).dtype(), turned(dims)}, {float32, without_features(dims)}}};
}

Shapes AttentionOp::infer_shape(const Apply&, std::span<const Shape> inputs) const {
  check_extents(inputs, inputs.size() > 3 ? &inputs[3] : nullptr);
  return {{turned(inputs[0]), without_features(inputs[0])}};
}

Thunk AttentionOp::make_thunk(const Apply& node, ThunkContext& context) const {
  const AttentionCells cells(form_, node, context, 3);
  const AttentionKernel kernel = attention_forward(cells.variant());
  return [cells, kernel, code = compiled(context, kernel)] {
    const Array q = readable(cells.inputs[0]->array()), k = readable(cells.inputs[1]->array()), v = readable(cells.inputs[2]->array());
    launch(code, cells.config(kernel, q.shape()), {rows_of(q), rows_of(k), rows_of(v), cells.mask(), cells.sizes(), address(cells.outputs[0]), address(cells.outputs[1])});
  };
}

Props AttentionGradientOp::props() const {
  Props props{{"causal", form_.causal}, {"scale", form_.scale}};
  if (side_by_side_) props.push_back({"side_by_side", true});
  return props;
}

Apply AttentionGradientOp::make_node(Inputs inputs) const {
  std::vector<TensorType> types;
  if (side_by_side_) return {*this, {inputs.begin(), inputs.end()}, {{inputs.at(0).dtype(), three_of(turned(inputs.at(0).dims()))}}};
  for (int i = 0; i < 3; ++i) types.push_back({inputs.at(i).dtype(), turned(inputs.at(i).dims())});
  return {*this, {inputs.begin(), inputs.end()}, std::move(types)};
}

Shapes AttentionGradientOp::infer_shape(const Apply&, std::span<const Shape> inputs) const {
  check_extents(inputs, inputs.size() > 6 ? &inputs[6] : nullptr);
  if (side_by_side_ && !(inputs[0] == inputs[1])) throw ShapeError("attention: gradients by query " + to_string(inputs[0]) + " and by key " + to_string(inputs[1]) + " do not lie side by side");
  if (side_by_side_) return {{three_of(turned(inputs[0]))}};
  return {{turned(inputs[0]), turned(inputs[1]), turned(inputs[2])}};
}

Thunk AttentionGradientOp::make_thunk(const Apply& node, ThunkContext& context) const {
  const AttentionCells cells(form_, node, context, 6);
  const AttentionKernel by_query = attention_by_query(cells.variant()), by_key = attention_by_key(cells.variant());
  return [cells, by_query, by_key, query_code = compiled(context, by_query), key_code = compiled(context, by_key), side_by_side = side_by_side_] {
    const Array q = readable(cells.inputs[0]->array()), k = readable(cells.inputs[1]->array()), v = readable(cells.inputs[2]->array()), g = readable(cells.inputs[3]->array());
    const KernelArgument logarithms = address(cells.inputs[4]), sums = address(cells.inputs[5]);
    const auto result = [&](int i) { return side_by_side ? rows_of_part(cells.outputs[0]->array(), i) : rows_of_result(cells.outputs[static_cast<std::size_t>(i)]->array()); };
    launch(query_code, cells.config(by_query, q.shape()), {rows_of(q), rows_of(k), rows_of(v), cells.mask(), cells.sizes(), rows_of(g), logarithms, sums, result(0)});
    launch(key_code, cells.config(by_key, k.shape()), {rows_of(q), rows_of(k), rows_of(v), cells.mask(), cells.sizes(), rows_of(g), logarithms, sums, result(1), result(2)});
  };
}

}  // namespace damo
