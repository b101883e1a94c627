// The text of a kernel that turns transposed arrays around: their elements come along the axis where they are contiguous, wait in shared memory, and leave along the others' last axis.
// See tests/function/turned_tiles_test.cpp.
#include "runtime/cuda/emitter.hpp"

#include "runtime/kernel/argument_block.hpp"
#include "runtime/kernel/body.hpp"

namespace damo {

/// Block number -> first coordinates of the tile and each array's offset there.
void CudaEmitter::emit_tile_position() {
  const auto tiles = [](const std::string& extent, int edge) { return "(" + extent + " + " + number(edge - 1) + ") / " + number(edge); };
  line("  const index inner = a.extent[" + number(layout_.rank - 1) + "], other = a.extent[" + number(layout_.tile_axis) + "];");
  line("  const index inner_tiles = " + tiles("inner", tile_.inner) + ", other_tiles = " + tiles("other", tile_.other) + ";");
  line("  index rest = blockIdx.x;");
  const auto take = [&](const char* name, const char* count, int edge) {
    line(std::string("  const index ") + name + " = rest % " + count + " * " + number(edge) + ";");
    line(std::string("  rest /= ") + count + ";");
  };
  if (tile_.other_first) take("t0", "other_tiles", tile_.other);
  take("j0", "inner_tiles", tile_.inner);
  if (!tile_.other_first) take("t0", "other_tiles", tile_.other);
  for (int i = 0; i < spec_.parameter_count(); ++i) {
    if (!is_scalar(access(i))) line("  offset o" + number(i) + " = 0;");
  }
  // Dense arrays have no strides in the block: theirs follow from the extents.
  std::vector<std::string> suffix(static_cast<std::size_t>(layout_.rank), "1");
  for (int axis = layout_.rank - 2; axis >= 0; --axis) {
    suffix[static_cast<std::size_t>(axis)] = suffix[static_cast<std::size_t>(axis) + 1] + " * offset(a.extent[" + number(axis + 1) + "])";
  }
  for (int axis = layout_.rank - 2; axis >= 0; --axis) {
    if (axis == layout_.tile_axis) continue;
    line("  { const index c = rest % a.extent[" + number(axis) + "]; rest /= a.extent[" + number(axis) + "];");
    for (int i = 0; i < spec_.parameter_count(); ++i) {
      if (is_scalar(access(i))) continue;
      const std::string stride = has_strides(access(i)) ? "a.s" + number(i) + "[" + number(axis) + "]" : suffix[static_cast<std::size_t>(axis)];
      line("    o" + number(i) + " += offset(c) * " + stride + ";");
    }
    line("  }");
  }
  for (int i = 0; i < spec_.parameter_count(); ++i) {
    if (access(i) != Access::kDense) continue;
    line("  const offset d" + number(i) + " = " + suffix[static_cast<std::size_t>(layout_.tile_axis)] + ";");
  }
}

/// With n = Layout::vector, of arrays that are aligned for it, a thread has squares of n x n elements: it moves n neighbours at a time, along the transposed axis to shared memory, along the last axis from registers, and turns its square in between.
void CudaEmitter::emit_tile_schedule() {
  const int n = square_edge();
  const std::string last = "[" + number(layout_.rank - 1) + "]", tile_axis = "[" + number(layout_.tile_axis) + "]", width = number(n);
  const std::string inner = number(tile_.inner / n), other = number(tile_.other / n);  // squares
  const int squares = tile_.inner * tile_.other / tile_.threads / (n * n);             // of one thread
  const std::string rows = number(squares * n);
  const auto held = [&](int i) { return n == 1 ? stored(i) : "Vec<" + stored(i) + ", " + width + ">"; };
  const auto times = [&](const std::string& place) { return n == 1 ? place : place + " * " + width; };
  // Each row of the tile begins in another bank than the one before; with squares every second row would begin in the same ones, so rows beyond a line of the banks begin one further.
  const auto turned = [&](int i, const std::string& j, const std::string& c) {
    if (n == 1) return "tile" + number(i) + "[" + j + "][" + c + "]";
    return "tile" + number(i) + "[(" + j + ") * " + number(tile_.other / n + 1) + " + (" + j + ") / 32 + " + c + "]";
  };
  emit_tile_position();
  for (int i = 0; i < spec_.input_count(); ++i) {
    if (access(i) == Access::kTransposed) {
      const std::string size = n == 1 ? "[" + number(tile_.inner) + "][" + number(tile_.other + 1) + "]" : "[" + number(tile_.inner * (tile_.other / n + 1) + tile_.inner / 32) + "]";
      line("  __shared__ " + held(i) + " tile" + number(i) + size + ";");
    } else if (!is_scalar_input(i)) {
      line("  " + held(i) + " x" + number(i) + "[" + rows + "];");
    }
  }
  // Reads beyond the edge repeat the last element: no branch stands between them, so that all are in flight at once.
  const auto loop = [&](int turns, const std::string& j, const std::string& t, int along_inner, int along_other, bool reads) {
    line("#pragma unroll");
    line("  for (u32 r = 0; r < " + number(turns) + "; ++r) {");
    line("    const u32 k = threadIdx.x + r * " + number(tile_.threads) + ";");
    if (reads) line("    const index j = at_most(j0 + " + j + ", inner - " + number(along_inner) + "), t = at_most(t0 + " + t + ", other - " + number(along_other) + ");");
    else line("    const index j = j0 + " + j + ", t = t0 + " + t + ";");
    if (!reads) line("    if (j >= inner || t >= other) continue;");
  };
  loop(squares * n, "k / " + other, times("k % " + other), 1, n, true);
  for (int i = 0; i < spec_.input_count(); ++i) {
    if (access(i) != Access::kTransposed) continue;
    const std::string from = "o" + number(i) + " + offset(t) + offset(j) * a.s" + number(i) + last;
    line("    " + turned(i, "k / " + other, "k % " + other) + " = " + (n == 1 ? pointer(i) + "[" + from + "]" : "load_again<" + width + ">(" + pointer(i) + " + (" + from + "))") + ";");
  }
  line("  }");
  /// Where element (t + q, j) lies, and with n > 1 its neighbours along j if these are moved together.
  const auto place = [&](int i) {
    const std::string o = "o" + number(i), t = n == 1 ? "offset(t)" : "offset(t + q)";
    if (access(i) == Access::kDense) return o + " + " + t + " * d" + number(i) + " + offset(j)";
    return o + " + " + t + " * a.s" + number(i) + tile_axis + " + offset(j) * a.s" + number(i) + last;
  };
  const auto moves_together = [&](int i) { return (access(i) == Access::kDense || access(i) == Access::kRow) && !spec_.is_ordinals(i); };
  const auto element = [&](int i) {  // and with n > 1 the one k1 places behind it
    if (access(i) == Access::kScalar) return pointer(i) + "[0]";
    const std::string behind = n == 1 ? "" : access(i) == Access::kDense ? " + k1"
                                                                         : " + k1 * a.s" + number(i) + last;
    return pointer(i) + "[" + place(i) + behind + "]";
  };
  const auto each = [&](const char* name) { return n == 1 ? std::string() : "#pragma unroll\n    for (int " + std::string(name) + " = 0; " + name + " < " + width + "; ++" + name + ") "; };
  const std::string row = n == 1 ? "r" : "r * " + width + " + q";
  loop(squares, times("k % " + inner), times("k / " + inner), n, n, true);
  if (n > 1) line(each("q") + "{");
  for (int i = 0; i < spec_.input_count(); ++i) {
    if (access(i) == Access::kTransposed || is_scalar_input(i)) continue;
    const std::string x = "    x" + number(i) + "[" + row + "]";
    if (n == 1) line(x + " = " + element(i) + ";");
    else if (moves_together(i)) line(x + " = load_again<" + width + ">(" + pointer(i) + " + (" + place(i) + "));");
    else line(each("k1") + x + ".e[k1] = " + element(i) + ";");
  }
  if (n > 1) line("    }");
  line("  }");
  line("  __syncthreads();");
  loop(squares, times("k % " + inner), times("k / " + inner), n, n, false);
  if (n > 1) {
    for (int i = 0; i < spec_.input_count(); ++i) {
      if (access(i) != Access::kTransposed) continue;
      line("    " + held(i) + " square" + number(i) + "[" + width + "];");
      line(each("k1") + "square" + number(i) + "[k1] = " + turned(i, "k % " + inner + " * " + width + " + k1", "k / " + inner) + ";");
    }
    line(each("q") + "{");
  }
  for (int i = spec_.input_count(); i < spec_.parameter_count(); ++i) line("    " + held(i) + " y" + number(i) + ";");
  line((n == 1 ? "    " : each("k1")) + body_call(spec_, [&](int i) {
         if (is_scalar_input(i)) return "x" + number(i);
         const std::string e = n == 1 ? "" : ".e[k1]";
         if (spec_.is_output(i)) return "y" + number(i) + e;
         if (access(i) != Access::kTransposed) return loaded(i) + "(x" + number(i) + "[" + row + "]" + e + ")";
         return loaded(i) + "(" + (n == 1 ? turned(i, "k % " + inner, "k / " + inner) : "square" + number(i) + "[k1].e[q]") + ")";
       }));
  for (int i = spec_.input_count(); i < spec_.parameter_count(); ++i) {
    const std::string y = "y" + number(i);
    if (n == 1) line("    " + element(i) + " = " + y + ";" + look(i, y));
    else if (moves_together(i)) line("    store<" + width + ">(" + pointer(i) + " + (" + place(i) + "), " + y + ");" + look(i, y));
    else line(each("k1") + element(i) + " = " + y + ".e[k1];" + look(i, y));
  }
  if (n > 1) line("    }");
  line("  }");
}

}  // namespace damo
