// ReduceOptions, VarOptions, NormOptions, CumulativeOptions: what else reductions and scans that add or multiply may be told, of Variables and of Arrays alike.
//
//   sum(x, {}, {.dtype = float64})                          float32 elements, added in float64, a float64 result
//   mean(x, 1, {.keepdims = true, .acc_dtype = float64})    added in float64, the result in x's dtype
//   var(x, 0, {.ddof = 1, .acc_dtype = float64})            over n - 1 elements
//   norm(x, 1, {.ord = 1})                                  sum of absolute values
//   cumsum(x, 0, {.reverse = true, .acc_dtype = float64})   from the last element on, each sum rounded once
//
// Products of vectors and matrices take the result's dtype alone (ops/linalg.hpp), in which they are added up: cast(vdot(x, y, float64), float32).
#pragma once
#include <optional>

#include <damo/dtype.hpp>

namespace damo {

/// Of sum, prod, mean and logsumexp. Which dtypes they have on their way and at their end: elements are converted to the accumulator's dtype, its value to the
/// result's, in the same kernel. TypeError for an accumulator other than float32, float64, int64 or uint64, for one that does not hold the elements (float32 of float64
/// or of integers of 32 bits and more, an integer of floats or of what is a float anyway: all but sum and prod), and for a dtype that the accumulator does not
/// become: an integer of floats, bool.
struct ReduceOptions {
  bool keepdims = false;
  std::optional<DType> dtype = std::nullopt;      ///< of the result; else as without options
  /// In which elements are added or multiplied; else float32 at least, and float64 if elements or result are that, or elements are integers and the result
  /// is no integer; int64 or uint64 of integers, modulo 2^64.
  std::optional<DType> acc_dtype = std::nullopt;
};

/// Of var and stddev: the mean, the distances from it and their squares are formed in acc_dtype too. dtypes as those of a mean. The gradient of stddev where all
/// elements are equal, or there is one alone, is 0.
struct VarOptions {
  int ddof = 0;  ///< the sum of squares is divided by n - ddof
  bool keepdims = false;
  std::optional<DType> dtype = std::nullopt;
  std::optional<DType> acc_dtype = std::nullopt;
};

/// The p-norm over all named axes together, of x's dtype, of integers in float64: sum(|x|^ord)^(1/ord). So 2 over both axes of a matrix is its
/// Frobenius norm, and the norms of a matrix that columns and rows induce are max(norm(x, 0, {.ord = 1})) and max(norm(x, 1, {.ord = 1})). Infinity: the greatest
/// |x|, -infinity: the least, a ShapeError of no elements; 0: how many are not 0, without a gradient. The gradient where all elements are 0 is 0, and so is
/// that by an element that is 0, as abs's: the slope there has another sign on either side, of orders between 0 and 1 it is infinite.
struct NormOptions {
  double ord = 2;  ///< OptionError for NaN
  bool keepdims = false;
  std::optional<DType> dtype = std::nullopt;      ///< as of a mean
  std::optional<DType> acc_dtype = std::nullopt;  ///< in which powers are formed, and added up
};

/// Of cumsum, cumprod and logcumsumexp. dtypes as those of sum, prod and logsumexp.
struct CumulativeOptions {
  bool reverse = false;    ///< from the last element to the first
  bool exclusive = false;  ///< each element gets what stands before it, without its own
  std::optional<DType> dtype = std::nullopt;
  std::optional<DType> acc_dtype = std::nullopt;
};

}  // namespace damo
