//: array float32 a[200] = uniform(1, 2)
//: array float32 b[200] = uniform(1, 2)
//: array int32 ok[200]
//: launch rounding<<<1, 200>>>(a, b, ok)
//: check ok
__global__ void rounding(const float* a, const float* b, int* ok) {
  const int i = threadIdx.x;
  const double exact = (double)a[i] * b[i];
  const float down = __fmul_rd(a[i], b[i]), up = __fmul_ru(a[i], b[i]), zero = __fmul_rz(a[i], b[i]), near = __fmul_rn(a[i], b[i]);
  int good = down <= exact && up >= exact && zero == down && (near == down || near == up);
  good &= __float2int_rz(-2.7f) == -2 && __float2int_rn(2.5f) == 2 && __float2int_ru(2.1f) == 3 && __float2int_rd(-2.1f) == -3;
  good &= (int)3e9f == 2147483647 && (unsigned)-5.0f == 0u && __double2hiint(1.0) == 0x3ff00000;
  ok[i] = good;
}
