#include "runtime/cuda/reducing_text.hpp"

namespace damo {

const char* const kCudaRows = R"(template <class A> DAMO_FUNCTION A exchanged(const A& value, int mask) {
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

const char* const kCudaHeld = R"(template <int N, class A, int P> DAMO_FUNCTION Vec<A, N> gathered(const Vec<A, P>* from, int apart) {
  Vec<A, N> vector;
#pragma unroll
  for (int p = 0; p < N / P; ++p) {
    const Vec<A, P> piece = from[p * apart];
#pragma unroll
    for (int k = 0; k < P; ++k) vector.e[p * P + k] = piece.e[k];
  }
  return vector;
}
template <int N, class A, int P> DAMO_FUNCTION void scatter(Vec<A, P>* to, int apart, const Vec<A, N>& vector) {
#pragma unroll
  for (int p = 0; p < N / P; ++p) {
    Vec<A, P> piece;
#pragma unroll
    for (int k = 0; k < P; ++k) piece.e[k] = vector.e[p * P + k];
    to[p * apart] = piece;
  }
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

// What no asynchronous copy takes, 2 bytes and less, goes through a register. Those of 16 bytes pass the first-level cache by.
const char* const kCudaAhead = R"(template <int N> DAMO_FUNCTION void fetch(void* to, const void* from) {
#if __CUDA_ARCH__ >= 800
  if constexpr (N == 16) asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"(u32(__cvta_generic_to_shared(to))), "l"(from) : "memory");
  else if constexpr (N == 4 || N == 8) asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" :: "r"(u32(__cvta_generic_to_shared(to))), "l"(from), "n"(N) : "memory");
  else memcpy(to, from, N);
#else
  memcpy(to, from, N);
#endif
}
template <int N, class T> DAMO_FUNCTION void fetch_some(unsigned char* to, const T* from, i64 begin, i64 end) {
#pragma unroll
  for (int k = 0; k < N; ++k) {
    if (k >= begin && k < end) fetch<int(sizeof(T))>(to + k * int(sizeof(T)), from + k);
  }
}
DAMO_FUNCTION void fetched() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}
template <int N> DAMO_FUNCTION void await() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_group %0;" :: "n"(N) : "memory");
#endif
}
)";

// NVRTC takes a vector of 16-bit elements out of its words, and then the upper one of a word is two instructions, as often as registers run short. It keeps words that it does not know the
// load of: the upper element of one is the word without its lower bits.
const char* const kCudaWords = R"(template <int N> DAMO_FUNCTION Vec<bfloat16, N> load_words(const bfloat16* p) {
  Vec<u32, N / 2> words = *reinterpret_cast<const Vec<u32, N / 2>*>(p);
#pragma unroll
  for (int i = 0; i < N / 2; ++i) asm("" : "+r"(words.e[i]));
  Vec<bfloat16, N> vector;
  memcpy(&vector, &words, 2 * N);
  return vector;
}
template <int N> DAMO_FUNCTION float element(const Vec<bfloat16, N>& vector, int k) {
  u32 word;
  memcpy(&word, vector.e + k / 2 * 2, 4);
  return __uint_as_float(k % 2 == 0 ? word << 16 : word & 0xffff0000u);
}
)";

const char* const kCudaRuns = R"(template <int N> DAMO_FUNCTION void fetch_run(unsigned char* to, const void* from, int lane) {
#pragma unroll
  for (int u = 0; u < (N + 511) / 512; ++u) {
    const int at = (u * 32 + lane) * 16;
    if (N % 512 == 0 || at < N) fetch<16>(to + at, static_cast<const unsigned char*>(from) + at);
  }
}
template <class T> DAMO_FUNCTION void fetch_each(T* to, const T* from, int many, int lane) {
#pragma unroll 4
  for (int at = lane; at < many; at += 32) fetch<int(sizeof(T))>(to + at, from + at);
}
template <int N, class T> DAMO_FUNCTION void store_run(T* to, const T* from, int lane) {
#pragma unroll
  for (int u = 0; u < (N + 511) / 512; ++u) {
    const int at = (u * 32 + lane) * 16;
    if (N % 512 == 0 || at < N) store<16 / int(sizeof(T))>(to + at / int(sizeof(T)), load_again<16 / int(sizeof(T))>(from + at / int(sizeof(T))));
  }
}
template <class T> DAMO_FUNCTION void store_each(T* to, const T* from, int many, int lane) {
#pragma unroll 4
  for (int at = lane; at < many; at += 32) to[at] = from[at];
}
template <int N, class T> DAMO_FUNCTION void put(T* p, const Vec<T, N>& vector) { *reinterpret_cast<Vec<T, N>*>(p) = vector; }
)";

// A meeting is complete when its block has said how much comes and all of it has come; bytes may come before it is said. Each meeting has two places, used in
// turn: a block sends to one again when it has got everything of the use between, so that every block has read the use before.
const char* const kCudaMeetings = R"(DAMO_FUNCTION void open_meeting(u64* b) { asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(u32(__cvta_generic_to_shared(b))) : "memory"); }
DAMO_FUNCTION void opened() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }
DAMO_FUNCTION void expect(u64* b, u32 bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" :: "r"(u32(__cvta_generic_to_shared(b))), "r"(bytes) : "memory");
}
template <class A> DAMO_FUNCTION void send(Words<A>& to, const A& value, u64* b, u32 block) {
  constexpr int many = int((sizeof(A) + 3) / 4);
  u32 place, meeting, words[many] = {};
  memcpy(words, &value, sizeof(A));
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(place) : "r"(u32(__cvta_generic_to_shared(&to))), "r"(block));
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(meeting) : "r"(u32(__cvta_generic_to_shared(b))), "r"(block));
#pragma unroll
  for (int i = 0; i + 1 < many; i += 2) {
    asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.b32 [%0], {%1, %2}, [%3];" :: "r"(place + 4 * i), "r"(words[i]), "r"(words[i + 1]), "r"(meeting) : "memory");
  }
  if constexpr (many % 2 == 1) {
    asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [%0], %1, [%2];" :: "r"(place + 4 * (many - 1)), "r"(words[many - 1]), "r"(meeting) : "memory");
  }
}
DAMO_FUNCTION void meet(u64* b, u32 parity) {
  asm volatile("{\n.reg .pred p;\nagain:\nmbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%0], %1;\n@!p bra again;\n}" :: "r"(u32(__cvta_generic_to_shared(b))), "r"(parity) : "memory");
}
)";

const char* const kCudaOwnMaximum = R"(DAMO_FUNCTION float part_of(float own, float all, float least) { return own == all && own != least ? 1.0f : exp(own - all); }
)";

// An element's place is no less than 0, so what 32 bits do not hold is none.
const char* const kCudaIsPlace = R"(DAMO_FUNCTION place place_of(i64 value) { return i64(place(value)) == value ? place(value) : place(-1); }
DAMO_FUNCTION bool is_place(place at, i64 value) { return at == place_of(value); }
template <int N> DAMO_FUNCTION bool holds(place at, i64 value) { return u32(place_of(value) - at) < u32(N); }
)";

// The reciprocal is rounded once; two corrections of the quotient by its exact remainder then give the quotient that is nearest
// (Markstein 1990). A divisor without a reciprocal is scaled, with x, and of a negative one x has the sign: the remainder of an exact quotient is then 0, of which a
// correction makes -0, and -0 added to a zero leaves its sign. Where the correction is no number the quotient is infinite, or none, and there is nothing to correct.
// One correction errs by an ulp only where a quotient is nearly halfway between two floats: quotients that 16-bit floats have are exact.
const char* const kCudaDivide = R"(struct Divisor { float value, reciprocal, scale; };
DAMO_FUNCTION Divisor divisor(float y) {
  const float scale = fabsf(y) < 1e-30f ? 18446744073709551616.0f : 1.0f, value = fabsf(y) * scale;
  return Divisor{value, 1.0f / value, copysignf(scale, y)};
}
DAMO_FUNCTION float corrected(float quotient, float x, const Divisor& d) { return fmaf(-fmaf(quotient, d.value, -x), d.reciprocal, quotient); }
DAMO_FUNCTION float divide(float x, const Divisor& d) {
  x *= d.scale;
  const float first = x * d.reciprocal, third = corrected(corrected(first, x, d), x, d);
  return third == third ? third : first;
}
DAMO_FUNCTION float divide_once(float x, const Divisor& d) {
  x *= d.scale;
  const float first = x * d.reciprocal, second = corrected(first, x, d);
  return second == second ? second : first;
}
DAMO_FUNCTION float divide_to_half(float x, const Divisor& d) { return x * d.scale * d.reciprocal; }
)";

// 1 / n as a float that is no greater, and what it lacks: both have one sign, so that infinities stay infinite. The sum of the products errs by less than 2^-21 of the last place before it is rounded, and
// a quotient by n is 1 / 2n of it or more from what lies halfway between two floats, unless n is a power of 2. Then nothing is lacking; the rest is a number that changes no sum, as infinities times 0 are none.
const char* const kCudaCount = R"(struct Count { float reciprocal, rest; };
DAMO_FUNCTION Count count_of(float n) {
  const float reciprocal = __frcp_rd(n);
  return Count{reciprocal, fmaxf(fmaf(-reciprocal, n, 1.0f) * reciprocal, 0x1p-126f)};
}
DAMO_FUNCTION float over(float x, const Count& n) { return fmaf(x, n.reciprocal, x * n.rest); }
)";

}  // namespace damo
