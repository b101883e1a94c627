// The built-in reductions and scans as steps of a KernelSpec: one definition for graphs (reduce_op.hpp) and arrays (eager/reduce.cpp).
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <damo/axes.hpp>
#include <damo/dtype.hpp>
#include <damo/shape.hpp>
#include <damo/reduce_options.hpp>
#include "runtime/kernel/spec.hpp"

namespace damo {

/// kCount: how many elements there are, whatever they are.
enum class ReductionKind : std::uint8_t { kSum, kProd, kMean, kMax, kMin, kArgmax, kArgmin, kAny, kAll, kCount };

std::string name_of(ReductionKind reduction);
/// Of the result, from that of what is reduced.
DType result_of(ReductionKind reduction, DType x);
/// Whether of no elements there is no result.
bool chooses(ReductionKind reduction);
/// Throws ShapeError, in that name, where of no elements of shape `from` one is to be chosen for each of `to`; of unknown extents as far as one can tell.
void require_choice(const std::string& name, ReductionKind reduction, const Shape& from, const Shape& to);
/// Throws ShapeError, in that name, unless each of the axes, bit a for axis a, is one of x's.
void require_reduced_axes(const std::string& name, std::uint32_t axes, int rank);

/// What is left of a shape. Bit a of axes: axis a is gone, or with keepdims has extent 1.
inline Shape reduced_shape(const Shape& shape, std::uint32_t axes, bool keepdims) {
  Shape left;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (!(axes >> axis & 1u))
      left.push_back(shape[axis]);
    else if (keepdims)
      left.push_back(1);
  }
  return left;
}

/// In which sums of a dtype are kept: float32 of 16 bits, 64 bits of integers.
DType sum_dtype(DType dtype);

/// What options ask of what is called `name` and has the dtypes of a sum, a product or a mean: of x's dtype. Throws TypeError, in that name.
struct ReducedDTypes {
  DType accumulator, result;
};
ReducedDTypes dtypes_of(const std::string& name, ReductionKind like, DType x, const ReduceOptions& options);
template <class WithDTypes>
ReducedDTypes dtypes_of(const std::string& name, ReductionKind like, DType x, const WithDTypes& options) {
  return dtypes_of(name, like, x, ReduceOptions{.dtype = options.dtype, .acc_dtype = options.acc_dtype});
}
/// Throws OptionError for NaN.
void check_order(double ord);

/// Appends the steps that reduce the value of this number and dtype; gives the number of the result, of dtype `result`. accumulator: of a sum, a product or
/// a mean; else its own.
int append_reduction(KernelSpec& spec, ReductionKind reduction, int value, DType x, DType result, std::optional<DType> accumulator = {});

/// Appends a step that gives each element its place among those that are reduced together; gives its number.
int append_place(KernelSpec& spec);

/// The built-in prefix joins. kArgmax: the first place of the greatest of all up to an element; kRecurrence: m and c of each element give
/// y = m y + c, where an m of 0 ends what came before, whatever it was.
enum class ScanKind : std::uint8_t { kSum, kProd, kMax, kMin, kArgmax, kArgmin, kLogSumExp, kRecurrence };

std::string name_of(ScanKind scan);
/// Throws TypeError for a dtype that it does not take.
DType result_of(ScanKind scan, DType x);
/// As those of reductions; throws TypeError for a dtype that it does not take too.
ReducedDTypes dtypes_of(ScanKind scan, DType x, const CumulativeOptions& options);
/// As append_reduction; accumulator: of what adds or multiplies.
int append_scan(KernelSpec& spec, ScanKind scan, std::vector<int> values, DType x, DType result, ScanOptions options, std::optional<DType> accumulator = {});

}  // namespace damo
