// The part of CudaReducingEmitter in which threads that share rows give each other what each has joined: the lanes of a row, of a tile of rows beside each other, and the blocks of
// a cluster.
#include <algorithm>
#include <utility>

#include "runtime/cuda/reducing_emitter.hpp"
#include "runtime/cuda/reducing_text.hpp"
#include "runtime/kernel/body.hpp"
#include "runtime/kernel/dialect.hpp"

namespace damo {

/// s3, ...: of so many values in shared memory. A user's type may have a constructor, which shared memory must not.
void CudaReducingEmitter::declare_shared(const std::vector<int>& joins, int count, const std::string& letter) {
  const std::string bytes = letter == "s" ? "bytes" : "bytes_" + letter;
  for (int join : joins) {
    const std::string n = number(join), type = "Joined" + n, many = "[" + number(count);
    if (spec_.step_of(join).join->accumulator.empty()) line("  __shared__ " + std::string(stays() && layout_.cluster == 1 ? "__align__(16) " : "") + type + " " + letter + n + many + "];");
    else line("  __shared__ __align__(16) unsigned char " + bytes + n + many + " * sizeof(" + type + ")];\n  " + type + "* const " + letter + n + " = reinterpret_cast<" + type + "*>(" + bytes + n + ");");
  }
}

/// Whether what is joined are floats, whose reduce(a, b) has the bits of reduce(b, a).
bool CudaReducingEmitter::joins_floats(int join) const {
  const Step& step = spec_.step_of(join);
  return !step.row && step.join->accumulator.empty() && step.join->members.empty() && value_type(step.compute) == "float";
}

/// Of the warps of a block that stays, a power of 2 and no more than lanes of a warp. Floats of two joins that are reduced alike share the lanes of a warp from the first exchange on, in which each half gives
/// the other what it has of one of them. What warps have left in shared memory is read by four, so that few exchanges are left. Every sum has the order that exchanges by distances from the greatest to 1 have.
/// Blocks of a cluster do without both: two registers more are spilled there (softmax of 262,144 columns on an H200: 279 us, 342 with both).
void CudaReducingEmitter::emit_across_staying(const std::vector<int>& joins) {
  const int warps = layout_.lanes / 32, four = layout_.cluster > 1 ? 1 : std::min(warps, 4), rest = warps / four;
  const auto exchange = [&](int join, int distance) {
    if (distance < 1) return;
    const std::string j = "j" + number(join);
    line("#pragma unroll\n  for (int distance = " + number(distance) + "; distance > 0; distance /= 2) " + j + " = reduce" + number(join) + "(" + j + ", exchanged(" + j + ", distance));");
  };
  const auto are_alike = [&](int a, int b) {
    const Step &x = spec_.step_of(a), &y = spec_.step_of(b);
    return layout_.cluster == 1 && joins_floats(a) && joins_floats(b) && x.join->reduce == y.join->reduce && x.join->before == y.join->before;
  };
  std::vector<std::pair<int, int>> shared;  // a join and, or -1, the other one that shares its lanes
  for (std::size_t i = 0; i < joins.size(); ++i) {
    const bool two = i + 1 < joins.size() && are_alike(joins[i], joins[i + 1]);
    shared.emplace_back(joins[i], two ? joins[i + 1] : -1);
    i += two ? 1 : 0;
  }
  for (const auto& [join, other] : shared) {
    const std::string n = number(join), j = "j" + n, s = "s" + n, all = number(warps * (other < 0 ? 1 : 2));
    const std::string turn = alternates() ? " + turn % 2 * " + all + "] = " : "] = ", own = joins_floats(join) && four > 1 ? "t / 32 % " + number(rest) + " * " + number(four) + " + t / " + number(32 * rest) : "t / 32";
    declare_shared({join}, (alternates() ? 2 : 1) * (other < 0 ? 1 : 2) * warps);
    if (other < 0) {
      exchange(join, 16);
      line("  if (t % 32 == 0) " + s + "[" + own + turn + j + ";");
      continue;
    }
    const std::string k = "j" + number(other), is_upper = "t % 32 >= 16";
    line("  {\n    const Joined" + n + " given = " + is_upper + " ? " + j + " : " + k + ";\n    " + j + " = reduce" + n + "(" + is_upper + " ? " + k + " : " + j + ", exchanged(given, 16));\n  }");
    exchange(join, 8);
    line("  if (t % 16 == 0) " + s + "[t % 32 / 16 * " + number(warps) + " + " + own + turn + j + ";");
  }
  line("  __syncthreads();");
  const auto take = [&](int join, int from, const std::string& turn, int at) {
    const std::string j = "j" + number(join), reduce = "reduce" + number(join), place = "s" + number(from) + turn + (at > 0 ? " + " + number(at) : "");
    if (!joins_floats(join) || four == 1) {
      line("  " + j + " = s" + number(from) + "[t % " + number(warps) + turn + "];");
      exchange(join, warps / 2);
      if (spec_.step_of(join).row || !spec_.step_of(join).join->members.empty()) line("  " + j + " = of_lane(" + j + ", 0);");  // reduce(a, b) may round otherwise than reduce(b, a)
      return;
    }
    line("  {\n    const Vec<Joined" + number(join) + ", " + number(four) + "> w = *reinterpret_cast<const Vec<Joined" + number(join) + ", " + number(four) + ">*>(" + place + (rest > 1 ? " + t % " + number(rest) + " * " + number(four) : "") + ");");
    if (four == 2) line("    " + j + " = " + reduce + "(w.e[0], w.e[1]);\n  }");
    else line("    " + j + " = " + reduce + "(" + reduce + "(w.e[0], w.e[2]), " + reduce + "(w.e[1], w.e[3]));\n  }");
    exchange(join, rest / 2);
  };
  for (const auto& [join, other] : shared) {
    const std::string turn = alternates() ? " + turn % 2 * " + number(warps * (other < 0 ? 1 : 2)) : "";
    take(join, join, turn, 0);
    if (other >= 0) take(other, join, turn, warps);
  }
}

/// Joins the lanes' values; every thread of the row then has the same bits. All joins in one meeting of the block.
void CudaReducingEmitter::emit_across(const std::vector<int>& joins) {
  const int lanes = layout_.lanes, slots = block_ / lanes;
  if (lanes == 1 || joins.empty()) return;
  if (layout_.beside > 0) {
    stays() ? emit_joined_tile(joins) : emit_across_tile(joins);
    return;
  }
  const auto each = [&](const std::string& indent, const auto& text) {
    for (int join : joins) line(unrolled(indent, text("j" + number(join) + (several() ? "[k]" : ""), "reduce" + number(join), "s" + number(join))));
  };
  if (!rows()) {
    const std::string place = several() ? "[k * " + number(block_) + " + " : "[";
    declare_shared(joins, block_ * (several() ? layout_.vector : 1));
    each("  ", [&](const std::string& own, const std::string&, const std::string& shared) { return shared + place + "t] = " + own + ";"; });
    line("  __syncthreads();\n#pragma unroll\n  for (int apart = " + number(lanes / 2) + "; apart > 0; apart /= 2) {\n    if (lane < apart) {");
    each("      ", [&](const std::string&, const std::string& reduce, const std::string& shared) { return shared + place + "t] = " + reduce + "(" + shared + place + "t], " + shared + place + "t + apart * " + number(slots) + "]);"; });
    line("    }\n    __syncthreads();\n  }");
    each("  ", [&](const std::string& own, const std::string&, const std::string& shared) { return own + " = " + shared + place + "slot];"; });
    return;
  }
  if (stays() && lanes > 32) {
    emit_across_staying(joins);
    return;
  }
  const int in_warp = lanes < 32 ? lanes : 32, warps = lanes / 32;
  line("#pragma unroll\n  for (int distance = " + number(in_warp / 2) + "; distance > 0; distance /= 2) {");
  each("    ", [](const std::string& j, const std::string& reduce, const std::string&) { return j + " = " + reduce + "(" + j + ", exchanged(" + j + ", distance));"; });
  line("  }");
  if (warps <= 1) {
    each("  ", [&](const std::string& j, const std::string&, const std::string&) { return j + " = of_lane(" + j + ", t & 31 & ~" + number(in_warp - 1) + ");"; });
    return;
  }
  declare_shared(joins, block_ / 32);
  each("  ", [&](const std::string& j, const std::string&, const std::string& shared) { return "if (t % 32 == 0) " + shared + "[t / 32] = " + j + ";"; });
  line("  __syncthreads();");
  each("  ", [&](const std::string& j, const std::string&, const std::string& shared) { return j + " = " + shared + "[slot * " + number(warps) + "];"; });
  line("#pragma unroll\n  for (int w = 1; w < " + number(warps) + "; ++w) {");
  each("    ", [&](const std::string& j, const std::string& reduce, const std::string& shared) { return j + " = " + reduce + "(" + j + ", " + shared + "[slot * " + number(warps) + " + w]);"; });
  line("  }");
}

/// Joins what so many lanes of a warp have of the rows of a tile, which are as far apart as there are rows.
void CudaReducingEmitter::emit_exchange_beside(const std::vector<int>& joins, int lanes) {
  if (lanes <= 1) return;
  line("#pragma unroll\n  for (int distance = " + number(lanes / 2 * slots()) + "; distance >= " + number(slots()) + "; distance /= 2) {");
  for (int join : joins) {
    const std::string j = "j" + number(join) + (several() ? "[k]" : "");
    line(unrolled("    ", j + " = reduce" + number(join) + "(" + j + ", exchanged(" + j + ", distance));"));
  }
  line("  }");
}

/// Of a tile of rows beside each other: of the lanes of a warp, which are as far apart as there are rows, and then, by as few of each warp's, of the warps.
void CudaReducingEmitter::emit_across_tile(const std::vector<int>& joins) {
  const int slots = layout_.beside, in_warp = 32 / slots, warps = block_ / 32, together = std::min(in_warp, warps);
  const auto each = [&](const std::string& indent, const auto& text) {
    for (int join : joins) line(unrolled(indent, text("j" + number(join) + (several() ? "[k]" : ""), "reduce" + number(join), "s" + number(join))));
  };
  emit_exchange_beside(joins, in_warp);
  if (warps > 1) {
    const std::string each_warp = number(slots * values()), place = " * " + each_warp + " + slot * " + number(values()) + (several() ? " + k]" : "]");
    declare_shared(joins, warps * slots * values());
    line("  if (t % 32 < " + number(slots) + ") {");
    each("    ", [&](const std::string& j, const std::string&, const std::string& shared) { return shared + "[t / 32" + place + " = " + j + ";"; });
    line("  }\n  __syncthreads();");
    each("  ", [&](const std::string& j, const std::string&, const std::string& shared) { return j + " = " + shared + "[t % 32 / " + number(slots) + " % " + number(together) + place + ";"; });
    if (warps > together) {
      line("#pragma unroll\n  for (int w = " + number(together) + "; w < " + number(warps) + "; w += " + number(together) + ") {");
      each("    ", [&](const std::string& j, const std::string& reduce, const std::string& shared) { return j + " = " + reduce + "(" + j + ", " + shared + "[(w + t % 32 / " + number(slots) + ")" + place + ");"; });
      line("  }");
    }
    emit_exchange_beside(joins, together);
  }
  for (int join : joins) {  // reduce(a, b) of a struct, or of a user's text, may round otherwise than reduce(b, a)
    const std::string j = "j" + number(join) + (several() ? "[k]" : "");
    if (spec_.step_of(join).row || !spec_.step_of(join).join->members.empty()) line(unrolled("  ", j + " = of_lane(" + j + ", slot);"));
  }
}

/// Where a block's value of the thread's row, or of its k-th, lies in what the blocks have given each other.
std::string CudaReducingEmitter::met_place(const std::string& block, int join) const {
  std::string at = block;
  if (slots() > 1) at = "(" + at + ") * " + number(slots()) + " + slot";
  if (several()) at = "(" + at + ") * " + number(layout_.vector) + " + k";
  return "met" + number(join) + "[" + at + "]";
}

/// Joins the values of the cluster's blocks, in their order: each block's first threads give its values to the others.
void CudaReducingEmitter::emit_across_blocks(const std::vector<int>& joins) {
  if (layout_.cluster == 1 || joins.empty()) return;
  const std::string blocks = number(layout_.cluster);
  if (joins == passes_.all()[0].joins) line("  leave();");
  for (int join : joins) {
    const std::string n = number(join), met = "met" + n, threads = number(layout_.cluster * slots()), to = slots() > 1 ? "t / " + number(slots()) : "t";
    line("  __shared__ Words<Joined" + n + "> " + met + "[" + number(layout_.cluster * slots() * values()) + "];");
    line("  if (t < " + threads + ") {\n" + unrolled("    ", "give(" + met_place("part", join) + ", j" + n + (several() ? "[k]" : "") + ", " + to + ");") + "\n  }");
  }
  line("  arrive();\n  leave();");
  for (int join : joins) {
    const std::string n = number(join), j = "j" + n + (several() ? "[k]" : "");
    line(unrolled("  ", j + " = taken(" + met_place("0", join) + ");"));
    line("#pragma unroll\n  for (int b = 1; b < " + blocks + "; ++b) {\n" + unrolled("    ", j + " = reduce" + n + "(" + j + ", taken(" + met_place("b", join) + "));") + "\n  }");
  }
}
}  // namespace damo
