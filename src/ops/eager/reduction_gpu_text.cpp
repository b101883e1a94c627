#include "ops/eager/reduction_writer.hpp"

namespace damo {
namespace {

constexpr int kReductionBlock = 256;      // threads of a block
constexpr int kUnroll = 8;       // loads of a thread under way: 8 of 4 bytes by 2048 threads are 64 KB a multiprocessor
constexpr int kUnrollLarge = 4;  // of accumulators that take several registers

// The lanes join as many neutral values as they are; of nothing the result is one, also where it is none ("5" of a
// sum).
constexpr const char* kStore = "a.out[output] = damo_post(a.length > 0 ? value : damo_neutral(), a.length);";

class GpuReduction : ReductionWriter {
 public:
  GpuReduction(const ReductionDefinition& definition, const ReductionLayout& layout)
      : ReductionWriter(definition, layout) {
    const std::size_t bytes = d_.accumulator_bytes;
    unroll_ = bytes > 0 && bytes <= 8 ? kUnroll : kUnrollLarge;
  }

  std::string print() {
    write_common();
    main();
    if (!l_.finishes) finish();
    return std::move(text_);
  }

 private:
  void begin(const std::string& name) {
    line("extern \"C\" __global__ void __launch_bounds__(" + number(kReductionBlock) + ") " + name +
         "(const damo_arguments a) {");
    const std::string lanes = number(l_.lanes), outputs = number(kReductionBlock / l_.lanes);
    line("  __shared__ __align__(16) char damo_memory[" + number(kReductionBlock) + " * sizeof(damo_value)];");
    line("  damo_value* const shared = reinterpret_cast<damo_value*>(damo_memory);");
    line("  const int t = threadIdx.x;");
    const bool rows = l_.form == ReductionForm::kRows;
    line("  const int lane = t " + std::string(rows ? "% " + lanes : "/ " + outputs) + ", slot = t " +
         (rows ? "/ " + lanes : "% " + outputs) + ";");
    line("  const damo_long output = (damo_long)blockIdx.x * " + outputs + " + slot;");
  }

  /// Joins the lanes' values, which are in `value`; then runs `store` in one thread an output.
  void end(const std::string& store) {
    const bool rows = l_.form == ReductionForm::kRows;
    if (l_.lanes > 1) {
      line("  shared[t] = value;\n  __syncthreads();");
      line("#pragma unroll");
      line("  for (int half = " + number(l_.lanes / 2) + "; half > 0; half /= 2) {");
      line("    if (lane < half) shared[t] = value = damo_reduce(value, shared[t + half * " +
           number(rows ? 1 : kReductionBlock / l_.lanes) + "]);");
      line("    __syncthreads();\n  }");
    }
    line("  if (lane == 0 && output < a.outputs) " + store);
    line("}");
  }

  void main() {
    begin(main_kernel(d_));
    line("  const damo_long chunk = blockIdx.y, begin = chunk * a.chunk;");
    line("  const damo_long end = begin + a.chunk < a.length ? begin + a.chunk : a.length;");
    line("  damo_value value = damo_neutral();");
    line("  if (output < a.outputs) {");
    kept_offsets("    ", "output", l_.kept_rank);
    line("    damo_value many[" + number(unroll_) + "];");
    line("#pragma unroll\n    for (int u = 0; u < " + number(unroll_) + "; ++u) many[u] = damo_neutral();");
    // Not 64 bits where 32 do: their multiplications took as long as the loads (column sums 205 -> 130 us on an H200).
    line("    damo_index r = damo_index(begin) + lane;");
    line("    for (; r + " + number((unroll_ - 1) * l_.lanes) + " < end; r += " + number(unroll_ * l_.lanes) + ") {");
    line("#pragma unroll\n      for (int u = 0; u < " + number(unroll_) + "; ++u) {");
    line("        const damo_index place = r + u * " + number(l_.lanes) + ";");
    element("        ", "many[u]");
    line("      }\n    }");
    line("    for (; r < end; r += " + number(l_.lanes) + ") {\n      const damo_index place = r;");
    element("      ", "many[0]");
    line("    }");
    line("#pragma unroll\n    for (int half = " + number(unroll_ / 2) + "; half > 0; half /= 2)");
    line("#pragma unroll\n      for (int u = 0; u < half; ++u) many[u] = damo_reduce(many[u], many[u + half]);");
    line("    value = many[0];\n  }");
    end(l_.finishes ? kStore : "a.partial[" + partial("chunk") + "] = value;");
  }

  void element(const std::string& indent, const std::string& into) {
    if (l_.reduced_rank <= 1) {
      line(indent + into + " = damo_reduce(" + into + ", " +
           map_call([&](std::size_t a, const std::string& name) { return reduced_step(a, name, "place"); }, "place") +
           ");");
      return;
    }
    reduced_offsets(indent, "place", l_.reduced_rank);
    line(indent + into + " = damo_reduce(" + into + ", " +
         map_call([](std::size_t, const std::string& name) { return " + d_" + name; }, "place") + ");");
  }

  void finish() {
    begin(finish_kernel(d_));
    line("  damo_value value = damo_neutral();");
    line("  if (output < a.outputs) {");
    line("    for (damo_long k = lane; k < a.chunks; k += " + number(l_.lanes) +
         ") value = damo_reduce(value, a.partial[" + partial("k") + "]);");
    line("  }");
    end(kStore);
  }

  int unroll_;
};

}  // namespace

std::string gpu_reduction_text(const ReductionDefinition& definition, const ReductionLayout& layout) {
  return GpuReduction(definition, layout).print();
}

}  // namespace damo
