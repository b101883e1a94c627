// Products of vectors, matrices and tensors in a graph. Those of Arrays (array_linalg.hpp) have the same names and meaning; this
// page is the manual of both.
//
//   Variable h = relu(dot(x, w) + b);                              // a dense layer
//   Variable scores = matmul(q, transpose(k)) * 0.125;             // batches broadcast
//   Variable z = einsum("bik,bkj,j->bi", {x, y, v});
//
// Operands are promoted as elsewhere (docs/promotion.md) and may lie in memory in any way. Transposed ones, and axes that step as
// one, are read where they lie; what no library takes (gaps, negative or zero strides inside a matrix) is copied first. Results
// are in C order. Sums over no elements are 0. float16 and bfloat16 are added up in float32; integers modulo the range of the
// result's dtype. dtype: of the result, where sums want more than the operands' dtype holds: int32 of int8 operands, float32
// of bfloat16 ones; TypeError for one that holds less. No bools. float8_e4m3 and float8_e5m2, also one beside the other, are added up in float32 (tensor cores keep some 14 bits), which is
// the result's dtype too unless dtype asks for bfloat16, float16 or float64; a scale stands behind the product: dot(x, w) * 0.01f.
//
// On a GPU cuBLASLt multiplies, on the CPU the system's BLAS (DAMO_BLAS_PATH, docs/user_guide.md), opened at the first product;
// integers, and products where there is no library, are kernels of Damo's own. float32 is multiplied as float32;
// Options::tf32 allows tensor cores that round to 10 bits. function() makes one call of `alpha * dot(x, y) + beta * c`, and takes a bias
// and an activation behind it into the product where the library has them (pass fuse_products). All have gradients, which read
// the same operands as views. ShapeError where extents do not fit, when the graph is built if they are known, else at the call.
// See tests/linalg/linalg_test.cpp and examples/.
#pragma once
#include <initializer_list>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include <damo/variable.hpp>

namespace damo {

/// NumPy's dot: the sum over the last axis of x and the last but one of y (its only one, if y is a vector):
/// (a..., k), (b..., k, n) -> (a..., b..., n). With a number: mul. Reads both, writes the result.
Variable dot(const Operand& x, const Operand& y, std::optional<DType> dtype = {});
/// Matrices in the last two axes, the axes before broadcast: (b..., m, k), (b..., k, n) -> (b..., m, n). A vector is a row on
/// the left and a column on the right, and that axis goes from the result. ShapeError for a number.
Variable matmul(const Operand& x, const Operand& y, std::optional<DType> dtype = {});
/// The sum over the last axes of x and the first of y, so many of them; 0: all products.
Variable tensordot(const Operand& x, const Operand& y, int axes = 2, std::optional<DType> dtype = {});
/// Over pairs of axes, in order: x's, then y's. The result has the other axes of x, then of y. ShapeError for an axis that is missing or named twice.
Variable tensordot(const Operand& x, const Operand& y, std::vector<int> x_axes, std::vector<int> y_axes, std::optional<DType> dtype = {});
/// x[i] y[j] of two vectors.
Variable outer(const Operand& x, const Operand& y, std::optional<DType> dtype = {});
/// The sum of x * y over all elements of two operands of one shape: rank 0.
Variable vdot(const Operand& x, const Operand& y, std::optional<DType> dtype = {});

/// Sums of products, with a letter an axis: "ij,jk->ik". Without "->" the result has the letters that stand once, in the alphabet's
/// order. A letter that is repeated in one term means that operand's diagonal; one that the result lacks is summed over; "..."
/// stands for axes without names, which broadcast. Operands are multiplied two at a time, the pair first that costs least.
/// GraphError for a text that means nothing, ShapeError for extents that differ.
Variable einsum(std::string_view text, std::initializer_list<Operand> operands, std::optional<DType> dtype = {});
/// Of as many operands as the program counted.
Variable einsum(std::string_view text, std::span<const Variable> operands, std::optional<DType> dtype = {}, SourceLine where = {__builtin_FILE(), __builtin_LINE()});

}  // namespace damo
