// 64-bit products by their high halves.
//: array uint64 base[256] = integers(2, 1000000000)
//: array uint64 out[256]
//: launch power_mod<<<2, 128>>>(base, out, 1000000007ul, 65537u)
//: check out
__device__ unsigned long long mulmod(unsigned long long a, unsigned long long b, unsigned long long m) {
  unsigned long long hi = __umul64hi(a, b), lo = a * b;
  return hi ? 0 : lo % m;
}
__global__ void power_mod(const unsigned long long* base, unsigned long long* out, unsigned long long m, unsigned e) {
  const int i = threadIdx.x + blockDim.x * blockIdx.x;
  unsigned long long b = base[i] % m, r = 1;
  for (; e; e >>= 1, b = mulmod(b, b, m)) if (e & 1u) r = mulmod(r, b, m);
  out[i] = r;
}
