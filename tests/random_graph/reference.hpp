// What a random graph should give: long double, or exact integers, and for each element a bound of the error that any
// legal order of rounding may cause. What the bound leaves open (a comparison of nearly equal values, an overflow of a
// 16-bit float that a fused kernel does not have) is unknown, and everything that follows from it.
//
// A row's bound is its own (ElementwiseRow::ulp) plus how far its value changes over the box of its operands' errors,
// taken at the corners; where a row may do anything between the corners, a large change is unknown. float16 and bfloat16
// add half a unit in the last place at every step, although a fused kernel keeps float32 between steps.
#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "graph_spec.hpp"
#include "support/row_reference.hpp"

namespace damo::testing {

struct Element {
  Wide value = 0, error = 0;  ///< infinite error: unknown
};

struct Tensor {
  DType dtype = float32;
  Shape shape;
  std::vector<Element> elements;  ///< C order
};

/// Every value of the graph in one call.
std::vector<Tensor> reference_of(const GraphSpec& graph, std::size_t call);

/// x's elements in another order or number: from(place in the result) is the place in x.
using Coordinates = std::vector<std::int64_t>;
Tensor gathered(const Tensor& x, const Shape& shape, const std::function<Coordinates(const Coordinates&)>& from);
/// dimshuffle.
Tensor shuffled(const Tensor& x, const std::vector<int>& pattern);
/// The sum of products over x's last axis and y's last but one.
Tensor dot_of(const Tensor& x, const Tensor& y, DType result);
/// How many elements an element of the axis is long.
inline std::int64_t inner_size(const Shape& shape, int axis) {
  std::int64_t size = 1;
  for (int i = axis + 1; i < shape.rank(); ++i) size *= shape[i];
  return size;
}

/// One row on tensors that broadcast.
/// What the operands are promoted to: floating rows of integers take the first floating dtype that holds each operand, as NumPy does.
DType common_dtype(const ElementwiseRow& row, const std::vector<DType>& operands);
Tensor apply_row(const ElementwiseRow& row, const std::vector<Tensor>& operands);
inline Tensor apply_row(std::string_view name, const std::vector<Tensor>& operands) { return apply_row(*find_elementwise(name), operands); }
/// Of rank 0 and x's dtype.
inline Tensor number_like(const Tensor& x, double value) { return {x.dtype, {}, {{static_cast<Wide>(value), 0}}}; }
/// One reduction (sum, max, ...) along axes.
/// Each element is what reduces those of its line up to it, from either end.
Tensor scan_tensor(const std::string& name, const Tensor& x, int axis, bool reverse, bool exclusive, DType result);
Tensor reduce_tensor(const std::string& name, const Tensor& x, const std::vector<int>& axes, bool keep, DType result);
Tensor cast_tensor(const Tensor& x, DType dtype);
/// Finite and small floats: what tamed() of family_parts.hpp gives.
Tensor tamed_tensor(const Tensor& x);
std::vector<int> all_axes(const Tensor& x);

/// Of a row's elements, kept in a dtype: integers modulo its range.
Element sum_of(const std::vector<Element>& row, DType kept, bool mean);
Element greatest_of(const std::vector<Element>& row);
Element product_of(const Element& x, const Element& y, DType kept);

/// What is wrong with the array; empty if nothing is.
std::string difference(const Array& array, const Tensor& expected);
/// Elements that the reference knows.
std::size_t known(const Tensor& tensor);

}  // namespace damo::testing
