#include "runtime/cpu/random_kernels/constructs.hpp"

#include <initializer_list>

namespace damo::random_kernels {
namespace {

std::string pick(const Values& values, std::initializer_list<const char*> choices) { return *(choices.begin() + values.random() % choices.size()); }

/// Of text, with as many values of one depth as it has places.
Node with_values(const Values& values, const std::string& text, unsigned depth = 1) {
  std::vector<Node> kids;
  for (const char letter : text) {
    if (letter == '$') kids.push_back(values.any(depth));
  }
  return statement(text, std::move(kids));
}

Node of_halves(const Values& values) {
  return with_values(values, pick(values, {
      "{ const __half h = __float2half(float($ & 15u)), w = __float2half(float($ & 7u)); v0 += unsigned(int(__half2float(h * w + h))); }",
      "{ __half h = __float2half(float($ & 31u)); h += __float2half(3.0f); v1 ^= unsigned(__half2int_rn(__hmul(h, __float2half(2.0f)))); }",
      "{ const __half h = __float2half(float($ & 31u)), w = __float2half(float($ & 31u));\nif (__hlt(h, w)) v2 += unsigned(int(__half2float(__hsub(w, h))));\nelse v2 ^= 3u; }",
      "{ const __half2 h = __floats2half2_rn(float($ & 15u), float($ & 7u)), w = __hfma2(h, h, __hadd2(h, h));\nv0 += unsigned(int(__low2float(w))) + 3u * unsigned(int(__high2float(w))); }",
      "{ __half2 h = __float2half2_rn(float($ & 15u));\nfor (int i = 0; i < 3; ++i) h = __hadd2(h, __half2half2(__float2half(float(i))));\nv1 += unsigned(int(__low2float(h))) ^ unsigned(int(__high2float(h))); }",
      "{ __half hs[4];\nfor (int i = 0; i < 4; ++i) hs[i] = __float2half(float(($ >> i) & 15u));\nv2 += unsigned(int(__half2float(__hmax(hs[$ & 3u], hs[1])))); }",
      "{ const unsigned short bits = __half_as_ushort(__float2half(float($ & 255u)));\nv0 ^= bits; }",
      "{ const __nv_bfloat16 h = __float2bfloat16(float($ & 7u)), w = __float2bfloat16(float($ & 15u)); v0 += unsigned(int(__bfloat162float(h * w + h))); }",
      "{ __nv_bfloat162 h = __floats2bfloat162_rn(float($ & 7u), float($ & 7u)); h = __hfma2(h, h, h);\nv1 += unsigned(int(__low2float(h))) + 5u * unsigned(int(__high2float(h))); }"}));
}

Node of_the_heap(const Values& values) {
  return with_values(values, pick(values, {
      "{ unsigned* const h = (unsigned*)malloc(16u);\nif (h != nullptr) {\nfor (int i = 0; i < 4; ++i) h[i] = $ + unsigned(i);\nv0 += h[$ & 3u];\nfree(h);\n} else {\nv0 = 77u;\n} }",
      "{ unsigned* h = new unsigned[5];\nh[0] = $;\nfor (int i = 1; i < 5; ++i) h[i] = h[i - 1] * 3u + 1u;\nv1 ^= h[4] + h[$ % 5u];\ndelete[] h; }",
      "{ Pair_@* const h = new Pair_@{$, 3, 4};\nh->y += (unsigned short)($);\nv2 += h->x + h->y * h->z;\ndelete h; }"}));
}

Node of_the_language(const Values& values) {
  return with_values(values, pick(values, {
      "{ const auto f = [&](unsigned x) { return x * 3u + v1; };\nv0 += f($) ^ f($); }",
      "{ auto f = [k = $](unsigned x) mutable { k += x; return k; };\nv1 += f($);\nv2 ^= f(5u); }",
      "v0 += Ring_@<unsigned, 3>{$}.turned($);",
      "{ Ring_@<unsigned char, 5> ring = {(unsigned char)($)};\nv1 += ring.turned($); }",
      "v2 += given.x * $ + given.z;",
      "{ Given_@ mine_ = given;\nmine_.x += $;\nmine_.words[$ & 3u] ^= 9u;\nv0 += sum_@(mine_); }",
      "{ Given_@ mine_ = given;\nGiven_@* const place = &mine_;\nplace->words[1] = $;\nv3 += sum_@(*place) + unsigned(int(place->w)); }",
      "v1 += given.words[$ & 3u];"}));
}

}  // namespace

Node own_construct(const Values& values) {
  switch (values.random() % 7) {
    case 0: case 1: case 2: return of_halves(values);
    case 3: return of_the_heap(values);
    default: return of_the_language(values);
  }
}

// A value may be a volatile word of shared memory, which the groups' templates do not take: unsigned($) is a copy.
Node warp_construct(const Values& values) {
  const std::string size = pick(values, {"4", "8", "16", "32", "32"}), tile = "const auto tile = cg::tiled_partition<" + size + ">(cg::this_thread_block());\n";
  const std::string operation = pick(values, {"plus", "less", "greater", "bit_and", "bit_or", "bit_xor"});
  const std::string place = pick(values, {"v0 += ", "v1 ^= ", "v2 += "});
  std::string text;
  switch (values.random() % 11) {
    case 0: text = tile + place + "cg::reduce(tile, unsigned($), cg::" + operation + "<unsigned>());"; break;
    case 1: text = tile + place + "cg::inclusive_scan(tile, $ & 1023u);"; break;
    case 2: text = tile + place + "cg::exclusive_scan(tile, unsigned($), cg::plus<unsigned>());"; break;
    case 3: text = tile + place + pick(values, {"tile.shfl(unsigned($), int($ % tile.size()));", "tile.shfl_xor(unsigned($), 1);", "tile.shfl_down(unsigned($), 1u);", "tile.shfl_up(unsigned($), 2u);"}); break;
    case 4: text = tile + place + pick(values, {"tile.ballot(int($ & 1u));", "unsigned(tile.any(int($ & 8u)));", "unsigned(tile.all(int($ | 2u)));", "tile.match_any($ & 3u);"}); break;
    case 5:
      text = "using Operation = cg::" + operation + "<unsigned>;\nconst auto tile = cg::tiled_partition<32>(cg::this_thread_block());\nconst auto group = cg::labeled_partition(tile, int($ & 3u));\n" + place +
             pick(values, {"cg::reduce(group, unsigned($), Operation());", "group.size();", "group.shfl(unsigned($), 0);", "group.thread_rank() + tile.meta_group_rank();",
                           "cg::inclusive_scan(group, $ & 1023u);", "cg::exclusive_scan(group, unsigned($), cg::plus<unsigned>());",
                           "$;\nif (group.size() % 2u == 0u) v1 += cg::reduce(group, unsigned($), Operation());"});
      break;
    case 6: text = "const auto tile = cg::tiled_partition<32>(cg::this_thread_block());\nconst auto group = cg::binary_partition(tile, ($ & 4u) != 0u);\n" + place +
                   pick(values, {"cg::reduce(group, unsigned($), cg::plus<unsigned>());", "group.size();", "group.ballot(int($ & 1u));"}); break;
    case 7: text = pick(values, {"q0 += __shfl_xor_sync(0xffffffffu, q0 * 5u + $, 3);", "q0 ^= __shfl_down_sync(0xffffffffu, q0, 1u);", "d0 = __shfl_sync(0xffffffffu, double($ & 255u) * 0.5, 7);",
                                 "q0 += (unsigned long long)__shfl_up_sync(0xffffffffu, (long long)$ << 33, 2u, 16);", "v0 += __match_any_sync(0xffffffffu, (unsigned long long)($ & 1u) << 40);"}); break;
    case 8: text = tile + "tile.sync();\n" + place + "tile.thread_rank() + tile.meta_group_rank() * 5u + $;"; break;
    case 9:
      text = "const unsigned group = __match_any_sync(0xffffffffu, $ & 7u);\n" + place +
             pick(values, {"__reduce_add_sync(group, unsigned($));", "unsigned(__reduce_min_sync(group, int($)));", "unsigned(__reduce_max_sync(group, int($)));", "__reduce_max_sync(group, unsigned($));",
                           "__reduce_and_sync(group, unsigned($));", "__reduce_xor_sync(group, unsigned($));", "__ballot_sync(group, int($ & 1u));", "__match_any_sync(group, $ & 1u);",
                           "__shfl_sync(group, unsigned($), __ffs(int(group)) - 1);"});
      break;
    default: text = "int same_ = 0;\n" + place + "__match_all_sync(0xffffffffu, $ & 1u, &same_) + unsigned(same_ != 0);";
  }
  return with_values(values, "if (B % 32u == 0u && live == B) {\n" + text + "\n}");
}

Node block_construct(const Values& values) {
  const std::string meet = pick(values, {"__barrier_sync(0u);", "__barrier_sync(5u);", "cg::this_thread_block().sync();", "cg::sync(cg::this_thread_block());", "__barrier_sync_count(3u, B);"});
  switch (values.random() % 3) {
    case 0: return with_values(values, "if (B % 32u == 0u && live == B) {\ns[t] = $;\n" + meet + "\nv0 += s[(t + 7u) % B];\n" + meet + "\n}", 2);
    case 1: {  // the first warps among themselves
      Node node = statement("if (B % 32u == 0u && live == B) {\nconst unsigned part_ = ($ % (B / 32u) + 1u) * 32u;\nif (t < part_) {\ns[t] = $;\n__barrier_sync_count(2u, part_);\n"
                            "v1 += s[(t + 33u) % part_];\n__barrier_sync_count(2u, part_);\n} else {\nv2 ^= $;\n}\n__syncthreads();\n}", {});
      node.kids = {values.same(1), values.any(2), values.any(1)};
      return node;
    }
    default: {  // halves of the block wait for halves of their own
      Node node = statement("if (B % 64u == 0u && live == B) {\nconst unsigned half_ = B / 2u, first_ = t / half_ * half_;\ns[t] = $;\n__barrier_sync_count(6u + t / half_, half_);\n"
                            "v0 ^= s[first_ + (t + 5u) % half_];\n__barrier_sync_count(6u + t / half_, half_);\n}", {});
      node.kids = {values.any(2)};
      return node;
    }
  }
}

std::string headers_of(const std::string& text) {
  const auto has = [&](const char* word) { return text.find(word) != text.npos; };
  std::string headers;
  if (has("__half") || has("half2")) headers += "#include <cuda_fp16.h>\n";
  if (has("bfloat16")) headers += "#include <cuda_bf16.h>\n";
  if (has("cg::")) {
    headers += "#include <cooperative_groups.h>\n";
    if (has("cg::reduce(") || has("Operation")) headers += "#include <cooperative_groups/reduce.h>\n";
    if (has("_scan(")) headers += "#include <cooperative_groups/scan.h>\n";
    headers += "namespace cg = cooperative_groups;\n";
  }
  return headers;
}

}  // namespace damo::random_kernels
