#include "ops/attention/attention_warpgroups.hpp"

#include <string>

#include "ops/attention/attention_text.hpp"

namespace damo {
namespace {

/// The products of 64 rows by columns of 16-bit floats: c is given by a and b in shared memory (begins anew where adds is false), or gains what a in registers and b, rows of which are
/// summed over, give. Each names the columns / 2 registers of its result.
std::string products_text(int columns) {
  const int registers = columns / 2;
  std::string results, operands;
  for (int i = 0; i < registers; ++i) {
    results += (i == 0 ? "%" : ", %") + std::to_string(i);
    operands += (i == 0 ? "\"+f\"(c[" : ", \"+f\"(c[") + std::to_string(i / 4) + "][" + std::to_string(i % 4) + "])";
  }
  const auto number = [&](int behind) { return "%" + std::to_string(registers + behind); };
  const auto begin = [&](const char* dtype) { return "wgmma.mma_async.sync.aligned.m64n" + std::to_string(columns) + "k16.f32." + dtype + "." + dtype + " {" + results + "}, "; };
  const auto shared = [&](const char* dtype) {
    return "    asm volatile(\"{\\n.reg .pred p;\\nsetp.ne.b32 p, " + number(2) + ", 0;\\n" + begin(dtype) + number(0) + ", " + number(1) + ", p, 1, 1, 0, 0;\\n}\"\n        : " + operands +
           "\n        : \"l\"(a), \"l\"(b), \"r\"(static_cast<int>(adds)));\n";
  };
  const auto held = [&](const char* dtype) {
    return "    asm volatile(\"" + begin(dtype) + "{" + number(0) + ", " + number(1) + ", " + number(2) + ", " + number(3) + "}, " + number(4) + ", 1, 1, 1, 1;\"\n        : " + operands +
           "\n        : \"r\"(a[0]), \"r\"(a[1]), \"r\"(a[2]), \"r\"(a[3]), \"l\"(b));\n";
  };
  const std::string result = "float (&c)[" + std::to_string(columns / 8) + "][4], ";
  const auto function = [&](const std::string& name, const std::string& parameters, const auto& body) {
    return "template <bool is_bfloat16>\n__device__ __forceinline__ void " + name + "(" + result + parameters + ") {\n  if (is_bfloat16) {\n" + body("bf16") + "  } else {\n" + body("f16") + "  }\n}\n";
  };
  return function("multiply", "unsigned long long a, unsigned long long b, bool adds", shared) + function("add_product", "const unsigned (&a)[4], unsigned long long b", held);
}

constexpr const char* kWarpgroupText = R"(
__device__ __forceinline__ void begin_products() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ __forceinline__ void end_products() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
/// Until no more than so many groups of products, each ended by end_products(), are on their way.
template <int left>
__device__ __forceinline__ void wait_for_products() { asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(left) : "memory"); }
/// To the products, which read shared memory by another way than threads do.
__device__ __forceinline__ void show_copies() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

/// Rows [first, first + rows) of a matrix of extent rows, zeros beyond its end, as the products read them: a panel has 64 features, 128 bytes a row, and a row's number
/// says which of its eight pieces of 16 bytes stands where (piece ^ row % 8), so that eight rows meet no bank twice.
template <int features, int rows, int threads>
__device__ __forceinline__ void load_panels(unsigned to, const char* from, long long row_bytes, int first, int extent) {
  constexpr int kChunks = features / 8;
  static_assert(rows * kChunks % threads == 0);
#pragma unroll
  for (int i = 0; i < rows * kChunks / threads; ++i) {
    const int chunk = i * threads + static_cast<int>(threadIdx.x), row = chunk / kChunks, part = chunk % kChunks;
    const bool is_inside = first + row < extent;
    copy_16(to + part / 8 * rows * 128 + row * 128 + ((part % 8 ^ row % 8) << 4), from + (is_inside ? (first + row) * row_bytes : 0) + part * 16, is_inside);
  }
}

/// Where 16 features of such rows lie, the step-th: an operand that is summed over features. Groups of eight rows are 1,024 bytes apart.
template <int rows>
__device__ __forceinline__ unsigned long long along_features(unsigned tile, int step) {
  return static_cast<unsigned long long>((tile + step / 4 * rows * 128 + step % 4 * 32) >> 4 & 0x3fff) | 1ull << 16 | 64ull << 32 | 1ull << 62;
}
/// Where 16 rows lie, the step-th, with all features: an operand that is summed over rows. Panels lie rows * 128 bytes apart.
template <int rows>
__device__ __forceinline__ unsigned long long along_rows(unsigned tile, int step) {
  return static_cast<unsigned long long>((tile + step * 2048) >> 4 & 0x3fff) | static_cast<unsigned long long>(rows * 128 >> 4) << 16 | 64ull << 32 | 1ull << 62;
}

template <int n, bool is_bfloat16>
__device__ __forceinline__ void pack_rows(unsigned (&p)[n / 2][4], const float (&s)[n][4]) {
#pragma unroll
  for (int step = 0; step < n / 2; ++step) {
    p[step][0] = pack<is_bfloat16>(s[2 * step][0], s[2 * step][1]);
    p[step][1] = pack<is_bfloat16>(s[2 * step][2], s[2 * step][3]);
    p[step][2] = pack<is_bfloat16>(s[2 * step + 1][0], s[2 * step + 1][1]);
    p[step][3] = pack<is_bfloat16>(s[2 * step + 1][2], s[2 * step + 1][3]);
  }
}

template <int features, int kKeys, int groups, int blocks, bool is_bfloat16, bool is_causal, bool is_masked>
__global__ void __launch_bounds__(128 * groups, blocks) warpgroup_forward(Rows q, Rows k, Rows v, Mask mask, AttentionSizes sizes, void* out, float* lse) {
  constexpr int kThreads = 128 * groups, kRows = 64 * groups, kSteps = features / 16, kTileBytes = kKeys * features * 2;
  extern __shared__ __align__(16) char memory[];
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, group = lane >> 2, pair = lane & 3, which_group = __shfl_sync(0xffffffffu, static_cast<int>(threadIdx.x) >> 7, 0);
  const int per_head = (sizes.queries + kRows - 1) / kRows;
  const Block block = this_block<is_causal>(per_head);
  const int which = block.head, head = which % sizes.heads, batch = which / sizes.heads;
  const int first = (per_head - 1 - block.nth) * kRows, group_row = first + which_group * 64, first_row = first + warp * 16;
  const int key_head = head / (sizes.heads / sizes.groups);
  const char *const qs = row_base(q, batch, head), *const ks = row_base(k, batch, key_head), *const vs = row_base(v, batch, key_head);
  const unsigned q_at = (shared_address(memory) + 1023) & ~1023u, k_at = q_at + kRows * features * 2, v_at = k_at + 2 * kTileBytes;
  const int end = is_causal ? min(sizes.keys, first + kRows) : sizes.keys, tiles = (end + kKeys - 1) / kKeys;
  const float scale = sizes.scale * 1.44269504089f;

  load_panels<features, kRows, kThreads>(q_at, qs, q.row * 2, first, sizes.queries);
  if (tiles > 0) {
    load_panels<features, kKeys, kThreads>(k_at, ks, k.row * 2, 0, sizes.keys);
    load_panels<features, kKeys, kThreads>(v_at, vs, v.row * 2, 0, sizes.keys);
  }
  commit_copies();
  float sum[1][features / 8][4] = {}, greatest[2] = {-infinity(), -infinity()}, total[2] = {};
  for (int tile = 0; tile < tiles; ++tile) {
    wait_for_copies();
    show_copies();
    __syncthreads();
    if (tile + 1 < tiles) {
      const unsigned other = ((tile + 1) & 1) * kTileBytes;
      load_panels<features, kKeys, kThreads>(k_at + other, ks, k.row * 2, (tile + 1) * kKeys, sizes.keys);
      load_panels<features, kKeys, kThreads>(v_at + other, vs, v.row * 2, (tile + 1) * kKeys, sizes.keys);
      commit_copies();
    }
    const int first_key = tile * kKeys;
    if (is_causal && first_key > group_row + 63) continue;
    const unsigned k_now = k_at + (tile & 1) * kTileBytes, v_now = v_at + (tile & 1) * kTileBytes;
    float s[kKeys / 8][4];
    begin_products();
#pragma unroll
    for (int step = 0; step < kSteps; ++step) multiply<is_bfloat16>(s, along_features<kRows>(q_at + which_group * 64 * 128, step), along_features<kKeys>(k_now, step), step > 0);
    end_products();
    wait_for_products<0>();
    if (is_masked || first_key + kKeys > sizes.keys || (is_causal && first_key + kKeys - 1 > group_row)) {
#pragma unroll
      for (int n = 0; n < kKeys / 8; ++n)
#pragma unroll
        for (int e = 0; e < 4; ++e) {
          const int row = first_row + (e >> 1) * 8 + group, key = first_key + n * 8 + pair * 2 + (e & 1);
          bool is_seen = key < sizes.keys && !(is_causal && key > row);
          if (is_masked && is_seen && row < sizes.queries) is_seen = mask.base[batch * mask.batch + head * mask.head + row * mask.row + key * mask.column];
          if (!is_seen) s[n][e] = -infinity();
        }
    }
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float most = s[0][2 * half];
#pragma unroll
      for (int n = 0; n < kKeys / 8; ++n) most = fmaxf(most, fmaxf(s[n][2 * half], s[n][2 * half + 1]));
      most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, 1));
      most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, 2));
      const float next = fmaxf(greatest[half], most * scale), shift = next == -infinity() ? 0.0f : next, shrink = exp2_of(greatest[half] - shift);
      greatest[half] = next;
      total[half] *= shrink;
#pragma unroll
      for (int n = 0; n < features / 8; ++n) {
        sum[0][n][2 * half] *= shrink;
        sum[0][n][2 * half + 1] *= shrink;
      }
#pragma unroll
      for (int n = 0; n < kKeys / 8; ++n) {
#pragma unroll
        for (int e = 2 * half; e < 2 * half + 2; ++e) {
          s[n][e] = exp2_of(fmaf(s[n][e], scale, -shift));
          total[half] += s[n][e];
        }
      }
    }
    unsigned p[kKeys / 16][4];
    pack_rows<kKeys / 8, is_bfloat16>(p, s);
    begin_products();
#pragma unroll
    for (int step = 0; step < kKeys / 16; ++step) add_product<is_bfloat16>(sum[0], p[step], along_rows<kKeys>(v_now, step));
    end_products();
    wait_for_products<0>();
  }
  float factor[1][2];
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    float all = total[half];
    all += __shfl_xor_sync(0xffffffffu, all, 1);
    all += __shfl_xor_sync(0xffffffffu, all, 2);
    factor[0][half] = all == 0 ? 0.0f : 1 / all;
    const int row = first_row + half * 8 + group;
    if (pair == 0 && row < sizes.queries) lse[static_cast<long long>(which) * sizes.queries + row] = all == 0 ? infinity() : greatest[half] + log2f(all);
  }
  store_rows<features, is_bfloat16, 1>(static_cast<unsigned short*>(out) + (static_cast<long long>(batch) * sizes.queries * sizes.heads + head) * features, static_cast<long long>(sizes.heads) * features, sum, factor, first_row, sizes.queries);
}

template <int features, int kKeys, int groups, int blocks, bool is_bfloat16, bool is_causal, bool is_masked>
__global__ void __launch_bounds__(128 * groups, blocks) warpgroup_by_query(Rows q, Rows k, Rows v, Mask mask, AttentionSizes sizes, Rows g, const float* lse, const float* delta, Rows dq) {
  constexpr int kThreads = 128 * groups, kRows = 64 * groups, kSteps = features / 16, kTileBytes = kKeys * features * 2;
  extern __shared__ __align__(16) char memory[];
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, group = lane >> 2, pair = lane & 3, which_group = __shfl_sync(0xffffffffu, static_cast<int>(threadIdx.x) >> 7, 0);
  const int per_head = (sizes.queries + kRows - 1) / kRows;
  const Block block = this_block<is_causal>(per_head);
  const int which = block.head, head = which % sizes.heads, batch = which / sizes.heads;
  const int first = (per_head - 1 - block.nth) * kRows, group_row = first + which_group * 64, first_row = first + warp * 16;
  const int key_head = head / (sizes.heads / sizes.groups);
  const char *const qs = row_base(q, batch, head), *const gs = row_base(g, batch, head), *const ks = row_base(k, batch, key_head), *const vs = row_base(v, batch, key_head);
  const unsigned q_at = (shared_address(memory) + 1023) & ~1023u, g_at = q_at + kRows * features * 2, k_at = g_at + kRows * features * 2, v_at = k_at + 2 * kTileBytes;
  const int end = is_causal ? min(sizes.keys, first + kRows) : sizes.keys, tiles = (end + kKeys - 1) / kKeys;
  const float scale = sizes.scale * 1.44269504089f;

  load_panels<features, kRows, kThreads>(q_at, qs, q.row * 2, first, sizes.queries);
  load_panels<features, kRows, kThreads>(g_at, gs, g.row * 2, first, sizes.queries);
  if (tiles > 0) {
    load_panels<features, kKeys, kThreads>(k_at, ks, k.row * 2, 0, sizes.keys);
    load_panels<features, kKeys, kThreads>(v_at, vs, v.row * 2, 0, sizes.keys);
  }
  commit_copies();
  float sum[1][features / 8][4] = {}, row_lse[2], row_delta[2];
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int row = first_row + half * 8 + group;
    const long long at = static_cast<long long>(which) * sizes.queries + row;
    row_lse[half] = row < sizes.queries ? lse[at] : infinity();
    row_delta[half] = row < sizes.queries ? delta[at] : 0.0f;
  }
  for (int tile = 0; tile < tiles; ++tile) {
    wait_for_copies();
    show_copies();
    __syncthreads();
    if (tile + 1 < tiles) {
      const unsigned other = ((tile + 1) & 1) * kTileBytes;
      load_panels<features, kKeys, kThreads>(k_at + other, ks, k.row * 2, (tile + 1) * kKeys, sizes.keys);
      load_panels<features, kKeys, kThreads>(v_at + other, vs, v.row * 2, (tile + 1) * kKeys, sizes.keys);
      commit_copies();
    }
    const int first_key = tile * kKeys;
    if (is_causal && first_key > group_row + 63) continue;
    const unsigned k_now = k_at + (tile & 1) * kTileBytes, v_now = v_at + (tile & 1) * kTileBytes;
    float s[kKeys / 8][4], d[kKeys / 8][4];
    begin_products();
#pragma unroll
    for (int step = 0; step < kSteps; ++step) multiply<is_bfloat16>(s, along_features<kRows>(q_at + which_group * 64 * 128, step), along_features<kKeys>(k_now, step), step > 0);
    end_products();
#pragma unroll
    for (int step = 0; step < kSteps; ++step) multiply<is_bfloat16>(d, along_features<kRows>(g_at + which_group * 64 * 128, step), along_features<kKeys>(v_now, step), step > 0);
    end_products();
    wait_for_products<1>();
    const bool is_edge = is_masked || first_key + kKeys > sizes.keys || (is_causal && first_key + kKeys - 1 > group_row);
#pragma unroll
    for (int n = 0; n < kKeys / 8; ++n)
#pragma unroll
      for (int e = 0; e < 4; ++e) s[n][e] = exp2_of(fmaf(s[n][e], scale, -row_lse[e >> 1]));
    if (is_edge) {
#pragma unroll
      for (int n = 0; n < kKeys / 8; ++n)
#pragma unroll
        for (int e = 0; e < 4; ++e) {
          const int row = first_row + (e >> 1) * 8 + group, key = first_key + n * 8 + pair * 2 + (e & 1);
          bool is_seen = key < sizes.keys && !(is_causal && key > row);
          if (is_masked && is_seen && row < sizes.queries) is_seen = mask.base[batch * mask.batch + head * mask.head + row * mask.row + key * mask.column];
          if (!is_seen) s[n][e] = 0.0f;
        }
    }
    wait_for_products<0>();
#pragma unroll
    for (int n = 0; n < kKeys / 8; ++n)
#pragma unroll
      for (int e = 0; e < 4; ++e) s[n][e] *= d[n][e] - row_delta[e >> 1];
    unsigned p[kKeys / 16][4];
    pack_rows<kKeys / 8, is_bfloat16>(p, s);
    begin_products();
#pragma unroll
    for (int step = 0; step < kKeys / 16; ++step) add_product<is_bfloat16>(sum[0], p[step], along_rows<kKeys>(k_now, step));
    end_products();
    wait_for_products<0>();
  }
  const float factor[1][2] = {{sizes.scale, sizes.scale}};
  store_rows<features, is_bfloat16, 1>(result_base(dq, batch, head), dq.row, sum, factor, first_row, sizes.queries);
}

template <int features, int kQueries, int groups, int blocks, bool is_bfloat16, bool is_causal, bool is_masked>
__global__ void __launch_bounds__(128 * groups, blocks) warpgroup_by_key(Rows q, Rows k, Rows v, Mask mask, AttentionSizes sizes, Rows g, const float* lse, const float* delta, Rows dk, Rows dv) {
  constexpr int kThreads = 128 * groups, kRows = 64 * groups, kSteps = features / 16, kTileBytes = kQueries * features * 2;
  extern __shared__ __align__(16) char memory[];
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, group = lane >> 2, pair = lane & 3, which_group = __shfl_sync(0xffffffffu, static_cast<int>(threadIdx.x) >> 7, 0);
  const int per_head = (sizes.keys + kRows - 1) / kRows;
  const Block block = this_block<is_causal>(per_head);
  const int which = block.head, key_head = which % sizes.groups, batch = which / sizes.groups;
  const int first = block.nth * kRows, group_key = first + which_group * 64, first_key = first + warp * 16;
  const int shared_by = sizes.heads / sizes.groups;
  const char *const ks = row_base(k, batch, key_head), *const vs = row_base(v, batch, key_head);
  const unsigned base = shared_address(memory), k_at = (base + 1023) & ~1023u, v_at = k_at + kRows * features * 2, q_at = v_at + kRows * features * 2, g_at = q_at + 2 * kTileBytes, lse_at = g_at + 2 * kTileBytes, delta_at = lse_at + 2 * kQueries * 4;
  const int begin = is_causal ? first / kQueries : 0, tiles_a_head = max(0, (sizes.queries + kQueries - 1) / kQueries - begin), tiles = tiles_a_head * shared_by;
  const float scale = sizes.scale * 1.44269504089f;
  const auto load = [&](int tile) {
    const int head = key_head * shared_by + tile / tiles_a_head, from = (begin + tile % tiles_a_head) * kQueries;
    const unsigned other = (tile & 1) * kTileBytes, column = (tile & 1) * kQueries * 4;
    load_panels<features, kQueries, kThreads>(q_at + other, row_base(q, batch, head), q.row * 2, from, sizes.queries);
    load_panels<features, kQueries, kThreads>(g_at + other, row_base(g, batch, head), g.row * 2, from, sizes.queries);
    const long long at = (static_cast<long long>(batch) * sizes.heads + head) * sizes.queries;
    load_column<kQueries>(lse_at + column, lse + at, from, sizes.queries);
    load_column<kQueries>(delta_at + column, delta + at, from, sizes.queries);
    commit_copies();
  };
  load_panels<features, kRows, kThreads>(k_at, ks, k.row * 2, first, sizes.keys);
  load_panels<features, kRows, kThreads>(v_at, vs, v.row * 2, first, sizes.keys);
  if (tiles > 0) load(0);
  float by_key[1][features / 8][4] = {}, by_value[1][features / 8][4] = {};
  for (int tile = 0; tile < tiles; ++tile) {
    wait_for_copies();
    show_copies();
    __syncthreads();
    if (tile + 1 < tiles) load(tile + 1);
    const int head = key_head * shared_by + tile / tiles_a_head, first_query = (begin + tile % tiles_a_head) * kQueries;
    if (is_causal && first_query + kQueries - 1 < group_key) continue;
    const unsigned q_now = q_at + (tile & 1) * kTileBytes, g_now = g_at + (tile & 1) * kTileBytes;
    const float2 *const lses = reinterpret_cast<const float2*>(memory + (lse_at - base)) + (tile & 1) * kQueries / 2, *const deltas = reinterpret_cast<const float2*>(memory + (delta_at - base)) + (tile & 1) * kQueries / 2;
    float s[kQueries / 8][4], d[kQueries / 8][4];
    begin_products();
#pragma unroll
    for (int step = 0; step < kSteps; ++step) multiply<is_bfloat16>(s, along_features<kRows>(k_at + which_group * 64 * 128, step), along_features<kQueries>(q_now, step), step > 0);
    end_products();
#pragma unroll
    for (int step = 0; step < kSteps; ++step) multiply<is_bfloat16>(d, along_features<kRows>(v_at + which_group * 64 * 128, step), along_features<kQueries>(g_now, step), step > 0);
    end_products();
    wait_for_products<1>();
#pragma unroll
    for (int n = 0; n < kQueries / 8; ++n) {
      const float2 l = lses[n * 4 + pair];
#pragma unroll
      for (int e = 0; e < 4; ++e) s[n][e] = exp2_of(fmaf(s[n][e], scale, (e & 1) ? -l.y : -l.x));
    }
    if (is_masked || (is_causal && first_query < group_key + 63)) {
#pragma unroll
      for (int n = 0; n < kQueries / 8; ++n)
#pragma unroll
        for (int e = 0; e < 4; ++e) {
          const int row = first_query + n * 8 + pair * 2 + (e & 1), key = first_key + (e >> 1) * 8 + group;
          bool is_seen = !(is_causal && key > row);
          if (is_masked && is_seen && row < sizes.queries && key < sizes.keys) is_seen = mask.base[batch * mask.batch + head * mask.head + row * mask.row + key * mask.column];
          if (!is_seen) s[n][e] = 0.0f;
        }
    }
    unsigned p[kQueries / 16][4], w[kQueries / 16][4];
    pack_rows<kQueries / 8, is_bfloat16>(p, s);
    begin_products();
#pragma unroll
    for (int step = 0; step < kQueries / 16; ++step) add_product<is_bfloat16>(by_value[0], p[step], along_rows<kQueries>(g_now, step));
    end_products();
    wait_for_products<1>();
#pragma unroll
    for (int n = 0; n < kQueries / 8; ++n) {
      const float2 t = deltas[n * 4 + pair];
#pragma unroll
      for (int e = 0; e < 4; ++e) d[n][e] = s[n][e] * (d[n][e] - ((e & 1) ? t.y : t.x));
    }
    pack_rows<kQueries / 8, is_bfloat16>(w, d);
    begin_products();
#pragma unroll
    for (int step = 0; step < kQueries / 16; ++step) add_product<is_bfloat16>(by_key[0], w[step], along_rows<kQueries>(q_now, step));
    end_products();
    wait_for_products<0>();
  }
  const float key_factor[1][2] = {{sizes.scale, sizes.scale}}, value_factor[1][2] = {{1, 1}};
  store_rows<features, is_bfloat16, 1>(result_base(dk, batch, key_head), dk.row, by_key, key_factor, first_key, sizes.keys);
  store_rows<features, is_bfloat16, 1>(result_base(dv, batch, key_head), dv.row, by_value, value_factor, first_key, sizes.keys);
}
)";

constexpr int kGroupRows = 64;  // rows of a warpgroup
constexpr int kPanelAlignment = 1024;  // bytes, of panels

const std::string& warpgroup_source() {
  static const std::string text = kAttentionText + products_text(64) + products_text(128) + kWarpgroupText;
  return text;
}

/// A walk over tiles of so many rows of the other side, with so many warpgroups a block and blocks a multiprocessor, which is what bounds a thread's registers: chosen so that
/// next to nothing is spilled and products need not wait for registers. held: rows that the block keeps, of its own side, a warpgroup.
struct Walk {
  int tile, warpgroups, blocks, held;
};

AttentionKernel kernel_of(const char* name, const AttentionVariant& variant, const Walk& walk, std::size_t more_bytes) {
  const int rows = walk.held * walk.warpgroups + 4 * walk.tile;  // of the other side two arrays, each twice
  return {.name = attention_instance(name, variant, {walk.tile, walk.warpgroups, walk.blocks}),
          .rows = kGroupRows * walk.warpgroups,
          .threads = 128 * walk.warpgroups,
          .shared_bytes = kPanelAlignment + static_cast<std::size_t>(rows) * static_cast<std::size_t>(variant.features) * 2 + more_bytes,
          .source = &warpgroup_source(),
          .flags = {"-arch=sm_90a"}};
}

}  // namespace

bool takes_warpgroups(const AttentionVariant& variant) { return variant.warpgroups && (variant.features == 64 || variant.features == 128); }

AttentionKernel warpgroup_forward(const AttentionVariant& variant) {
  return kernel_of("warpgroup_forward", variant, variant.features == 64 ? Walk{64, 2, 2, kGroupRows} : Walk{64, 1, 2, kGroupRows}, 0);
}

AttentionKernel warpgroup_by_query(const AttentionVariant& variant) {
  return kernel_of("warpgroup_by_query", variant, variant.features == 64 ? Walk{64, 2, 2, 2 * kGroupRows} : Walk{64, 1, 2, 2 * kGroupRows}, 0);
}

AttentionKernel warpgroup_by_key(const AttentionVariant& variant) {
  const Walk walk = Walk{variant.features == 64 ? 128 : 64, 1, 2, 2 * kGroupRows};
  return kernel_of("warpgroup_by_key", variant, walk, 4 * static_cast<std::size_t>(walk.tile) * sizeof(float));  // logarithms and sums of two tiles
}

}  // namespace damo
