#include "runtime/cuda/vector_text.hpp"

#include <string_view>

namespace damo {
namespace {

/// Vec<T, N> moves as one access. Those of 16 bytes pass the first-level cache by and are the first to leave the second:
/// every element is read or written once, and what other kernels left there may still be wanted.
constexpr const char* kHead = R"(#define DAMO_FUNCTION static __device__ __forceinline__
)";
constexpr const char* kVector = R"(template <class T, int N> struct alignas(sizeof(T) * N) Vec { T e[N]; };
)";

/// `nc` promises that the kernel writes nothing of what it reads, which is not so where an output is an input.
constexpr const char* kLoad = R"(template <int N, class T> DAMO_FUNCTION Vec<T, N> load(const T* p) {
  if constexpr (sizeof(T) * N != 16) return *reinterpret_cast<const Vec<T, N>*>(p);
  u32 word[4];
  asm("ld.global.nc.L1::no_allocate.v4.b32 {%0, %1, %2, %3}, [%4];"
      : "=r"(word[0]), "=r"(word[1]), "=r"(word[2]), "=r"(word[3]) : "l"(p));
  Vec<T, N> vector;
  memcpy(&vector, word, 16);
  return vector;
}
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

}  // namespace

std::string cuda_head(bool in_place, const std::string& types) {
  std::string load = kLoad;
  const std::string_view read_only = "asm(\"ld.global.nc", ordered = "asm volatile(\"ld.global";  // before the stores, which are volatile too
  if (in_place) load.replace(load.find(read_only), read_only.size(), ordered);
  return kHead + types + kVector + load + kStore;
}

}  // namespace damo
