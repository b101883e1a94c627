#include "runtime/cuda/reducing_text.hpp"

namespace damo {

const char* const kCudaRows = R"(template <int N, class T> DAMO_FUNCTION Vec<T, N> load_again(const T* p) { return *reinterpret_cast<const Vec<T, N>*>(p); }
template <class A> DAMO_FUNCTION A exchanged(const A& value, int mask) {
  u32 words[(sizeof(A) + 3) / 4] = {};
  memcpy(words, &value, sizeof(A));
#pragma unroll
  for (int i = 0; i < int((sizeof(A) + 3) / 4); ++i) words[i] = __shfl_xor_sync(0xffffffffu, words[i], mask);
  A other;
  memcpy(&other, words, sizeof(A));
  return other;
}
template <class A> DAMO_FUNCTION A of_lane(const A& value, int lane) {
  u32 words[(sizeof(A) + 3) / 4] = {};
  memcpy(words, &value, sizeof(A));
#pragma unroll
  for (int i = 0; i < int((sizeof(A) + 3) / 4); ++i) words[i] = __shfl_sync(0xffffffffu, words[i], lane);
  A other;
  memcpy(&other, words, sizeof(A));
  return other;
}
)";

const char* const kCudaCluster = R"(DAMO_FUNCTION void arrive() { asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory"); }
DAMO_FUNCTION void leave() { asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory"); }
template <class A> union Words { u32 words[(sizeof(A) + 3) / 4]; u64 align; };
template <class A> DAMO_FUNCTION void give(Words<A>& to, const A& value, u32 block) {
  u32 place, words[(sizeof(A) + 3) / 4] = {};
  memcpy(words, &value, sizeof(A));
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(place) : "r"(u32(__cvta_generic_to_shared(&to))), "r"(block));
#pragma unroll
  for (int i = 0; i < int((sizeof(A) + 3) / 4); ++i) asm volatile("st.shared::cluster.u32 [%0], %1;" :: "r"(place + 4 * i), "r"(words[i]) : "memory");
}
template <class A> DAMO_FUNCTION A taken(const Words<A>& from) {
  A value;
  memcpy(&value, from.words, sizeof(A));
  return value;
}
)";

// The reciprocal is rounded once; two corrections of the quotient by its exact remainder then give the quotient that is nearest
// (Markstein 1990). A divisor without a reciprocal is scaled, with x; where the remainder is no number, or the quotient 0, there
// is nothing to correct.
const char* const kCudaDivide = R"(struct Divisor { float value, reciprocal, scale; };
DAMO_FUNCTION Divisor divisor(float y) {
  const float scale = fabsf(y) < 1e-30f ? 18446744073709551616.0f : 1.0f, value = y * scale;
  return Divisor{value, 1.0f / value, scale};
}
DAMO_FUNCTION float divide(float x, const Divisor& d) {
  x *= d.scale;
  const float first = x * d.reciprocal, second = fmaf(fmaf(-first, d.value, x), d.reciprocal, first);
  const float third = fmaf(fmaf(-second, d.value, x), d.reciprocal, second);
  return ((first != 0.0f) & (fabsf(third) <= 3.402823466e38f)) ? third : first;
}
DAMO_FUNCTION float divide_to_half(float x, const Divisor& d) { return x * d.scale * d.reciprocal; }
)";

// What no asynchronous copy takes, 2 bytes and less, goes through a register. Those of 16 bytes pass the first-level cache by.
const char* const kCudaStages = R"(template <class V> DAMO_FUNCTION void stage(V* to, const V* from) {
#if __CUDA_ARCH__ >= 800
  const u32 at = u32(__cvta_generic_to_shared(to));
  if constexpr (sizeof(V) == 16) asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"(at), "l"(from) : "memory");
  else if constexpr (sizeof(V) == 8) asm volatile("cp.async.ca.shared.global [%0], [%1], 8;" :: "r"(at), "l"(from) : "memory");
  else if constexpr (sizeof(V) == 4) asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" :: "r"(at), "l"(from) : "memory");
  else *to = *from;
#else
  *to = *from;
#endif
}
DAMO_FUNCTION void wait_for_stages() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_all;" ::: "memory");
#endif
}
)";

}  // namespace damo
