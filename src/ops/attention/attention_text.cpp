#include "ops/attention/attention_text.hpp"

namespace damo {

// A thread has columns 2 pair and 2 pair + 1 of rows group and group + 8 of each 16 x 8 block that a product gives, of a warp's instruction and of a warpgroup's alike. Packed, that is the
// left operand of the next product, so weights never leave their registers.
const char* const kAttentionText = R"(
struct Rows {
  const void* base;
  long long batch, head, row;  // elements between neighbours
};

struct AttentionSizes {
  int queries, keys, heads, groups;
  float scale;
};

struct Mask {
  const bool* base;
  long long batch, head, row, column;
};

__device__ __forceinline__ unsigned shared_address(const void* p) { return static_cast<unsigned>(__cvta_generic_to_shared(p)); }

__device__ __forceinline__ void copy_16(unsigned to, const void* from, bool is_inside) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(is_inside ? 16 : 0));
}
__device__ __forceinline__ void copy_4(unsigned to, const void* from, bool is_inside) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(to), "l"(from), "r"(is_inside ? 4 : 0));
}
__device__ __forceinline__ void commit_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }
__device__ __forceinline__ void wait_for_copies() { asm volatile("cp.async.wait_all;" ::: "memory"); }

template <bool is_bfloat16>
__device__ __forceinline__ unsigned pack(float low, float high) {
  unsigned pair;
  if (is_bfloat16) asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  else asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
}

__device__ __forceinline__ float exp2_of(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

/// A float a row; zeros beyond the end.
template <int rows>
__device__ __forceinline__ void load_column(unsigned to, const float* from, int first, int extent) {
  const int row = static_cast<int>(threadIdx.x);
  if (row < rows) copy_4(to + row * 4, from + (first + row < extent ? first + row : 0), first + row < extent);
}

__device__ __forceinline__ const char* row_base(const Rows& rows, int batch, int head) {
  return static_cast<const char*>(rows.base) + (batch * rows.batch + head * rows.head) * 2;
}

__device__ __forceinline__ unsigned short* result_base(const Rows& rows, int batch, int head) { return const_cast<unsigned short*>(static_cast<const unsigned short*>(rows.base)) + (batch * rows.batch + head * rows.head); }

/// Which head of which batch a block has, counted as one number, and which of its blocks. Where it is causal the blocks of one head differ in length, and the longest, `nth` 0, of 64 heads
/// begin before any shorter one of those: else a long one may begin last and run alone. The heads are so few that what their blocks read stays in the second-level cache.
struct Block {
  int head, nth;
};
template <bool is_causal>
__device__ __forceinline__ Block this_block(int per_head) {
  constexpr int kBand = 64;
  const int block = blockIdx.x;
  if (!is_causal) return {block / per_head, block % per_head};
  const int heads = gridDim.x / per_head, band = block / (kBand * per_head), rest = block % (kBand * per_head), width = min(kBand, heads - band * kBand);
  return {band * kBand + rest % width, rest / width};
}

template <int features, bool is_bfloat16, int m_tiles>
__device__ __forceinline__ void store_rows(unsigned short* to, long long step, const float (&sum)[m_tiles][features / 8][4], const float (&factor)[m_tiles][2], int first, int extent) {
  const int lane = threadIdx.x & 31, group = lane >> 2, pair = lane & 3;
#pragma unroll
  for (int m = 0; m < m_tiles; ++m) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = first + m * 16 + half * 8 + group;
      if (row >= extent) continue;
      unsigned* const at = reinterpret_cast<unsigned*>(to + row * step) + pair;
#pragma unroll
      for (int n = 0; n < features / 8; ++n) at[n * 4] = pack<is_bfloat16>(sum[m][n][2 * half] * factor[m][half], sum[m][n][2 * half + 1] * factor[m][half]);
    }
  }
}

__device__ __forceinline__ float infinity() { return __int_as_float(0x7f800000); }
)";

std::string attention_instance(const char* kernel, const AttentionVariant& variant, std::initializer_list<int> numbers) {
  std::string name = std::string(kernel) + "<" + std::to_string(variant.features);
  for (const int number : numbers) name += ", " + std::to_string(number);
  for (const bool flag : {variant.dtype == bfloat16, variant.causal, variant.masked}) name += flag ? ", true" : ", false";
  return name + ">";
}

}  // namespace damo
