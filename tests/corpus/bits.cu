//: array uint32 in[256] = integers(0, 4294967295)
//: array uint32 out[2560]
//: launch bit_tricks<<<2, 128>>>(in, out, 256)
//: check out
__global__ void bit_tricks(const unsigned* in, unsigned* out, int n) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x, x = in[i], y = in[(i + 1) % n];
  unsigned* o = out + i * 10;
  o[0] = __popc(x); o[1] = __clz(x); o[2] = __ffs(x); o[3] = __brev(x);
  o[4] = __byte_perm(x, y, 0x5140); o[5] = __funnelshift_l(x, y, i & 31); o[6] = __umulhi(x, y);
  o[7] = __popcll(((unsigned long long)x << 32) | y); o[8] = __usad(x, y, 5u); o[9] = __uhadd(x, y);
}
