// All pairs in one block: a barrier a step.
//: array int32 d[256] = integers(1, 100)
//: launch floyd<<<1, (16, 16)>>>(d)
//: check d
__global__ void floyd(int* d) {
  const int n = blockDim.x, i = threadIdx.y, j = threadIdx.x;
  if (i == j) d[i * n + j] = 0;
  __syncthreads();
  for (int k = 0; k < n; ++k) {
    const int through = d[i * n + k] + d[k * n + j];
    __syncthreads();
    if (through < d[i * n + j]) d[i * n + j] = through;
    __syncthreads();
  }
}
