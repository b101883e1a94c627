// The scalar functions of generated kernels and of CUDA C on the CPU: everything C's math.h has that an op row
// calls, under C's names, in namespace damo, overloaded for float and double. float16 and bfloat16 are computed
// in float by the caller. Includes nothing but its own parts; calls the C library for fmod(double), tgamma, lgamma.
#pragma once
#include "math_double.h"
#include "math_double_power.h"
#include "math_double_trig.h"
#include "math_float.h"
#include "math_float_trig.h"
#include "math_float_wide.h"
#include "math_rounding.h"
#include "math_special.h"
