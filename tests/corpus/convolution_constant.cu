// A row convolution: the filter in constant memory, the row with its halo in shared memory.
//: array float32 in[1024] = uniform(-1, 1)
//: array float32 out[1024]
//: launch convolve<<<8, 128>>>(in, out, 1024)
//: check out within 1e-5
#define MASK 5
__constant__ float M[MASK] = {0.1f, 0.2f, 0.4f, 0.2f, 0.1f};
__global__ void convolve(float *N, float *P, int Width) {
  int i = blockIdx.x*blockDim.x + threadIdx.x;
  __shared__ float N_ds[128 + MASK - 1];
  int n = MASK/2;
  int halo_index_left = (blockIdx.x - 1)*blockDim.x + threadIdx.x;
  if (threadIdx.x >= blockDim.x - n) {
    N_ds[threadIdx.x - (blockDim.x - n)] = (halo_index_left < 0) ? 0 : N[halo_index_left];
  }
  N_ds[n + threadIdx.x] = N[blockIdx.x*blockDim.x + threadIdx.x];
  int halo_index_right = (blockIdx.x + 1)*blockDim.x + threadIdx.x;
  if (threadIdx.x < n) {
    N_ds[n + blockDim.x + threadIdx.x] = (halo_index_right >= Width) ? 0 : N[halo_index_right];
  }
  __syncthreads();
  float Pvalue = 0;
  for (int j = 0; j < MASK; j++) Pvalue += N_ds[threadIdx.x + j]*M[j];
  P[i] = Pvalue;
}
