// CUDA sources of math_sweep_test.cpp: they stand on the prelude of generated kernels.
#pragma once

namespace damo::cuda_backend {

// One thread takes every 2^20th pattern. worst keeps the largest error, in 2^-16 ulp, above the pattern that has it.
inline constexpr const char* kSweepKernels = R"cuda(
__device__ double ulps(float got, double want) {
  if (want != want) return got != got ? 0.0 : 1e6;
  if (got != got) return 2e6;
  const double size = fabs(want);
  if (isinf(got)) return size >= 3.4028235677973366e38 && (got > 0) == (want > 0) ? 0.0 : 3e6;
  if (isinf(want)) return 4e6;
  if (want == 0.0 && got == 0.0f) return signbit(want) == signbit(got) ? 0.0 : 5e6;
  int e;
  frexp(size, &e);
  e = size == 0.0 ? -126 : e - 1;
  e = e < -126 ? -126 : (e > 127 ? 127 : e);
  return fabs(double(got) - want) * ldexp(1.0, 23 - e);
}
__device__ double sigmoid_of(double x) { return x < 0 ? exp(x) / (1 + exp(x)) : 1 / (1 + exp(-x)); }
__device__ double softplus_of(double x) { return x > 0 ? x + log1p(exp(-x)) : log1p(exp(x)); }

#define SWEEP(name, mine, truth)                                                          \
  extern "C" __global__ void sweep_##name(unsigned long long* worst) {                    \
    const unsigned start = blockIdx.x * blockDim.x + threadIdx.x;                         \
    unsigned long long most = 0;                                                          \
    for (unsigned k = 0; k < 4096; ++k) {                                                 \
      const unsigned pattern = start + (k << 20);                                         \
      const float x = __uint_as_float(pattern);                                           \
      const double u = ulps(mine(x), truth(double(x)));                                   \
      const unsigned long long here = ((unsigned long long)(fmin(u, 60000.0) * 65536.0) << 32) | pattern; \
      most = here > most ? here : most;                                                   \
    }                                                                                     \
    atomicMax(worst, most);                                                               \
  }
SWEEP(cuda_tanh, ::tanh, ::tanh)
SWEEP(cuda_exp, ::exp, ::exp)
SWEEP(tanh, damo::tanh, ::tanh)
SWEEP(exp, damo::exp, ::exp)
SWEEP(sigmoid, damo::sigmoid, sigmoid_of)
SWEEP(softplus, damo::softplus, softplus_of)
SWEEP(exp_to_half, damo::to_half::exp, ::exp)
SWEEP(sigmoid_to_half, damo::to_half::sigmoid, sigmoid_of)
SWEEP(softplus_to_half, damo::to_half::softplus, softplus_of)
SWEEP(erf, damo::erf, ::erf)
SWEEP(log_to_half, damo::to_half::log, ::log)
SWEEP(log1p_to_half, damo::to_half::log1p, ::log1p)
SWEEP(erf_to_half, damo::to_half::erf, ::erf)
SWEEP(erfc_to_half, damo::to_half::erfc, ::erfc)

// The two approximations everything rests on: relative error in 2^-24, over the arguments that tanh gives them.
extern "C" __global__ void sweep_units(unsigned long long* worst) {
  const unsigned start = blockIdx.x * blockDim.x + threadIdx.x;
  for (unsigned k = 0; k < 64; ++k) {
    const float t = __uint_as_float(0x3f800000u + start + (k << 20));  // from 1 up
    if (t > 64.0f) break;
    const double e = exp2(double(t)), r = 1.0 / double(t);
    atomicMax(worst, (unsigned long long)(fabs(damo::math::fast_exp2(t) / e - 1.0) * 16777216.0 * 65536.0));
    atomicMax(worst + 1, (unsigned long long)(fabs(damo::math::fast_reciprocal(t) / r - 1.0) * 16777216.0 * 65536.0));
  }
}

#define CHAIN(name, space)                                                                                    \
  extern "C" __global__ void chain_##name(const float4* x, const float4* y, float4* out) {                    \
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;                                                 \
    float4 a = x[i], b = y[i];                                                                                \
    float* z = &a.x;                                                                                          \
    float* w = &b.x;                                                                                          \
    _Pragma("unroll") for (int j = 0; j < 4; ++j) {                                                           \
      _Pragma("unroll") for (int k = 0; k < 20; ++k)                                                          \
          z[j] = k % 2 ? space exp(-z[j] * z[j]) + space tanh(w[j] * (0.1f * k)) : z[j] * w[j] + 0.01f * k;   \
    }                                                                                                         \
    out[i] = a;                                                                                               \
  }
CHAIN(cuda, ::)
CHAIN(damo, damo::)
)cuda";

}  // namespace damo::cuda_backend
