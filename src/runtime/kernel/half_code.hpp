// Shorter functions where a result has 16 bits. Of a step that is computed in float32 and gives float16 or bfloat16, exp, sigmoid, softplus, log, log1p, erf and erfc are the functions of that name in to_half, which each back
// end's math header has: right to 2^-16 of the result, where bfloat16 resolves 2^-8 and float16 2^-11. A GPU's exponential takes 3 instructions then in place of 8.
//
// Only where the step's code is a product, of which the function is one factor: what it errs by is the same part of a product. Of a sum it might be all that is left, as in exp(x0) - T(1). A factor's
// arguments are left as they are, for the same reason. What other steps make of the value may err by what a value of 16 bits may.
#pragma once
#include <string>

#include "runtime/kernel/spec.hpp"

namespace damo {

/// The step's code with its functions in to_half, where that may be; else its code.
std::string half_code(const Step& step);

}  // namespace damo
