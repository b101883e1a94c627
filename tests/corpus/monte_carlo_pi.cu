// cuRAND's device interface: a sequence a thread. The count is compared with XORWOW's own words.
//: array uint64 hits[1]
//: array uint32 first[256]
//: launch monte_carlo<<<2, 128>>>(hits, first, 40, 1234ul)
//: check hits
//: check first
#include <curand_kernel.h>
__global__ void monte_carlo(unsigned long long* hits, unsigned* first, int samples, unsigned long long seed) {
  const int id = threadIdx.x + blockIdx.x * blockDim.x;
  curandState state;
  curand_init(seed, id, 0, &state);
  first[id] = curand(&state);
  unsigned long long inside = 0;
  for (int i = 0; i < samples; ++i) {
    float x = curand_uniform(&state), y = curand_uniform(&state);
    if (x * x + y * y <= 1.0f) ++inside;
  }
  atomicAdd(hits, inside);
}
