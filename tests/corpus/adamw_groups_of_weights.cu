// Weights of one type, a copy of them in another, rounded by chance: templates choose; lerp by two fused operations.
//: array bfloat16 p[1000] = uniform(-1, 1)
//: array float32 master[1000] = uniform(-1, 1)
//: array float32 g[1000] = uniform(-1, 1)
//: array float32 m[1000]
//: array float32 v[1000]
//: launch update<__nv_bfloat16, float><<<(4, 1), 256>>>(p, master, g, m, v, 1000ul, 0.001f, 0.9f, 0.95f, 0.1f, 0.05f, 1e-8f, 0.1f, 7u)
//: check master within 1e-6
//: check p within 1e-2
//: check m within 1e-6
//: check v within 1e-6
#include <cuda_bf16.h>
__device__ constexpr unsigned noise(unsigned x, unsigned seed) {
  constexpr unsigned k1 = 0xd2a80a3fu, k2 = 0xa884f197u;
  unsigned bits = x * k1;
  bits += seed;
  bits ^= bits >> 9;
  bits += k2;
  return bits ^ (bits >> 11);
}
__device__ __forceinline__ void round_by_chance(float x, __nv_bfloat16 *out, unsigned seed) {
  const unsigned threshold = noise(threadIdx.x + blockIdx.x * blockDim.x, seed) & 0xffffu, bits = __float_as_uint(x);
  *out = __float2bfloat16_rn(__uint_as_float((bits & 0xffffu) > threshold ? (bits | 0xffffu) : (bits & ~0xffffu)));
}
__device__ __forceinline__ void round_by_chance(float x, float *out, unsigned) { *out = x; }
__device__ float lerp(float start, float end, float weight) { return fma(weight, end, fma(-weight, start, start)); }
template <typename P, typename G>
__global__ void update(P *params, float *master, G *grads, float *m, float *v, size_t n, float rate, float beta1, float beta2, float correction1,
                       float correction2, float eps, float decay, unsigned seed) {
  const size_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float g = (float)grads[i];
  const float mi = lerp(g, m[i], beta1), vi = lerp(g * g, v[i], beta2);
  m[i] = mi;
  v[i] = vi;
  const float old = master != NULL ? master[i] : (float)params[i];
  const float now = old - rate * (mi / correction1 / (sqrtf(vi / correction2) + eps) + decay * old);
  round_by_chance(now, &params[i], seed);
  if (master != NULL) master[i] = now;
}
