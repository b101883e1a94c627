// r2 wide tile0 dense transposed dense dense
using namespace damo;
#define DAMO_FUNCTION static inline __attribute__((always_inline))
struct Arguments {
  const float* p0;
  const float* p1;
  float* p2;
  float* p3;
  i64 n;
  i64 extent[2];
  i64 s1[2];
  u32 fast;
};
DAMO_FUNCTION float f0_mul(float x0, float x1) {
  typedef float T;
  return convert<float>(x0 * x1);
}
DAMO_FUNCTION float f1_add(float x0, float x1) {
  typedef float T;
  return convert<float>(x0 + x1);
}
DAMO_FUNCTION float f2_tanh(float x0) {
  typedef float T;
  return convert<float>(tanh(x0));
}
DAMO_FUNCTION float f3_sub(float x0, float x1) {
  typedef float T;
  return convert<float>(x0 - x1);
}
DAMO_FUNCTION void body(float v0, float v1, float& y0, float& y1) {
  const float v3 = f0_mul(v0, 1.5f);
  const float v4 = f1_add(v3, v1);
  const float v5 = f2_tanh(v4);
  const float v6 = f0_mul(v5, v0);
  const float v7 = f3_sub(v0, v1);
  y0 = float(v6);
  y1 = float(v7);
}
extern "C" void damo_mul_add_tanh_mul_sub(void* const* arguments, const LaunchFrame*, i64 first, i64 last) {
  const Arguments& a = *static_cast<const Arguments*>(arguments[0]);
  const i64 inner = a.extent[1], other = a.extent[0];
  const i64 inner_tiles = (inner + 63) / 64, other_tiles = (other + 63) / 64;
  alignas(64) float tile1[64 * 64];
  for (i64 block = first; block < last; ++block) {
    i64 rest = block;
    const i64 t0 = rest % other_tiles * 64; rest /= other_tiles;
    const i64 j0 = rest % inner_tiles * 64; rest /= inner_tiles;
    const i64 c0 = t0;
    const i64 columns = inner - j0 < 64 ? inner - j0 : 64, rows = other - t0 < 64 ? other - t0 : 64;
    turn_tile(tile1, a.p1 + j0 * a.s1[1] + c0 * a.s1[0], a.s1[1], rows, columns);
    for (i64 t = 0; t < rows; ++t) {
      const float* __restrict r0 = a.p0 + j0 * 1 + c0 * 1 * a.extent[1] + t * 1 * a.extent[1];
      const float* __restrict r1 = tile1 + t * 64;
      float* __restrict r2 = a.p2 + j0 * 1 + c0 * 1 * a.extent[1] + t * 1 * a.extent[1];
      float* __restrict r3 = a.p3 + j0 * 1 + c0 * 1 * a.extent[1] + t * 1 * a.extent[1];
      i64 done = 0;
      if (a.fast & 2) for (; done + 64 <= columns; done += 64) {
        alignas(64) float strip2[64];
        alignas(64) float strip3[64];
#pragma clang loop vectorize(assume_safety) interleave_count(2)
        for (i64 k = 0; k < 64; ++k) {
          float y2;
          float y3;
          body(float(r0[done + k]), float(r1[done + k]), y2, y3);
          strip2[k] = y2;
          strip3[k] = y3;
        }
        stream_strip(r2 + done, strip2);
        stream_strip(r3 + done, strip3);
      }
#pragma clang loop vectorize(assume_safety) interleave_count(2)
      for (i64 k = done; k < columns; ++k) {
        float y2;
        float y3;
        body(float(r0[k]), float(r1[k]), y2, y3);
        r2[k] = y2;
        r3[k] = y3;
      }
    }
  }
  if (a.fast & 2) stream_fence();
}
