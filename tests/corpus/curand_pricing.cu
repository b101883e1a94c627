// Prices by simulation, a state a thread kept in memory between kernels: set up, paths in pairs, a block's sum by shuffles
// and one atomic. The reference is the formula; what remains is the error of chance.
//: array float32 states[24576]
//: array float64 total[2]
//: array float32 price[1]
//: array int32 counts[8]
//: launch setup<<<8, 256>>>(states, 1234ul)
//: launch simulate<<<8, 256>>>(states, total, 100.0f, 100.0f, 0.05f, 0.2f, 1.0f, 200)
//: launch dice<<<8, 256>>>(states, counts)
//: launch discount<<<1, 1>>>(total, price, 0.05f, 1.0f)
//: check price within 0.006
//: check counts within 0.1
#include <curand_kernel.h>
__global__ void setup(curandState *states, unsigned long long seed) {
  int id = threadIdx.x + blockIdx.x * blockDim.x;
  curand_init(seed, id, 0, &states[id]);
}
__inline__ __device__ double warpReduceSum(double val) {
  for (int offset = warpSize / 2; offset > 0; offset /= 2) val += __shfl_down_sync(0xFFFFFFFF, val, offset);
  return val;
}
__global__ void simulate(curandState *states, double *total, float S, float K, float r, float sigma, float T, int pairs) {
  int id = threadIdx.x + blockIdx.x * blockDim.x;
  curandState local = states[id];
  const float drift = (r - 0.5f * sigma * sigma) * T, vol = sigma * sqrtf(T);
  double sum = 0, count = 0;
  for (int i = 0; i < pairs; i++) {
    float2 z = curand_normal2(&local);
    sum += fmaxf(S * __expf(drift + vol * z.x) - K, 0.f) + fmaxf(S * __expf(drift + vol * z.y) - K, 0.f);
    sum += fmaxf(S * __expf(drift - vol * z.x) - K, 0.f) + fmaxf(S * __expf(drift - vol * z.y) - K, 0.f);
    count += 4;
  }
  states[id] = local;
  sum = warpReduceSum(sum);
  count = warpReduceSum(count);
  if ((threadIdx.x & (warpSize - 1)) == 0) { atomicAdd(total, sum); atomicAdd(total + 1, count); }
}
__global__ void dice(curandState *states, int *counts) {
  __shared__ int local[6];
  if (threadIdx.x < 6) local[threadIdx.x] = 0;
  __syncthreads();
  curandState *s = states + blockIdx.x * blockDim.x + threadIdx.x;
  for (int i = 0; i < 24; ++i) {
    int face = (int)ceilf(curand_uniform(s) * 6) - 1;
    atomicAdd(&local[face], 1);
  }
  __syncthreads();
  if (threadIdx.x < 6) atomicAdd(&counts[threadIdx.x], local[threadIdx.x]);
}
__global__ void discount(const double *total, float *price, float r, float T) { *price = expf(-r * T) * total[0] / total[1]; }
