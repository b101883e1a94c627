#include "runtime/cuda/emitter.hpp"

#include "runtime/kernel/argument_block.hpp"
#include "runtime/kernel/body.hpp"
#include "runtime/kernel/dialect.hpp"

namespace damo {
namespace {

constexpr int kUnrolledCost = 64;  // the guarded path repeats the body only where it is short

std::string number(int value) { return std::to_string(value); }

/// Vec<T, N> moves as one access; divide() is exact below 2^31 with ArgumentBlock's magic numbers.
constexpr const char* kHead = R"(#define DAMO_FUNCTION static __device__ __forceinline__
using namespace damo;
template <class T, int N> struct alignas(sizeof(T) * N) Vec { T e[N]; };
template <int N, class T> DAMO_FUNCTION Vec<T, N> load(const T* p) { return *reinterpret_cast<const Vec<T, N>*>(p); }
template <int N, class T> DAMO_FUNCTION void store(T* p, const Vec<T, N>& v) { *reinterpret_cast<Vec<T, N>*>(p) = v; }
DAMO_FUNCTION u32 divide(u32 n, u32 magic, u32 shift) { return (__umulhi(n, magic) + n) >> shift; }
)";

}  // namespace

CudaEmitter::CudaEmitter(const KernelSpec& spec, const Layout& layout)
    : spec_(spec), layout_(layout), schedule_(cuda_schedule(spec)) {}

std::string CudaEmitter::stored(int i) const { return storage_type(spec_.parameter_dtype(i)); }
std::string CudaEmitter::loaded(int i) const { return value_type(spec_.parameter_dtype(i)); }

std::string CudaEmitter::emit() {
  const bool tiled = layout_.tile_axis >= 0;
  text_ = kHead;
  text_ += std::string("typedef ") + (layout_.wide ? "i64" : "u32") + " index;\n";
  text_ += std::string("typedef ") + (layout_.wide ? "i64" : "i32") + " offset;\n";
  text_ += argument_struct(spec_, layout_) + step_functions(spec_);
  line("extern \"C\" __global__ void __launch_bounds__(" + number(tiled ? kTile * kTileRows : schedule_.block) + ") " +
       entry_name(spec_) + "(const __grid_constant__ Arguments a) {");
  emit_scalars("  ");
  if (tiled) emit_tile_schedule();
  else emit_block_schedule();
  line("}");
  return std::move(text_);
}

/// Elements that every thread reads once.
void CudaEmitter::emit_scalars(const std::string& indent) {
  for (int i = 0; i < spec_.input_count(); ++i) {
    if (is_scalar_input(i)) line(indent + "const " + loaded(i) + " x" + number(i) + " = a.n > 0 ? " + loaded(i) + "(" + pointer(i) + "[0]) : " + loaded(i) + "(0);");
  }
}

void CudaEmitter::emit_block_schedule() {
  const std::string elements = number(schedule_.elements_per_block());
  line("  const index begin = index(blockIdx.x) * " + elements + ";");
  if (schedule_.vector > 1 || schedule_.unroll > 1) {
    line("  if (a.fast && begin + " + elements + " <= a.n) {");
    emit_vector_path();
    line("    return;");
    line("  }");
  }
  emit_element_path();
}

/// The offset of element (c0, c1, ...) in a strided array; without the last axis: of its row.
std::string CudaEmitter::offset(int i, bool with_last) const {
  std::string sum;
  const int axes = with_last ? layout_.rank : layout_.rank - 1;
  for (int axis = 0; axis < axes; ++axis) {
    const bool last = axis == layout_.rank - 1;
    if (last && access(i) == Access::kRepeat) continue;
    std::string term = "offset(c" + number(axis) + ")";
    if (!(last && access(i) == Access::kRow)) term += " * a.s" + number(i) + "[" + number(axis) + "]";
    sum += (sum.empty() ? "" : " + ") + term;
  }
  return sum.empty() ? "0" : sum;
}

/// c0 ... c(rank-1) of a position in the iteration.
void CudaEmitter::emit_coordinates(const std::string& indent, const std::string& position) {
  if (layout_.is_flat()) return;
  std::string rest = position;
  for (int axis = layout_.rank - 1; axis > 0; --axis) {
    const std::string quotient = "q" + number(axis), at = "[" + number(axis) + "]";
    if (layout_.wide) line(indent + "const index " + quotient + " = " + rest + " / a.extent" + at + ";");
    else line(indent + "const index " + quotient + " = divide(" + rest + ", a.magic" + at + ", a.shift" + at + ");");
    line(indent + "const index c" + number(axis) + " = " + rest + " - " + quotient + " * a.extent" + at + ";");
    rest = quotient;
  }
  line(indent + "const index c0 = " + rest + ";");
}

std::string CudaEmitter::vector_load(int i) const {
  const std::string n = number(schedule_.vector), x = "x" + number(i) + "[u]";
  switch (access(i)) {
    case Access::kDense: return x + " = load<" + n + ">(" + pointer(i) + " + at);";
    case Access::kRow: return x + " = load<" + n + ">(" + pointer(i) + " + (" + offset(i, true) + "));";
    case Access::kRepeat: return x + ".e[0] = " + pointer(i) + "[" + offset(i, true) + "];";
    default:
      return "for (int k = 0; k < " + n + "; ++k) " + x + ".e[k] = " + pointer(i) + "[" + offset(i, true) + " + k * a.s" + number(i) + "[" +
             number(layout_.rank - 1) + "]];";
  }
}

std::string CudaEmitter::vector_store(int i) const {
  const std::string n = number(schedule_.vector), y = "y" + number(i);
  switch (access(i)) {
    case Access::kDense: return "store<" + n + ">(" + pointer(i) + " + at, " + y + ");";
    case Access::kRow: return "store<" + n + ">(" + pointer(i) + " + (" + offset(i, true) + "), " + y + ");";
    case Access::kScalar: return pointer(i) + "[0] = " + y + ".e[0];";
    case Access::kRepeat: return pointer(i) + "[" + offset(i, true) + "] = " + y + ".e[0];";
    default:
      return "for (int k = 0; k < " + n + "; ++k) " + pointer(i) + "[" + offset(i, true) + " + k * a.s" + number(i) + "[" +
             number(layout_.rank - 1) + "]] = " + y + ".e[k];";
  }
}

void CudaEmitter::emit_vector_path() {
  const std::string n = number(schedule_.vector), unroll = number(schedule_.unroll);
  const std::string position = "    const index at = begin + (u * " + number(schedule_.block) + " + threadIdx.x) * " + n + ";";
  for (int i = 0; i < spec_.input_count(); ++i) {
    if (is_scalar_input(i)) continue;
    const std::string width = access(i) == Access::kRepeat ? "1" : n;
    line("    Vec<" + stored(i) + ", " + width + "> x" + number(i) + "[" + unroll + "];");
  }
  line("#pragma unroll");
  line("    for (u32 u = 0; u < " + unroll + "; ++u) {");
  line("  " + position);
  emit_coordinates("      ", "at");
  for (int i = 0; i < spec_.input_count(); ++i) {
    if (!is_scalar_input(i)) line("      " + vector_load(i));
  }
  line("    }");
  line("#pragma unroll");
  line("    for (u32 u = 0; u < " + unroll + "; ++u) {");
  line("  " + position);
  bool strided_output = false;
  for (int i = spec_.input_count(); i < spec_.parameter_count(); ++i) {
    line("      Vec<" + stored(i) + ", " + n + "> y" + number(i) + ";");
    strided_output |= has_strides(access(i));
  }
  line("#pragma unroll");
  line("      for (int k = 0; k < " + n + "; ++k) " + body_call(spec_, [&](int i) {
         if (is_scalar_input(i)) return "x" + number(i);
         if (spec_.is_output(i)) return "y" + number(i) + ".e[k]";
         return loaded(i) + "(x" + number(i) + "[u].e[" + (access(i) == Access::kRepeat ? "0" : "k") + "])";
       }));
  if (strided_output) emit_coordinates("      ", "at");
  for (int i = spec_.input_count(); i < spec_.parameter_count(); ++i) line("      " + vector_store(i));
  line("    }");
}

/// The last block, misaligned arrays, rows that no vector divides: neighbouring threads take neighbouring elements.
void CudaEmitter::emit_element_path() {
  const int per_thread = schedule_.vector * schedule_.unroll;
  line(spec_.cost() > kUnrolledCost ? "#pragma unroll 1" : "#pragma unroll 4");
  line("  for (int k = 0; k < " + number(per_thread) + "; ++k) {");
  line("    const index at = begin + k * " + number(schedule_.block) + " + threadIdx.x;");
  line("    if (at >= a.n) return;");
  emit_coordinates("    ", "at");
  for (int i = spec_.input_count(); i < spec_.parameter_count(); ++i) line("    " + stored(i) + " y" + number(i) + ";");
  const auto element = [&](int i) {
    switch (access(i)) {
      case Access::kDense: return pointer(i) + "[at]";
      case Access::kScalar: return pointer(i) + "[0]";
      default: return pointer(i) + "[" + offset(i, true) + "]";
    }
  };
  line("    " + body_call(spec_, [&](int i) {
         if (is_scalar_input(i)) return "x" + number(i);
         return spec_.is_output(i) ? "y" + number(i) : loaded(i) + "(" + element(i) + ")";
       }));
  for (int i = spec_.input_count(); i < spec_.parameter_count(); ++i) line("    " + element(i) + " = y" + number(i) + ";");
  line("  }");
}

/// Block number -> first coordinates of the tile and each array's offset there.
void CudaEmitter::emit_tile_position() {
  const std::string inner = "a.extent[" + number(layout_.rank - 1) + "]", other = "a.extent[" + number(layout_.tile_axis) + "]";
  const std::string edge = number(kTile);
  line("  const index inner = " + inner + ", other = " + other + ";");
  line("  const index inner_tiles = (inner + " + number(kTile - 1) + ") / " + edge + ", other_tiles = (other + " + number(kTile - 1) + ") / " + edge + ";");
  line("  index rest = blockIdx.x;");
  line("  const index j0 = rest % inner_tiles * " + edge + ";");
  line("  rest /= inner_tiles;");
  line("  const index t0 = rest % other_tiles * " + edge + ";");
  line("  rest /= other_tiles;");
  for (int i = 0; i < spec_.parameter_count(); ++i) {
    if (access(i) != Access::kScalar) line("  offset o" + number(i) + " = 0;");
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
      if (access(i) == Access::kScalar) continue;
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

void CudaEmitter::emit_tile_schedule() {
  const std::string edge = number(kTile), rows = number(kTile / kTileRows), step = number(kTileRows);
  const std::string last = "[" + number(layout_.rank - 1) + "]", tile_axis = "[" + number(layout_.tile_axis) + "]";
  emit_tile_position();
  for (int i = 0; i < spec_.input_count(); ++i) {
    if (access(i) == Access::kTransposed) line("  __shared__ " + stored(i) + " tile" + number(i) + "[" + edge + "][" + number(kTile + 1) + "];");
    else if (!is_scalar_input(i)) line("  " + stored(i) + " x" + number(i) + "[" + rows + "];");
  }
  line("  const u32 lane = threadIdx.x % " + edge + ", row = threadIdx.x / " + edge + ";");
  const auto loop = [&](const std::string& j, const std::string& t) {
    line("#pragma unroll");
    line("  for (u32 r = 0; r < " + rows + "; ++r) {");
    line("    const index j = j0 + " + j + ", t = t0 + " + t + ";");
    line("    if (j >= inner || t >= other) continue;");
  };
  const std::string across = "row + r * " + step;
  loop(across, "lane");
  for (int i = 0; i < spec_.input_count(); ++i) {
    if (access(i) != Access::kTransposed) continue;
    line("    tile" + number(i) + "[" + across + "][lane] = " + pointer(i) + "[o" + number(i) + " + offset(t) + offset(j) * a.s" + number(i) + last + "];");
  }
  line("  }");
  const auto element = [&](int i) {
    const std::string n = number(i);
    if (access(i) == Access::kScalar) return pointer(i) + "[0]";
    if (access(i) == Access::kDense) return pointer(i) + "[o" + n + " + offset(t) * d" + n + " + offset(j)]";
    return pointer(i) + "[o" + n + " + offset(t) * a.s" + n + tile_axis + " + offset(j) * a.s" + n + last + "]";
  };
  loop("lane", across);
  for (int i = 0; i < spec_.input_count(); ++i) {
    if (access(i) != Access::kTransposed && !is_scalar_input(i)) line("    x" + number(i) + "[r] = " + element(i) + ";");
  }
  line("  }");
  line("  __syncthreads();");
  loop("lane", across);
  for (int i = spec_.input_count(); i < spec_.parameter_count(); ++i) line("    " + stored(i) + " y" + number(i) + ";");
  line("    " + body_call(spec_, [&](int i) {
         if (is_scalar_input(i)) return "x" + number(i);
         if (spec_.is_output(i)) return "y" + number(i);
         const std::string text = access(i) == Access::kTransposed ? "tile" + number(i) + "[lane][" + across + "]" : "x" + number(i) + "[r]";
         return loaded(i) + "(" + text + ")";
       }));
  for (int i = spec_.input_count(); i < spec_.parameter_count(); ++i) line("    " + element(i) + " = y" + number(i) + ";");
  line("  }");
}

}  // namespace damo
