// The part of CpuEmitter that writes kernels with turns (SerialLoop): a strip of elements goes through all turns, the loop over its elements, which vectorises, being
// the inner one. What a turn leaves to the next lies in arrays of a strip.
#include "runtime/cpu/emitter.hpp"
#include "runtime/kernel/argument_block.hpp"
#include "runtime/kernel/body.hpp"

namespace damo {

void CpuEmitter::emit_turns(const std::string& indent, const std::string& count) {
  using Source = SerialLoop::Source;
  const std::string length = number(kTurnStrip), in = indent + "  ", deep = in + "  ", deepest = deep + "  ";
  const int inputs = spec_.input_count(), all = spec_.parameter_count();
  const auto is = [&](int i, Source source) { return i < inputs && spec_.source(i) == source; };
  line(indent + "for (i64 done = 0; done < " + count + "; done += " + length + ") {");
  line(in + "const i64 left = " + count + " - done, size = left < " + length + " ? left : " + length + ";");
  for (int i = 0; i < all; ++i) {
    if (is(i, Source::kCarried)) {
      line(in + "alignas(64) " + stored(i) + " c" + number(i) + "[" + length + "];");
      line(in + "for (i64 k = 0; k < size; ++k) c" + number(i) + "[k] = " + element(i, "done + k") + ";");
    } else if (spec_.is_output(i) && !spec_.is_last(i)) {
      line(in + "alignas(64) " + stored(i) + " unstored" + number(i) + "[" + length + "];");
    }
  }
  line(in + "for (i64 turn = 0; turn < a.turns; ++turn) {");
  for (int i = 0; i < all; ++i) {
    const std::string n = number(i);
    if (!spec_.moves_with_turns(i)) continue;
    if (!spec_.is_output(i)) line(deep + array(i) + " q" + n + " = r" + n + " + turn * a.t" + n + ";");
    else line(deep + array(i) + " q" + n + " = turn < a.b" + n + " ? unstored" + n + " : r" + n + " + done + (turn - a.b" + n + ") * a.t" + n + ";");
  }
  line(vectorise(spec_));
  line(deep + "for (i64 k = 0; k < size; ++k) {");
  for (int i = inputs; i < all; ++i) line(deepest + stored(i) + " y" + number(i) + ";");
  line(deepest + body_call(spec_, [&](int i) {
         const std::string n = number(i);
         if (spec_.is_output(i)) return "y" + n;
         if (is_scalar_input(i) || is_hoisted(i)) return "x" + n;
         return loaded(i) + "(" + (is(i, Source::kCarried) ? "c" + n + "[k]" : element(i, "done + k", is(i, Source::kRow) ? "q" : "r")) + ")";
       }));
  for (int i = inputs; i < all; ++i) {
    const int output = i - inputs;
    int deepest_lag = 0;
    while (spec_.carrier(output, deepest_lag + 1) >= 0) ++deepest_lag;
    for (int lag = deepest_lag; lag > 0; --lag) {
      line(deepest + "c" + number(spec_.carrier(output, lag)) + "[k] = " + (lag == 1 ? "y" + number(i) : "c" + number(spec_.carrier(output, lag - 1)) + "[k]") + ";");
    }
    if (!spec_.is_last(i)) line(deepest + "q" + number(i) + "[k] = y" + number(i) + ";");
  }
  line(deep + "}");
  line(in + "}");
  for (int i = inputs; i < all; ++i) {
    if (spec_.is_last(i)) line(in + "for (i64 k = 0; k < size; ++k) r" + number(i) + "[done + k] = c" + number(spec_.carrier(i - inputs, 1)) + "[k];");
  }
  line(indent + "}");
}

}  // namespace damo
