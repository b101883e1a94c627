#include "ops/eager/scan_writer.hpp"

namespace damo {

void ScanWriter::function(const std::string& signature, const SourceText& expression) {
  line("DAMO_FUNCTION damo_value " + signature + " {\nreturn damo_value(");
  text_ += line_directive(expression) + expression.text + "\n" + kGeneratedLine + ");\n}\n";
}

void ScanWriter::head() {
  const DType dtypes[] = {d_.dtype};
  if (!generated()) text_ += includes_for(dtypes);
  const bool host = generated() && !l_.gpu;
  if (host) line("using namespace damo;");
  line(host ? "#define DAMO_FUNCTION static inline __attribute__((always_inline))"
            : "#define DAMO_FUNCTION static __device__ __forceinline__");
  if (!d_.preamble.text.empty()) text_ += line_directive(d_.preamble) + d_.preamble.text + "\n" + kGeneratedLine;
  line("typedef long long damo_long;");
  line(std::string("typedef ") + (l_.wide ? "unsigned long long" : "unsigned int") + " damo_position;");
  line("typedef " + d_.accumulator + " damo_value;\ntypedef " +
       (generated() ? storage_type(d_.dtype) : c_type(d_.dtype)) + " damo_stored;");
  line("struct damo_arguments {\n  const damo_stored* x;\n  damo_stored* y;\n  damo_value* partial;");
  line("  damo_long lines, length, chunk, chunks, r_x, r_y;");
  const std::string rank = "[" + std::to_string(l_.kept_rank) + "]";
  if (l_.kept_rank > 0) line("  damo_long kept" + rank + ", k_x" + rank + ", k_y" + rank + ";");
  line("};");
  function("damo_reduce(damo_value a, damo_value b)", d_.reduce);
  if (d_.exclusive)
    function("damo_neutral()", d_.neutral);
  else
    line("#define damo_neutral() damo_value()");
}

void ScanWriter::line_start(const std::string& indent, const std::string& number, int axes) {
  line(indent + "const damo_stored* x = a.x;\n" + indent + "damo_stored* y = a.y;");
  if (axes == 0) return;
  line(indent + "{ damo_position rest = damo_position(" + number + ");");
  for (int axis = axes - 1; axis >= 0; --axis) {
    const std::string at = "[" + std::to_string(axis) + "]", extent = "damo_position(a.kept" + at + ")";
    line(indent +
         "  { const damo_long c = " + (axis > 0 ? "rest % " + extent + "; rest /= " + extent : std::string("rest")) +
         "; x += c * a.k_x" + at + "; y += c * a.k_y" + at + "; }");
  }
  line(indent + "}");
}

void ScanWriter::carry_loop(const std::string& first, const std::string& place) {
  line("  damo_value before = a.partial[" + first + "];");
  line("  for (damo_long k = 1; k < a.chunks; ++k) {");
  line("    const damo_value own = a.partial[" + place + "];");
  line("    a.partial[" + place + "] = before;");
  line("    before = damo_reduce(before, own);");
  line("  }");
}

std::string scan_text(const ScanDefinition& definition, const ScanLayout& layout) {
  return layout.gpu ? gpu_scan_text(definition, layout) : cpu_scan_text(definition, layout);
}

}  // namespace damo
