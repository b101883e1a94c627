#include "ops/eager/elementwise_text.hpp"

#include "ops/eager/snippet.hpp"
#include "runtime/kernel/given_names.hpp"

namespace damo {
namespace {

class ElementwisePrinter {
 public:
  ElementwisePrinter(const ElementwiseSnippet& snippet, const SnippetLayout& layout) : s_(snippet), l_(layout) {}

  std::string print() {
    std::vector<DType> dtypes;
    for (const RawParameter& parameter : s_.parameters) dtypes.push_back(parameter.dtype);
    text_ = includes_for(dtypes);
    if (!s_.preamble.text.empty()) text_ += with_lines(s_.preamble);
    line(
        "template <class damo_type> struct damo_element { damo_type* at; __device__ __forceinline__ damo_type& "
        "operator[](long long) const { return *at; } };");
    line(std::string("typedef ") + (l_.wide ? "unsigned long long" : "unsigned int") + " damo_position;");
    arguments();
    body();
    line("extern \"C\" __global__ void __launch_bounds__(" + std::to_string(kSnippetBlock) + ") " + kernel_name(s_.name) +
         "(const damo_arguments damo_a) {");
    if (l_.width > 1)
      neighbours();
    else
      one();
    line("}");
    return std::move(text_);
  }

 private:
  void line(const std::string& text) { text_ += text + "\n"; }

  /// act(parameter, its C type, whether it is a strided array)
  template <class Act>
  void each(Act act) {
    std::size_t array = 0;
    for (const RawParameter& parameter : s_.parameters) {
      const std::string type = (parameter.is_pointer && parameter.is_const ? "const " : "") + c_type(parameter.dtype);
      act(parameter, type, parameter.is_pointer && !l_.dense[array]);
      array += parameter.is_pointer;
    }
  }

  void arguments() {
    const std::string rank = "[" + std::to_string(l_.rank) + "];";
    line("struct damo_arguments {");
    each([&](const RawParameter& parameter, const std::string& type, bool) {
      line(parameter.is_pointer ? "  " + type + "* p_" + parameter.name + ";"
                                : "  alignas(8) " + type + " p_" + parameter.name + ";");
    });
    line("  long long n;");
    if (l_.rank > 0) line("  long long extent" + rank);
    each([&](const RawParameter& parameter, const std::string&, bool strided) {
      if (strided && l_.rank > 0) line("  long long s_" + parameter.name + rank);
    });
    line("};");
  }

  /// The user's text is a function of one element, so that "return" leaves that element alone.
  void body() {
    std::string parameters;
    each([&](const RawParameter& parameter, const std::string& type, bool strided) {
      parameters += !parameter.is_pointer ? "const " + type + " "
                    : strided             ? "const damo_element<" + type + "> "
                                          : type + (l_.width > 1 ? "* __restrict__ " : "* ");
      parameters += parameter.name + ", ";
    });
    const std::string position = l_.wide ? "const long long " : "const int ";
    line("static __device__ __forceinline__ void damo_body(" + parameters + position + "i, " + position + "n) {");
    text_ += line_directive(s_.operation) + s_.operation.text + ";\n" + kGeneratedLine;
    line("}");
  }

  void one() {
    if (l_.wide) {
      line("  const long long n = damo_a.n;");
      line(
          "  for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += (long long)gridDim.x * "
          "blockDim.x) {");
    } else {
      line("  const int n = (int)damo_a.n;");
      line("  const int i = blockIdx.x * blockDim.x + threadIdx.x;");
      line("  if (i < n) {");
    }
    coordinates();
    call("    ", "i", [&](const RawParameter& parameter, const std::string& type, bool strided) {
      const std::string value = "damo_a.p_" + parameter.name;
      return strided ? "damo_element<" + type + ">{" + value + offset(parameter.name) + "}" : value;
    });
    line("  }");
  }

  void neighbours() {
    const std::string width = std::to_string(l_.width);
    line("  const int n = (int)damo_a.n;");
    line("  const int first = (blockIdx.x * blockDim.x + threadIdx.x) * " + width + ";");
    const auto aligned = [&](const RawParameter& parameter, const std::string& type, bool) {
      const std::string value = "damo_a.p_" + parameter.name;
      if (!parameter.is_pointer) return value;
      const std::string bytes = std::to_string(l_.width * static_cast<int>(itemsize(parameter.dtype)));
      return "(" + type + "*)__builtin_assume_aligned(" + value + ", " + bytes + ")";
    };
    line("  if (first + " + width + " <= n) {\n#pragma unroll\n    for (int u = 0; u < " + width + "; ++u)");
    call("      ", "first + u", aligned);
    line("  } else {\n#pragma unroll 1\n    for (int i = first; i < n; ++i)");
    call("      ", "i", aligned);
    line("  }");
  }

  template <class Value>
  void call(const std::string& indent, const std::string& position, Value value) {
    std::string values;
    each([&](const RawParameter& parameter, const std::string& type, bool strided) {
      values += value(parameter, type, strided) + ", ";
    });
    line(indent + "damo_body(" + values + position + ", n);");
  }

  /// damo_c0, damo_c1, ...: of element i.
  void coordinates() {
    std::string rest = "damo_position(i)";
    for (int axis = l_.rank - 1; axis >= 0; --axis) {
      const std::string n = std::to_string(axis), extent = "damo_position(damo_a.extent[" + n + "])";
      if (axis > 0) line("    const damo_position damo_q" + n + " = " + rest + " / " + extent + ";");
      line("    const long long damo_c" + n + " = " + rest +
           (axis > 0 ? " - damo_q" + n + " * " + extent : std::string()) + ";");
      rest = "damo_q" + n;
    }
  }

  std::string offset(const std::string& name) const {
    std::string sum;
    for (int axis = 0; axis < l_.rank; ++axis)
      sum += " + damo_c" + std::to_string(axis) + " * damo_a.s_" + name + "[" + std::to_string(axis) + "]";
    return sum;
  }

  const ElementwiseSnippet& s_;
  const SnippetLayout& l_;
  std::string text_;
};

}  // namespace

std::string elementwise_text(const ElementwiseSnippet& snippet, const SnippetLayout& layout) {
  return ElementwisePrinter(snippet, layout).print();
}

}  // namespace damo
