// The instructions of generated kernels, as functions of CUDA C. What a GPU refuses at run time, a misaligned vector, ends the kernel here too.
#include "emulated_gpu/gpu/translate.hpp"

namespace damo::emulated_gpu {

const char* const kPtx = R"(
namespace ptx {
template <class... Any> __device__ inline void nothing(Any&&...) {}
// An address in shared memory has 32 bits on a GPU. The upper half of what a block has in use is written down where addresses are made.
__device__ inline unsigned long long& upper_half() {
  __shared__ unsigned long long upper;
  return upper;
}
__device__ inline size_t narrow(const void* p) {
  upper_half() = (unsigned long long)p >> 32;
  return (unsigned)(unsigned long long)p;
}
template <class T> __device__ inline T* place(T* p) { return p; }
__device__ inline char* place(unsigned address) { return (char*)(upper_half() << 32 | address); }
__device__ inline void align(const void* p, unsigned bytes) { if ((unsigned long long)p % bytes != 0) __trap(); }
__device__ inline float flushed(float x) { return fabsf(x) < 1.17549435e-38f ? copysignf(0.0f, x) : x; }

__device__ inline void max_nan(float& z, float x, float y) { z = x != x || y != y ? __int_as_float(0x7fffffff) : x == y ? (signbit(x) ? y : x) : x > y ? x : y; }
__device__ inline void min_nan(float& z, float x, float y) { z = x != x || y != y ? __int_as_float(0x7fffffff) : x == y ? (signbit(x) ? x : y) : x < y ? x : y; }
__device__ inline void exp2_flushed(float& y, float x) { y = flushed(exp2f(flushed(x))); }
__device__ inline void reciprocal_flushed(float& y, float x) { y = flushed(1.0f / flushed(x)); }
__device__ inline void log2_near(float& y, float x) { y = log2f(x); }
__device__ inline void near_or_far(float& y, float magnitude, float x, float limit, float u) { if (!(magnitude >= limit)) y = fmaf(x, u, x); }
__device__ inline void xor_of_three(unsigned& result, unsigned a, unsigned b, unsigned c) { result = a ^ b ^ c; }

__device__ inline unsigned short half_bits(float x) { return __half_as_ushort(__float2half_rn(x)); }
__device__ inline unsigned short brain_bits(float x) {
  const unsigned word = __float_as_uint(x);
  return x != x ? 0x7fff : (unsigned short)((word + 0x7fffu + (word >> 16 & 1u)) >> 16);
}
template <class Bits> __device__ inline void to_half(Bits& bits, float x) { bits = half_bits(x); }
template <class Bits> __device__ inline void from_half(float& x, Bits bits) { x = __half2float(__ushort_as_half(bits)); }
template <class Bits> __device__ inline void to_brain(Bits& bits, float x) { bits = brain_bits(x); }
__device__ inline void to_halves(unsigned& pair, float high, float low) { pair = unsigned(half_bits(high)) << 16 | half_bits(low); }
__device__ inline void to_brains(unsigned& pair, float high, float low) { pair = unsigned(brain_bits(high)) << 16 | brain_bits(low); }

__device__ inline void load_words(unsigned& a, unsigned& b, unsigned& c, unsigned& d, const void* from) {
  align(from, 16);
  unsigned words[4];
  memcpy(words, from, 16);
  a = words[0], b = words[1], c = words[2], d = words[3];
}
__device__ inline void store_words(void* to, unsigned a, unsigned b, unsigned c, unsigned d) {
  align(to, 16);
  const unsigned words[4] = {a, b, c, d};
  memcpy(to, words, 16);
}

// Copies are done at once: what they copy nobody may write before they are waited for.
template <class To> __device__ inline void copy(To to, const void* from, int bytes) {
  align(place(to), bytes), align(from, bytes);
  memcpy(place(to), from, bytes);
}
template <class To> __device__ inline void copy_16(To to, const void* from) { copy(to, from, 16); }
// The first bytes; the others become 0.
template <int N, class To> __device__ inline void copy_some(To to, const void* from, int bytes) {
  align(place(to), N), align(from, N);
  memset(place(to), 0, N);
  memcpy(place(to), from, bytes);
}
template <class To> __device__ inline void copy_16_of(To to, const void* from, int bytes) { copy_some<16>(to, from, bytes); }
template <class To> __device__ inline void copy_4_of(To to, const void* from, int bytes) { copy_some<4>(to, from, bytes); }

// Four matrices of 8 x 8 halves, whose rows' addresses the lanes give, eight each. A lane gets two neighbours of a row of each, or, turned, of a column.
template <bool turned> __device__ inline unsigned two_of(unsigned row, int matrix) {
  const int lane = threadIdx.x % 32;
  unsigned pair = 0;
  for (int i = 0; i < 2; ++i) {
    const int r = turned ? lane % 4 * 2 + i : lane / 4, c = turned ? lane / 4 : lane % 4 * 2 + i;
    const unsigned from = __shfl_sync(~0u, row, matrix * 8 + r);
    align(place(from), 16);
    pair |= unsigned(((const unsigned short*)place(from))[c]) << 16 * i;
  }
  return pair;
}
__device__ inline void load_matrices(unsigned& a, unsigned& b, unsigned& c, unsigned& d, unsigned row) {
  a = two_of<false>(row, 0), b = two_of<false>(row, 1), c = two_of<false>(row, 2), d = two_of<false>(row, 3);
}
__device__ inline void load_matrices_turned(unsigned& a, unsigned& b, unsigned& c, unsigned& d, unsigned row) {
  a = two_of<true>(row, 0), b = two_of<true>(row, 1), c = two_of<true>(row, 2), d = two_of<true>(row, 3);
}

// A warp's product of 16 x 16 and 16 x 8 halves, added to 16 x 8 floats. Lane l has rows l / 4 and l / 4 + 8 of the first factor and of the sum, columns
// l / 4 of the second one; of each row or column the places 2 (l % 4) and the next, and those 8 behind.
template <bool brain> __device__ inline float half_of(unsigned pair, int i) {
  const unsigned bits = pair >> 16 * i & 0xffffu;
  return brain ? __uint_as_float(bits << 16) : __half2float(__ushort_as_half((unsigned short)bits));
}
template <bool brain> __device__ inline void multiply(float* c, const unsigned* a, const unsigned* b) {
  const int lane = threadIdx.x % 32;
  for (int part = 0; part < 4; ++part) {
    unsigned left[4], right[2][2];
    for (int i = 0; i < 4; ++i) left[i] = __shfl_sync(~0u, a[i], lane / 4 * 4 + part);
    for (int column = 0; column < 2; ++column) {
      for (int i = 0; i < 2; ++i) right[column][i] = __shfl_sync(~0u, b[i], (lane % 4 * 2 + column) * 4 + part);
    }
    for (int row = 0; row < 2; ++row) {
      for (int column = 0; column < 2; ++column) {
        for (int k = 0; k < 4; ++k) c[row * 2 + column] += half_of<brain>(left[row + k / 2 * 2], k % 2) * half_of<brain>(right[column][k / 2], k % 2);
      }
    }
  }
}
template <bool brain> __device__ inline void multiply(float& c0, float& c1, float& c2, float& c3, unsigned a0, unsigned a1, unsigned a2, unsigned a3, unsigned b0, unsigned b1) {
  float c[4] = {c0, c1, c2, c3};
  const unsigned a[4] = {a0, a1, a2, a3}, b[2] = {b0, b1};
  multiply<brain>(c, a, b);
  c0 = c[0], c1 = c[1], c2 = c[2], c3 = c[3];
}
template <class... Operands> __device__ inline void multiply_brains(Operands&&... operands) { multiply<true>(operands...); }
template <class... Operands> __device__ inline void multiply_halves(Operands&&... operands) { multiply<false>(operands...); }

#ifdef EMULATED_CLUSTERS
// Clusters: what they call is clusters.hpp's call_cluster, whose address the driver writes to the variable; what is asked of it are the numbers of ClusterCall. An address in another block's shared memory is
// the block's number and how far behind the upper half's own place it lies, which is the same in all of them.
extern "C" __device__ unsigned long long emulated_cluster_call;
__device__ unsigned long long emulated_cluster_call = 0;
__device__ inline unsigned long long cluster(unsigned what, unsigned long long a, unsigned long long b) {
  return ((unsigned long long (*)(unsigned, unsigned long long, unsigned long long))emulated_cluster_call)(what, a, b);
}
__device__ inline void cluster_of_block(unsigned what, unsigned long long a, unsigned long long b) {
  __syncthreads();
  if (threadIdx.x == 0) cluster(what, a, b);
  __syncthreads();
}
__device__ inline void cluster_arrive() { cluster_of_block(0, (unsigned long long)&upper_half(), 0); }
__device__ inline void cluster_wait() { cluster_of_block(1, 0, 0); }
constexpr unsigned kThere = 27, kMiddle = 1u << 26;
__device__ inline void map(unsigned& place_there, unsigned own, unsigned block) {
  place_there = block << kThere | (unsigned)(place(own) - (char*)&upper_half() + kMiddle);
}
__device__ inline char* there(unsigned address) { return (char*)cluster(2, address >> kThere, (address & ((1u << kThere) - 1)) - (unsigned long long)kMiddle); }
__device__ inline void store_there(unsigned to, unsigned word) { *(unsigned*)there(to) = word; }
__device__ inline void send_one(unsigned to, unsigned word, unsigned meeting) {
  store_there(to, word);
  cluster(4, (unsigned long long)there(meeting), 4);
}
__device__ inline void send_two(unsigned to, unsigned word, unsigned next, unsigned meeting) {
  align((const void*)(size_t)to, 8);
  store_there(to, word), store_there(to + 4, next);
  cluster(4, (unsigned long long)there(meeting), 8);
}
__device__ inline void open_meeting(unsigned meeting) { *(unsigned long long*)place(meeting) = 0; }
__device__ inline void expect_bytes(unsigned meeting, unsigned bytes) { cluster(3, (unsigned long long)place(meeting), bytes); }
__device__ inline void meet(unsigned meeting, unsigned parity) { cluster_of_block(5, (unsigned long long)place(meeting), parity); }
#endif
}  // namespace ptx
#define __cvta_generic_to_shared(p) ::ptx::narrow(p)
)";

}  // namespace damo::emulated_gpu
