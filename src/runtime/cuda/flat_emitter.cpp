// The part of CudaEmitter that writes flat tiles (flat_schedule.hpp). A warp's run is computed unit by unit, and in a unit place by place: what belongs to a place alone, as a colour's mean does, is read once a thread,
// and a plane's vector is stored as soon as it is computed.
#include <algorithm>

#include "runtime/cuda/emitter.hpp"
#include "runtime/cuda/flat_schedule.hpp"
#include "runtime/kernel/body.hpp"

namespace damo {

void CudaEmitter::emit_flat_tile() {
  const CudaFlat flat = cuda_flat(spec_, layout_);
  const std::string places = number(layout_.places), vector = number(flat.vector), of_warp = number(flat.positions());
  emit_flat_run();
  emit_flat_reads();
  line("#pragma unroll");
  line("  for (int u = 0; u < " + number(flat.units) + "; ++u) {");
  line("    const u32 at = (u32(u) * 32 + lane) * " + vector + ";");
  line("    if (at >= left) break;");
  for (int i = 0; i < spec_.parameter_count(); ++i) {
    const std::string n = number(i), all = number(flat.vector * layout_.places);
    if (access(i) != Access::kTransposed) continue;
    if (spec_.is_output(i)) line("    Vec<" + stored(i) + ", " + all + "> y" + n + ";");
    else line("    const Vec<" + stored(i) + ", " + all + "> x" + n + " = take_flat<" + stored(i) + ", " + all + ", " + (flat_has_gaps(spec_, layout_, i) ? "true" : "false") + ">(run" + n + ", lane, u);");
  }
  line("#pragma unroll");
  line("    for (int c = 0; c < " + places + "; ++c) {");
  emit_flat_element();
  line("    }");
  for (int i = spec_.input_count(); i < spec_.parameter_count(); ++i) {
    const std::string n = number(i);
    if (access(i) == Access::kTransposed) line("    put_flat<" + std::string(flat_has_gaps(spec_, layout_, i) ? "true" : "false") + ">(run" + n + ", lane, u, y" + n + ");" + look(i, "y" + n));
  }
  line("  }");
  std::string whole, some;
  for (int i = spec_.input_count(); i < spec_.parameter_count(); ++i) {
    if (access(i) != Access::kTransposed) continue;
    const std::string n = number(i), what = flat_vectors(i) + "(q" + n + ", run" + n + ", lane";
    whole += "    store_flat" + what + ");\n";
    some += "    store_some_flat" + what + ", left * " + places + ");\n";
  }
  if (!whole.empty()) text_ += "  __syncwarp();\n  if (left == " + of_warp + ") {\n" + whole + "  } else {\n" + some + "  }\n";
}

/// "<width, vectors of a lane, gaps>" of an array whose places lie side by side.
std::string CudaEmitter::flat_vectors(int i) const {
  const CudaFlat flat = cuda_flat(spec_, layout_);
  const int width = layout_.aligned ? flat_width(spec_, layout_, i) : 1;
  return "<" + number(width) + ", " + number(flat.vector * flat.units * layout_.places / width) + ", " + (flat_has_gaps(spec_, layout_, i) ? "true" : "false") + ">";
}

/// Which run the warp has, and of each array q0, q1, ...: where it lies, of planes the thread's first vector; run0, run1, ...: its part of shared memory.
void CudaEmitter::emit_flat_run() {
  const CudaFlat flat = cuda_flat(spec_, layout_);
  const int warps = flat_warps(spec_, layout_);
  int bytes = 0;
  for (int i = 0; i < spec_.parameter_count(); ++i) bytes += flat_bytes(spec_, layout_, i);
  line("  __shared__ __align__(16) unsigned char held[" + number(warps) + "][" + number(bytes) + "];");
  line("  const u32 lane = threadIdx.x % 32, run = blockIdx.x * " + number(warps) + " + threadIdx.x / 32;");
  line("  u32 rest = divide(run, a.runs_magic, a.runs_shift);");
  line("  const index first = index(run - rest * a.runs) * " + number(flat.positions()) + ";");
  for (int i = 0; i < spec_.parameter_count(); ++i) {
    if (is_scalar(access(i))) continue;
    const bool in_planes = access(i) == Access::kRow || access(i) == Access::kRepeat;
    line("  offset o" + number(i) + " = " + (in_planes ? "offset(first + lane * " + number(flat.vector) + ")" : access(i) == Access::kTransposed ? "offset(first) * " + number(layout_.places) : "0") + ";");
  }
  for (int axis = layout_.rank - 1; axis >= 0; --axis) {
    if (axis == positions_axis(layout_) || axis == places_axis(layout_)) continue;
    const std::string at = "[" + number(axis) + "]";
    line("  { const u32 quotient = divide(rest, a.magic" + at + ", a.shift" + at + "); const offset c = offset(rest - quotient * u32(a.extent" + at + ")); rest = quotient;");
    for (int i = 0; i < spec_.parameter_count(); ++i) {
      if (!is_scalar(access(i))) line("    o" + number(i) + " += c * a.s" + number(i) + at + ";");
    }
    line("  }");
  }
  line("  if (rest > 0) return;");
  line("  const index behind = a.extent[" + number(positions_axis(layout_)) + "] - first;");
  line("  const u32 left = behind < " + number(flat.positions()) + " ? u32(behind) : " + number(flat.positions()) + ";");
  int begin = 0;
  for (int i = 0; i < spec_.parameter_count(); ++i) {
    const std::string n = number(i);
    if (is_scalar(access(i))) continue;
    line("  " + (spec_.is_ordinals(i) ? std::string("const Ordinals q") : (spec_.is_output(i) ? "" : "const ") + stored(i) + "* const q") + n + " = " + pointer(i) + " + o" + n + ";");
    if (access(i) == Access::kTransposed) line("  unsigned char* const run" + n + " = held[threadIdx.x / 32] + " + number(begin) + ";");
    begin += flat_bytes(spec_, layout_, i);
  }
}

/// Of all units, so that they are on their way together.
void CudaEmitter::emit_flat_reads() {
  const CudaFlat flat = cuda_flat(spec_, layout_);
  const std::string units = number(flat.units), vector = number(flat.vector), places = number(layout_.places), apart = number(32 * flat.vector), place_stride = "[" + number(places_axis(layout_)) + "]";
  std::string whole, some;
  for (int i = 0; i < spec_.input_count(); ++i) {
    if (access(i) != Access::kTransposed) continue;
    const std::string n = number(i), what = flat_vectors(i) + "(run" + n + ", q" + n + ", lane";
    whole += "    fetch_flat" + what + ");\n";
    some += "    fetch_some_flat" + what + ", left * " + places + ");\n";
  }
  const auto plane = [&](int i) {
    const std::string n = number(i), x = "x" + n + (access(i) == Access::kRow ? "[u][c]" : "[u]"), from = "q" + n + (access(i) == Access::kRow ? " + offset(c) * a.s" + n + place_stride : "") + " + u * " + apart;
    const std::string read = layout_.aligned ? x + " = load<" + vector + ">(" + from + ");" : "for (int k = 0; k < " + vector + "; ++k) " + x + ".e[k] = (" + from + ")[k];";
    return (access(i) == Access::kRow ? "      for (int c = 0; c < " + places + "; ++c) " : "      ") + read + "\n";
  };
  std::string planes;
  for (int i = 0; i < spec_.input_count(); ++i) {
    if (access(i) != Access::kRow && access(i) != Access::kRepeat) continue;
    line("  Vec<" + stored(i) + ", " + vector + "> x" + number(i) + "[" + units + "]" + (access(i) == Access::kRow ? "[" + places + "]" : "") + ";");
    if (access(i) == Access::kRow) planes += "#pragma unroll\n";
    planes += plane(i);
  }
  if (!planes.empty()) {
    whole += "#pragma unroll\n    for (int u = 0; u < " + units + "; ++u) {\n" + planes + "    }\n";
    some += "#pragma unroll\n    for (int u = 0; u < " + units + "; ++u) {\n      if ((u32(u) * 32 + lane) * " + vector + " >= left) break;\n" + planes + "    }\n";
  }
  if (!whole.empty()) text_ += "  if (left == " + number(flat.positions()) + ") {\n" + whole + "  } else {\n" + some + "  }\n";
  for (int i = 0; i < spec_.input_count(); ++i) {
    const std::string n = number(i);
    if (access(i) != Access::kSteady) continue;
    line("  " + stored(i) + " x" + n + "[" + places + "];");
    line("#pragma unroll");
    line("  for (int c = 0; c < " + places + "; ++c) x" + n + "[c] = q" + n + "[offset(c) * a.s" + n + place_stride + "];");
  }
  if (std::find(layout_.access.begin(), layout_.access.begin() + spec_.input_count(), Access::kTransposed) != layout_.access.begin() + spec_.input_count()) line("  fetched();\n  await<0>();\n  __syncwarp();");
}

/// The elements of a unit at place c.
void CudaEmitter::emit_flat_element() {
  const CudaFlat flat = cuda_flat(spec_, layout_);
  const std::string vector = number(flat.vector), apart = number(32 * flat.vector), places = number(layout_.places);
  const auto anywhere = [&](int i) {
    const std::string n = number(i);
    return "q" + n + "[offset(first + at + u32(k)) * a.s" + n + "[" + number(positions_axis(layout_)) + "] + offset(c) * a.s" + n + "[" + number(places_axis(layout_)) + "]]";
  };
  for (int i = spec_.input_count(); i < spec_.parameter_count(); ++i) {
    if (access(i) == Access::kRow) line("      Vec<" + stored(i) + ", " + vector + "> y" + number(i) + ";");
  }
  line("#pragma unroll");
  line("      for (int k = 0; k < " + vector + "; ++k) {");
  for (int i = spec_.input_count(); i < spec_.parameter_count(); ++i) {
    if (access(i) == Access::kStrided) line("        " + stored(i) + " y" + number(i) + ";");
  }
  line("        " + body_call(spec_, [&](int i) {
         const std::string n = number(i);
         if (is_scalar_input(i)) return "x" + n;
         if (spec_.is_output(i)) return "y" + n + (access(i) == Access::kTransposed ? ".e[k * " + places + " + c]" : access(i) == Access::kRow ? ".e[k]" : "");
         switch (access(i)) {
           case Access::kTransposed: return loaded(i) + "(x" + n + ".e[k * " + places + " + c])";
           case Access::kRow: return loaded(i) + "(x" + n + "[u][c].e[k])";
           case Access::kRepeat: return loaded(i) + "(x" + n + "[u].e[k])";
           case Access::kSteady: return loaded(i) + "(x" + n + "[c])";
           default: return loaded(i) + "(" + anywhere(i) + ")";
         }
       }));
  for (int i = spec_.input_count(); i < spec_.parameter_count(); ++i) {
    if (access(i) == Access::kStrided) line("        " + anywhere(i) + " = y" + number(i) + ";" + look(i, "y" + number(i)));
  }
  line("      }");
  for (int i = spec_.input_count(); i < spec_.parameter_count(); ++i) {
    const std::string n = number(i), to = "q" + n + " + offset(c) * a.s" + n + "[" + number(places_axis(layout_)) + "] + u * " + apart;
    if (access(i) != Access::kRow) continue;
    if (layout_.aligned) line("      store<" + vector + ">(" + to + ", y" + n + ");" + look(i, "y" + n));
    else line("      for (int k = 0; k < " + vector + "; ++k) (" + to + ")[k] = y" + n + ".e[k];" + look(i, "y" + n));
  }
}

}  // namespace damo
