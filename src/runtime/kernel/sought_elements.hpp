// Sums of one element: the sum over a row of where(the element's number == a value of the row, x, 0), as cross entropy takes the logit of a label, is that element itself. Read where it lies and computed once it is no sum:
// threads give each other nothing for it, and no element of the row is compared for its sake.
//
// The form serves each such sum of which this is true:
//   - it adds floats, and elsewhere the text has a literal 0; casts may stand between. 0 + x is x, and 0 of -0, so the sum's bits are the element's and a zero: the form adds that
//   - the row's value is an integer that follows from no join, so that the element is asked for when the row begins
//   - no element is stored before the row's first joins. So all threads of a row have asked before one of them writes, and an output may have the input's memory
//   - the spec has other joins, for which its rows are gone through, none of them a prefix join; it has no turns and no code of a user's, of which nobody knows what it does for a place beyond the row
//
// A value that is no place of the row, as -1, gives 0 as the sum does, also of rows without elements. Infinities and NaN elsewhere in the row change neither.
// Which targets take it: Dialect::seeks_elements. See tests/runtime/kernel/sought_elements_test.cpp, tests/function/sought_elements_test.cpp; DAMO_DISABLE=seek_elements leaves it out.
#pragma once
#include <optional>

#include "runtime/kernel/spec.hpp"

namespace damo {

/// Nothing if the condition does not hold of any sum.
std::optional<KernelSpec> with_sought_elements(const KernelSpec& spec);

/// The value that a step compares with the element's number; -1 of all other steps.
int compared_with_place(const KernelSpec& spec, int value);

}  // namespace damo
