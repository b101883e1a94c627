#include "ops/attention/attention_kernels.hpp"

#include "ops/attention/attention_text.hpp"
#include "ops/attention/attention_warpgroups.hpp"

namespace damo {
namespace {

// Fragments are those of mma.m16n8k16. Rows lie 16 bytes further apart in shared memory than they are long: ldmatrix reads eight without conflict.
constexpr const char* kText = R"(
__device__ __forceinline__ void load_4(unsigned (&r)[4], unsigned from) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];" : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(from) : "memory");
}
__device__ __forceinline__ void load_4_transposed(unsigned (&r)[4], unsigned from) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];" : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(from) : "memory");
}

template <bool is_bfloat16>
__device__ __forceinline__ void multiply_add(float (&c)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
  if (is_bfloat16) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  } else {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  }
}

/// Rows [first, first + rows) of a matrix of extent rows; zeros beyond its end.
template <int features, int rows, int threads>
__device__ __forceinline__ void load_tile(unsigned to, const char* from, long long row_bytes, int first, int extent) {
  constexpr int kChunks = features / 8, kPitch = (features + 8) * 2;
#pragma unroll
  for (int i = 0; i < (rows * kChunks + threads - 1) / threads; ++i) {
    const int chunk = i * threads + static_cast<int>(threadIdx.x), row = chunk / kChunks, part = chunk % kChunks;
    if (rows * kChunks % threads != 0 && row >= rows) break;
    const bool is_inside = first + row < extent;
    copy_16(to + row * kPitch + part * 16, from + (is_inside ? (first + row) * row_bytes : 0) + part * 16, is_inside);
  }
}

/// Lane's place in a 16 x 16 block for load_4: of a left operand (or, transposed, of a right one that lies row by row), and of a right one that lies column by column.
template <int pitch>
__device__ __forceinline__ unsigned left_place() { const int lane = threadIdx.x & 31; return (lane & 15) * pitch + (lane >> 4) * 16; }
template <int pitch>
__device__ __forceinline__ unsigned right_place() { const int lane = threadIdx.x & 31; return ((lane & 7) + ((lane >> 4) << 3)) * pitch + ((lane >> 3) & 1) * 16; }

template <int features, int kTiles, int blocks, bool is_bfloat16, bool is_causal, bool is_masked>
__global__ void __launch_bounds__(128, blocks) attention_forward(Rows q, Rows k, Rows v, Mask mask, AttentionSizes sizes, void* out, float* lse) {
  constexpr int kRows = 64 * kTiles, kKeys = 64, kPitch = (features + 8) * 2, kSteps = features / 16, kTileBytes = kKeys * kPitch;
  extern __shared__ __align__(16) char memory[];
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, group = lane >> 2, pair = lane & 3;
  const int per_head = (sizes.queries + kRows - 1) / kRows;
  const Block block = this_block<is_causal>(per_head);
  const int which = block.head, head = which % sizes.heads, batch = which / sizes.heads;
  const int first = (per_head - 1 - block.nth) * kRows, first_row = first + warp * 16 * kTiles;
  const int key_head = head / (sizes.heads / sizes.groups);
  const char *const qs = row_base(q, batch, head), *const ks = row_base(k, batch, key_head), *const vs = row_base(v, batch, key_head);
  const unsigned q_at = shared_address(memory), k_at = q_at + kRows * kPitch, v_at = k_at + 2 * kTileBytes;
  const int end = is_causal ? min(sizes.keys, first + kRows) : sizes.keys, tiles = (end + kKeys - 1) / kKeys;
  const float scale = sizes.scale * 1.44269504089f;

  load_tile<features, kRows, 128>(q_at, qs, q.row * 2, first, sizes.queries);
  if (tiles > 0) {
    load_tile<features, kKeys, 128>(k_at, ks, k.row * 2, 0, sizes.keys);
    load_tile<features, kKeys, 128>(v_at, vs, v.row * 2, 0, sizes.keys);
  }
  commit_copies();
  float sum[kTiles][features / 8][4] = {}, greatest[kTiles][2], total[kTiles][2] = {};
  unsigned a[kTiles][kSteps][4];
#pragma unroll
  for (int m = 0; m < kTiles; ++m) greatest[m][0] = greatest[m][1] = -infinity();

  for (int tile = 0; tile < tiles; ++tile) {
    wait_for_copies();
    __syncthreads();
    if (tile == 0) {
#pragma unroll
      for (int m = 0; m < kTiles; ++m)
#pragma unroll
        for (int step = 0; step < kSteps; ++step) load_4(a[m][step], q_at + (warp * kTiles + m) * 16 * kPitch + left_place<kPitch>() + step * 32);
    }
    if (tile + 1 < tiles) {
      const unsigned other = ((tile + 1) & 1) * kTileBytes;
      load_tile<features, kKeys, 128>(k_at + other, ks, k.row * 2, (tile + 1) * kKeys, sizes.keys);
      load_tile<features, kKeys, 128>(v_at + other, vs, v.row * 2, (tile + 1) * kKeys, sizes.keys);
      commit_copies();
    }
    const int first_key = tile * kKeys;
    if (is_causal && first_key > first_row + 16 * kTiles - 1) continue;
    const unsigned k_now = k_at + (tile & 1) * kTileBytes, v_now = v_at + (tile & 1) * kTileBytes;
    float s[kTiles][kKeys / 8][4] = {};
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
#pragma unroll
      for (int n = 0; n < kKeys / 16; ++n) {
        unsigned b[4];
        load_4(b, k_now + n * 16 * kPitch + right_place<kPitch>() + step * 32);
#pragma unroll
        for (int m = 0; m < kTiles; ++m) {
          multiply_add<is_bfloat16>(s[m][2 * n], a[m][step], b[0], b[1]);
          multiply_add<is_bfloat16>(s[m][2 * n + 1], a[m][step], b[2], b[3]);
        }
      }
    }
    if (is_masked || first_key + kKeys > sizes.keys || (is_causal && first_key + kKeys - 1 > first_row)) {
#pragma unroll
      for (int m = 0; m < kTiles; ++m)
#pragma unroll
        for (int n = 0; n < kKeys / 8; ++n)
#pragma unroll
          for (int e = 0; e < 4; ++e) {
            const int row = first_row + m * 16 + (e >> 1) * 8 + group, key = first_key + n * 8 + pair * 2 + (e & 1);
            bool is_seen = key < sizes.keys && !(is_causal && key > row);
            if (is_masked && is_seen && row < sizes.queries) is_seen = mask.base[batch * mask.batch + head * mask.head + row * mask.row + key * mask.column];
            if (!is_seen) s[m][n][e] = -infinity();
          }
    }
#pragma unroll
    for (int m = 0; m < kTiles; ++m) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        float most = s[m][0][2 * half];
#pragma unroll
        for (int n = 0; n < kKeys / 8; ++n) most = fmaxf(most, fmaxf(s[m][n][2 * half], s[m][n][2 * half + 1]));
        most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, 1));
        most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, 2));
        const float next = fmaxf(greatest[m][half], most * scale), shift = next == -infinity() ? 0.0f : next, shrink = exp2_of(greatest[m][half] - shift);
        greatest[m][half] = next;
        total[m][half] *= shrink;
#pragma unroll
        for (int n = 0; n < features / 8; ++n) {
          sum[m][n][2 * half] *= shrink;
          sum[m][n][2 * half + 1] *= shrink;
        }
#pragma unroll
        for (int n = 0; n < kKeys / 8; ++n) {
#pragma unroll
          for (int e = 2 * half; e < 2 * half + 2; ++e) {
            s[m][n][e] = exp2_of(fmaf(s[m][n][e], scale, -shift));
            total[m][half] += s[m][n][e];
          }
        }
      }
    }
#pragma unroll
    for (int step = 0; step < kKeys / 16; ++step) {
      unsigned p[kTiles][4];
#pragma unroll
      for (int m = 0; m < kTiles; ++m) {
        p[m][0] = pack<is_bfloat16>(s[m][2 * step][0], s[m][2 * step][1]);
        p[m][1] = pack<is_bfloat16>(s[m][2 * step][2], s[m][2 * step][3]);
        p[m][2] = pack<is_bfloat16>(s[m][2 * step + 1][0], s[m][2 * step + 1][1]);
        p[m][3] = pack<is_bfloat16>(s[m][2 * step + 1][2], s[m][2 * step + 1][3]);
      }
#pragma unroll
      for (int n = 0; n < features / 16; ++n) {
        unsigned b[4];
        load_4_transposed(b, v_now + step * 16 * kPitch + left_place<kPitch>() + n * 32);
#pragma unroll
        for (int m = 0; m < kTiles; ++m) {
          multiply_add<is_bfloat16>(sum[m][2 * n], p[m], b[0], b[1]);
          multiply_add<is_bfloat16>(sum[m][2 * n + 1], p[m], b[2], b[3]);
        }
      }
    }
  }
  float factor[kTiles][2];
#pragma unroll
  for (int m = 0; m < kTiles; ++m) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float all = total[m][half];
      all += __shfl_xor_sync(0xffffffffu, all, 1);
      all += __shfl_xor_sync(0xffffffffu, all, 2);
      factor[m][half] = all == 0 ? 0.0f : 1 / all;
      const int row = first_row + m * 16 + half * 8 + group;
      if (pair == 0 && row < sizes.queries) lse[static_cast<long long>(which) * sizes.queries + row] = all == 0 ? infinity() : greatest[m][half] + log2f(all);
    }
  }
  store_rows<features, is_bfloat16, kTiles>(static_cast<unsigned short*>(out) + (static_cast<long long>(batch) * sizes.queries * sizes.heads + head) * features, static_cast<long long>(sizes.heads) * features, sum, factor, first_row, sizes.queries);
}

template <int features, int kTiles, int unroll, int blocks, bool is_bfloat16, bool is_causal, bool is_masked>
__global__ void __launch_bounds__(128, blocks) attention_by_query(Rows q, Rows k, Rows v, Mask mask, AttentionSizes sizes, Rows g, const float* lse, const float* delta, Rows dq) {
  constexpr int kRows = 64 * kTiles, kKeys = 64, kPitch = (features + 8) * 2, kSteps = features / 16, kTileBytes = kKeys * kPitch;
  extern __shared__ __align__(16) char memory[];
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, group = lane >> 2, pair = lane & 3;
  const int per_head = (sizes.queries + kRows - 1) / kRows;
  const Block block = this_block<is_causal>(per_head);
  const int which = block.head, head = which % sizes.heads, batch = which / sizes.heads;
  const int first = (per_head - 1 - block.nth) * kRows, first_row = first + warp * 16 * kTiles;
  const int key_head = head / (sizes.heads / sizes.groups);
  const char *const qs = row_base(q, batch, head), *const gs = row_base(g, batch, head), *const ks = row_base(k, batch, key_head), *const vs = row_base(v, batch, key_head);
  const unsigned q_at = shared_address(memory), g_at = q_at + kRows * kPitch, k_at = g_at + kRows * kPitch, v_at = k_at + 2 * kTileBytes;
  const int end = is_causal ? min(sizes.keys, first + kRows) : sizes.keys, tiles = (end + kKeys - 1) / kKeys;
  const float scale = sizes.scale * 1.44269504089f;

  load_tile<features, kRows, 128>(q_at, qs, q.row * 2, first, sizes.queries);
  load_tile<features, kRows, 128>(g_at, gs, g.row * 2, first, sizes.queries);
  if (tiles > 0) {
    load_tile<features, kKeys, 128>(k_at, ks, k.row * 2, 0, sizes.keys);
    load_tile<features, kKeys, 128>(v_at, vs, v.row * 2, 0, sizes.keys);
  }
  commit_copies();
  float sum[kTiles][features / 8][4] = {}, row_lse[kTiles][2], row_delta[kTiles][2];
#pragma unroll
  for (int m = 0; m < kTiles; ++m)
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = first_row + m * 16 + half * 8 + group;
      const long long at = static_cast<long long>(which) * sizes.queries + row;
      row_lse[m][half] = row < sizes.queries ? lse[at] : infinity();
      row_delta[m][half] = row < sizes.queries ? delta[at] : 0.0f;
    }
  unsigned a[kTiles][kSteps][4], da[kTiles][kSteps][4];

  for (int tile = 0; tile < tiles; ++tile) {
    wait_for_copies();
    __syncthreads();
    if (tile == 0) {
#pragma unroll
      for (int m = 0; m < kTiles; ++m)
#pragma unroll
        for (int step = 0; step < kSteps; ++step) {
          load_4(a[m][step], q_at + (warp * kTiles + m) * 16 * kPitch + left_place<kPitch>() + step * 32);
          load_4(da[m][step], g_at + (warp * kTiles + m) * 16 * kPitch + left_place<kPitch>() + step * 32);
        }
    }
    if (tile + 1 < tiles) {
      const unsigned other = ((tile + 1) & 1) * kTileBytes;
      load_tile<features, kKeys, 128>(k_at + other, ks, k.row * 2, (tile + 1) * kKeys, sizes.keys);
      load_tile<features, kKeys, 128>(v_at + other, vs, v.row * 2, (tile + 1) * kKeys, sizes.keys);
      commit_copies();
    }
    const unsigned k_now = k_at + (tile & 1) * kTileBytes, v_now = v_at + (tile & 1) * kTileBytes;
#pragma unroll unroll
    for (int part = 0; part < kKeys / 16; ++part) {
      const int first_key = tile * kKeys + part * 16;
      if (is_causal && first_key > first_row + 16 * kTiles - 1) break;
      float s[kTiles][2][4] = {}, d[kTiles][2][4] = {};
#pragma unroll
      for (int step = 0; step < kSteps; ++step) {
        unsigned b[4], c[4];
        load_4(b, k_now + part * 16 * kPitch + right_place<kPitch>() + step * 32);
        load_4(c, v_now + part * 16 * kPitch + right_place<kPitch>() + step * 32);
#pragma unroll
        for (int m = 0; m < kTiles; ++m) {
          multiply_add<is_bfloat16>(s[m][0], a[m][step], b[0], b[1]);
          multiply_add<is_bfloat16>(s[m][1], a[m][step], b[2], b[3]);
          multiply_add<is_bfloat16>(d[m][0], da[m][step], c[0], c[1]);
          multiply_add<is_bfloat16>(d[m][1], da[m][step], c[2], c[3]);
        }
      }
      const bool is_edge = is_masked || first_key + 16 > sizes.keys || (is_causal && first_key + 15 > first_row);
      unsigned p[kTiles][4];
#pragma unroll
      for (int m = 0; m < kTiles; ++m) {
#pragma unroll
        for (int n = 0; n < 2; ++n)
#pragma unroll
          for (int e = 0; e < 4; ++e) {
            const int row = first_row + m * 16 + (e >> 1) * 8 + group, key = first_key + n * 8 + pair * 2 + (e & 1);
            float weight = exp2_of(fmaf(s[m][n][e], scale, -row_lse[m][e >> 1]));
            if (is_edge) {
              bool is_seen = key < sizes.keys && !(is_causal && key > row);
              if (is_masked && is_seen && row < sizes.queries) is_seen = mask.base[batch * mask.batch + head * mask.head + row * mask.row + key * mask.column];
              if (!is_seen) weight = 0.0f;
            }
            s[m][n][e] = weight * (d[m][n][e] - row_delta[m][e >> 1]);
          }
        p[m][0] = pack<is_bfloat16>(s[m][0][0], s[m][0][1]);
        p[m][1] = pack<is_bfloat16>(s[m][0][2], s[m][0][3]);
        p[m][2] = pack<is_bfloat16>(s[m][1][0], s[m][1][1]);
        p[m][3] = pack<is_bfloat16>(s[m][1][2], s[m][1][3]);
      }
#pragma unroll
      for (int n = 0; n < features / 16; ++n) {
        unsigned b[4];
        load_4_transposed(b, k_now + part * 16 * kPitch + left_place<kPitch>() + n * 32);
#pragma unroll
        for (int m = 0; m < kTiles; ++m) {
          multiply_add<is_bfloat16>(sum[m][2 * n], p[m], b[0], b[1]);
          multiply_add<is_bfloat16>(sum[m][2 * n + 1], p[m], b[2], b[3]);
        }
      }
    }
  }
  float factor[kTiles][2];
#pragma unroll
  for (int m = 0; m < kTiles; ++m) factor[m][0] = factor[m][1] = sizes.scale;
  store_rows<features, is_bfloat16, kTiles>(result_base(dq, batch, head), dq.row, sum, factor, first_row, sizes.queries);
}

template <int features, int kPart, int unroll, int blocks, bool is_bfloat16, bool is_causal, bool is_masked>
__global__ void __launch_bounds__(128, blocks) attention_by_key(Rows q, Rows k, Rows v, Mask mask, AttentionSizes sizes, Rows g, const float* lse, const float* delta, Rows dk, Rows dv) {
  constexpr int kQueries = 64, kKeys = 64, kPitch = (features + 8) * 2, kSteps = features / 16, kTileBytes = kQueries * kPitch;
  extern __shared__ __align__(16) char memory[];
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, group = lane >> 2, pair = lane & 3;
  const int per_head = (sizes.keys + kKeys - 1) / kKeys;
  const Block block = this_block<is_causal>(per_head);
  const int which = block.head, key_head = which % sizes.groups, batch = which / sizes.groups;
  const int first = block.nth * kKeys, first_key = first + warp * 16;
  const int shared_by = sizes.heads / sizes.groups;
  const char *const ks = row_base(k, batch, key_head), *const vs = row_base(v, batch, key_head);
  // The tile of keys and values lies where the second tile of queries and gradients comes later.
  const unsigned q_at = shared_address(memory), g_at = q_at + 2 * kTileBytes, lse_at = g_at + 2 * kTileBytes, delta_at = lse_at + 2 * kQueries * 4;
  const int begin = is_causal ? first / kQueries : 0, tiles_a_head = max(0, (sizes.queries + kQueries - 1) / kQueries - begin), tiles = tiles_a_head * shared_by;
  const float scale = sizes.scale * 1.44269504089f;
  const auto load = [&](int tile) {
    const int head = key_head * shared_by + tile / tiles_a_head, from = (begin + tile % tiles_a_head) * kQueries;
    const unsigned other = (tile & 1) * kTileBytes, column = (tile & 1) * kQueries * 4;
    load_tile<features, kQueries, 128>(q_at + other, row_base(q, batch, head), q.row * 2, from, sizes.queries);
    load_tile<features, kQueries, 128>(g_at + other, row_base(g, batch, head), g.row * 2, from, sizes.queries);
    const long long at = (static_cast<long long>(batch) * sizes.heads + head) * sizes.queries;
    load_column<kQueries>(lse_at + column, lse + at, from, sizes.queries);
    load_column<kQueries>(delta_at + column, delta + at, from, sizes.queries);
    commit_copies();
  };
  load_tile<features, kKeys, 128>(q_at + kTileBytes, ks, k.row * 2, first, sizes.keys);
  load_tile<features, kKeys, 128>(g_at + kTileBytes, vs, v.row * 2, first, sizes.keys);
  commit_copies();
  if (tiles > 0) load(0);
  wait_for_copies();
  __syncthreads();
  unsigned ka[kSteps][4], va[kSteps][4];
#pragma unroll
  for (int step = 0; step < kSteps; ++step) {
    load_4(ka[step], q_at + kTileBytes + warp * 16 * kPitch + left_place<kPitch>() + step * 32);
    load_4(va[step], g_at + kTileBytes + warp * 16 * kPitch + left_place<kPitch>() + step * 32);
  }
  float by_key[1][features / 8][4] = {}, by_value[1][features / 8][4] = {};

  for (int tile = 0; tile < tiles; ++tile) {
    wait_for_copies();
    __syncthreads();
    if (tile + 1 < tiles) load(tile + 1);
    const int head = key_head * shared_by + tile / tiles_a_head, from = (begin + tile % tiles_a_head) * kQueries;
    const unsigned q_now = q_at + (tile & 1) * kTileBytes, g_now = g_at + (tile & 1) * kTileBytes;
    const float2 *const lses = reinterpret_cast<const float2*>(memory + (lse_at - q_at)) + (tile & 1) * kQueries / 2, *const deltas = reinterpret_cast<const float2*>(memory + (delta_at - q_at)) + (tile & 1) * kQueries / 2;
#pragma unroll unroll
    for (int part = 0; part < kQueries / kPart; ++part) {
      const int first_row = from + part * kPart;
      if (is_causal && first_row + kPart - 1 < first_key) continue;
      float s[kPart / 8][4] = {}, d[kPart / 8][4] = {};
#pragma unroll
      for (int step = 0; step < kSteps; ++step) {
#pragma unroll
        for (int n = 0; n < kPart / 16; ++n) {
          unsigned b[4], c[4];
          load_4(b, q_now + (part * kPart + n * 16) * kPitch + right_place<kPitch>() + step * 32);
          load_4(c, g_now + (part * kPart + n * 16) * kPitch + right_place<kPitch>() + step * 32);
          multiply_add<is_bfloat16>(s[2 * n], ka[step], b[0], b[1]);
          multiply_add<is_bfloat16>(s[2 * n + 1], ka[step], b[2], b[3]);
          multiply_add<is_bfloat16>(d[2 * n], va[step], c[0], c[1]);
          multiply_add<is_bfloat16>(d[2 * n + 1], va[step], c[2], c[3]);
        }
      }
      const bool is_edge = is_masked || (is_causal && first_row < first_key + 15);
#pragma unroll
      for (int n = 0; n < kPart / 8; ++n) {
        const float2 l = lses[(part * kPart + n * 8) / 2 + pair], t = deltas[(part * kPart + n * 8) / 2 + pair];
#pragma unroll
        for (int e = 0; e < 4; ++e) {
          const int row = first_row + n * 8 + pair * 2 + (e & 1), key = first_key + (e >> 1) * 8 + group;
          float weight = exp2_of(fmaf(s[n][e], scale, (e & 1) ? -l.y : -l.x));
          if (is_edge) {
            bool is_seen = !(is_causal && key > row);
            if (is_masked && is_seen && row < sizes.queries && key < sizes.keys) is_seen = mask.base[batch * mask.batch + head * mask.head + row * mask.row + key * mask.column];
            if (!is_seen) weight = 0.0f;
          }
          s[n][e] = weight;
          d[n][e] = weight * (d[n][e] - ((e & 1) ? t.y : t.x));
        }
      }
#pragma unroll
      for (int step = 0; step < kPart / 16; ++step) {
        const unsigned p[4] = {pack<is_bfloat16>(s[2 * step][0], s[2 * step][1]), pack<is_bfloat16>(s[2 * step][2], s[2 * step][3]), pack<is_bfloat16>(s[2 * step + 1][0], s[2 * step + 1][1]), pack<is_bfloat16>(s[2 * step + 1][2], s[2 * step + 1][3])};
        const unsigned w[4] = {pack<is_bfloat16>(d[2 * step][0], d[2 * step][1]), pack<is_bfloat16>(d[2 * step][2], d[2 * step][3]), pack<is_bfloat16>(d[2 * step + 1][0], d[2 * step + 1][1]), pack<is_bfloat16>(d[2 * step + 1][2], d[2 * step + 1][3])};
#pragma unroll
        for (int n = 0; n < features / 16; ++n) {
          unsigned b[4], c[4];
          load_4_transposed(b, g_now + (part * kPart + step * 16) * kPitch + left_place<kPitch>() + n * 32);
          load_4_transposed(c, q_now + (part * kPart + step * 16) * kPitch + left_place<kPitch>() + n * 32);
          multiply_add<is_bfloat16>(by_value[0][2 * n], p, b[0], b[1]);
          multiply_add<is_bfloat16>(by_value[0][2 * n + 1], p, b[2], b[3]);
          multiply_add<is_bfloat16>(by_key[0][2 * n], w, c[0], c[1]);
          multiply_add<is_bfloat16>(by_key[0][2 * n + 1], w, c[2], c[3]);
        }
      }
    }
  }
  const float key_factor[1][2] = {{sizes.scale, sizes.scale}}, value_factor[1][2] = {{1, 1}};
  store_rows<features, is_bfloat16, 1>(result_base(dk, batch, key_head), dk.row, by_key, key_factor, first_key, sizes.keys);
  store_rows<features, is_bfloat16, 1>(result_base(dv, batch, key_head), dv.row, by_value, value_factor, first_key, sizes.keys);
}
)";

/// Blocks that a multiprocessor is to hold, which is what bounds a thread's registers: chosen so that nothing is spilled.
struct Choice {
  int tiles, blocks;
};

const std::string& warp_source() {
  static const std::string text = std::string(kAttentionText) + kText;
  return text;
}

constexpr int kThreads = 128, kTileRows = 64;
std::size_t bytes_of_rows(int rows, const AttentionVariant& variant) { return static_cast<std::size_t>(rows) * static_cast<std::size_t>(variant.features + 8) * 2; }

}  // namespace

AttentionKernel attention_forward(const AttentionVariant& variant) {
  if (takes_warpgroups(variant)) return warpgroup_forward(variant);
  const Choice choice = variant.features <= 64 && !variant.masked ? Choice{2, 2} : Choice{1, variant.features <= 64 ? 3 : 2};
  const int rows = kTileRows * choice.tiles;
  return {attention_instance("attention_forward", variant, {choice.tiles, choice.blocks}), rows, kThreads, bytes_of_rows(rows + 4 * kTileRows, variant), &warp_source()};
}

AttentionKernel attention_by_query(const AttentionVariant& variant) {
  if (takes_warpgroups(variant)) return warpgroup_by_query(variant);
  const Choice choice = variant.features <= 64 ? Choice{1, 3} : Choice{1, 2};
  const int rows = kTileRows * choice.tiles;
  return {attention_instance("attention_by_query", variant, {choice.tiles, 4, choice.blocks}), rows, kThreads, bytes_of_rows(2 * rows + 4 * kTileRows, variant), &warp_source()};
}

AttentionKernel attention_by_key(const AttentionVariant& variant) {
  if (takes_warpgroups(variant)) return warpgroup_by_key(variant);
  constexpr std::size_t kSums = 4 * kTileRows * sizeof(float);  // logarithms and sums of two tiles
  return {attention_instance("attention_by_key", variant, {16, 4, variant.features <= 64 ? 3 : 2}), kTileRows, kThreads, bytes_of_rows(4 * kTileRows, variant) + kSums, &warp_source()};
}

}  // namespace damo
