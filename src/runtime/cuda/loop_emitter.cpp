// The part of CudaEmitter that writes kernels with turns (SerialLoop): a thread takes one element through all of them, and what a turn leaves to the next is in its
// registers. Rows of several turns are read before the first of these is computed: reads then wait for memory together.
#include <algorithm>

#include "runtime/cuda/emitter.hpp"
#include "runtime/kernel/argument_block.hpp"
#include "runtime/kernel/body.hpp"

namespace damo {
namespace {

constexpr int kRowBytes = 64;    // of a thread on their way: 512 threads of a multiprocessor then keep an H200's memory busy
constexpr int kMostTurns = 16;
constexpr int kPlainTurns = 4;   // where no rows are read: so that counting them does not show

int turns_at_once(const KernelSpec& spec) {
  int bytes = 0;
  for (int i = 0; i < spec.input_count(); ++i) bytes += spec.moves_with_turns(i) ? spec.element_bytes(i) : 0;
  return bytes == 0 ? kPlainTurns : std::clamp(kRowBytes / bytes, 1, kMostTurns);
}

}  // namespace

void CudaEmitter::emit_turns() {
  const std::string at_once = number(turns_at_once(spec_));
  line("  const index one = index(blockIdx.x) * " + number(schedule_.block) + " + threadIdx.x;");
  line("  if (one >= a.n) return;");
  emit_coordinates("  ", "one");
  for (int i = 0; i < spec_.parameter_count(); ++i) {
    const std::string n = number(i);
    if (spec_.moves_with_turns(i)) line(std::string("  ") + (spec_.is_output(i) ? "" : "const ") + stored(i) + "* m" + n + " = &" + element(i) + ";");
    else if (!spec_.is_output(i)) line("  " + stored(i) + " x" + n + " = " + element(i) + ";");
    if (spec_.is_output(i)) line("  " + stored(i) + " y" + n + ";");
    if (spec_.is_output(i) && spec_.moves_with_turns(i)) line("  const u32 b" + n + " = u32(a.b" + n + ");");
  }
  line("  const u32 turns = u32(a.turns), whole = turns - turns % " + at_once + ";");
  line("  for (u32 turn = 0; turn < whole; turn += " + at_once + ") {");
  for (int i = 0; i < spec_.input_count(); ++i) {
    const std::string n = number(i);
    if (!spec_.moves_with_turns(i)) continue;
    line("    " + stored(i) + " row" + n + "[" + at_once + "];");
    line("#pragma unroll");
    line("    for (u32 u = 0; u < " + at_once + "; ++u) { row" + n + "[u] = *m" + n + "; m" + n + " += a.t" + n + "; }");
  }
  line("#pragma unroll");
  line("    for (u32 u = 0; u < " + at_once + "; ++u) {");
  emit_turn("      ", "turn + u", "[u]");
  line("    }");
  line("  }");
  line("  for (u32 turn = whole; turn < turns; ++turn) {");
  for (int i = 0; i < spec_.input_count(); ++i) {
    const std::string n = number(i);
    if (spec_.moves_with_turns(i)) line("    const " + stored(i) + " row" + n + " = *m" + n + "; m" + n + " += a.t" + n + ";");
  }
  emit_turn("    ", "turn", "");
  line("  }");
  for (int i = spec_.input_count(); i < spec_.parameter_count(); ++i) {
    if (spec_.is_last(i)) line("  " + element(i) + " = x" + number(spec_.carrier(i - spec_.input_count(), 1)) + ";");
  }
}

/// row: behind the name of what was read of a row.
void CudaEmitter::emit_turn(const std::string& indent, const std::string& turn, const std::string& row) {
  line(indent + body_call(spec_, [&](int i) {
         if (spec_.is_output(i)) return "y" + number(i);
         return loaded(i) + "(" + (spec_.moves_with_turns(i) ? "row" + number(i) + row : "x" + number(i)) + ")";
       }));
  for (int i = spec_.input_count(); i < spec_.parameter_count(); ++i) {
    const std::string n = number(i);
    const int output = i - spec_.input_count();
    int depth = 0;
    while (spec_.carrier(output, depth + 1) >= 0) ++depth;
    for (int lag = depth; lag > 0; --lag) {
      line(indent + "x" + number(spec_.carrier(output, lag)) + " = " + (lag == 1 ? "y" + n : "x" + number(spec_.carrier(output, lag - 1))) + ";");
    }
    if (!spec_.is_last(i)) line(indent + "if (" + turn + " >= b" + n + ") { *m" + n + " = y" + n + "; m" + n + " += a.t" + n + "; }");
  }
}

}  // namespace damo
