// ReduceOptions, NormOptions: what else sum, prod, mean and norm may be told, of Variables and of Arrays alike.
//
//   sum(x, {}, {.dtype = float64})                          float32 elements, added in float64, a float64 result
//   mean(x, 1, {.keepdims = true, .acc_dtype = float64})    added in float64, the result in x's dtype
//   norm(x, 1, {.ord = 1})                                  sum of absolute values
#pragma once
#include <optional>

#include <damo/dtype.hpp>

namespace damo {

/// Which dtypes a sum, a product or a mean has on its way and at its end. Elements are converted to the accumulator's dtype, its value to the result's.
/// TypeError for an accumulator other than float32, float64, int64 or uint64, for an integer one of floats or of a mean, and for a dtype that the
/// accumulator does not become: an integer of floats or of a mean, bool.
struct ReduceOptions {
  bool keepdims = false;
  std::optional<DType> dtype = std::nullopt;      ///< of the result; else as without options
  /// In which elements are added or multiplied; else float32 at least, and float64 if elements or result are that, or elements are integers and the result
  /// is no integer; int64 or uint64 of integers, modulo 2^64.
  std::optional<DType> acc_dtype = std::nullopt;
};

/// The p-norm over all named axes together, of x's dtype, of integers in float64: sum(|x|^ord)^(1/ord). So 2 over both axes of a matrix is its
/// Frobenius norm, and the norms of a matrix that columns and rows induce are max(norm(x, 0, {.ord = 1})) and max(norm(x, 1, {.ord = 1})). Infinity: the greatest
/// |x|, -infinity: the least, a ShapeError of no elements; 0: how many are not 0, without a gradient. The gradient where all elements are 0 is 0.
struct NormOptions {
  double ord = 2;  ///< OptionError for NaN
  bool keepdims = false;
};

}  // namespace damo
