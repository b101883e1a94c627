//: array float32 x[5000] = uniform(-1, 1)
//: array float32 y[5000] = uniform(-1, 1)
//: launch saxpy<<<7, 96>>>(5000, 2.5f, x, y)
//: check y within 1e-6
extern "C" __global__ void saxpy(int n, float a, float* __restrict__ x, float* __restrict__ y)
{
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x)
    y[i] = a * x[i] + y[i];
}
