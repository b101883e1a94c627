// r2 wide dense repeat dense dense
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
  const i64 begin = first * 16384, stop = last * 16384, end = stop < a.n ? stop : a.n;
  if (begin >= end) return;
  i64 rest = begin / a.extent[1], c = begin % a.extent[1];
  i64 c0 = rest % a.extent[0]; rest /= a.extent[0];
  for (i64 at = begin; at < end;) {
    const i64 left = end - at, run = a.extent[1] - c < left ? a.extent[1] - c : left;
    const float* __restrict r0 = a.p0 + (at);
    const float* __restrict r1 = a.p1 + (0 + c0 * a.s1[0]);
    const float x1 = float(r1[0]);
    float* __restrict r2 = a.p2 + (at);
    float* __restrict r3 = a.p3 + (at);
    i64 done = 0;
    if (a.fast & 2) for (; done + 64 <= run; done += 64) {
      alignas(64) float strip2[64];
      alignas(64) float strip3[64];
#pragma clang loop vectorize(assume_safety) interleave_count(2)
      for (i64 k = 0; k < 64; ++k) {
        float y2;
        float y3;
        body(float(r0[done + k]), x1, y2, y3);
        strip2[k] = y2;
        strip3[k] = y3;
      }
      stream_strip(r2 + done, strip2);
      stream_strip(r3 + done, strip3);
    }
#pragma clang loop vectorize(assume_safety) interleave_count(2)
    for (i64 k = done; k < run; ++k) {
      float y2;
      float y3;
      body(float(r0[k]), x1, y2, y3);
      r2[k] = y2;
      r3[k] = y3;
    }
    at += run;
    c = 0;
    ++c0;
  }
  if (a.fast & 2) stream_fence();
}
