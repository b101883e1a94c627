// Philox 4x32 with seven rounds, written out.
//: array uint32 out[400]
//: launch philox<<<1, 100>>>(out, 7u, 9u)
//: check out
__device__ uint4 round_once(uint4 c, uint2 k) {
  uint2 a = make_uint2(__umulhi(0xD2511F53, c.x), 0xD2511F53 * c.x);
  uint2 b = make_uint2(__umulhi(0xCD9E8D57, c.z), 0xCD9E8D57 * c.z);
  return make_uint4(b.x ^ c.y ^ k.x, b.y, a.x ^ c.w ^ k.y, a.y);
}
__global__ void philox(uint4* out, unsigned k0, unsigned k1) {
  uint4 c = make_uint4(threadIdx.x, 0u, 0u, 0u);
  uint2 k = {k0, k1};
  #pragma unroll
  for (int r = 0; r < 7; ++r) { c = round_once(c, k); k.x += 0x9E3779B9; k.y += 0xBB67AE85; }
  out[threadIdx.x] = c;
}
