//: array int32 keys[1024] = integers(-100000, 100000)
//: launch bitonic<<<1, 512>>>(keys)
//: check keys
extern "C" __global__ void bitonic(int* keys) {
  __shared__ int s[1024];
  for (int i = threadIdx.x; i < 1024; i += blockDim.x) s[i] = keys[i];
  for (int size = 2; size <= 1024; size <<= 1) {
    for (int stride = size / 2; stride > 0; stride >>= 1) {
      __syncthreads();
      const int pos = 2 * threadIdx.x - (threadIdx.x & (stride - 1));
      const bool up = (pos & size) == 0;
      const int a = s[pos], b = s[pos + stride];
      if ((a > b) == up) { s[pos] = b; s[pos + stride] = a; }
    }
  }
  __syncthreads();
  for (int i = threadIdx.x; i < 1024; i += blockDim.x) keys[i] = s[i];
}
