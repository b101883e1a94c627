//: array int32 out[4]
//: launch hello<<<2, 2>>>(out)
//: check out
#include <cstdio>
__global__ void hello(int* out) {
  const int id = blockIdx.x * blockDim.x + threadIdx.x;
  if (id == 3) printf("thread %d of block %d says %s %5.2f %lld\n", threadIdx.x, blockIdx.x, "hello", 1.5f, 1ll << 40);
  out[id] = id * id;
}
