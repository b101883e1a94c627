//: array float64 b[32] = uniform(-1, 1)
//: array float64 x[32]
//: launch jacobi<<<1, 32>>>(b, x, 60)
//: check x within 1e-10
__global__ void jacobi(const double* b, double* x, int sweeps) {
  __shared__ double old[34];
  const int i = threadIdx.x;
  old[i + 1] = 0; if (i == 0) old[0] = old[33] = 0;
  __syncthreads();
  double mine = 0;
  for (int s = 0; s < sweeps; ++s) {
    mine = (b[i] + old[i] + old[i + 2]) * 0.25;
    __syncthreads();
    old[i + 1] = mine;
    __syncthreads();
  }
  x[i] = mine;
}
