// What CUDA C's directed roundings call on the CPU (prelude/cuda_rounding.h): the operation in the host's rounding mode,
// about 30 ns each. operation: 0 + 1 - 2 * 3 / 4 square root 5 fused a * b + c. rounding: 0 towards zero, 1 up, 2 down.
#pragma once

namespace damo::cpu_backend {

float rounded_float(int operation, int rounding, float a, float b, float c);
double rounded_double(int operation, int rounding, double a, double b, double c);
float double_to_float(int rounding, double x);
float signed_to_float(int rounding, long long x);
float unsigned_to_float(int rounding, unsigned long long x);
double signed_to_double(int rounding, long long x);
double unsigned_to_double(int rounding, unsigned long long x);

}  // namespace damo::cpu_backend
