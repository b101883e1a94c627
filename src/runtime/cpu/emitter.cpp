#include "runtime/cpu/emitter.hpp"

#include <algorithm>

#include "runtime/kernel/argument_block.hpp"
#include "runtime/kernel/body.hpp"
#include "runtime/kernel/dialect.hpp"
#include "runtime/kernel/slice_text.hpp"

namespace damo {
namespace {

constexpr int kLightChunk = 16384, kHeavyChunk = 4096;

constexpr const char* kHead = R"(using namespace damo;
#define DAMO_FUNCTION static inline __attribute__((always_inline))
)";

}  // namespace

/// Four vectors at a time hide the latency of a chain of exponentials; a light loop waits for memory, and in a very
/// long one the compiler takes half as long again. No element waits for another: arrays do not overlap, which Clang does not take from
/// `restrict` variables within a function; in place each element is read before it is written and by nobody else, its loads and stores in order.
std::string vectorise(const KernelSpec& spec) {
  const bool is_chain = spec.cost() >= 150 && spec.cost() <= 600;
  return std::string("#pragma clang loop vectorize(assume_safety) interleave_count(") + (is_chain ? "4)" : "2)");
}

int cpu_chunk(const KernelSpec& spec) {
  if (spec.loop) return kTurnStrip;
  return spec.cost() >= kHeavyCost ? kHeavyChunk : kLightChunk;
}

int cpu_vector(const KernelSpec& spec) {
  int narrowest = 8;
  for (int i = 0; i < spec.parameter_count(); ++i)
    narrowest = std::min(narrowest, static_cast<int>(itemsize(spec.parameter_dtype(i))));
  return 64 / narrowest;
}

std::string CpuEmitter::stored(int i) const { return stored_type(spec_, i); }
std::string CpuEmitter::loaded(int i) const { return loaded_type(spec_, i); }

std::string CpuEmitter::emit() {
  text_ = kHead + argument_struct(spec_, layout_) + guard_.functions() + (has_segments() ? "" : step_functions(spec_));
  if (has_segments()) emit_segment_functions();
  if (layout_.joined) {
    line("static void run_member(const Arguments& a, i64 first, i64 last) {");
  } else {
    line("extern \"C\" void " + entry_name(spec_) +
         "(void* const* arguments, const LaunchFrame*, i64 first, i64 last) {");
    line("  const Arguments& a = *static_cast<const Arguments*>(arguments[0]);");
  }
  if (!spec_.numbers.empty()) line("  const Numbers numbers = a.numbers;");  // a copy that no store can change
  if (!has_segments() && spec_.has_guards()) line("  " + guard_.declarations(streams()));
  emit_scalars();
  if (layout_.tile_axis >= 0)
    emit_tiles();
  else if (layout_.is_flat())
    emit_range();
  else
    emit_rows();
  if (streams()) line("  if (a.fast & 2) stream_fence();");
  if (!has_segments() && spec_.has_guards()) line("  " + guard_.tell("a.flag", streams()));
  line("}");
  if (layout_.joined) emit_joined();
  return std::move(text_);
}

/// Blocks of one member after those of another.
void CpuEmitter::emit_joined() {
  text_ += joined_structs();
  line("extern \"C\" void " + entry_name(spec_) + "(void* const* arguments, const LaunchFrame*, i64 first, i64 last) {");
  line("  const Joined& j = *static_cast<const Joined*>(arguments[0]);");
  line("  while (first < last) {");
  line("    const Member* m = j.members + j.member_of[first];");
  line("    const i64 next = m[1].begin < last ? m[1].begin : last;");
  line("    run_member(m->a, first - m->begin, next - m->begin);");
  line("    first = next;");
  line("  }");
  line("}");
}

void CpuEmitter::emit_scalars() {
  for (int i = 0; i < spec_.input_count(); ++i) {
    const std::string n = number(i);
    if (spec_.is_table(i))
      line("  const " + loaded(i) + " x" + n + " = a.p" + n + "[0];");
    else if (is_scalar_input(i))
      line("  const " + loaded(i) + " x" + n + " = a.n > 0 ? " + loaded(i) + "(a.p" + n + "[0]) : " + loaded(i) +
           "(0);");
  }
}

/// Whether its outputs may be stored past the caches, a cache line at a time. A kernel that computes long does not wait
/// for memory, and a second copy of it would take long to compile.
bool CpuEmitter::streams() const {
  for (int i = spec_.input_count(); i < spec_.parameter_count(); ++i) {
    if (access(i) != Access::kDense && access(i) != Access::kRow) return false;
  }
  return spec_.cost() < kHeavyCost && !spec_.loop;
}

/// Of pointers r0, r1, ... that stand at the start of the run.
std::string CpuEmitter::element(int i, const std::string& index, const char* pointer) const {
  const std::string r = pointer + number(i);
  switch (access(i)) {
    case Access::kScalar:
    case Access::kRepeat:
      return r + "[0]";
    case Access::kStrided:
      return r + "[(" + index + ") * a.s" + number(i) + "[" + number(layout_.rank - 1) + "]]";
    default:
      return r + "[" + index + "]";
  }
}

/// The body of a loop over k; target: where an output's element goes.
void CpuEmitter::emit_elements(const std::string& indent, const std::string& index,
                               const std::function<std::string(int)>& target, bool to_strip) {
  for (int i = spec_.input_count(); i < spec_.parameter_count(); ++i) line(indent + stored(i) + " y" + number(i) + ";");
  line(indent + body_call(spec_, [&](int i) {
         if (is_scalar_input(i) || is_hoisted(i)) return "x" + number(i);
         return spec_.is_output(i) ? "y" + number(i) : loaded(i) + "(" + element(i, index) + ")";
       }));
  for (int i = spec_.input_count(); i < spec_.parameter_count(); ++i)
    line(indent + target(i) + " = y" + number(i) + ";" + (to_strip ? "" : guard_.take(i - spec_.input_count(), "y" + number(i))));
}

/// Leaves in `done` how many elements were stored past the caches: as many whole strips as there are, or none.
void CpuEmitter::emit_strips(const std::string& indent, const std::string& count) {
  const std::string strip = number(kCpuTile);
  line(indent + "if (a.fast & 2) for (; done + " + strip + " <= " + count + "; done += " + strip + ") {");
  for (int i = spec_.input_count(); i < spec_.parameter_count(); ++i) {
    line(indent + "  alignas(64) " + stored(i) + " strip" + number(i) + "[" + strip + "];");
  }
  line(vectorise(spec_));
  line(indent + "  for (i64 k = 0; k < " + strip + "; ++k) {");
  emit_elements(indent + "    ", "done + k", [](int i) { return "strip" + number(i) + "[k]"; }, true);
  line(indent + "  }");
  for (int i = spec_.input_count(); i < spec_.parameter_count(); ++i) {
    line(indent + "  stream_strip(r" + number(i) + " + done, strip" + number(i) + ");" + guard_.take_strip(i - spec_.input_count(), "strip" + number(i)));
  }
  line(indent + "}");
}

void CpuEmitter::emit_inner_loop(const std::string& indent, const std::string& count) {
  if (spec_.loop) return emit_turns(indent, count);
  if (has_segments()) return emit_segments(indent, count);
  line(indent + "i64 done = 0;");
  if (streams()) emit_strips(indent, count);
  line(vectorise(spec_));
  line(indent + "for (i64 k = done; k < " + count + "; ++k) {");
  emit_elements(indent + "  ", "k", [&](int i) { return element(i, "k"); });
  line(indent + "}");
}

void CpuEmitter::emit_range() {
  const std::string chunk = number(cpu_chunk(spec_));
  line("  const i64 begin = first * " + chunk + ", stop = last * " + chunk + ", end = stop < a.n ? stop : a.n;");
  for (int i = 0; i < spec_.parameter_count(); ++i) {
    if (is_scalar_input(i)) continue;
    line("  " + array(i) + " r" + number(i) + " = a.p" + number(i) + (access(i) == Access::kDense ? " + begin;" : ";"));
  }
  emit_inner_loop("  ", "end - begin");
}

/// Where a row starts in a strided array, c0 ... c(rank-2) being its coordinates and c the first element's in the row.
std::string CpuEmitter::row_offset(int i) const {
  const std::string s = "a.s" + number(i), last = number(layout_.rank - 1);
  std::string sum = access(i) == Access::kRow      ? "c"
                    : access(i) == Access::kRepeat ? "0"
                                                   : "c * " + s + "[" + last + "]";
  for (int axis = 0; axis + 1 < layout_.rank; ++axis)
    sum += " + c" + number(axis) + " * " + s + "[" + number(axis) + "]";
  if (layout_.is_taken(i)) sum += " + " + slice_offset(i, layout_.rank - 1);
  return sum;
}

void CpuEmitter::emit_rows() {
  const std::string chunk = number(cpu_chunk(spec_)), last = "a.extent[" + number(layout_.rank - 1) + "]";
  line("  const i64 begin = first * " + chunk + ", stop = last * " + chunk + ", end = stop < a.n ? stop : a.n;");
  line("  if (begin >= end) return;");
  line("  i64 rest = begin / " + last + ", c = begin % " + last + ";");
  for (int axis = layout_.rank - 2; axis >= 0; --axis) {
    const std::string n = number(axis);
    line("  i64 c" + n + " = rest % a.extent[" + n + "]; rest /= a.extent[" + n + "];");
  }
  line("  for (i64 at = begin; at < end;) {");
  line("    const i64 left = end - at, run = " + last + " - c < left ? " + last + " - c : left;");
  for (int i = 0; i < spec_.parameter_count(); ++i) {
    const std::string n = number(i);
    if (is_scalar_input(i)) continue;
    const std::string where = access(i) == Access::kDense ? "at" : access(i) == Access::kScalar ? "0" : row_offset(i);
    line("    " + array(i) + " r" + n + " = a.p" + n + " + (" + where + ");");
    if (is_hoisted(i)) line("    const " + loaded(i) + " x" + n + " = " + loaded(i) + "(r" + n + "[0]);");
  }
  emit_inner_loop("    ", "run");
  line("    at += run;");
  line("    c = 0;");
  std::string carry = "    ";
  for (int axis = layout_.rank - 2; axis >= 0; --axis) {
    const std::string n = number(axis);
    carry += axis > 0 ? "if (++c" + n + " == a.extent[" + n + "]) { c" + n + " = 0; " : "++c0;";
  }
  line(carry + std::string(static_cast<std::size_t>(std::max(layout_.rank - 2, 0)), '}'));
  line("  }");
}

/// Block number -> first coordinates of the tile, and in r0, r1, ... each array's address there.
void CpuEmitter::emit_tile_position() {
  const std::string edge = number(kCpuTile);
  line("    i64 rest = block;");
  // Along the transposed arrays' rows first: what is read then lies in few pages.
  line("    const i64 t0 = rest % other_tiles * " + edge + "; rest /= other_tiles;");
  line("    const i64 j0 = rest % inner_tiles * " + edge + "; rest /= inner_tiles;");
  for (int axis = layout_.rank - 2; axis >= 0; --axis) {
    const std::string n = number(axis);
    if (axis == layout_.tile_axis)
      line("    const i64 c" + n + " = t0;");
    else
      line("    const i64 c" + n + " = rest % a.extent[" + n + "]; rest /= a.extent[" + n + "];");
  }
  line("    const i64 columns = inner - j0 < " + edge + " ? inner - j0 : " + edge + ", rows = other - t0 < " + edge +
       " ? other - t0 : " + edge + ";");
}

/// Dense arrays have no strides in the block: theirs follow from the extents.
std::string CpuEmitter::tile_stride(int i, int axis) const {
  if (has_strides(access(i))) return "a.s" + number(i) + "[" + number(axis) + "]";
  std::string product = "1";
  for (int inner = axis + 1; inner < layout_.rank; ++inner) product += " * a.extent[" + number(inner) + "]";
  return product;
}

std::string CpuEmitter::tile_address(int i) const {
  std::string sum = "a.p" + number(i) + " + j0 * " + tile_stride(i, layout_.rank - 1);
  for (int axis = 0; axis + 1 < layout_.rank; ++axis) sum += " + c" + number(axis) + " * " + tile_stride(i, axis);
  return sum;
}

void CpuEmitter::emit_tiles() {
  const std::string edge = number(kCpuTile), rest = number(kCpuTile - 1), last = number(layout_.rank - 1);
  line("  const i64 inner = a.extent[" + last + "], other = a.extent[" + number(layout_.tile_axis) + "];");
  line("  const i64 inner_tiles = (inner + " + rest + ") / " + edge + ", other_tiles = (other + " + rest + ") / " +
       edge + ";");
  for (int i = 0; i < spec_.input_count(); ++i) {
    if (access(i) == Access::kTransposed)
      line("  alignas(64) " + stored(i) + " tile" + number(i) + "[" + edge + " * " + edge + "];");
  }
  line("  for (i64 block = first; block < last; ++block) {");
  emit_tile_position();
  for (int i = 0; i < spec_.input_count(); ++i) {
    if (access(i) != Access::kTransposed) continue;
    line("    turn_tile(tile" + number(i) + ", " + tile_address(i) + ", " + tile_stride(i, layout_.rank - 1) +
         ", rows, columns);");
  }
  line("    for (i64 t = 0; t < rows; ++t) {");
  for (int i = 0; i < spec_.parameter_count(); ++i) {
    const std::string n = number(i);
    if (is_scalar_input(i)) continue;
    const bool tiled = access(i) == Access::kTransposed;
    const std::string where = tiled ? "tile" + n + " + t * " + edge
                              : access(i) == Access::kScalar
                                  ? "a.p" + n
                                  : tile_address(i) + " + t * " + tile_stride(i, layout_.tile_axis);
    line("      " + array(i) + " r" + n + " = " + where + ";");
    if (is_hoisted(i)) line("      const " + loaded(i) + " x" + n + " = " + loaded(i) + "(r" + n + "[0]);");
  }
  emit_inner_loop("      ", "columns");
  line("    }");
  line("  }");
}

}  // namespace damo
