// What isclose of Variables (ops/math.hpp) and of Arrays (array_math.hpp) is: one row of x, y, rtol and atol.
#pragma once
#include <damo/elementwise.hpp>

namespace damo {

const ElementwiseRow& close_row(bool equal_nan);
/// Throws OptionError for a tolerance that is negative or NaN.
void check_tolerances(double rtol, double atol);

}  // namespace damo
