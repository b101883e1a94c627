// One dynamic allocation carved into arrays of three types.
//: array float32 x[128] = uniform(-1, 1)
//: array float64 out[128]
//: launch carve<<<1, 128, 2304>>>(x, out, 128)
//: check out within 1e-6
__global__ void carve(const float* x, double* out, int n) {
  extern __shared__ double pool[];
  double* doubles = pool;
  float* floats = (float*)&doubles[n];
  int* order = (int*)&floats[n];
  unsigned char* flags = (unsigned char*)&order[n];
  const int t = threadIdx.x;
  floats[t] = x[t]; doubles[t] = 2.0 * x[t]; order[t] = n - 1 - t; flags[t] = x[t] > 0;
  __syncthreads();
  const int o = order[t];
  out[t] = flags[o] ? doubles[o] + floats[t] : (double)floats[o];
}
