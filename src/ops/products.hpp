// What dot, matmul, tensordot, outer and einsum are made of, for a World of values: Variables of a graph (linalg.cpp) and Arrays
// (eager/linalg.cpp). A World has
//
//   Value                                  dims(v), dtype_of(v), describe(v): of one
//   view(v, pattern)                       dimshuffle: axes in another order, kNewAxis for a new one of extent 1
//   diagonal(v, a, b)                      axes a < b become one, in a's place
//   cast(v, dtype)  multiply(v, w)  sum(v, axes)           of one dtype; the axes go
//   contract(name, form, v, w)             see contraction.hpp
//   adds_up(v, w)                          whether sum(v * w) is as good as a contraction that leaves no axes but batches
//   tf32()                                 whether it is allowed
//   line                                   of the user, may be empty
#pragma once
#include <algorithm>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <damo/error.hpp>
#include <damo/ops/shape.hpp>

#include "graph/base/counted.hpp"
#include "ops/contraction.hpp"

namespace damo {

template <class World>
class Products {
 public:
  using Value = typename World::Value;

  /// name: of the function, for errors. dtype: that the caller asked for.
  Products(World world, std::string name, std::optional<DType> dtype) : world_(std::move(world)), name_(std::move(name)), asked_(dtype) {}

  Value dot(Value x, Value y) {
    operands_ = {x, y};
    if (rank(x) == 0 || rank(y) == 0) return product_of_elements(x, y);
    const int back = std::max(rank(y) - 2, 0);
    std::vector<int> turned = {back};
    for (int i = 0; i < rank(y); ++i) {
      if (i != back) turned.push_back(i);
    }
    return contracted(x, view(y, turned), 0, 1);
  }

  Value matmul(Value x, Value y) {
    operands_ = {x, y};
    for (const Value& v : operands_) {
      if (rank(v) == 0) refuse<ShapeError>("an operand has no axes", "use mul for a product with a number");
    }
    // A matrix or vector on the right is the same for all batches: those of x are rows.
    if (rank(y) <= 2) return contracted(x, y, 0, 1);
    const int x_matrix = std::min(rank(x), 2), batch = std::max(rank(x), rank(y)) - 2;
    const auto aligned = [&](const Value& v, int matrix) {
      std::vector<int> pattern(static_cast<std::size_t>(batch - (rank(v) - matrix)), kNewAxis);
      for (int i = 0; i < rank(v); ++i) pattern.push_back(i);
      return view(v, pattern);
    };
    return contracted(aligned(x, x_matrix), aligned(y, 2), batch, 1);
  }

  Value tensordot(Value x, Value y, std::vector<int> x_axes, std::vector<int> y_axes) {
    operands_ = {x, y};
    if (x_axes.size() != y_axes.size()) {
      refuse<ShapeError>(counted_axes(x_axes.size()) + " of the first for " + std::to_string(y_axes.size()) + " of the second", "name as many of each");
    }
    const std::vector<int> x_free = others(x, x_axes, "first"), y_free = others(y, y_axes, "second");
    return contracted(view(x, joined(x_free, x_axes)), view(y, joined(y_axes, y_free)), 0, static_cast<int>(x_axes.size()));
  }
  Value tensordot(Value x, Value y, int axes) {
    operands_ = {x, y};
    if (axes < 0 || axes > std::min(rank(x), rank(y))) {
      refuse<ShapeError>(counted_axes(axes) + " to sum over: the operands have " + std::to_string(rank(x)) + " and " + std::to_string(rank(y)),
                         "give a number from 0 to the lesser of the two");
    }
    std::vector<int> last(static_cast<std::size_t>(axes)), first(static_cast<std::size_t>(axes));
    std::iota(last.begin(), last.end(), rank(x) - axes);
    std::iota(first.begin(), first.end(), 0);
    return tensordot(x, y, last, first);
  }

  Value outer(Value x, Value y) {
    operands_ = {x, y};
    if (rank(x) != 1 || rank(y) != 1) refuse<ShapeError>("takes two vectors", "tensordot(x, y, 0) takes any rank");
    return contracted(x, y, 0, 0);
  }

  Value vdot(Value x, Value y) {
    operands_ = {x, y};
    if (rank(x) != rank(y)) refuse<ShapeError>(to_string(world_.dims(x)) + " and " + to_string(world_.dims(y)) + " do not fit", "reshape one of them");
    return contracted(x, y, 0, rank(x));
  }

  /// Products over axes that have their places: see Contraction. Fewer than a matrix product needs are elementwise work and sums.
  Value contracted(Value x, Value y, int batch, int summed) {
    const DType common = prepare(x, y);
    const int rows = rank(x) - batch - summed, columns = rank(y) - batch - summed;
    const ContractionForm form{.batch = batch, .summed = summed, .result = common == wanted_ || native(common, wanted_) ? wanted_ : common, .tf32 = world_.tf32()};
    checked_shape(form, x, y);
    if (summed == 0) {
      const auto spread = [&](const Value& v, int before, int own, int after) {
        std::vector<int> pattern;
        for (int i = 0; i < batch; ++i) pattern.push_back(i);
        pattern.insert(pattern.end(), static_cast<std::size_t>(before), kNewAxis);
        for (int i = 0; i < own; ++i) pattern.push_back(batch + i);
        pattern.insert(pattern.end(), static_cast<std::size_t>(after), kNewAxis);
        return view(v, pattern);
      };
      return world_.multiply(world_.cast(spread(x, 0, rows, columns), wanted_), world_.cast(spread(y, rows, columns, 0), wanted_));
    }
    if (rows == 0 && columns == 0 && world_.adds_up(x, y)) return inner_of(x, y, batch);
    return world_.cast(world_.contract(name_, form, x, y), wanted_);
  }

  template <class E>
  [[noreturn]] void refuse(const std::string& what, const std::string& remedy) const {
    refuse<E>(ErrorParts{name_ + ": " + what, {}, {}, remedy});
  }
  template <class E>
  [[noreturn]] void refuse(ErrorParts parts) const {
    for (const Value& v : operands_) parts.operands.push_back(world_.describe(v));
    if (world_.line) parts.where = name_ + " built at " + to_string(world_.line);
    throw E(std::move(parts));
  }

  /// The dtype of the result, once the operands' are known.
  DType wanted() const { return wanted_; }
  World& world() { return world_; }
  std::vector<Value>& operands() { return operands_; }
  int rank(const Value& v) const { return world_.dims(v).rank(); }
  Value view(const Value& v, const std::vector<int>& pattern) {
    std::vector<int> same(pattern.size());
    std::iota(same.begin(), same.end(), 0);
    return pattern == same && rank(v) == static_cast<int>(pattern.size()) ? v : world_.view(v, pattern);
  }

  /// The dtype that operands of these are converted to, or one of 8 bits where they stay as they are; wanted() is known then. TypeError for bool, and for 8-bit floats
  /// beside others.
  DType common_of(std::span<const DType> operands) {
    if (std::any_of(operands.begin(), operands.end(), is_float8)) return common_of_float8(operands);
    std::vector<Promotable> promotables;
    for (const DType dtype : operands) promotables.push_back({dtype});
    return common_of(result_type(promotables));
  }

 private:
  DType common_of_float8(std::span<const DType> operands) {
    for (const DType dtype : operands) {
      if (!is_float8(dtype)) refuse<TypeError>("multiplies 8-bit floats with each other alone, not with " + std::string(damo::name(dtype)), "cast it to float8_e4m3, or the other to " + std::string(damo::name(is_floating(dtype) ? dtype : float32)));
    }
    wanted_ = asked_.value_or(float32);
    if (!is_floating(wanted_) || is_float8(wanted_)) {
      refuse<TypeError>("a result of 8-bit floats is float32, bfloat16, float16 or float64, not " + std::string(damo::name(wanted_)), "leave the dtype out, and cast the result");
    }
    return wanted_ == float64 ? float64 : operands[0];
  }

  /// The dtype that operands of this one are promoted to, and the one that was asked for. TypeError for bool.
  DType common_of(DType promoted) {
    if (promoted == bool_) refuse<TypeError>("takes numbers, not bool", "cast one to int32 to count, or float32");
    wanted_ = asked_.value_or(promoted);
    if (promote(promoted, wanted_) != wanted_) {
      refuse<TypeError>("a result of " + std::string(damo::name(promoted)) + " does not fit into " + std::string(damo::name(wanted_)), "leave the dtype out, and cast the result");
    }
    return native(promoted, wanted_) ? promoted : wanted_;
  }

  /// Whether products of one dtype are added up, and given, in the other.
  static bool native(DType operands, DType result) {
    if (is_float8(operands)) return is_half(result) || result == float32;
    return operands == result || (is_half(operands) && result == float32) || (is_integer(operands) && is_integer(result));
  }

  DType prepare(Value& x, Value& y) {
    const DType both[] = {world_.dtype_of(x), world_.dtype_of(y)};
    const DType common = common_of(both);
    if (is_float8(common)) return common;
    x = world_.cast(x, common);
    y = world_.cast(y, common);
    return common;
  }

  void checked_shape(const ContractionForm& form, const Value& x, const Value& y) const {
    try {
      contraction_shape(name_, form, world_.dims(x), world_.dims(y));
    } catch (const ShapeError& error) {
      ErrorParts parts = error.parts();
      for (const Value& v : operands_) parts.operands.push_back(world_.describe(v));
      if (world_.line) parts.where = name_ + " built at " + to_string(world_.line);
      throw ShapeError(std::move(parts));
    }
  }

  Value product_of_elements(Value x, Value y) {
    prepare(x, y);
    return world_.multiply(world_.cast(x, wanted_), world_.cast(y, wanted_));
  }

  /// Sums over the axes behind the batches, in the dtype that sums have.
  Value inner_of(const Value& x, const Value& y, int batch) {
    const DType wide = is_half(wanted_) ? float32 : wanted_;
    std::uint32_t axes = 0;
    for (int i = batch; i < rank(x); ++i) axes |= 1u << i;
    return world_.cast(world_.sum(world_.multiply(world_.cast(x, wide), world_.cast(y, wide)), axes), wanted_);
  }

  std::vector<int> others(const Value& v, std::vector<int>& axes, const char* which) {
    std::vector<bool> taken(static_cast<std::size_t>(rank(v)), false);
    for (int& axis : axes) {
      const int given = axis;
      try {
        axis = normalize_axis(name_, axis, rank(v), "the " + std::string(which));
      } catch (const ShapeError& error) {
        refuse<ShapeError>(error.parts());
      }
      if (taken[static_cast<std::size_t>(axis)]) refuse<ShapeError>("axis " + std::to_string(given) + " of the " + which + " is named twice", "name each axis once");
      taken[static_cast<std::size_t>(axis)] = true;
    }
    std::vector<int> rest;
    for (int i = 0; i < rank(v); ++i) {
      if (!taken[static_cast<std::size_t>(i)]) rest.push_back(i);
    }
    return rest;
  }
  static std::vector<int> joined(std::vector<int> a, const std::vector<int>& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
  }

  World world_;
  std::string name_;
  std::optional<DType> asked_;
  DType wanted_ = float32;
  std::vector<Value> operands_;
};

}  // namespace damo
