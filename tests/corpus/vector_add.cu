// The first kernel of every tutorial.
//: array float32 a[1000] = uniform(-10, 10)
//: array float32 b[1000] = uniform(-10, 10)
//: array float32 c[1000]
//: launch vectorAdd<<<4, 256>>>(a, b, c, 1000)
//: check c within 1e-6
#include <stdio.h>
#include <cuda_runtime.h>

__global__ void vectorAdd(const float *A, const float *B, float *C, int numElements) {
    int i = blockDim.x * blockIdx.x + threadIdx.x;

    if (i < numElements) {
        C[i] = A[i] + B[i] + 0.0f;
    }
}
