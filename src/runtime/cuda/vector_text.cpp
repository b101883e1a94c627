#include "runtime/cuda/vector_text.hpp"

namespace damo {
namespace {

/// Vec<T, N> moves as one access. Those of 16 bytes pass the first-level cache by and are the first to leave the second:
/// every element is read or written once, and what other kernels left there may still be wanted.
constexpr const char* kHead = R"(#define DAMO_FUNCTION static __device__ __forceinline__
)";
constexpr const char* kVector = R"(template <class T, int N> struct alignas(sizeof(T) * N & -(sizeof(T) * N)) Vec { T e[N]; };
)";

/// Not ld.global.nc, which promises that nobody writes what is read while the kernel runs: an output may be an input, and a kernel may be launched
/// before the one that writes its inputs has ended (cubin_waits.hpp). It was no faster either (docs/performance.md).
constexpr const char* kLoad = R"(template <int N, class T> DAMO_FUNCTION Vec<T, N> load(const T* p) {
  if constexpr (sizeof(T) * N != 16) return *reinterpret_cast<const Vec<T, N>*>(p);
  u32 word[4];
  asm volatile("ld.global.L1::no_allocate.v4.b32 {%0, %1, %2, %3}, [%4];"
      : "=r"(word[0]), "=r"(word[1]), "=r"(word[2]), "=r"(word[3]) : "l"(p));
  Vec<T, N> vector;
  memcpy(&vector, word, 16);
  return vector;
}
)";
/// A vector that others read too stays in the caches.
constexpr const char* kLoadAgain = R"(template <int N, class T> DAMO_FUNCTION Vec<T, N> load_again(const T* p) { return *reinterpret_cast<const Vec<T, N>*>(p); }
)";
constexpr const char* kStore = R"(template <int N, class T> DAMO_FUNCTION void store(T* p, const Vec<T, N>& vector) {
  if constexpr (sizeof(T) * N == 16) {
    u32 word[4];
    memcpy(word, &vector, 16);
    asm volatile("st.global.cs.v4.b32 [%0], {%1, %2, %3, %4};" :: "l"(p), "r"(word[0]), "r"(word[1]), "r"(word[2]), "r"(word[3]));
  } else {
    *reinterpret_cast<Vec<T, N>*>(p) = vector;
  }
}
)";

// What comes first in each kernel, see cubin_waits.hpp.
constexpr const char* kWait = R"(#if __CUDA_ARCH__ >= 900
DAMO_FUNCTION void wait_first() { asm volatile("griddepcontrol.wait;" ::: "memory"); }
#else
DAMO_FUNCTION void wait_first() {}
#endif
)";

}  // namespace

const char* const kCudaDividePlaces = "DAMO_FUNCTION u32 divide(u32 n, u32 magic, u32 shift) { return (__umulhi(n, magic) + n) >> shift; }\n";

// A bfloat16 in the upper half of a word is taken by a mask alone: a shift would be what the other way, element by element, ends with too, and NVRTC would take the elements out of their words
// to have one shift behind both.
const char* const kCudaHalves = R"(template <int N> DAMO_FUNCTION Vec<float, N> widened(const Vec<bfloat16, N>& vector) {
  u32 words[N / 2];
  memcpy(words, &vector, sizeof words);
  Vec<float, N> floats;
#pragma unroll
  for (int k = 0; k < N; ++k) floats.e[k] = __uint_as_float(k % 2 ? words[k / 2] & 0xffff0000u : words[k / 2] << 16);
  return floats;
}
template <int N> DAMO_FUNCTION Vec<float, N> widened(const Vec<half, N>& vector) {
  Vec<float, N> floats;
#pragma unroll
  for (int k = 0; k < N; ++k) floats.e[k] = float(vector.e[k]);
  return floats;
}
template <class T, int N> DAMO_FUNCTION Vec<T, N> narrowed(const Vec<float, N>& floats) {
  Vec<T, N> vector;
#pragma unroll
  for (int k = 0; k < N; ++k) vector.e[k] = T(floats.e[k]);
  return vector;
}
)";

std::string cuda_head(const std::string& types) {
  return kHead + types + kWait + kVector + kLoad + kLoadAgain + kStore;
}

}  // namespace damo
