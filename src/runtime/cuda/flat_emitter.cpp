// The part of CudaEmitter that writes flat tiles (flat_schedule.hpp). A warp's run is computed unit by unit, and in a unit place by place: what belongs to a place alone, as a colour's mean does, is read once a thread,
// and a plane's vector is stored as soon as it is computed.
#include <algorithm>

#include "runtime/cuda/emitter.hpp"
#include "runtime/cuda/flat_schedule.hpp"
#include "runtime/cuda/flat_text.hpp"
#include "runtime/kernel/body.hpp"

namespace damo {

/// By value: whether all elements of a place have the same.
std::vector<bool> CudaEmitter::flat_steady() const {
  std::vector<bool> steady(static_cast<std::size_t>(spec_.first_step()), true);
  for (int i = 0; i < spec_.input_count(); ++i) steady[static_cast<std::size_t>(i)] = is_scalar_input(i) || access(i) == Access::kSteady;
  for (const Step& step : spec_.steps) {
    steady.push_back(std::all_of(step.inputs.begin(), step.inputs.end(), [&](int input) { return steady[static_cast<std::size_t>(input)]; }));
  }
  return steady;
}

/// "divide_known" or "divide_whole" for a step that divides elements by what those of their place have in common; nothing for others. What it gives where it is rare is stored, and then stored again: so no
/// input may be what is stored, nor may what is stored be looked at.
std::string CudaEmitter::flat_division(int value, const std::vector<bool>& steady) const {
  const Step& step = spec_.step_of(value);
  if (layout_.in_place || spec_.has_guards() || step.code != "x0 / x1" || value_type(step.compute) != "float" || step.rounds || value_type(step.result) != "float" || step.inputs.size() != 2) return {};
  const StepPrinter steps(spec_);
  const int x = step.inputs[0], y = step.inputs[1];
  if (steady[static_cast<std::size_t>(x)] || !steady[static_cast<std::size_t>(y)] || value_type(steps.dtype(x)) != "float" || value_type(steps.dtype(y)) != "float") return {};
  const bool is_step = x >= spec_.first_step();
  const bool is_whole = is_step && spec_.step_of(x).code == "x0" && !is_floating(spec_.step_of(x).compute) && (steps.dtype(x) == float32 || steps.dtype(x) == bfloat16);
  return is_whole ? "divide_whole" : "divide_known";
}

/// known_body: body, but for divisions by what all elements of a place have in common; refuse: of integers, whether one of these numbers divides nothing so. False: there are none.
bool CudaEmitter::emit_flat_body() {
  const std::vector<bool> steady = flat_steady();
  const StepPrinter steps(spec_);
  std::string text, of_place, refusals;
  bool divides = false;
  for (int value = spec_.first_step(); value < spec_.first_step() + static_cast<int>(spec_.steps.size()); ++value) {
    const Step& step = spec_.step_of(value);
    const std::string division = flat_division(value, steady);
    const auto named = [&](int input) { return steps.value_text(step.inputs[static_cast<std::size_t>(input)], local_name); };
    // Integers of 8 bits need no rounding to a float of 8, which takes an instruction of a quarter of the rate.
    const bool is_exact = step.code == "x0" && itemsize(step.compute) == 1 && !is_floating(step.compute) && (step.result == bfloat16 || step.result == float16) && steps.dtype(step.inputs[0]) == step.compute;
    const auto divisor = [&] { return "known_divisor(" + named(1) + ")"; };
    const std::string call = is_exact ? "float(" + named(0) + ")" : division.empty() ? steps.call(value, local_name)
                                                                                     : division + "(" + named(0) + ", " + divisor() + (division == "divide_known" ? ", rare)" : ")");
    const std::string definition = "  const " + value_type(steps.dtype(value)) + " " + local_name(value) + " = " + call + ";\n";
    text += definition;
    if (steady[static_cast<std::size_t>(value)]) of_place += definition;
    if (division == "divide_whole") refusals += (refusals.empty() ? "" : " | ") + ("(" + divisor() + ".limit < 0.0f)");
    divides |= !division.empty();
  }
  if (!divides) return false;
  const std::string numbers = spec_.numbers.empty() ? "" : ", const Numbers& numbers";
  std::string parameters, of_steady;
  for (int i = 0; i < spec_.parameter_count(); ++i) {
    const std::string parameter = ", " + (spec_.is_output(i) ? stored(i) + "& y" + number(i - spec_.input_count()) : loaded(i) + " " + local_name(i));
    parameters += parameter;
    if (!spec_.is_output(i) && steady[static_cast<std::size_t>(i)]) of_steady += parameter;
  }
  text_ += kCudaKnownDivisor;
  text_ += "DAMO_FUNCTION void known_body(bool& rare" + numbers + parameters + ") {\n" + text;
  for (int i = 0; i < static_cast<int>(spec_.stores.size()); ++i) text_ += "  y" + number(i) + " = " + steps.stored(i, local_name) + ";\n";
  text_ += "}\n";
  if (!refusals.empty()) {
    text_ += "DAMO_FUNCTION void refuse(bool& rare" + numbers + of_steady + ") {\n" + of_place + "  rare |= " + refusals + ";\n}\n";
    refuse_ = spec_.numbers.empty() ? "refuse(rare" : "refuse(rare, numbers";
    for (int i = 0; i < spec_.input_count(); ++i) {
      if (steady[static_cast<std::size_t>(i)]) refuse_ += ", " + (is_scalar_input(i) ? "x" + number(i) : loaded(i) + "(x" + number(i) + "[c])");
    }
    refuse_ += ");";
  }
  return true;
}

void CudaEmitter::emit_flat_tile() {
  const CudaFlat flat = cuda_flat(spec_, layout_);
  const std::string places = number(layout_.places), vector = number(flat.vector), of_warp = number(flat.positions());
  emit_flat_run();
  emit_flat_reads();
  if (divides_known_) line("  u32 rare_units = 0;");
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
  if (divides_known_) line("    bool rare = false;");
  line("#pragma unroll");
  line("    for (int c = 0; c < " + places + "; ++c) {");
  if (!refuse_.empty()) line("      " + refuse_);
  emit_flat_element();
  line("    }");
  for (int i = spec_.input_count(); i < spec_.parameter_count(); ++i) {
    const std::string n = number(i);
    if (access(i) == Access::kTransposed) line("    put_flat<" + std::string(flat_has_gaps(spec_, layout_, i) ? "true" : "false") + ">(run" + n + ", lane, u, y" + n + ");" + look(i, "y" + n));
  }
  if (divides_known_) line("    if (rare) rare_units |= 1u << u;");
  line("  }");
  if (divides_known_) emit_flat_rare();
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
    line("  offset o" + number(i) + " = " + (in_planes ? "offset(first + lane * " + number(flat.vector) + ")" : access(i) == Access::kTransposed ? "offset(first) * " + number(layout_.places)
                                                                                                                                                 : "0") +
         ";");
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
  for (int i = spec_.input_count(); i < spec_.parameter_count(); ++i) {
    if (access(i) == Access::kRow) line("      Vec<" + stored(i) + ", " + vector + "> y" + number(i) + ";");
  }
  line("#pragma unroll");
  line("      for (int k = 0; k < " + vector + "; ++k) {");
  for (int i = spec_.input_count(); i < spec_.parameter_count(); ++i) {
    if (access(i) == Access::kStrided) line("        " + stored(i) + " y" + number(i) + ";");
  }
  const std::string call = body_call(spec_, [&](int i) {
    const std::string n = number(i);
    if (is_scalar_input(i)) return "x" + n;
    if (spec_.is_output(i)) return "y" + n + (access(i) == Access::kTransposed ? ".e[k * " + places + " + c]" : access(i) == Access::kRow ? ".e[k]"
                                                                                                                                          : "");
    switch (access(i)) {
      case Access::kTransposed: return loaded(i) + "(x" + n + ".e[k * " + places + " + c])";
      case Access::kRow: return loaded(i) + "(x" + n + "[u][c].e[k])";
      case Access::kRepeat: return loaded(i) + "(x" + n + "[u].e[k])";
      case Access::kSteady: return loaded(i) + "(x" + n + "[c])";
      default: return loaded(i) + "(" + flat_element(i) + ")";
    }
  });
  line("        " + (divides_known_ ? "known_body(rare, " + call.substr(5) : call));
  for (int i = spec_.input_count(); i < spec_.parameter_count(); ++i) {
    if (access(i) == Access::kStrided) line("        " + flat_element(i) + " = y" + number(i) + ";" + look(i, "y" + number(i)));
  }
  line("      }");
  for (int i = spec_.input_count(); i < spec_.parameter_count(); ++i) {
    const std::string n = number(i), to = "q" + n + " + offset(c) * a.s" + n + "[" + number(places_axis(layout_)) + "] + u * " + apart;
    if (access(i) != Access::kRow) continue;
    if (layout_.aligned) line("      store<" + vector + ">(" + to + ", y" + n + ");" + look(i, "y" + n));
    else line("      for (int k = 0; k < " + vector + "; ++k) (" + to + ")[k] = y" + n + ".e[k];" + look(i, "y" + n));
  }
}

/// The element of position k of a unit at place c where it lies: of places side by side in shared memory.
std::string CudaEmitter::flat_element(int i) const {
  const CudaFlat flat = cuda_flat(spec_, layout_);
  const std::string n = number(i), place = "offset(c) * a.s" + n + "[" + number(places_axis(layout_)) + "]", position = "u * " + number(32 * flat.vector) + " + k";
  switch (access(i)) {
    case Access::kTransposed:
      return "*reinterpret_cast<" + stored(i) + "*>(run" + n + " + flat_place<" + (flat_has_gaps(spec_, layout_, i) ? "true" : "false") + ">(((at + u32(k)) * " + number(layout_.places) + " + u32(c)) * " + number(spec_.element_bytes(i)) + "))";
    case Access::kRow: return "(q" + n + " + " + place + ")[" + position + "]";
    case Access::kRepeat: return "q" + n + "[" + position + "]";
    case Access::kSteady: return "q" + n + "[" + place + "]";
    default: return "q" + n + "[offset(first + at + u32(k)) * a.s" + n + "[" + number(positions_axis(layout_)) + "] + " + place + "]";
  }
}

/// The elements of a unit again, one by one, where known_body has met what it does not divide.
void CudaEmitter::emit_flat_rare() {
  const std::string places = number(layout_.places);
  line("#pragma unroll 1");
  line("  for (int u = 0; rare_units >> u > 0; ++u) {");
  line("    if ((rare_units >> u & 1u) == 0) continue;");
  line("    const u32 at = (u32(u) * 32 + lane) * " + number(cuda_flat(spec_, layout_).vector) + ";");
  line("#pragma unroll 1");
  line("    for (int e = 0; e < " + number(cuda_flat(spec_, layout_).vector * layout_.places) + "; ++e) {");
  line("      const int k = e / " + places + ", c = e % " + places + ";");
  for (int i = spec_.input_count(); i < spec_.parameter_count(); ++i) line("      " + stored(i) + " y" + number(i) + ";");
  line("      " + body_call(spec_, [&](int i) { return is_scalar_input(i) ? "x" + number(i) : spec_.is_output(i) ? "y" + number(i)
                                                                                                                 : loaded(i) + "(" + flat_element(i) + ")"; }));
  for (int i = spec_.input_count(); i < spec_.parameter_count(); ++i) line("      " + flat_element(i) + " = y" + number(i) + ";");
  line("    }");
  line("  }");
}

}  // namespace damo
