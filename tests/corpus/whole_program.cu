// A file as it is built by nvcc: its host code is passed over.
//: array float32 a[1000] = uniform(-1, 1)
//: array float32 b[1000] = uniform(-1, 1)
//: array float32 c[1000]
//: launch add<<<4, 256>>>(a, b, c, 1000)
//: launch scale_all<float><<<4, 256>>>(c, 2.0f, 1000)
//: check c within 1e-6
#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>
#include <iostream>
#include <vector>

#define CHECK(call)                                                         \
  do {                                                                      \
    const cudaError_t status = (call);                                      \
    if (status != cudaSuccess) {                                            \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(status)); \
      exit(EXIT_FAILURE);                                                   \
    }                                                                       \
  } while (0)

__device__ __forceinline__ float sum_of(float x, float y) { return x + y; }

__global__ void add(const float *a, const float *b, float *c, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = sum_of(a[i], b[i]);
}

template <typename T>
__global__ void scale_all(T *x, T factor, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] *= factor;
}
template __global__ void scale_all<float>(float *, float, int);

struct Timer {
  cudaEvent_t start, stop;
  Timer() { cudaEventCreate(&start); cudaEventCreate(&stop); }
};

static void fill(std::vector<float> &x) {
  for (auto &v : x) v = rand() / (float)RAND_MAX;
}

void launch_add(const float *a, const float *b, float *c, int n, cudaStream_t stream) {
  add<<<(n + 255) / 256, 256, 0, stream>>>(a, b, c, n);
  CHECK(cudaGetLastError());
}

int main(int argc, char **argv) {
  std::vector<float> a(1000), b(1000), c(1000);
  fill(a);
  fill(b);
  float *da, *db, *dc;
  CHECK(cudaMalloc((void **)&da, 4000));
  CHECK(cudaMalloc((void **)&db, 4000));
  CHECK(cudaMalloc((void **)&dc, 4000));
  CHECK(cudaMemcpy(da, a.data(), 4000, cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(db, b.data(), 4000, cudaMemcpyHostToDevice));
  launch_add(da, db, dc, 1000, 0);
  scale_all<<<4, 256>>>(dc, 2.0f, 1000);
  CHECK(cudaMemcpy(c.data(), dc, 4000, cudaMemcpyDeviceToHost));
  std::cout << c[0] << std::endl;
  return 0;
}
