//: array uint32 a[128] = integers(0, 4294967295)
//: array uint32 b[128] = integers(0, 4294967295)
//: array uint32 out[1024]
//: launch video<<<1, 128>>>(a, b, out)
//: check out
__global__ void video(const unsigned* a, const unsigned* b, unsigned* out) {
  const int i = threadIdx.x;
  unsigned* o = out + 8 * i;
  o[0] = __vadd4(a[i], b[i]);
  o[1] = __vabsdiffu4(a[i], b[i]);
  o[2] = __vmaxu2(a[i], b[i]);
  o[3] = __dp4a(a[i], b[i], 1000u);
  o[4] = __vcmpgtu4(a[i], b[i]);
  bool high, low;
  o[5] = __viaddmax_s16x2_relu(a[i], b[i], 0x00ff8000u);
  o[6] = __vimin3_u16x2(a[i], b[i], 0x7fff7fffu);
  o[7] = __vibmax_s16x2(a[i], b[i], &high, &low) ^ (high ? 1u : 0u) ^ (low ? 2u : 0u);
}
