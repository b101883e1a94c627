// Arithmetic on Arrays that overlap what it writes: as if the operands had been copied first.
#include <algorithm>
#include <random>
#include <set>

#include "check.hpp"
#include "graph_ops.hpp"
#include "print.hpp"
#include "reference.hpp"
#include "ops/rows.hpp"

namespace damo::testing {
namespace {

struct View {
  Shape shape;
  Strides strides;
  std::int64_t offset = 0;
};

std::vector<std::size_t> places_of(const View& view) {
  std::vector<std::size_t> places;
  for (std::int64_t i = 0, size = view.shape.size(); i < size; ++i) {
    std::int64_t rest = i, at = view.offset;
    for (int axis = view.shape.rank() - 1; axis >= 0; --axis) at += rest % view.shape[axis] * view.strides[axis], rest /= view.shape[axis];
    places.push_back(static_cast<std::size_t>(at));
  }
  return places;
}

class Case {
 public:
  explicit Case(std::uint64_t seed) : random_(seed * 0x9e3779b97f4a7c15u + 99) {
    do {
      const std::vector<const ElementwiseRow*> rows = elementwise_rows();
      row_ = rows[pick(rows.size())];
      dtype_ = kAllDTypes[pick(std::size(kAllDTypes))];
    } while (row_->condition_first || !takes(*row_, dtype_) || result_of(*row_, dtype_) != dtype_);
    const int rank = 1 + static_cast<int>(pick(3));
    for (int axis = 0; axis < rank; ++axis) shape_.push_back(1 + static_cast<std::int64_t>(pick(rank == 1 ? 200 : 12)));
    do out_ = draw_view(false);
    while (repeats(out_));
    for (int i = 0; i < arity(*row_); ++i) operands_.push_back(pick(3) == 0 ? out_ : draw_view(true));
    for (std::size_t i = 0; i < kBuffer; ++i) {
      values_.push_back(Scalar(static_cast<double>(pick(65)) / 8 - (is_signed(dtype_) ? 4 : 0)).cast(dtype_));
    }
  }

  std::string run(Device device) const {
    std::vector<std::byte> bytes(kBuffer * itemsize(dtype_));
    Tensor before{dtype_, {kBuffer}, {}};
    for (std::size_t i = 0; i < kBuffer; ++i) {
      values_[i].store(bytes.data() + i * itemsize(dtype_));
      before.elements.push_back({static_cast<Wide>(values_[i].as_double()), 0});
    }
    const Array buffer = Array::from_bytes(bytes.data(), kBuffer, dtype_, {kBuffer}, device);
    std::vector<Tensor> tensors;
    std::vector<Array> arrays;
    for (const View& view : operands_) {
      tensors.push_back({dtype_, view.shape, {}});
      for (std::size_t place : places_of(view)) tensors.back().elements.push_back(before.elements[place]);
      arrays.push_back(view_of(buffer, view));
    }
    const Tensor result = apply_row(*row_, tensors);
    Tensor after = before;
    const std::vector<std::size_t> places = places_of(out_);
    for (std::size_t i = 0; i < places.size(); ++i) after.elements[places[i]] = result.elements[i];
    const Array out = view_of(buffer, out_);
    if (arrays.size() == 1) apply_elementwise(*row_, {arrays[0]}, out);
    else if (arrays.size() == 2) apply_elementwise(*row_, {arrays[0], arrays[1]}, out);
    else apply_elementwise(*row_, {arrays[0], arrays[1], arrays[2]}, out);
    const std::string wrong = difference(buffer, after);
    return wrong.empty() ? "" : "in place, " + std::string(row_->name) + ": " + wrong;
  }

  std::string program(const std::string& device) const {
    std::string text = "#include <cstdio>\n#include <damo/damo.hpp>\nusing namespace damo;\n\nint main() {\n  const Device device(\"" + device + "\");\n  const Array buffer = " +
                       array_text(values_, dtype_) + ";\n";
    const auto view_text = [&](const View& view) {
      return "buffer.view(" + std::string(damo::name(dtype_)) + ", " + extents_text(view.shape) + ", " + extents_text(view.strides) + ", " + std::to_string(view.offset) + ")";
    };
    text += "  apply_elementwise(*find_elementwise(\"" + std::string(row_->name) + "\"), {";
    for (std::size_t i = 0; i < operands_.size(); ++i) text += (i > 0 ? ", " : "") + view_text(operands_[i]);
    return text + "},\n                    " + view_text(out_) + ");\n  for (double value : buffer.to_doubles()) std::printf(\"%.17g\\n\", value);\n}\n";
  }

 private:
  static constexpr std::int64_t kBuffer = 6000;
  std::size_t pick(std::size_t n) { return static_cast<std::size_t>(random_() % n); }
  static bool repeats(const View& view) {
    const std::vector<std::size_t> places = places_of(view);
    return std::set<std::size_t>(places.begin(), places.end()).size() < places.size();
  }
  Array view_of(const Array& buffer, const View& view) const { return buffer.view(dtype_, view.shape, view.strides, view.offset); }

  /// In the middle of the buffer; axes in any order and of any sign.
  View draw_view(bool may_repeat) {
    View view{shape_, Shape::filled(shape_.rank(), 1), 0};
    std::vector<int> order;
    for (int axis = 0; axis < shape_.rank(); ++axis) order.push_back(axis);
    if (pick(3) == 0) std::shuffle(order.begin(), order.end(), random_);
    std::int64_t step = 1 + static_cast<std::int64_t>(pick(4) == 0);
    for (std::size_t i = order.size(); i-- > 0;) {
      view.strides[order[i]] = pick(4) == 0 ? -step : step;
      if (may_repeat && pick(8) == 0) view.strides[order[i]] = 0;
      step *= shape_[order[i]];
    }
    view.offset = 3000;
    for (int axis = 0; axis < shape_.rank(); ++axis) view.offset -= view.strides[axis] * (shape_[axis] / 2);
    view.offset = std::clamp<std::int64_t>(view.offset + static_cast<std::int64_t>(pick(9)) - 4, 0, kBuffer - 1);
    std::int64_t lowest = view.offset, highest = view.offset;
    for (int axis = 0; axis < shape_.rank(); ++axis) (view.strides[axis] < 0 ? lowest : highest) += (shape_[axis] - 1) * view.strides[axis];
    if (lowest < 0) view.offset -= lowest;
    if (highest >= kBuffer) view.offset -= highest - kBuffer + 1;
    return view;
  }

  std::mt19937_64 random_;
  const ElementwiseRow* row_ = nullptr;
  DType dtype_ = float32;
  Shape shape_;
  View out_;
  std::vector<View> operands_;
  std::vector<Scalar> values_;
};

}  // namespace

std::string check_in_place(std::uint64_t seed, Device device, std::string* program) {
  const Case one(seed);
  if (program) *program = one.program(device.name());
  try {
    return one.run(device);
  } catch (const std::exception& error) {
    return std::string("in place, threw: ") + error.what();
  }
}

}  // namespace damo::testing
