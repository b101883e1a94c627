#include "ops/eager/reduction_text.hpp"

#include "ops/eager/snippet.hpp"
#include "runtime/kernel/body.hpp"

namespace damo {
namespace {

constexpr int kBlock = 256;      // threads of a block on a GPU
constexpr int kUnroll = 8;       // loads of a thread under way: 8 of 4 bytes by 2048 threads are 64 KB a multiprocessor
constexpr int kUnrollLarge = 4;  // of accumulators that take several registers

std::string number(int value) { return std::to_string(value); }

class ReductionPrinter {
 public:
  ReductionPrinter(const ReductionDefinition& definition, const ReductionLayout& layout) : d_(definition), l_(layout) {
    const std::size_t bytes = d_.accumulator_bytes;
    unroll_ = bytes > 0 && bytes <= 8 ? kUnroll : kUnrollLarge;
    for (const RawParameter& parameter : d_.parameters) {
      if (parameter.is_pointer) arrays_.push_back(&parameter);
      if (parameter.name == "r") place_ = "damo_place";
    }
  }

  std::string print() {
    head();
    arguments();
    functions();
    if (l_.gpu)
      gpu_main();
    else if (l_.form == ReductionForm::kRows)
      cpu_rows();
    else
      cpu_columns();
    if (!l_.finishes) l_.gpu ? gpu_finish() : cpu_finish();
    return std::move(text_);
  }

 private:
  bool generated() const { return d_.kind == SourceKind::kGenerated; }
  bool plain(std::size_t array) const { return l_.plain[array]; }
  std::string stored(DType dtype) const { return generated() ? storage_type(dtype) : c_type(dtype); }
  void line(const std::string& text) { text_ += text + "\n"; }

  void head() {
    std::vector<DType> dtypes = {d_.result};
    for (const RawParameter& parameter : d_.parameters) dtypes.push_back(parameter.dtype);
    if (!generated()) text_ += includes_for(dtypes);
    if (generated() && !l_.gpu) line("using namespace damo;");
    const bool host = generated() && !l_.gpu;
    line(host ? "#define DAMO_FUNCTION static inline __attribute__((always_inline))"
              : "#define DAMO_FUNCTION static __device__ __forceinline__");
    if (!d_.preamble.text.empty()) text_ += line_directive(d_.preamble) + d_.preamble.text + "\n" + kGeneratedLine;
    line("typedef long long damo_long;");
    line(std::string("typedef ") + (l_.wide ? "unsigned long long" : "unsigned int") + " damo_position;");
    line("typedef " + d_.accumulator + " damo_value;");
    line("typedef " + stored(d_.result) + " damo_result;");
    line("static_assert(sizeof(damo_value) <= " + std::to_string(kMostAccumulatorBytes) +
         ", \"the accumulator is too large\");");
    line(
        "template <class T> struct damo_element { T* at; damo_member T& operator[](damo_long) const { return *at; } "
        "};");
    const std::string member = host ? "__attribute__((always_inline))" : "__device__ __forceinline__";
    text_.replace(text_.rfind("damo_member"), 11, member);
  }

  /// Eight bytes a member; reduction.cpp fills it in this order.
  void arguments() {
    line("struct damo_arguments {");
    for (const RawParameter& parameter : d_.parameters) {
      const std::string type = generated() ? storage_type(parameter.dtype) : c_type(parameter.dtype);
      line(parameter.is_pointer ? "  const " + type + "* p_" + parameter.name + ";"
                                : "  alignas(8) " + type + " p_" + parameter.name + ";");
    }
    line("  damo_result* out;\n  damo_value* partial;");
    line("  damo_long outputs, length, chunk, chunks, tile;");
    if (l_.kept_rank > 0) line("  damo_long kept[" + number(l_.kept_rank) + "];");
    if (l_.reduced_rank > 0) line("  damo_long reduced[" + number(l_.reduced_rank) + "];");
    for (std::size_t a = 0; a <= arrays_.size(); ++a) {
      if (!has_offsets(a)) continue;
      if (l_.kept_rank > 0) line("  damo_long k_" + offset_name(a) + "[" + number(l_.kept_rank) + "];");
      if (l_.reduced_rank > 0) line("  damo_long r_" + offset_name(a) + "[" + number(l_.reduced_rank) + "];");
    }
    line("};");
  }

  /// Array a's, or the index's for a past the last.
  std::string offset_name(std::size_t a) const { return a == arrays_.size() ? "index" : arrays_[a]->name; }
  bool has_offsets(std::size_t a) const { return a == arrays_.size() ? l_.with_index : !plain(a); }
  template <class Do>
  void each_offset(Do act) {
    for (std::size_t a = 0; a <= arrays_.size(); ++a) {
      if (has_offsets(a)) act(a, offset_name(a));
    }
  }

  void function(const std::string& signature, const std::string& type, const SourceText& expression) {
    line("DAMO_FUNCTION " + signature + " {");
    text_ += "return " + type + "(\n" + line_directive(expression) + expression.text + "\n" + kGeneratedLine;
    line(");\n}");
  }

  void functions() {
    function("damo_value damo_neutral()", "damo_value", d_.neutral);
    function("damo_value damo_reduce(damo_value a, damo_value b)", "damo_value", d_.reduce);
    SourceText post = d_.post;
    if (post.text.empty()) post = SourceText("a", nullptr, 0);
    function("damo_result damo_post(damo_value a, damo_long n)", "damo_result", post);
    std::string types, parameters;
    std::size_t array = 0;
    for (const RawParameter& parameter : d_.parameters) {
      const std::string type = generated() ? storage_type(parameter.dtype) : c_type(parameter.dtype);
      if (!parameter.is_pointer)
        parameters += type + " " + parameter.name + ", ";
      else if (plain(array++))
        parameters += "const " + type + "* " + parameter.name + ", ";
      else
        parameters += "damo_element<const " + type + "> " + parameter.name + ", ";
    }
    function("damo_value damo_map(" + parameters + "damo_long i, damo_long " + place_ + ")", "damo_value", d_.map);
  }

  /// The map at offsets o_x + extra, where extra gives the text to add for each array; r: the place.
  template <class Extra>
  std::string map_call(Extra extra, const std::string& place) {
    std::string call = "damo_map(";
    std::size_t array = 0;
    for (const RawParameter& parameter : d_.parameters) {
      if (!parameter.is_pointer || plain(array)) {
        call += "a.p_" + parameter.name + ", ";
      } else {
        const std::string type = generated() ? storage_type(parameter.dtype) : c_type(parameter.dtype);
        call += "damo_element<const " + type + ">{a.p_" + parameter.name + " + (o_" + parameter.name +
                extra(array, parameter.name) + ")}, ";
      }
      if (parameter.is_pointer) ++array;
    }
    return call + (l_.with_index ? "o_index" + extra(arrays_.size(), "index") : "0") + ", " + place + ")";
  }

  /// o_x: where the output numbered `output` begins; for columns without the innermost kept axis.
  void kept_offsets(const std::string& indent, const std::string& output, int axes) {
    each_offset([&](std::size_t, const std::string& name) { line(indent + "damo_long o_" + name + " = 0;"); });
    if (axes == 0) return;
    line(indent + "{ damo_position rest = damo_position(" + output + ");");
    for (int axis = axes - 1; axis >= 0; --axis) {
      const std::string at = "[" + number(axis) + "]", c = axis > 0 ? "rest % damo_position(a.kept" + at + ")" : "rest";
      line(indent + "  const damo_long c" + number(axis) + " = " + c + ";" +
           (axis > 0 ? " rest /= damo_position(a.kept" + at + ");" : ""));
      each_offset([&](std::size_t, const std::string& name) {
        line(indent + "  o_" + name + " += c" + number(axis) + " * a.k_" + name + at + ";");
      });
    }
    line(indent + "}");
  }

  /// d_x: how far the place r lies from o_x, over the outer `axes` reduced axes of `place`.
  void reduced_offsets(const std::string& indent, const std::string& place, int first_unused) {
    each_offset([&](std::size_t, const std::string& name) { line(indent + "damo_long d_" + name + " = 0;"); });
    if (first_unused == 0) return;
    line(indent + "{ damo_position rest = damo_position(" + place + ");");
    for (int axis = first_unused - 1; axis >= 0; --axis) {
      const std::string at = "[" + number(axis) + "]",
                        c = axis > 0 ? "rest % damo_position(a.reduced" + at + ")" : "rest";
      line(indent + "  const damo_long c" + number(axis) + " = " + c + ";" +
           (axis > 0 ? " rest /= damo_position(a.reduced" + at + ");" : ""));
      each_offset([&](std::size_t, const std::string& name) {
        line(indent + "  d_" + name + " += c" + number(axis) + " * a.r_" + name + at + ";");
      });
    }
    line(indent + "}");
  }

  /// "place * stride" along the innermost reduced axis.
  std::string reduced_step(std::size_t a, const std::string& name, const std::string& place) const {
    if (l_.reduced_rank == 0) return "";
    const bool unit = l_.form == ReductionForm::kRows && l_.unit[a];
    return " + (" + place + ")" + (unit ? "" : " * a.r_" + name + "[" + number(l_.reduced_rank - 1) + "]");
  }
  std::string column_step(std::size_t a, const std::string& name, const std::string& column) const {
    return " + (" + column + ")" + (l_.unit[a] ? "" : " * a.k_" + name + "[" + number(l_.kept_rank - 1) + "]");
  }

  void gpu_head(const std::string& name) {
    line("extern \"C\" __global__ void __launch_bounds__(" + number(kBlock) + ") " + name +
         "(const damo_arguments a) {");
    const std::string lanes = number(l_.lanes), outputs = number(kBlock / l_.lanes);
    line("  __shared__ __align__(16) char damo_memory[" + number(kBlock) + " * sizeof(damo_value)];");
    line("  damo_value* const shared = reinterpret_cast<damo_value*>(damo_memory);");
    line("  const int t = threadIdx.x;");
    const bool rows = l_.form == ReductionForm::kRows;
    line("  const int lane = t " + std::string(rows ? "% " + lanes : "/ " + outputs) + ", slot = t " +
         (rows ? "/ " + lanes : "% " + outputs) + ";");
    line("  const damo_long output = (damo_long)blockIdx.x * " + outputs + " + slot;");
  }

  /// Joins the lanes' values, which are in `value`; then runs `store` in one thread an output.
  void gpu_tail(const std::string& store) {
    const bool rows = l_.form == ReductionForm::kRows;
    if (l_.lanes > 1) {
      line("  shared[t] = value;\n  __syncthreads();");
      line("#pragma unroll");
      line("  for (int half = " + number(l_.lanes / 2) + "; half > 0; half /= 2) {");
      line("    if (lane < half) shared[t] = value = damo_reduce(value, shared[t + half * " +
           number(rows ? 1 : kBlock / l_.lanes) + "]);");
      line("    __syncthreads();\n  }");
    }
    line("  if (lane == 0 && output < a.outputs) " + store);
    line("}");
  }

  void gpu_main() {
    gpu_head(main_kernel(d_));
    line("  const damo_long chunk = blockIdx.y, begin = chunk * a.chunk;");
    line("  const damo_long end = begin + a.chunk < a.length ? begin + a.chunk : a.length;");
    line("  damo_value value = damo_neutral();");
    line("  if (output < a.outputs) {");
    kept_offsets("    ", "output", l_.kept_rank);
    line("    damo_value many[" + number(unroll_) + "];");
    line("#pragma unroll\n    for (int u = 0; u < " + number(unroll_) + "; ++u) many[u] = damo_neutral();");
    line("    damo_long r = begin + lane;");
    line("    for (; r + " + number((unroll_ - 1) * l_.lanes) + " < end; r += " + number(unroll_ * l_.lanes) + ") {");
    line("#pragma unroll\n      for (int u = 0; u < " + number(unroll_) + "; ++u) {");
    line("        const damo_long place = r + u * " + number(l_.lanes) + ";");
    gpu_element("        ", "many[u]");
    line("      }\n    }");
    line("    for (; r < end; r += " + number(l_.lanes) + ") {\n      const damo_long place = r;");
    gpu_element("      ", "many[0]");
    line("    }");
    line("#pragma unroll\n    for (int half = " + number(unroll_ / 2) + "; half > 0; half /= 2)");
    line("#pragma unroll\n      for (int u = 0; u < half; ++u) many[u] = damo_reduce(many[u], many[u + half]);");
    line("    value = many[0];\n  }");
    gpu_tail(l_.finishes ? "a.out[output] = damo_post(value, a.length);"
                         : "a.partial[" + partial("chunk") + "] = value;");
  }

  void gpu_element(const std::string& indent, const std::string& into) {
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

  /// Neighbouring threads of finish read neighbours.
  std::string partial(const std::string& chunk) const {
    return l_.gpu && l_.form == ReductionForm::kColumns ? chunk + " * a.outputs + output"
                                                        : "output * a.chunks + " + chunk;
  }

  void gpu_finish() {
    gpu_head(finish_kernel(d_));
    line("  damo_value value = damo_neutral();");
    line("  if (output < a.outputs) {");
    line("    for (damo_long k = lane; k < a.chunks; k += " + number(l_.lanes) +
         ") value = damo_reduce(value, a.partial[" + partial("k") + "]);");
    line("  }");
    gpu_tail("a.out[output] = damo_post(value, a.length);");
  }

  /// A loop over `task`, one block each.
  void cpu_head(const std::string& name, const char* entry) {
    if (!generated()) {
      line("extern \"C\" __global__ void " + name + "(const damo_arguments a) {");
      line(std::string("  ") + entry + "(a, blockIdx.x);\n}");
      return;
    }
    line("extern \"C\" void " + name + "(void* const* arguments, const LaunchFrame*, i64 first, i64 last) {");
    line("  const damo_arguments& a = *static_cast<const damo_arguments*>(arguments[0]);");
    line(std::string("  for (i64 task = first; task < last; ++task) ") + entry + "(a, task);\n}");
  }

  void cpu_range() {
    line("  const damo_long begin = chunk * a.chunk, end = begin + a.chunk < a.length ? begin + a.chunk : a.length;");
  }

  static constexpr const char* kLoop = "#pragma clang loop unroll(disable)";

  /// Tasks: tiles of outputs, or the chunks of one.
  void cpu_rows() {
    const std::string lanes = number(l_.lanes);
    line("DAMO_FUNCTION void damo_rows(const damo_arguments& a, damo_long task) {");
    line("  const damo_long chunk = task % a.chunks, from = task / a.chunks * a.tile;");
    line("  const damo_long to = from + a.tile < a.outputs ? from + a.tile : a.outputs;");
    cpu_range();
    line("  for (damo_long output = from; output < to; ++output) {");
    kept_offsets("    ", "output", l_.kept_rank);
    line("    damo_value value = damo_neutral();");
    if (l_.lanes > 1)
      line("    damo_value many[" + lanes + "];\n    for (int k = 0; k < " + lanes +
           "; ++k) many[k] = damo_neutral();");
    cpu_segments();
    if (l_.lanes > 1) {
      line("    for (int half = " + number(l_.lanes / 2) + "; half > 0; half /= 2)");
      line("      for (int k = 0; k < half; ++k) many[k] = damo_reduce(many[k], many[k + half]);");
      line("    value = damo_reduce(many[0], value);");
    }
    line(l_.finishes ? "    a.out[output] = damo_post(value, a.length);"
                     : "    a.partial[" + partial("chunk") + "] = value;");
    line("  }\n}");
    cpu_head(main_kernel(d_), "damo_rows");
  }

  /// Runs along the innermost reduced axis, over which offsets grow evenly.
  void cpu_segments() {
    const std::string lanes = number(l_.lanes), last = number(l_.reduced_rank - 1);
    const bool several = l_.reduced_rank > 1;
    const auto step = [&](const std::string& place) {
      return [this, place, several](std::size_t a, const std::string& name) {
        return (several ? " + d_" + name : std::string()) + reduced_step(a, name, place);
      };
    };
    line("    for (damo_long r = begin; r < end;) {");
    if (several) {
      line("      const damo_long c = r % a.reduced[" + last + "], left = a.reduced[" + last +
           "] - c, stop = end - r < left ? end - r : left;");
      reduced_offsets("      ", "r / a.reduced[" + last + "]", l_.reduced_rank - 1);
      each_offset([&](std::size_t a, const std::string& name) {
        line("      d_" + name + " += 0" + reduced_step(a, name, "c") + ";");
      });
    } else {
      line("      const damo_long c = 0, stop = end - r, first = r; (void)c;");
    }
    const std::string base = several ? "" : "first + ";
    line("      damo_long j = 0;");
    if (l_.lanes > 1) {
      line("      for (; j + " + lanes + " <= stop; j += " + lanes + ") {");
      line(kLoop);
      line("        for (int k = 0; k < " + lanes + "; ++k) many[k] = damo_reduce(many[k], " +
           map_call(step(base + "j + k"), "r + j + k") + ");");
      line("      }");
    }
    line("      for (; j < stop; ++j) value = damo_reduce(value, " + map_call(step(base + "j"), "r + j") + ");");
    line("      r += stop;\n    }");
  }

  /// Tasks: up to `lanes` neighbouring outputs of one row, or a chunk of them.
  void cpu_columns() {
    const std::string lanes = number(l_.lanes), columns = "a.kept[" + number(l_.kept_rank - 1) + "]";
    line("DAMO_FUNCTION void damo_columns(const damo_arguments& a, damo_long task) {");
    line("  const damo_long chunk = task % a.chunks, tile = task / a.chunks;");
    line("  const damo_long tiles = (" + columns + " + " + number(l_.lanes - 1) + ") / " + lanes + ";");
    line("  const damo_long row = tile / tiles, column = tile % tiles * " + lanes + ";");
    line("  const damo_long left = " + columns + " - column, count = left < " + lanes + " ? left : " + lanes +
         ", first = row * " + columns + " + column;");
    cpu_range();
    kept_offsets("  ", "row", l_.kept_rank - 1);
    line("  damo_value many[" + lanes + "];\n  for (damo_long k = 0; k < count; ++k) many[k] = damo_neutral();");
    line("  for (damo_long r = begin; r < end; ++r) {");
    reduced_offsets("    ", "r", l_.reduced_rank);
    line("    for (damo_long k = 0; k < count; ++k) many[k] = damo_reduce(many[k], " +
         map_call([&](std::size_t a,
                      const std::string& name) { return " + d_" + name + column_step(a, name, "column + k"); },
                  "r") +
         ");");
    line("  }");
    line("  for (damo_long k = 0; k < count; ++k) {\n    const damo_long output = first + k;");
    line(l_.finishes ? "    a.out[output] = damo_post(many[k], a.length);"
                     : "    a.partial[" + partial("chunk") + "] = many[k];");
    line("  }\n}");
    cpu_head(main_kernel(d_), "damo_columns");
  }

  void cpu_finish() {
    line("DAMO_FUNCTION void damo_finish(const damo_arguments& a, damo_long task) {");
    line("  const damo_long from = task * a.tile, to = from + a.tile < a.outputs ? from + a.tile : a.outputs;");
    line("  for (damo_long output = from; output < to; ++output) {");
    line("    damo_value value = damo_neutral();");
    line("    for (damo_long k = 0; k < a.chunks; ++k) value = damo_reduce(value, a.partial[" + partial("k") + "]);");
    line("    a.out[output] = damo_post(value, a.length);\n  }\n}");
    cpu_head(finish_kernel(d_), "damo_finish");
  }

  const ReductionDefinition& d_;
  const ReductionLayout& l_;
  std::vector<const RawParameter*> arrays_;
  int unroll_;
  std::string place_ = "r";
  std::string text_;
};

}  // namespace

std::string reduction_text(const ReductionDefinition& definition, const ReductionLayout& layout) {
  return ReductionPrinter(definition, layout).print();
}

}  // namespace damo
