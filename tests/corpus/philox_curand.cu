// cuRAND's Philox, four numbers a call; normal numbers from the same state.
//: array uint32 words[256]
//: array float32 normals[64]
//: launch generate<<<1, 64>>>(words, normals, 99ul)
//: check words
//: check normals within 1e-4
#include <curand_kernel.h>
__global__ void generate(unsigned* words, float* normals, unsigned long long seed) {
  curandStatePhilox4_32_10_t s;
  curand_init(seed, threadIdx.x, 0ULL, &s);
  uint4 w = curand4(&s);
  reinterpret_cast<uint4*>(words)[threadIdx.x] = w;
  normals[threadIdx.x] = curand_normal(&s);
}
