// The built-in reductions as steps of a KernelSpec: one definition for graphs (reduce_op.hpp) and arrays (eager/reduce.cpp).
#pragma once
#include <cstdint>
#include <string>

#include <damo/dtype.hpp>
#include "runtime/kernel/spec.hpp"

namespace damo {

/// kCount: how many elements there are, whatever they are. kIndex reduces nothing: each element's place among those that the others would reduce together.
enum class ReductionKind : std::uint8_t { kSum, kProd, kMean, kMax, kMin, kArgmax, kArgmin, kAny, kAll, kCount, kIndex };

std::string name_of(ReductionKind reduction);
/// Of the result, from that of what is reduced.
DType result_of(ReductionKind reduction, DType x);
/// Whether of no elements there is no result.
bool chooses(ReductionKind reduction);

/// In which sums of a dtype are kept: float32 of 16 bits, 64 bits of integers.
DType sum_dtype(DType dtype);

/// Appends the steps that reduce the value of this number and dtype; gives the number of the result, of dtype `result`.
int append_reduction(KernelSpec& spec, ReductionKind reduction, int value, DType x, DType result);

}  // namespace damo
