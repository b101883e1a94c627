// Of CudaReducingEmitter: runs of short rows, which lie one behind the other in memory.
#include "runtime/cuda/reducing_emitter.hpp"
#include "runtime/cuda/reducing_schedule.hpp"
#include "runtime/cuda/run_schedule.hpp"
#include "runtime/kernel/body.hpp"

namespace damo {

/// run0, run1, ...: where the warp's rows lie in shared memory, and what it reads of them on its way there. Then the loop over the thread's rows: neighbouring threads have
/// neighbouring rows.
void CudaReducingEmitter::emit_run() {
  const std::string rows = number(32 * layout_.rows_each), length = number(layout_.items * layout_.vector), bytes = number(run_bytes(spec_, layout_));
  line("  extern __shared__ __align__(128) unsigned char held[];");
  line("  const i64 first_row = (block * " + number(block_ / 32) + " + t / 32) * " + rows + ";");
  line("  const int of_run = a.n - first_row < " + rows + " ? (a.n > first_row ? int(a.n - first_row) : 0) : " + rows + ";");
  const auto each = [&](bool outputs, const auto& act) {
    for (int i = 0; i < spec_.parameter_count(); ++i) {
      if (spec_.is_output(i) == outputs && places_[static_cast<std::size_t>(i)] >= 0) act(i, number(i));
    }
  };
  for (const bool outputs : {false, true}) {
    each(outputs, [&](int i, const std::string& n) {
      line("  " + stored(i) + "* const run" + n + " = reinterpret_cast<" + stored(i) + "*>(held + t / 32 * " + bytes + " + " + number(places_[static_cast<std::size_t>(i)]) + ");");
    });
  }
  const auto from = [&](const std::string& n) { return "a.p" + n + " + first_row * " + length; };
  if (layout_.aligned) {
    line("  if (of_run == " + rows + ") {");
    each(false, [&](int i, const std::string& n) { line("    fetch_run<" + rows + " * " + length + " * " + number(spec_.element_bytes(i)) + ">(reinterpret_cast<unsigned char*>(run" + n + "), " + from(n) + ", t % 32);"); });
    line("  } else {");
  }
  each(false, [&](int, const std::string& n) { line("    fetch_each(run" + n + ", " + from(n) + ", of_run * " + length + ", t % 32);"); });
  if (layout_.aligned) line("  }");
  line("  fetched();\n  await<0>();\n  __syncwarp();");
  line("#pragma unroll 1\n  for (int at_row = t % 32; at_row < of_run; at_row += 32) {\n  const i64 own = first_row + at_row, row = own;");
}

/// The end of the loop; then what the warp's threads have written to its rows goes to memory.
void CudaReducingEmitter::emit_leave_run() {
  const std::string rows = number(32 * layout_.rows_each), length = number(layout_.items * layout_.vector);
  std::string whole, some;
  for (int i = spec_.input_count(); i < spec_.parameter_count(); ++i) {
    if (places_[static_cast<std::size_t>(i)] < 0) continue;
    const std::string n = number(i), to = "a.p" + n + " + first_row * " + length + ", run" + n + ", ";
    whole += "    store_run<" + rows + " * " + length + " * " + number(spec_.element_bytes(i)) + ">(" + to + "t % 32);\n";
    some += "    store_each(" + to + "of_run * " + length + ", t % 32);\n";
  }
  line("  }");
  if (some.empty()) return;
  line("  __syncwarp();");
  text_ += layout_.aligned ? "  if (of_run == " + rows + ") {\n" + whole + "  } else {\n" + some + "  }\n" : some;
}

}  // namespace damo
