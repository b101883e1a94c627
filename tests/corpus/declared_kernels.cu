// Kernels declared before they are defined, as headers do, also in extern "C" and in a namespace; braces that narrow;
// a virtual call; a barrier for the compiler only; functions that CUDA declares from a float given an int.
//: array int32 out[160]
//: array float32 x[32]
//: launch places<<<(2, 1), (8, 4)>>>(out)
//: launch later<<<1, 32>>>(out)
//: launch lab::inside<<<1, 32>>>(out, x)
//: launch shapes<<<1, 32>>>(out)
//: check out
//: check x within 1e-6
#include <cuda_fp16.h>
#include <cuda_bf16.h>
__global__ void places(int *out);
__device__ int twice(int v);
extern "C" {
__global__ void later(int *);
int helper(int v) { return v + 1; }
__global__ void later(int *out) { out[64 + threadIdx.x] = twice(helper(threadIdx.x)); }
}
namespace lab {
template <typename T> __global__ void unused(T *);
__global__ void inside(int *out, float *x);
}
__device__ int twice(int v) { return 2 * v; }
__global__ void places(int *out) {
  int2 at = {threadIdx.x + blockIdx.x * blockDim.x, threadIdx.y};
  const int size[2] = {gridDim.x * blockDim.x, blockDim.y};
  asm volatile("" ::: "memory");
  out[at.y * size[0] + at.x] = 100 * at.y + at.x;
}
__global__ void lab::inside(int *out, float *x) {
  const int t = threadIdx.x;
  int *own = (int *)malloc((t + 1) * sizeof(int));
  for (int i = 0; i <= t; ++i) own[i] = i;
  int sum = 0;
  for (int i = 0; i <= t; ++i) sum += own[i];
  free(own);
  out[96 + t] = sum;
  x[t] = __half2float(__float2half(t)) + __bfloat162float(__float2bfloat16(1)) + __half2float(__float2half(0.5));
}
struct Shape {
  __device__ virtual int area() const = 0;
};
struct Square : Shape {
  int side;
  __device__ Square(int side) : side(side) {}
  __device__ int area() const override { return side * side; }
};
struct Box : Shape {
  int a, b;
  __device__ Box(int a, int b) : a(a), b(b) {}
  __device__ int area() const override { return a * b; }
};
__global__ void shapes(int *out) {
  const int t = threadIdx.x;
  Square square(t);
  Box box(t, 3);
  const Shape *shape = t % 2 ? static_cast<const Shape *>(&square) : &box;
  out[128 + t] = shape->area();
}
