// Of CudaReducingEmitter: joins across rows, whose values a block holds while it goes over its rows and a second kernel puts together.
#include <algorithm>
#include <bit>

#include "runtime/cuda/reducing_emitter.hpp"
#include "runtime/cuda/reducing_schedule.hpp"
#include "runtime/cuda/schedule.hpp"
#include "runtime/cuda/vector_text.hpp"
#include "runtime/kernel/body.hpp"

namespace damo {

/// Elements of one access to what is held of a join across rows: a thread's vector lies in pieces of at most 16 bytes, each beside its
/// neighbours'. Whole vectors of 32 bytes, as of 16-bit floats, would have threads that are 32 bytes apart ask for the same banks of the shared memory.
int CudaReducingEmitter::held_piece(int join) const {
  const int most = std::max(kVectorBytes / spec_.step_of(join).join->bytes, 1);
  return std::min(static_cast<int>(std::bit_floor(static_cast<unsigned>(most))), layout_.vector);
}

/// The first piece of the thread's vector u, among those of the `row`th of the rows that a block goes through at a time.
std::string CudaReducingEmitter::held_place(int join, const std::string& row) const {
  return "held" + number(join) + " + (" + row + " * " + number(layout_.items) + " + u) * " + number(layout_.lanes * (layout_.vector / held_piece(join))) + " + lane";
}

std::string CudaReducingEmitter::held(int join, const std::string& row) const {
  if (is_in_registers(join)) return "held" + number(join) + "[u]";
  return "gathered<" + number(layout_.vector) + ">(" + held_place(join, row) + ", " + number(layout_.lanes) + ")";
}

std::string CudaReducingEmitter::hold(int join, const std::string& row, const std::string& vector) const {
  if (is_in_registers(join)) return "held" + number(join) + "[u] = " + vector + ";";
  return "scatter(" + held_place(join, row) + ", " + number(layout_.lanes) + ", " + vector + ");";
}

/// Of a block of a batch, whose rows are joined apart from others': the batch's rows, and which of the a.chunks blocks that share them it is.
void CudaReducingEmitter::emit_batch() {
  if (layout_.batched) line("  const i64 share = block % a.chunks, first_row = block / a.chunks * a.joined, end_row = first_row + a.joined;");
}

/// held3, ...: where these joins' values lie in shared memory, from `from` on.
void CudaReducingEmitter::emit_held_shared(const std::vector<int>& joins, std::int64_t from) {
  const std::string width = number(layout_.vector);
  for (int join : joins) {
    const std::string n = number(join), piece = "Vec<Joined" + n + ", " + number(held_piece(join)) + ">";
    const std::int64_t bytes = std::int64_t{block_} * layout_.items * layout_.vector * spec_.step_of(join).join->bytes;
    line("  static_assert(sizeof(Joined" + n + ") == " + number(spec_.step_of(join).join->bytes) + ", \"\");");
    line("  " + piece + "* const held" + n + " = reinterpret_cast<" + piece + "*>(held + " + std::to_string(from) + ");");
    line("  for (int u = 0; u < " + number(layout_.items) + "; ++u) {\n    Vec<Joined" + n + ", " + width + "> h;\n#pragma unroll\n    for (int k = 0; k < " + width + "; ++k) h.e[k] = neutral" + n + "();");
    line("    " + hold(join, "slot", "h") + "\n  }");
    from += divide_up(bytes, 128) * 128;
  }
}

/// held3, ...: the block's values of joins across rows, of each row that it goes through at a time. Then the loop over its rows.
void CudaReducingEmitter::emit_held_across() {
  emit_batch();
  const std::string width = number(layout_.vector), items = number(layout_.items);
  if (stays()) {
    for (int join : across_) {
      if (!is_in_registers(join)) continue;
      const std::string n = number(join);
      line("  Vec<Joined" + n + ", " + width + "> held" + n + "[" + items + "];\n#pragma unroll\n  for (int u = 0; u < " + items + "; ++u) {");
      line("#pragma unroll\n    for (int k = 0; k < " + width + "; ++k) held" + n + "[u].e[k] = neutral" + n + "();\n  }");
    }
    return emit_stay_across();
  }
  line("  extern __shared__ __align__(128) unsigned char held[];");
  emit_held_shared(across_, 0);
  const std::string all = number(slots());
  line("  for (i64 group = " + std::string(layout_.batched ? "share; group * " + all + " < a.joined" : "block; group * " + all + " < a.n") + "; group += a.chunks) {");
  line("  const i64 own = " + std::string(layout_.batched ? "first_row + " : "") + "group * " + all + " + slot, row = own < " + end_of_rows() + " ? own : " + end_of_rows() + " - 1;");
}

/// part3, ...: where the blocks' values lie, those of one block side by side.
void CudaReducingEmitter::emit_parts_across() {
  std::string from = "static_cast<char*>(a.scratch)";
  for (int join : across_) {
    const std::string n = number(join), type = "Joined" + n;
    line("  " + type + "* const part" + n + " = reinterpret_cast<" + type + "*>(" + from + ");");
    from += " + (a.chunks * " + places_across() + " * i64(sizeof(" + type + ")) + 127) / 128 * 128";
  }
}

/// The end of the loop over rows; then what a block's threads hold, joined over the rows that it goes through at a time, becomes one of the a.chunks values of each place.
void CudaReducingEmitter::emit_leave_across() {
  const std::string width = number(layout_.vector), lanes = number(layout_.lanes), items = number(layout_.items), all = number(slots());
  if (stays()) {
    emit_leave();
  } else {
    if (layout_.lanes > 32 && meetings() == 1 && layout_.cluster == 1) line("  __syncthreads();");  // the next row's values come where this one's are read
    line("  }");
  }
  emit_parts_across();
  if (layout_.batched) line("  const i64 of_block = share * (a.n / a.joined) + block / a.chunks;");
  if (slots() > 1) line("  __syncthreads();");
  if (stays()) line("#pragma unroll");
  line("  for (int u = " + std::string(stays() ? "0" : "slot") + "; u < " + items + "; u += " + all + ") {");
  line("    const i64 at = i64(" + part() + " * " + lanes + " + lane) * " + width + " + i64(u) * " + number(step()) + ";\n    if (at >= a.length) continue;");
  for (int join : across_) {
    const std::string n = number(join), type = "Vec<Joined" + n + ", " + width + ">";
    line("    {\n      " + type + " sum = " + held(join, "0") + ";");
    if (slots() > 1) {
      // Enough reads at once to hide their latency. Written out for all 32 slots they made the kernel of a cross-entropy and its gradient take a tenth longer to compile.
      line("#pragma unroll 8");
      line("      for (int s = 1; s < " + all + "; ++s) {\n        const " + type + " h = " + held(join, "s") + ";");
      line("#pragma unroll\n        for (int k = 0; k < " + width + "; ++k) sum.e[k] = reduce" + n + "(sum.e[k], h.e[k]);\n      }");
    }
    line("      *reinterpret_cast<" + type + "*>(part" + n + " + " + (layout_.batched ? "of_block" : "block") + " * a.length + at) = sum;\n    }");
  }
  line("  }");
}

/// Threads of kAcrossColumns neighbouring places, kAcrossLanes of them for each.
void CudaReducingEmitter::emit_finish_across() {
  const std::string columns = number(kAcrossColumns), lanes = number(kAcrossLanes);
  begin_kernel(entry_names(spec_, layout_)[1], number(kAcrossColumns * kAcrossLanes));
  line("  const int t = threadIdx.x, lane = t / " + columns + ", slot = t % " + columns + ";");
  const std::string all = places_across();
  line("  const i64 own = i64(blockIdx.x) * " + columns + " + slot, value = own < " + all + " ? own : " + all + " - 1;");
  emit_parts_across();
  for (int join : across_) {
    const std::string n = number(join), type = "Joined" + n, s = "s" + n;
    line("  " + type + " j" + n + " = neutral" + n + "();");
    line("#pragma unroll 4\n  for (i64 k = lane; k < a.chunks; k += " + lanes + ") j" + n + " = reduce" + n + "(j" + n + ", part" + n + "[k * " + all + " + value]);");
    line("  __shared__ " + type + " " + s + "[" + number(kAcrossColumns * kAcrossLanes) + "];\n  " + s + "[t] = j" + n + ";\n  __syncthreads();");
    line("  for (int apart = " + number(kAcrossLanes / 2) + "; apart > 0; apart /= 2) {");
    line("    if (lane < apart) " + s + "[t] = reduce" + n + "(" + s + "[t], " + s + "[t + apart * " + columns + "]);\n    __syncthreads();\n  }");
  }
  line("  if (lane != 0 || own >= " + all + ") return;");
  line("  const i64 p = " + std::string(layout_.batched ? "value % a.length, row = value / a.length * a.joined;" : "value;"));
  if (layout_.batched) text_ += coordinates();
  for (int output : passes_.across_stores()) {
    const int i = spec_.input_count() + output, join = spec_.stores[static_cast<std::size_t>(output)];
    line("  { const " + value_type(steps_.dtype(join)) + " v" + number(join) + " = " + steps_.post(join, "s" + number(spec_.accumulator_of(join)) + "[slot]", layout_.batched ? "a.joined" : "a.n") + ";");
    if (layout_.batched) text_ += "  " + row_start(i);
    line("  " + storing(output, (layout_.batched ? "r" : "a.p") + number(i) + "[" + (moves(i) ? "along" + number(i) + "(a, place(p))" : "0") + "]") + " }");
  }
  line("}");
}

}  // namespace damo
