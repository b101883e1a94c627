#include "ops/contraction.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include <damo/array_math.hpp>

#include "ops/eager/inner_product.hpp"
#include "ops/eager/overlap.hpp"
#include "runtime/memory/workspace.hpp"

namespace damo {
namespace {

constexpr std::int64_t kFloat8Multiple = 16;  // bytes, of addresses and steps of 8-bit floats that a library multiplies

/// One axis of both operands; a stride of 0 where the operand does not have it or is stretched.
struct AxisStep {
  std::int64_t extent, x, y;
};

/// Neighbours that step as one become one; axes of extent 1 go.
std::vector<AxisStep> merged(std::span<const AxisStep> steps) {
  std::vector<AxisStep> all;
  for (const AxisStep& step : steps) {
    if (step.extent == 1) continue;
    if (!all.empty() && all.back().x == step.x * step.extent && all.back().y == step.y * step.extent) all.back() = {all.back().extent * step.extent, step.x, step.y};
    else all.push_back(step);
  }
  return all;
}

std::int64_t count_of(std::span<const AxisStep> steps) {
  std::int64_t count = 1;
  for (const AxisStep& step : steps) count *= step.extent;
  return count;
}

/// The axes of a contraction in their groups.
struct Groups {
  std::vector<AxisStep> batch, rows, summed, columns;

  Groups(const ContractionForm& form, const Shape& x_shape, const Strides& x, const Shape& y_shape, const Strides& y, const Shape& out) {
    const int row_axes = x_shape.rank() - form.batch - form.summed;
    const auto stride = [](const Shape& shape, const Strides& strides, int axis) { return shape[axis] == 1 ? 0 : strides[axis]; };
    for (int i = 0; i < form.batch; ++i) batch.push_back({out[i], stride(x_shape, x, i), stride(y_shape, y, i)});
    for (int i = form.batch; i < form.batch + row_axes; ++i) rows.push_back({out[i], stride(x_shape, x, i), 0});
    for (int i = 0; i < form.summed; ++i) {
      const int in_x = form.batch + row_axes + i, in_y = form.batch + i;
      summed.push_back({x_shape[in_x], stride(x_shape, x, in_x), stride(y_shape, y, in_y)});
    }
    for (int i = form.batch + row_axes; i < out.rank(); ++i) {
      const int in_y = i - row_axes + form.summed;
      columns.push_back({out[i], 0, stride(y_shape, y, in_y)});
    }
  }
};

std::vector<AxisStep> of_x(std::vector<AxisStep> steps) {
  for (AxisStep& step : steps) step.y = 0;
  return merged(steps);
}
std::vector<AxisStep> of_y(std::vector<AxisStep> steps) {
  for (AxisStep& step : steps) step.x = 0;
  return merged(steps);
}

/// The strides of a matrix whose rows and columns are these axes; none if they are several.
std::optional<MatrixStrides> matrix_of(const std::vector<AxisStep>& rows, const std::vector<AxisStep>& columns, std::int64_t AxisStep::*stride) {
  if (rows.size() > 1 || columns.size() > 1) return std::nullopt;
  MatrixStrides strides{0, 1, 0};
  if (!columns.empty()) strides.column = columns[0].*stride;
  if (!rows.empty()) strides.row = rows[0].*stride;
  return strides;
}

/// "its axis 1 of extent 4, y's axis 0 of extent 5"
std::string of_extents(int x_axis, std::int64_t x, int y_axis, std::int64_t y) {
  return "axis " + std::to_string(x_axis) + " of the first has " + std::to_string(x) + (x == 1 ? " element" : " elements") + ", axis " + std::to_string(y_axis) +
         " of the second " + std::to_string(y);
}

/// Of an activation that is not kNone.
const ElementwiseRow& activation_row() {
  static const ElementwiseRow* const gelu = find_elementwise("gelu_tanh");
  return *gelu;
}

}  // namespace

Shape contraction_shape(const std::string& name, const ContractionForm& form, const Shape& x, const Shape& y) {
  const int row_axes = x.rank() - form.batch - form.summed, column_axes = y.rank() - form.batch - form.summed;
  const auto refuse = [&](const std::string& what, const std::string& remedy) {
    throw ShapeError(name + ": " + to_string(x) + " and " + to_string(y) + " do not fit: " + what, remedy);
  };
  Shape out;
  for (int i = 0; i < form.batch; ++i) {
    if (x[i] != y[i] && x[i] != 1 && y[i] != 1 && x[i] != kUnknown && y[i] != kUnknown) {
      refuse("batches do not broadcast, " + of_extents(i, x[i], i, y[i]), "reshape or slice one of them; an extent of 1 stretches");
    }
    out.push_back(x[i] == 1 ? y[i] : x[i] == kUnknown && y[i] != 1 ? y[i] : x[i]);
  }
  for (int i = 0; i < form.summed; ++i) {
    const int in_x = form.batch + row_axes + i, in_y = form.batch + i;
    if (x[in_x] != y[in_y] && x[in_x] != kUnknown && y[in_y] != kUnknown) {
      refuse(of_extents(in_x, x[in_x], in_y, y[in_y]), "what is summed over must have one extent: transpose or slice one of them");
    }
  }
  for (int i = 0; i < row_axes; ++i) out.push_back(x[form.batch + i]);
  for (int i = 0; i < column_axes; ++i) out.push_back(y[form.batch + form.summed + i]);
  return out;
}

Contraction::Contraction(Backend& backend, const ContractionForm& form, DType x_dtype, DType y_dtype, ArrayLayout x, ArrayLayout y, const Shape& out, const ArrayLayout* c)
    : library_(MatrixLibrary::of(backend)), form_(form) {
  compute_ = library_->computes_as(x_dtype);
  y_compute_ = library_->computes_as(y_dtype);
  if (is_float8(compute_)) {
    plan(x_dtype, x, y, out, c);
    auto converted = std::shared_ptr<Contraction>(new Contraction(library_, form));
    converted->compute_ = converted->y_compute_ = float16;  // has all numbers of both
    converted->plan(x_dtype, x, y, out, c);
    if (prepared_) converted_ = std::move(converted);
    else *this = std::move(*converted);
    return;
  }
  plan(x_dtype, x, y, out, c);
}

std::vector<CompileRequest> Contraction::code(Backend& backend, const ContractionForm& form, DType x_dtype, DType y_dtype, ArrayLayout x, ArrayLayout y, const Shape& out, const ArrayLayout* c) {
  if (is_float8(x_dtype) || is_float8(y_dtype) || out.size() == 0) return {};  // a library's alone
  Contraction contraction(MatrixLibrary::of(backend), form);
  contraction.compute_ = contraction.library_->computes_as(x_dtype);
  contraction.y_compute_ = contraction.library_->computes_as(y_dtype);
  contraction.choose_dtypes(x_dtype);
  if (!contraction.lay_out(x_dtype, x, y, out, c)) return {};
  return contraction.library_->code(contraction.wanted());
}

void Contraction::choose_dtypes(DType x_dtype) {
  converts_ = compute_ != x_dtype;
  target_ = !converts_ ? form_.result : is_half(compute_) && form_.result != compute_ ? float32 : compute_;
}

void Contraction::plan(DType x_dtype, const ArrayLayout& x, const ArrayLayout& y, const Shape& out, const ArrayLayout* c) {
  choose_dtypes(x_dtype);
  is_empty_ = out.size() == 0;
  if (is_empty_) return;
  if (lay_out(x_dtype, x, y, out, c)) prepare();
  workspace_bytes_ = need(x_dtype, x, y, out);
}

/// Whether there is a product for the library.
bool Contraction::lay_out(DType x_dtype, const ArrayLayout& x, const ArrayLayout& y, const Shape& out, const ArrayLayout* c) {
  is_inner_ = out.size() == 1 && form_.summed > 0 && form_.alpha == 1 && form_.beta == 0 && !is_float8(x_dtype);
  plan_sides(x, y, out);
  if (product_.k == 0 || is_inner_) return false;
  plan_start(c, out);
  return true;
}

void Contraction::plan_sides(const ArrayLayout& x, const ArrayLayout& y, const Shape& out) {
  const Groups groups(form_, *x.shape, *x.strides, *y.shape, *y.strides, out);
  product_.operands = compute_;
  if (y_compute_ != compute_) product_.b_operands = y_compute_;
  product_.result = target_;
  product_.m = count_of(groups.rows);
  product_.n = count_of(groups.columns);
  product_.k = count_of(groups.summed);
  product_.tf32 = form_.tf32 && compute_ == float32;
  product_.alpha = form_.alpha;
  if (product_.k == 0 || is_inner_) return;

  // Which operand has to be copied, and where its elements are then.
  const bool has_library = library_->has(compute_);
  std::vector<AxisStep> batch = groups.batch;
  const auto side = [&](const ArrayLayout& array, std::optional<MatrixStrides> strides, std::int64_t rows, std::int64_t columns, const std::vector<AxisStep>& first,
                        const std::vector<AxisStep>& second, std::int64_t AxisStep::*stride, Side& made) {
    // 8-bit floats are multiplied where the summed axis is the one whose elements are neighbours, in both operands.
    const bool is_tight = is_float8(compute_), turns = is_tight && &made == &y_;
    const auto fits = [&] {
      const std::optional<MatrixOrder> order = order_of(*strides, rows, columns);
      return order && (!is_tight || (order->is_transposed == turns && order->leading % kFloat8Multiple == 0));
    };
    if (strides && !converts_ && (!has_library || fits())) return *strides;
    made.is_packed = true;
    for (int i = 0; i < form_.batch; ++i) {
      made.shape.push_back((*array.shape)[i]);
      made.strides.push_back((*array.strides)[i]);
    }
    for (const std::vector<AxisStep>* steps : {turns ? &second : &first, turns ? &first : &second}) {
      for (const AxisStep& step : *steps) {
        made.shape.push_back(step.extent);
        made.strides.push_back(step.*stride);
      }
    }
    std::int64_t inner = rows * columns;
    for (int i = form_.batch; i-- > 0;) {
      batch[static_cast<std::size_t>(i)].*stride = made.shape[i] == 1 ? 0 : inner;
      inner *= made.shape[i];
    }
    return turns ? MatrixStrides{1, rows, 0} : MatrixStrides{columns, 1, 0};
  };
  product_.a = side(x, matrix_of(of_x(groups.rows), of_x(groups.summed), &AxisStep::x), product_.m, product_.k, groups.rows, groups.summed, &AxisStep::x, x_);
  product_.b = side(y, matrix_of(of_y(groups.summed), of_y(groups.columns), &AxisStep::y), product_.k, product_.n, groups.summed, groups.columns, &AxisStep::y, y_);

  // Batches that y is the same for are more rows of x where they lie so.
  batch = merged(batch);
  while (!batch.empty() && batch.back().y == 0) {
    MatrixStrides folded = product_.a;
    if (product_.m == 1) folded.row = batch.back().x;
    if (batch.back().x != product_.m * folded.row) break;
    if (has_library && !order_of(folded, product_.m * batch.back().extent, product_.k)) break;
    product_.a = folded;
    product_.m *= batch.back().extent;
    batch.pop_back();
  }
  product_.c = {product_.n, 1, 0};

  // One axis of batches is the library's, the others are gone through here.
  std::int64_t out_stride = product_.m * product_.n;
  std::vector<Loop> loops;
  for (auto step = batch.rbegin(); step != batch.rend(); ++step) {
    loops.push_back({step->extent, step->x, step->y, out_stride});
    out_stride *= step->extent;
  }
  const auto longest = std::max_element(loops.begin(), loops.end(), [](const Loop& a, const Loop& b) { return a.extent < b.extent; });
  if (longest == loops.end()) return;
  product_.batches = longest->extent;
  product_.a.batch = longest->x;
  product_.b.batch = longest->y;
  product_.c.batch = longest->out;
  loops.erase(longest);
  loops_ = std::move(loops);
}

bool Contraction::is_aligned(const Array& x, const Array& y, const Array* c, const Array& out) const {
  const auto begins = [](const void* address) { return reinterpret_cast<std::uintptr_t>(address) % kFloat8Multiple == 0; };
  return (x_.is_packed || begins(x.data())) && (y_.is_packed || begins(y.data())) && (!c || begins(c->data())) && begins(out.data());
}

void Contraction::plan_start(const ArrayLayout* c, const Shape& out) {
  activates_ = form_.activation != Activation::kNone && library_->engine() && library_->engine()->has_epilogues(compute_) && target_ == form_.result;
  if (!c) return;
  const bool has_epilogue = library_->engine() && library_->engine()->has_epilogues(compute_) && target_ == form_.result;
  starts_apart_ = (has_epilogue || !library_->has(compute_)) && target_ == form_.result && *c->shape == out && is_contiguous(*c->shape, *c->strides);
  if (starts_apart_ || !has_epilogue || form_.beta != 1) return;
  // A bias has one element for each column of the result, one after another.
  std::int64_t expected = 1, count = 1;
  bool is_bias = true;
  for (int i = c->shape->rank(); i-- > 0;) {
    const std::int64_t extent = (*c->shape)[i];
    if (extent == 1) continue;
    is_bias &= (*c->strides)[i] == expected;
    expected *= extent;
    count *= extent;
  }
  const int first = out.rank() - c->shape->rank();
  std::int64_t columns = 1;
  for (int i = out.rank(); i-- > 0 && columns < product_.n;) {
    is_bias &= i >= first && (*c->shape)[i - first] == out[i];
    columns *= out[i];
  }
  has_bias_ = is_bias && count == product_.n && columns == product_.n;
}

MatrixProduct Contraction::wanted() const {
  MatrixProduct wanted = product_;
  wanted.has_bias = has_bias_;
  wanted.beta = form_.beta != 0 && !has_bias_ ? form_.beta : 0;
  wanted.activation = activates_ ? form_.activation : Activation::kNone;
  return wanted;
}

void Contraction::prepare() {
  if (is_float8(compute_)) {
    const auto fits = [](std::int64_t elements) { return elements % kFloat8Multiple == 0; };
    bool all_fit = fits(product_.m) && fits(product_.n) && fits(product_.k) && fits(product_.a.row) && fits(product_.b.column) && fits(product_.a.batch) && fits(product_.b.batch);
    for (const Loop& loop : loops_) all_fit &= fits(loop.x) && fits(loop.y);
    if (!all_fit) return;
  }
  MatrixProduct wanted = this->wanted();
  prepared_ = library_->prepare(wanted);
  if (prepared_) return;
  has_bias_ = activates_ = false;
  wanted.has_bias = false;
  wanted.beta = form_.beta;
  wanted.activation = Activation::kNone;
  prepared_ = library_->prepare(wanted);
}

Array Contraction::operand(const Array& array, const Side& side, DType dtype) {
  return side.is_packed ? packed_copy(array.view(array.dtype(), side.shape, side.strides, 0), dtype) : array;
}

/// The axes that are summed over.
ArrayLayout Contraction::summed_layout(const ArrayLayout& array, int first, int count, Shape& shape, Strides& strides) {
  for (int i = first; i < first + count; ++i) {
    shape.push_back((*array.shape)[i]);
    strides.push_back((*array.strides)[i]);
  }
  return {&shape, &strides};
}

/// In the order of run().
std::size_t Contraction::need(DType x_dtype, const ArrayLayout& x, const ArrayLayout& y, const Shape& out) const {
  const auto bytes_of = [](const Shape& shape, DType dtype) { return static_cast<std::size_t>(shape.size()) * itemsize(dtype); };
  WorkspaceNeed need;
  if (target_ != form_.result && !is_inner_) need.take(bytes_of(out, target_));
  if (is_inner_ && product_.k != 0) {
    Shape shapes[2];
    Strides strides[2];
    need.pass(inner_product_bytes(library_->backend(), x_dtype, summed_layout(x, x.shape->rank() - form_.summed, form_.summed, shapes[0], strides[0]), summed_layout(y, form_.batch, form_.summed, shapes[1], strides[1]), form_.result));
  } else if (product_.k != 0) {
    if (x_.is_packed) need.take(bytes_of(x_.shape, compute_));
    if (y_.is_packed) need.take(bytes_of(y_.shape, y_compute_));
    if (prepared_) need.take(prepared_->workspace_bytes());
  }
  return need.bytes();
}

void Contraction::run(const Array& x, const Array& y, const Array* c, const Array& out, void* stream) const {
  if (is_empty_) return;
  if (converted_ && !is_aligned(x, y, c, out)) return converted_->run(x, y, c, out, stream);
  const bool is_apart = target_ != out.dtype() && !is_inner_;
  const Array target = is_apart ? Array::empty(out.shape(), target_, out.device()) : out;
  const bool is_copied = c && !has_bias_ && !(starts_apart_ && product_.k != 0) && !(c->data() == target.data() && c->dtype() == target.dtype());
  if (is_copied) copy_into(target, *c);
  if (is_inner_ && product_.k != 0) {
    const auto summed = [&](const Array& array, int first) {
      Shape shape;
      Strides strides;
      summed_layout({&array.shape(), &array.strides()}, first, form_.summed, shape, strides);
      return array.view(array.dtype(), shape, strides, 0);
    };
    inner_product(summed(x, x.rank() - form_.summed), summed(y, form_.batch), target);
  } else if (product_.k == 0) {
    if (!c) assign(target, 0);
    else if (form_.beta != 1) target *= form_.beta;
  } else {
    const void* start = form_.beta == 0 || has_bias_ ? nullptr : starts_apart_ ? c->data() : target.data();
    multiply(operand(x, x_, compute_), operand(y, y_, y_compute_), start, has_bias_ ? c->data() : nullptr, target, stream);
  }
  finish(target);
  if (is_apart) copy_into(out, target);
}

void Contraction::finish(const Array& target) const {
  if (form_.activation != Activation::kNone && !activates_) apply_elementwise(activation_row(), {target}, target);
}

void Contraction::multiply(const Array& x, const Array& y, const void* start, const void* bias, const Array& target, void* stream) const {
  const Scratch workspace(library_->backend(), prepared_->workspace_bytes());
  std::vector<std::int64_t> index(loops_.size(), 0);
  const auto at = [](const void* address, std::int64_t elements, DType dtype) -> void* {
    return address ? static_cast<std::byte*>(const_cast<void*>(address)) + elements * static_cast<std::int64_t>(itemsize(dtype)) : nullptr;
  };
  for (;;) {
    std::int64_t in_x = 0, in_y = 0, in_out = 0;
    for (std::size_t i = 0; i < loops_.size(); ++i) {
      in_x += index[i] * loops_[i].x;
      in_y += index[i] * loops_[i].y;
      in_out += index[i] * loops_[i].out;
    }
    prepared_->run({.a = at(x.data(), in_x, compute_), .b = at(y.data(), in_y, y_compute_), .start = at(start, in_out, target_), .bias = bias, .result = at(target.data(), in_out, target_)},
                   workspace.data(), stream);
    std::size_t axis = 0;
    while (axis < loops_.size() && ++index[axis] == loops_[axis].extent) index[axis++] = 0;
    if (axis == loops_.size()) return;
  }
}

Array contract(const std::string& name, const ContractionForm& form, const Array& x, const Array& y) {
  const Array out = Array::empty(contraction_shape(name, form, x.shape(), y.shape()), form.result, x.device());
  const Contraction contraction(x.device().backend(), form, x.dtype(), y.dtype(), {&x.shape(), &x.strides()}, {&y.shape(), &y.strides()}, out.shape());
  contraction.run(x, y, nullptr, out);
  return out;
}

}  // namespace damo
