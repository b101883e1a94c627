// One stable pass over a digit of four bits: counts by ballot, places by prefix sums.
//: array uint32 keys[256] = integers(0, 65536)
//: array uint32 out[256]
//: launch radix_pass<<<1, 256>>>(keys, out, 0)
//: launch radix_pass<<<1, 256>>>(out, keys, 4)
//: launch radix_pass<<<1, 256>>>(keys, out, 8)
//: launch radix_pass<<<1, 256>>>(out, keys, 12)
//: check keys
constexpr unsigned kDigits = 16, kWarps = 8;
__global__ void radix_pass(const uint32_t* __restrict__ in, uint32_t* __restrict__ out, int shift) {
  __shared__ unsigned counts[kDigits][kWarps];
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const uint32_t key = in[threadIdx.x];
  const unsigned digit = (key >> shift) & (kDigits - 1);
  unsigned rank = 0;
  for (unsigned d = 0; d < kDigits; ++d) {
    const unsigned ballot = __ballot_sync(0xFFFFFFFF, d == digit);
    if (d == digit) rank = __popc(ballot & ((1u << lane) - 1));
    if (lane == 0) counts[d][warp] = __popc(ballot);
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    unsigned sum = 0;
    for (unsigned d = 0; d < kDigits; ++d)
      for (unsigned w = 0; w < kWarps; ++w) { unsigned c = counts[d][w]; counts[d][w] = sum; sum += c; }
  }
  __syncthreads();
  out[counts[digit][warp] + rank] = key;
}
