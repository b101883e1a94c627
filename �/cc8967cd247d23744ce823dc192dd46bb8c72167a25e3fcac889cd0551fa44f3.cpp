// kernel damo_tanh_add
using namespace damo;
#define DAMO_FUNCTION static inline __attribute__((always_inline))
struct alignas(8) Numbers {
  float n0;
};
struct Arguments {
  const float* p0;
  float* p1;
  Numbers numbers;
  i64 n;
  u32 fast;
};
DAMO_FUNCTION float f0_tanh(float x0) {
  typedef float T;
  return convert<float>(tanh(x0));
}
DAMO_FUNCTION float f1_add(float x0, float x1) {
  typedef float T;
  return convert<float>(x0 + x1);
}
DAMO_FUNCTION void body(const Numbers& numbers, float v0, float& y0) {
  const float v2 = f0_tanh(v0);
  const float v3 = f1_add(v2, numbers.n0);
  y0 = float(v3);
}
extern "C" void damo_tanh_add(void* const* arguments, const LaunchFrame*, i64 first, i64 last) {
  const Arguments& a = *static_cast<const Arguments*>(arguments[0]);
  const Numbers numbers = a.numbers;
  const i64 begin = first * 16384, stop = last * 16384, end = stop < a.n ? stop : a.n;
  const float* __restrict r0 = a.p0 + begin;
  float* __restrict r1 = a.p1 + begin;
  i64 done = 0;
  if (a.fast & 2) for (; done + 64 <= end - begin; done += 64) {
    alignas(64) float strip1[64];
#pragma clang loop vectorize(assume_safety) interleave_count(2)
    for (i64 k = 0; k < 64; ++k) {
      float y1;
      body(numbers, float(r0[done + k]), y1);
      strip1[k] = y1;
    }
    stream_strip(r1 + done, strip1);
  }
#pragma clang loop vectorize(assume_safety) interleave_count(2)
  for (i64 k = done; k < end - begin; ++k) {
    float y1;
    body(numbers, float(r0[k]), y1);
    r1[k] = y1;
  }
  if (a.fast & 2) stream_fence();
}
