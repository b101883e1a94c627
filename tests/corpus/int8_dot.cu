// Quantised rows: four products an instruction.
//: array int8 a[512] = integers(-128, 128)
//: array int8 w[4096] = integers(-128, 128)
//: array int32 out[8]
//: launch qmatvec<<<8, 32>>>(a, w, out, 512)
//: check out
__global__ void qmatvec(const int8_t* a, const int8_t* w, int* out, int n) {
  const int* a4 = reinterpret_cast<const int*>(a);
  const int* w4 = reinterpret_cast<const int*>(w + blockIdx.x * n);
  int sum = 0;
  for (int i = threadIdx.x; i < n / 4; i += 32) sum = __dp4a(a4[i], w4[i], sum);
  sum = __reduce_add_sync(0xffffffffu, sum);
  if (threadIdx.x == 0) out[blockIdx.x] = sum;
}
