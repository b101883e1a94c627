// Radix sort within a block: one bit a pass, places from ballots and a scan of the warps' counts.
//: array uint32 keys[1024] = integers(0, 65536)
//: launch sort_block<16><<<4, 256>>>(keys)
//: check keys
template <int Bits>
__global__ void sort_block(unsigned *keys) {
  __shared__ unsigned cells[256];
  __shared__ int zeros[8], total;
  const int t = threadIdx.x, lane = t & 31, warp = t >> 5;
  unsigned key = keys[blockIdx.x * blockDim.x + t];
#pragma unroll 1
  for (int bit = 0; bit < Bits; ++bit) {
    const bool is_zero = !(key >> bit & 1u);
    const unsigned ballot = __ballot_sync(0xffffffffu, is_zero);
    const int below = __popc(ballot & ((1u << lane) - 1u));
    if (lane == 0) zeros[warp] = __popc(ballot);
    __syncthreads();
    if (t == 0) {
      int sum = 0;
      for (int w = 0; w < 8; ++w) { const int count = zeros[w]; zeros[w] = sum; sum += count; }
      total = sum;
    }
    __syncthreads();
    const int zeros_before = zeros[warp] + below;
    cells[is_zero ? zeros_before : total + t - zeros_before] = key;
    __syncthreads();
    key = cells[t];
  }
  keys[blockIdx.x * blockDim.x + t] = key;
}
