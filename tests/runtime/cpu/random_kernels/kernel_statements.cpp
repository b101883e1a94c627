#include "runtime/cpu/random_kernels/kernel_statements.hpp"

#include <algorithm>
#include <iterator>

namespace damo::random_kernels {

Node KernelStatements::statements(unsigned count, unsigned depth, Together together) {
  std::vector<Node> all;
  for (unsigned i = 0; i < std::min(count, std::max(left_, 1u)); ++i) all.push_back(any_statement(depth, together));
  return block(std::move(all));
}

Node KernelStatements::tiny_statement(unsigned depth, Together together) {
  if (together == Together::kBlock && one_in(3)) return meeting(depth);
  if (depth < 2 && one_in(depth + 1)) return one_in(2) && depth == 0 ? own_elements_loop(depth) : counted_loop(depth, Together::kNobody);
  if (one_in(10)) return own_construct(values());
  return one_in(3) ? statement("v1 " + choice({"+=", "^=", "="}) + " $;", {value(1)}) : store();
}

Node KernelStatements::any_statement(unsigned depth, Together together) {
  if (left_ == 0) return simple();
  --left_;
  if (goes_side_by_side() && one_in(4)) return side_by_side_loop();
  if (goes_in_step() && depth < 2 && one_in(4)) return loop_in_step();
  if (is_tiny_) return tiny_statement(depth, together);
  if (together == Together::kBlock && one_in(3)) return meeting(depth);
  if (together != Together::kNobody && has_warps_ && one_in(3)) return warp_operation();
  if (has_locks_ && one_in(4)) return locked();
  if (depth < (is_plain_ ? 2 : 3) && one_in(depth + 2)) return flow(depth, together);
  return simple();
}

Node KernelStatements::store() {
  if (one_in(6) && (program_.element == Element::kUnsigned || program_.element == Element::kInt)) {
    auto [element, kids] = element_below(each_);
    kids.push_back(value(1));
    return statement("bump(&a[" + index_of(element) + "], $);", std::move(kids));
  }
  if (is_vector() && one_in(3)) {
    auto [to, to_kids] = element_below(each_);
    auto [from, from_kids] = element_below(b_limit_);
    to_kids.insert(to_kids.end(), from_kids.begin(), from_kids.end());
    return statement("a[" + index_of(to) + "] = b[" + index_of(from) + "];", std::move(to_kids));
  }
  if (is_half()) {
    return statement(choice({"$ = __float2half(float($ & 1023u));", "$ += __float2half(float($ & 255u));", "$ = __int2half_rn(int($ & 1023u));"}), {place(), value(2)});
  }
  if (is_float()) return statement(choice({"$ = float($ & 65535u);", "$ += float($ & 255u);", "$ = ($ & 65535u) + 1.0f;"}), {place(), value(2)});
  const std::string operation = choice({"=", "=", "=", "+=", "^=", "-=", "|="});
  return statement("$ " + operation + " PART($);", {place(), value(2)});
}

Node KernelStatements::simple() {
  switch (below(18)) {
    case 16: case 17: return own_construct(values());
    case 0: return statement(choice({"v0 = $;", "v0 += $;", "v1 = v1 * 5u + $;", "v2 ^= $;", "v3 -= $;"}), {value(2)});
    case 1: return statement("mine[$ & 3u] " + choice({"=", "+=", "^="}) + " $;", {value(1), value(2)});
    case 2: return statement(choice({"f0 += float($ & 255u);", "f0 = fminf(f0, float($ & 1023u));", "d0 += double($ & 255u);", "d0 = float($ & 63u) * 0.5;"}), {value(2)});
    case 3: return statement(choice({"q0 = q0 * 6364136223846793005ull + $;", "q0 ^= (unsigned long long)$ << 20;"}), {value(2)});
    case 4: return statement(choice({"i0 = int(unsigned(i0) * 3u + $);", "i0 /= int($ & 7u) + 1;", "i0 = int($ & 0xffffu) - 30000;", "i0 >>= $ & 3u;"}), {value(1)});
    case 5: return statement(choice({"y0 += (unsigned char)($);", "w0.x = $;", "w0.z += $;", "w0.y ^= w0.x + $;"}), {value(1)});
    case 6: return atomic();
    case 7: if (!readable_ && has_barriers_) return statement("s[t] " + choice({"=", "+=", "^="}) + " $;", {value(2)});
      return store();
    case 8: if (one_in(3)) return statement("if ($ < $) {\n$}", {value(1), value(1), block({store()})});
      return store();
    default: return store();
  }
}

Node KernelStatements::atomic() {
  const unsigned kind = below(6);
  const char* const names[] = {"atomicAdd", "atomicXor", "atomicOr", "atomicMax", "atomicMin", "atomicAdd"};
  return statement(std::string(names[kind]) + "(&acc[" + text_of(8 * kind) + " + ($ & 7u)], $);", {value(1), value(2)});
}

Node KernelStatements::locked() {
  // What is added is worked out before: it may stand in volatile shared memory, where a warp's lanes wait for each other.
  const Node added = fixed("const unsigned added = $;", {value(1)});
  // The tickets and the other lock keep their holders apart only from those who took the same: each guards cells of its own.
  const bool has_ticket = one_in(3);
  const auto guarded = [&](unsigned cell) { return text_of((has_ticket ? kGuardedByTicket : kGuarded) + cell); };
  const std::string choices[] = {"acc[" + guarded(0) + "] += added;", "acc[" + guarded(0) + " + (added & 3u)] += 5u;",
                                 "for (unsigned i = 0; i < 3u; ++i) acc[" + guarded(0) + " + i] += added * i + 1u;",
                                 "if (added & 1u) acc[" + guarded(1) + "] += r0(added & 3u, 5u);\nelse acc[" + guarded(2) + "] -= added;",
                                 "switch (added & 3u) {\ncase 0: acc[" + guarded(0) + "] += 3u; break;\ncase 1: acc[" + guarded(1) + "] += added;\ndefault: acc[" + guarded(2) + "] += 7u;\n}",
                                 "unsigned old = acc[" + guarded(1) + "];\nacc[" + guarded(1) + "] = old + added;",
                                 "{ volatile unsigned* guarded = acc + " + guarded(2) + "; *guarded = *guarded + added; }"};
  const Node change = fixed(choices[below(static_cast<unsigned>(std::size(choices)))]);
  if (has_ticket) {
    return statement("{ $\nconst unsigned mine_ = atomicAdd(acc + 65, 1u);\nwhile (atomicAdd(acc + 66, 0u) != mine_) {}\n__threadfence();\n$\n__threadfence();\natomicAdd(acc + 66, 1u); }", {added, change});
  }
  if (one_in(2)) return statement("{ $\nwhile (atomicCAS(acc + 64, 0u, 1u) != 0u);\n__threadfence();\n$\n__threadfence();\natomicExch(acc + 64, 0u); }", {added, change});
  return statement("{ $\nfor (bool done = false; !done;) {\nif (atomicCAS(acc + 64, 0u, 1u) == 0u) {\n__threadfence();\n$\n__threadfence();\natomicExch(acc + 64, 0u);\ndone = true;\n}\n} }", {added, change});
}

Node KernelStatements::condition(Together together) {
  if (together == Together::kBlock) return same(1);
  return one_in(2) ? same(1) : expression(choice({"(warp & 1u)", "(warp * 5u)", "warp"}));
}

Node KernelStatements::flow(unsigned depth, Together together) {
  // Below a branch or a loop that threads decide for themselves nobody comes together.
  if (together != Together::kNobody && one_in(2)) together = together == Together::kBlock && has_warps_ && one_in(3) ? Together::kWarp : Together::kNobody;
  const Together inside = together;
  switch (below(12)) {
    case 10: {
      const std::string k = name("k"), label = name("again");
      counters_.push_back({k, 3});
      Node inner = body(depth, inside);
      counters_.pop_back();
      return statement("{ unsigned " + k + " = 0;\n" + label + ":\n{\n$}\nif (++" + k + " < 2u + ($ & 1u)) goto " + label + ";\n}",
                       {std::move(inner), inside == Together::kNobody ? value(1) : condition(inside)});
    }
    case 11: {
      const std::string label = name("past");
      Node test = inside == Together::kNobody ? value(2) : condition(inside);
      return statement("{ if ($ & 1u) goto " + label + ";\n{\n$}\n" + label + ":;\n}", {std::move(test), body(depth, inside)});
    }
    case 0: case 1: {
      Node test = inside == Together::kNobody ? value(2) : condition(inside);
      return one_in(2) ? statement("if ($ & 1u) {\n$}", {std::move(test), body(depth, inside)})
                       : statement("if ($ > $) {\n$} else {\n$}", {std::move(test), inside == Together::kNobody ? value(1) : condition(inside), body(depth, inside), body(depth, inside)});
    }
    case 2: {
      Node test = inside == Together::kNobody ? value(2) : condition(inside);
      return statement("switch ($ & 3u) {\ncase 0:\n$break;\ncase 1:\n$default:\n$}", {std::move(test), body(depth, inside), body(depth, inside), body(depth, inside)});
    }
    case 3: if (inside == Together::kNobody) return own_elements_loop(depth);
      return counted_loop(depth, inside);
    case 4: if (inside == Together::kNobody) return one_in(2) ? own_elements_loop(depth) : tail_return(depth);
      return counted_loop(depth, inside);
    default: return counted_loop(depth, inside);
  }
}

Node KernelStatements::tail_return(unsigned) {
  if (has_barriers_ || has_warps_) return store();  // others would wait, or read lanes that are gone
  return statement("if (($ & 31u) == 3u) {\n$return;\n}", {value(2), block({store()})});
}

}  // namespace damo::random_kernels
