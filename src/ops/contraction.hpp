// Contraction: sums of products of two arrays over some of their axes, as matrix products on the arrays' device:
//
//   x: (batch..., rows..., summed...)    y: (batch..., summed..., columns...)    result: (batch..., rows..., columns...)
//
// Axes of a group that lie as one become one; a group that does not, or an order that the library has no use for, costs a copy of that
// operand. A batch axis of extent 1 stretches. Everything that dot, matmul, tensordot and einsum do comes down to this.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <damo/array.hpp>

#include "runtime/kernel/argument_block.hpp"
#include "runtime/library/matrix_library.hpp"

namespace damo {

struct ContractionForm {
  int batch = 0;   ///< axes in front, of both
  int summed = 0;  ///< the last axes of x, those behind the batch axes of y
  DType result = float32;
  bool tf32 = false;
  double alpha = 1, beta = 0;  ///< result = activation(alpha * contraction + beta * c); beta 0: there is no c
  Activation activation = Activation::kNone;
};

/// Extents may be kUnknown. Throws ShapeError, beginning with name, for extents that differ.
Shape contraction_shape(const std::string& name, const ContractionForm& form, const Shape& x, const Shape& y);

/// What follows from layouts. x and y have one dtype, or are 8-bit floats.
class Contraction {
 public:
  /// out: in C order; c, if there is one, broadcasts to its shape and has its dtype.
  Contraction(Backend& backend, const ContractionForm& form, DType x_dtype, DType y_dtype, ArrayLayout x, ArrayLayout y, const Shape& out, const ArrayLayout* c = nullptr);

  /// Code of Damo's own that the constructor would have compiled, as MatrixLibrary::code. Opens no library.
  static std::vector<CompileRequest> code(Backend& backend, const ContractionForm& form, DType x_dtype, DType y_dtype, ArrayLayout x, ArrayLayout y, const Shape& out, const ArrayLayout* c);

  /// Arrays of those layouts. c may be out itself.
  void run(const Array& x, const Array& y, const Array* c, const Array& out, void* stream = nullptr) const;
  /// What a run takes of the device's memory for itself: copies of operands, a result that is converted, the library's workspace. The library may choose a way later that needs less. Of
  /// 8-bit floats at addresses that the library does not take it is more.
  std::size_t workspace_bytes() const { return workspace_bytes_; }

 private:
  Contraction(std::shared_ptr<MatrixLibrary> library, const ContractionForm& form) : library_(std::move(library)), form_(form) {}

  /// One operand, as it is or as its packed copy.
  struct Side {
    bool is_packed = false;
    Shape shape;      // of what is packed
    Strides strides;  // in the operand
  };
  struct Loop {
    std::int64_t extent, x, y, out;
  };

  void plan(DType x_dtype, const ArrayLayout& x, const ArrayLayout& y, const Shape& out, const ArrayLayout* c);
  bool lay_out(DType x_dtype, const ArrayLayout& x, const ArrayLayout& y, const Shape& out, const ArrayLayout* c);
  bool is_aligned(const Array& x, const Array& y, const Array* c, const Array& out) const;
  void choose_dtypes(DType x_dtype);
  void plan_sides(const ArrayLayout& x, const ArrayLayout& y, const Shape& out);
  void plan_start(const ArrayLayout* c, const Shape& out);
  MatrixProduct wanted() const;
  void prepare();
  std::size_t need(DType x_dtype, const ArrayLayout& x, const ArrayLayout& y, const Shape& out) const;
  static ArrayLayout summed_layout(const ArrayLayout& array, int first, int count, Shape& shape, Strides& strides);
  void finish(const Array& target) const;
  static Array operand(const Array& array, const Side& side, DType dtype);
  void multiply(const Array& x, const Array& y, const void* start, const void* bias, const Array& target, void* stream) const;

  std::shared_ptr<MatrixLibrary> library_;
  ContractionForm form_;
  DType compute_, y_compute_;  // of the operands that the library gets
  DType target_;           // of the result that it gives
  bool converts_ = false;  // these are not the dtypes of x and y
  bool is_empty_ = false, is_inner_ = false;  // one element: a reduction
  Side x_, y_;
  MatrixProduct product_;
  std::vector<Loop> loops_;
  bool starts_apart_ = false;  // c has the result's layout: no copy of it is made
  bool has_bias_ = false, activates_ = false;  // in the library
  std::shared_ptr<PreparedProduct> prepared_;
  std::size_t workspace_bytes_ = 0;
  /// Of 8-bit floats that the library multiplies as they are: the same with operands that are converted, for addresses which it does not take.
  std::shared_ptr<const Contraction> converted_;
};

/// The whole, at once: a new array.
Array contract(const std::string& name, const ContractionForm& form, const Array& x, const Array& y);

}  // namespace damo
