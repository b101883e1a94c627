//: array int32 ok[64]
//: launch timed<<<1, 64>>>(ok)
//: check ok
#include <assert.h>
__global__ void timed(int* ok) {
  clock_t begin = clock();
  long long b64 = clock64();
  float x = threadIdx.x;
  for (int i = 0; i < 10; ++i) x = x * 0.5f + 1.0f;
  assert(x > 0.0f);
  assert(threadIdx.x < blockDim.x && "index within the block");
  ok[threadIdx.x] = clock() >= begin && clock64() >= b64;
}
