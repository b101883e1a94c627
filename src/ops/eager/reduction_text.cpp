#include "ops/eager/reduction_writer.hpp"

namespace damo {

void ReductionWriter::head() {
  std::vector<DType> dtypes = {d_.result};
  for (const RawParameter& parameter : d_.parameters) dtypes.push_back(parameter.dtype);
  text_ += includes_for(dtypes);
  line("#define DAMO_FUNCTION static __device__ __forceinline__");
  line("typedef long long damo_long;");
  line(std::string("typedef ") + (l_.wide ? "unsigned long long" : "unsigned int") + " damo_position;");
  line(std::string("typedef ") + (l_.wide ? "long long" : "int") + " damo_index;");
  if (!d_.preamble.text.empty()) text_ += line_directive(d_.preamble) + d_.preamble.text + "\n" + kGeneratedLine;
  line("typedef " + d_.accumulator + " damo_value;");
  line("typedef " + c_type(d_.result) + " damo_result;");
  line("static_assert(sizeof(damo_value) <= " + std::to_string(kMostAccumulatorBytes) +
       ", \"the accumulator is too large\");");
  line("template <class T> struct damo_element { T* at; __device__ __forceinline__ T& operator[](damo_long) const { return *at; } };");
}

/// Eight bytes a member; reduction.cpp fills it in this order.
void ReductionWriter::arguments() {
  line("struct damo_arguments {");
  for (const RawParameter& parameter : d_.parameters) {
    const std::string type = c_type(parameter.dtype);
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

void ReductionWriter::function(const std::string& signature, const std::string& type, const SourceText& expression) {
  line("DAMO_FUNCTION " + signature + " {");
  text_ += "return " + type + "(\n" + line_directive(expression) + expression.text + "\n" + kGeneratedLine;
  line(");\n}");
}

void ReductionWriter::functions() {
  function("damo_value damo_neutral()", "damo_value", d_.neutral);
  function("damo_value damo_reduce(damo_value a, damo_value b)", "damo_value", d_.reduce);
  SourceText post = d_.post;
  if (post.text.empty()) post = SourceText("a", nullptr, 0);
  function("damo_result damo_post(damo_value a, damo_long n)", "damo_result", post);
  std::string types, parameters;
  std::size_t array = 0;
  for (const RawParameter& parameter : d_.parameters) {
    const std::string type = c_type(parameter.dtype);
    if (!parameter.is_pointer)
      parameters += type + " " + parameter.name + ", ";
    else if (plain(array++))
      parameters += "const " + type + "* " + parameter.name + ", ";
    else
      parameters += "damo_element<const " + type + "> " + parameter.name + ", ";
  }
  function("damo_value damo_map(" + parameters + "damo_long i, damo_long " + place_ + ")", "damo_value", d_.map);
}

void ReductionWriter::kept_offsets(const std::string& indent, const std::string& output, int axes) {
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

void ReductionWriter::reduced_offsets(const std::string& indent, const std::string& place, int axes) {
  each_offset([&](std::size_t, const std::string& name) { line(indent + "damo_long d_" + name + " = 0;"); });
  if (axes == 0) return;
  line(indent + "{ damo_position rest = damo_position(" + place + ");");
  for (int axis = axes - 1; axis >= 0; --axis) {
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

std::string reduction_text(const ReductionDefinition& definition, const ReductionLayout& layout) {
  return layout.gpu ? gpu_reduction_text(definition, layout) : cpu_reduction_text(definition, layout);
}

}  // namespace damo
