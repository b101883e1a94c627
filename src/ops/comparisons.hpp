// Comparisons of a uint64 with a signed integer. They promote to float64, as their sum does, and float64 has no 2^53 +
// 1; so they are computed in integers, as in NumPy 2. Every other pair of dtypes is compared in the dtype to which it
// promotes, which holds both. See tests/function/comparisons_test.cpp.
#pragma once
#include <span>
#include <string>

#include <damo/elementwise.hpp>

namespace damo {

/// Whether it is one of the built-in lt, le, gt, ge, eq, neq.
bool is_comparison(const ElementwiseRow& row);

/// Whether inputs of these dtypes are compared in integers though they promote to float64.
bool compares_unlike_signs(const ElementwiseRow& row, std::span<const DType> inputs);

/// The code of such a comparison, of an int64 and a uint64, which is T: of x0 and x1, or of x1 and x0 unless
/// signed_first. A negative number is less than every uint64; any other is one.
std::string code_of_unlike_signs(const ElementwiseRow& row, bool signed_first);

}  // namespace damo
