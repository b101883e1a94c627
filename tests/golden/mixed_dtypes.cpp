// r1 wide dense dense dense dense dense
using namespace damo;
#define DAMO_FUNCTION static inline __attribute__((always_inline))
struct Arguments {
  const bool* p0;
  const half* p1;
  const i8* p2;
  float* p3;
  half* p4;
  i64 n;
  u32 fast;
};
DAMO_FUNCTION float f0_cast(i8 x0) {
  typedef i8 T;
  return convert<float>(x0);
}
DAMO_FUNCTION float f1_where(bool x0, float x1, float x2) {
  typedef float T;
  return convert<float>(x0 ? x1 : x2);
}
DAMO_FUNCTION float f2_cast(float x0) {
  typedef float T;
  return convert<float>(x0);
}
DAMO_FUNCTION void body(bool v0, float v1, i8 v2, float& y0, half& y1) {
  const float v3 = f0_cast(v2);
  const float v4 = f1_where(v0, v1, v3);
  const float v5 = f2_cast(v4);
  y0 = float(v4);
  y1 = half(v5);
}
extern "C" void damo_cast_where_cast(void* const* arguments, const LaunchFrame*, i64 first, i64 last) {
  const Arguments& a = *static_cast<const Arguments*>(arguments[0]);
  const i64 begin = first * 16384, stop = last * 16384, end = stop < a.n ? stop : a.n;
  const bool* __restrict r0 = a.p0 + begin;
  const half* __restrict r1 = a.p1 + begin;
  const i8* __restrict r2 = a.p2 + begin;
  float* __restrict r3 = a.p3 + begin;
  half* __restrict r4 = a.p4 + begin;
  i64 done = 0;
  if (a.fast & 2) for (; done + 64 <= end - begin; done += 64) {
    alignas(64) float strip3[64];
    alignas(64) half strip4[64];
#pragma clang loop vectorize(assume_safety) interleave_count(2)
    for (i64 k = 0; k < 64; ++k) {
      float y3;
      half y4;
      body(bool(r0[done + k]), float(r1[done + k]), i8(r2[done + k]), y3, y4);
      strip3[k] = y3;
      strip4[k] = y4;
    }
    stream_strip(r3 + done, strip3);
    stream_strip(r4 + done, strip4);
  }
#pragma clang loop vectorize(assume_safety) interleave_count(2)
  for (i64 k = done; k < end - begin; ++k) {
    float y3;
    half y4;
    body(bool(r0[k]), float(r1[k]), i8(r2[k]), y3, y4);
    r3[k] = y3;
    r4[k] = y4;
  }
  if (a.fast & 2) stream_fence();
}
