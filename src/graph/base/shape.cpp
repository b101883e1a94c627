#include <damo/shape.hpp>

#include <algorithm>
#include <limits>

#include <damo/error.hpp>

namespace damo {

Shape::Shape(std::initializer_list<std::int64_t> extents) : Shape(std::span(extents.begin(), extents.size())) {}

Shape::Shape(std::span<const std::int64_t> extents) {
  for (std::int64_t extent : extents) push_back(extent);
}

Shape Shape::filled(int rank, std::int64_t extent) {
  Shape shape;
  for (int i = 0; i < rank; ++i) shape.push_back(extent);
  return shape;
}

void Shape::push_back(std::int64_t extent) { insert(rank_, extent); }

void Shape::insert(int axis, std::int64_t extent) {
  if (rank_ == kMaxRank) throw ShapeError("an array has at most " + std::to_string(kMaxRank) + " axes", "reshape or flatten puts some of them together");
  std::copy_backward(begin() + axis, end(), end() + 1);
  extents_[static_cast<std::size_t>(axis)] = extent;
  ++rank_;
}

void Shape::erase(int axis) {
  std::copy(begin() + axis + 1, end(), begin() + axis);
  --rank_;
}

std::int64_t Shape::size() const {
  std::int64_t product = 1;
  bool too_large = false;
  for (std::int64_t extent : *this) {
    if (extent == 0) return 0;
    too_large |= __builtin_mul_overflow(product, extent, &product);
  }
  if (too_large) throw ShapeError("shape " + to_string(*this) + " has more than 2^63 elements", "give lesser extents");
  return product;
}

bool Shape::is_known() const {
  return std::all_of(begin(), end(), [](std::int64_t extent) { return extent != kUnknown; });
}

std::string to_string(const Shape& shape) {
  std::string text = "(";
  for (int i = 0; i < shape.rank(); ++i) {
    if (i > 0) text += ", ";
    text += shape[i] == kUnknown ? "?" : std::to_string(shape[i]);
  }
  return text + (shape.rank() == 1 ? ",)" : ")");
}

Strides contiguous_strides(const Shape& shape) {
  Strides strides = shape;
  std::uint64_t step = 1;  // of no elements, whose extents may have any product, it may wrap
  for (int i = shape.rank() - 1; i >= 0; --i) {
    strides[i] = static_cast<std::int64_t>(step);
    step *= static_cast<std::uint64_t>(std::max<std::int64_t>(shape[i], 1));
  }
  return strides;
}

bool is_contiguous(const Shape& shape, const Strides& strides) {
  std::int64_t step = 1;
  bool contiguous = true;
  for (int i = shape.rank() - 1; i >= 0; --i) {
    if (shape[i] == 0) return true;
    contiguous &= shape[i] == 1 || strides[i] == step;
    step *= shape[i];
  }
  return contiguous;
}

namespace {

std::string cannot_broadcast(std::span<const Shape> shapes, int from_end, std::int64_t a, std::int64_t b) {
  std::string text = "cannot broadcast ";
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    if (i > 0) text += i + 1 == shapes.size() ? " with " : ", ";
    text += to_string(shapes[i]);
  }
  const std::string axis = from_end == 1 ? "last axis" : "axis " + std::to_string(-from_end);
  return text + ": " + axis + " " + std::to_string(a) + " against " + std::to_string(b);
}

}  // namespace

Shape broadcast_shapes(std::span<const Shape> shapes) {
  int rank = 0;
  for (const Shape& shape : shapes) rank = std::max(rank, shape.rank());
  Shape result = Shape::filled(rank, 1);
  for (const Shape& shape : shapes) {
    for (int from_end = 1; from_end <= shape.rank(); ++from_end) {
      const std::int64_t extent = shape[-from_end];
      std::int64_t& common = result[-from_end];
      if (extent == common || extent == 1) continue;
      if (common == 1) common = extent;
      else if (common == kUnknown) common = extent;
      else if (extent != kUnknown) throw ShapeError(cannot_broadcast(shapes, from_end, common, extent), "reshape or transpose one of them");
    }
  }
  return result;
}

Shape broadcast_values(std::span<const Shape> dims, std::span<const Shape> shapes) {
  int rank = 0;
  for (const Shape& shape : shapes) rank = std::max(rank, shape.rank());
  Shape result = Shape::filled(rank, 1);
  std::array<bool, kMaxRank> is_set{};  // by axis from the end: some value has it and does not stretch
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    for (int from_end = 1; from_end <= shapes[i].rank(); ++from_end) {
      if (dims[i][-from_end] == 1) continue;
      const std::int64_t extent = shapes[i][-from_end];
      std::int64_t& common = result[-from_end];
      bool& known = is_set[static_cast<std::size_t>(from_end - 1)];
      if (!known || common == kUnknown) {
        common = extent;
        known = true;
      } else if (extent != kUnknown && extent != common) {
        const bool is_one = extent == 1 || common == 1;
        throw ShapeError(cannot_broadcast(shapes, from_end, common, extent),
                         is_one ? "an axis stretches where its extent is known to be 1 when the graph is built: declare it, input({float32, {1, kUnknown}}), or "
                                  "leave the axis out and use expand_dims"
                                : "reshape or transpose one of them");
      }
    }
  }
  return result;
}

int normalize_axis(std::string_view function, int axis, int rank, std::string_view owner) {
  const std::string user(function), of(owner);
  if (rank == 0) throw ShapeError(user + ": " + of + " has no axis, and so no axis " + std::to_string(axis), "give it one: expand_dims(x, 0)");
  if (axis < -rank || axis >= rank) {
    throw ShapeError(user + ": axis " + std::to_string(axis) + " does not exist: " + of + " has " + std::to_string(rank) + (rank == 1 ? " axis" : " axes"),
                     "give an axis from " + std::to_string(-rank) + " to " + std::to_string(rank - 1));
  }
  return axis < 0 ? axis + rank : axis;
}

}  // namespace damo
