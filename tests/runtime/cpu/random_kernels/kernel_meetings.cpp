#include "runtime/cpu/random_kernels/kernel_statements.hpp"

namespace damo::random_kernels {

Node KernelStatements::meeting(unsigned depth) {
  const std::string all = threads();
  switch (below(10)) {
    case 8: case 9: return block_construct(values());
    case 0: return statement("s[t] = $;\n__syncthreads();\n$ += s[(t + $) % " + all + "];\n__syncthreads();", {value(2), fixed(choice({"v0", "v1", "mine[1]"})), same(1)});
    case 1: {  // all read
      readable_ = true;
      Node reads = statements(1 + below(3), depth < 2 ? depth + 1 : depth, Together::kNobody);
      readable_ = false;
      return statement("s[t] = $;\n__syncthreads();\n$__syncthreads();", {value(2), std::move(reads)});
    }
    case 2: {  // one thread, or a few, do something alone
      const std::string k = name("k");
      const std::string work = pick({"for (unsigned " + k + " = 1; " + k + " < " + all + "; ++" + k + ") s[" + k + "] += s[" + k + " - 1];",
                                     "for (unsigned " + k + " = 0; " + k + " < 5u; ++" + k + ") s[(" + k + " * 3u) % " + all + "] ^= $;"});
      std::vector<Node> kids = {same(0)};
      if (work.find('$') != std::string::npos) kids.push_back(value(1));
      return statement("__syncthreads();\nif (t == $ % " + all + ") {\n" + work + "\n}\n__syncthreads();", std::move(kids));
    }
    case 3: return statement("__syncthreads();\nfor (unsigned d = 1; d < " + all + "; d *= 2u) {\nif (t % (2u * d) == 0u && t + d < " + all + ") s[t] += s[t + d];\n__syncthreads();\n}\nv1 += s[0];\n__syncthreads();");
    case 4: return statement("u0 = unsigned(__syncthreads_count(int($ & 1u))) + $;", {value(2), same(1)});
    case 5: return statement(choice({"u1 = unsigned(__syncthreads_or(int($ & 64u)));", "u1 += unsigned(__syncthreads_and(int($ | 1u)));"}), {value(2)});
    case 6: return statement(choice({"u0 = $;", "u1 += $;", "u0 ^= $;"}), {same(2)});
    default: {
      const std::string k = name("k");
      return statement("s[t] = $;\n__syncthreads();\nif (t < 8u) {\nfor (unsigned " + k + " = 0; " + k + " < 5u; ++" + k + ") v2 += s[" + k + " % " + all + "] * $;\n}\n__syncthreads();", {value(2), value(1)});
    }
  }
}

Node KernelStatements::warp_operation() {
  switch (below(16)) {
    case 12: case 13: case 14: case 15: return warp_construct(values());
    case 0: return statement("v0 += __shfl_sync(wm, v1, (lane + $) % lanes);", {value(1)});
    case 1: return statement("v1 ^= __shfl_sync(wm, $, $ % lanes);", {value(2), value(1)});
    case 2: return statement("if (lanes == 32u) v2 += __shfl_" + choice({"xor_sync(wm, v0, 1u", "xor_sync(wm, v0, 16u", "down_sync(wm, v0, 3u", "up_sync(wm, v0, 1u", "down_sync(wm, v0, 1u, 8", "xor_sync(wm, v0, 2u, 4"}) + ");");
    case 3: return statement("v3 += __ballot_sync(wm, int($ & 1u));", {value(2)});
    case 4: return statement("v3 += unsigned(__any_sync(wm, int($ & 8u))) + 2u * unsigned(__all_sync(wm, int($ | 1u)));", {value(2), value(1)});
    case 5: return statement("v2 ^= __match_any_sync(wm, $ & 3u);", {value(2)});
    case 6: return statement("v1 += __reduce_" + choice({"add", "min", "max", "and", "or", "xor"}) + "_sync(wm, $);", {value(2)});
    case 7: return statement("{ const unsigned h = $ % lanes + 1u, some = h < 32u ? (1u << h) - 1u : ~0u;\nif (lane < h) v0 += __shfl_sync(some, v2, (lane + 1u) % h);\n}", {same(1)});
    case 8: return statement("{ const unsigned h = $ % lanes + 1u, some = h < 32u ? (1u << h) - 1u : ~0u;\nif (lane < h) {\nv1 += __ballot_sync(some, int($ & 1u));\n} else {\n$}\n}", {same(1), value(2), block({store()})});
    case 9: return statement("__syncwarp(wm);");
    case 10:
      if (!readable_ && has_barriers_) return statement("s[t] = $;\n__syncwarp(wm);\nv3 += s[warp * 32u + (lane + $) % lanes];\n__syncwarp(wm);", {value(2), same(0)});
      return statement("v0 += rw($ & 3u, v1, wm, (lane + 1u) % lanes);", {same(0)});
    default: return statement("f0 = __shfl_sync(wm, float(v0 & 255u), (lane + 5u) % lanes);\nq0 += __shfl_sync(wm, q0, $ % lanes);", {same(0)});
  }
}

}  // namespace damo::random_kernels
