#include "print.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <set>

#include "gradient_check.hpp"
#include "op_family.hpp"

namespace damo::testing {
namespace {

std::string number_text(const Scalar& value) {
  if (is_floating(value.dtype())) {
    const double number = value.as_double();
    if (std::isnan(number)) return "NAN";
    if (std::isinf(number)) return number > 0 ? "INFINITY" : "-INFINITY";
    char text[40];
    std::snprintf(text, sizeof text, "%.17g", number);
    return text;
  }
  if (value.dtype() == uint64) return std::to_string(static_cast<std::uint64_t>(value.as_int())) + "ull";
  if (value.as_int() == INT64_MIN) return "INT64_MIN";
  return std::to_string(value.as_int());
}

std::string v(int value) { return "v" + std::to_string(value); }

std::string list_of(const std::vector<int>& values, const char* prefix = "v") {
  std::string text = "{";
  for (std::size_t i = 0; i < values.size(); ++i) text += (i > 0 ? ", " : "") + std::string(prefix) + std::to_string(values[i]);
  return text + "}";
}

std::string node_text(const NodeSpec& node) {
  const std::string first = node.operands.empty() ? "" : v(node.operands[0]);
  switch (node.kind) {
    case NodeSpec::Kind::kRow: return "apply_elementwise(*find_elementwise(\"" + node.name + "\"), " + list_of(node.operands) + ")";
    case NodeSpec::Kind::kCast: return "cast(" + first + ", " + std::string(name(node.dtype)) + ")";
    case NodeSpec::Kind::kConstant: return "constant(Scalar(" + number_text(Scalar(node.number)) + ").cast(" + std::string(name(node.dtype)) + "))";
    case NodeSpec::Kind::kDimshuffle: return "dimshuffle(" + first + ", std::vector<int>" + list_of(node.pattern, "") + ")";
    case NodeSpec::Kind::kContiguous: return "contiguous(" + first + ")";
    case NodeSpec::Kind::kBackwards: return "backwards(" + first + ")";
    case NodeSpec::Kind::kBackwardsInto: return "backwards_into(" + first + ")";
    case NodeSpec::Kind::kCopied: return "copied(" + first + ")";
    case NodeSpec::Kind::kParts: return "parts_of(\"" + node.name + "\", " + first + ", " + std::to_string(node.pattern[0]) + ", " + std::to_string(static_cast<int>(node.number)) + ")";
    case NodeSpec::Kind::kScan:
      return node.name + "(" + first + ", " + std::to_string(node.pattern[0]) + ", {.reverse = " + (node.number >= 2 ? "true" : "false") + ", .exclusive = " + (static_cast<int>(node.number) % 2 != 0 ? "true" : "false") + "})";
    case NodeSpec::Kind::kReduce: return node.name + "(" + first + ", std::vector<int>" + list_of(node.pattern, "") + (node.number != 0 ? ", keepdims)" : ")");
    case NodeSpec::Kind::kDot: return "dot(" + first + ", " + v(node.operands[1]) + ")";
    case NodeSpec::Kind::kHead: return "head(" + first + ", " + v(node.operands[1]) + ")";
    case NodeSpec::Kind::kFamily:
      return node.family + "_node<Variable>(\"" + node.name + "\", " + list_of(node.operands) + ", " + list_of(node.pattern, "") + ")";
    default: return node.name + ".outputs(" + list_of(node.operands) + ")";
  }
}

/// A header beside this file, as part of a program.
std::string carried(const std::string& header) {
  std::ifstream file(DAMO_SOURCE_DIR "/tests/random_graph/" + header);
  std::string text;
  for (std::string line; std::getline(file, line);) {
    if (line != "#pragma once" && !line.starts_with("#include \"")) text += line + "\n";
  }
  return text;
}

/// The texts of graph_ops.hpp and of families, where the graph needs them.
std::string definitions(const GraphSpec& graph) {
  bool needed = false;
  std::set<std::string> families;
  for (const NodeSpec& node : graph.nodes) {
    if (node.kind == NodeSpec::Kind::kFamily) families.insert(node.family);
    needed |= node.name.starts_with("raw_") || node.name.starts_with("fuzz_") || (node.kind >= NodeSpec::Kind::kBackwards && node.kind <= NodeSpec::Kind::kParts);
  }
  std::string text;
  if (needed) text += carried("graph_ops.hpp");
  if (!families.empty()) text += carried("family_parts.hpp");
  for (const std::string& family : families) text += carried(family + "_ops.hpp");
  return text.empty() ? text : text + "using namespace damo::testing;\n";
}

std::string expectations(const GraphSpec& graph, std::size_t call) {
  const std::vector<Tensor> values = [&]() -> std::vector<Tensor> {
    try {
      return reference_of(graph, call);
    } catch (const NoGraph&) {
      return {};
    }
  }();
  if (values.empty()) return "    // some extent does not fit: nothing is expected\n";
  std::string text;
  for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
    const Tensor& tensor = values[static_cast<std::size_t>(graph.outputs[i])];
    text += "    // result " + std::to_string(i) + ", " + to_string(TensorType{tensor.dtype, tensor.shape}) + ":";
    for (std::size_t k = 0; k < std::min<std::size_t>(tensor.elements.size(), 12); ++k) {
      char element[64];
      if (std::isfinite(tensor.elements[k].error)) std::snprintf(element, sizeof element, " %.9Lg+-%.2Lg", tensor.elements[k].value, tensor.elements[k].error);
      else std::snprintf(element, sizeof element, " open");
      text += element;
    }
    text += tensor.elements.size() > 12 ? " ...\n" : "\n";
  }
  return text;
}

/// The first of the inputs that the differentiated value depends on.
int recomputed_from(const GraphSpec& graph, const std::vector<int>& inputs) {
  for (int input : inputs) {
    std::set<int> follows{input};
    int value = static_cast<int>(graph.inputs.size());
    for (const NodeSpec& node : graph.nodes) {
      const bool depends = std::any_of(node.operands.begin(), node.operands.end(), [&](int operand) { return follows.contains(operand); });
      for (int i = 0; i < node.output_count(); ++i, ++value) {
        if (depends) follows.insert(value);
      }
    }
    if (follows.contains(differentiated(graph))) return input;
  }
  return inputs.front();
}

/// What gradient_check.cpp differentiates.
std::string gradient_text(const GraphSpec& graph) {
  const ValueType type = graph.types()[static_cast<std::size_t>(differentiated(graph))];
  std::vector<int> by;
  for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
    if (is_floating(graph.inputs[i].dtype)) by.push_back(static_cast<int>(i));
  }
  const std::string y = v(differentiated(graph)), dtype(name(type.dtype));
  return "  const Variable weights = " + (type.dims.empty() ? "constant(Scalar(0.75).cast(" + dtype + "))" : "cast(mod(index_along(" + y + ", Axes()), 7) + 1, " + dtype + ") * 0.25") +
         ";\n  const std::vector<Variable> gradients = lop({" + (graph.recomputes ? "recompute(" + y + ", {" + v(recomputed_from(graph, by)) + "})" : y) + "}, {weights}, " + list_of(by) + ", Disconnected::kZero);\n";
}

/// Every line of the text behind "//".
std::string as_comment(const std::string& text) {
  std::string comment = "// ";
  for (const char c : text) comment += c == '\n' ? "\n// " : std::string(1, c);
  return comment + "\n";
}

}  // namespace

std::string extents_text(const Shape& shape) {
  std::string text = "{";
  for (int i = 0; i < shape.rank(); ++i) text += (i > 0 ? ", " : "") + std::to_string(shape[i]);
  return text + "}";
}

std::string array_text(const std::vector<Scalar>& values, DType dtype) {
  const bool is_wide = dtype == int64 || dtype == uint64;
  std::string text = "astype(Array::from(std::vector<" + std::string(!is_wide ? "double" : dtype == int64 ? "std::int64_t" : "std::uint64_t") + ">{";
  for (std::size_t i = 0; i < values.size(); ++i) text += (i > 0 ? ", " : "") + number_text(values[i]);
  return text + "}, device), " + std::string(name(dtype)) + ")";
}

std::string program_of(const GraphSpec& graph, const std::string& device, const std::string& what) {
  std::string text = as_comment(what) + "#include <cmath>\n#include <cstdio>\n#include <damo/damo.hpp>\n" + definitions(graph) +
                     "using namespace damo;\n\nint main() {\n  const Device device(\"" + device + "\");\n";
  std::vector<int> inputs, buffers;
  const std::vector<Variable> variables = [&] {
    std::vector<Variable> all;
    for (const InputSpec& spec : graph.inputs) {
      Shape dims;
      for (std::size_t axis = 0; axis < spec.dims.size(); ++axis) dims.push_back(spec.known[axis] ? graph.calls[0][static_cast<std::size_t>(spec.dims[axis])] : kUnknown);
      all.push_back(input({spec.dtype, dims}));
    }
    return all;
  }();
  int next = 0;
  for (const Variable& variable : variables) {
    text += "  const Variable " + v(next) + " = input({" + std::string(name(variable.dtype())) + ", " + extents_text(variable.dims()) + "}, \"x" + std::to_string(next) + "\");\n";
    inputs.push_back(next++);
  }
  for (const NodeSpec& node : graph.nodes) {
    if (node.kind != NodeSpec::Kind::kRaw && node.kind != NodeSpec::Kind::kFamily) {
      text += "  const Variable " + v(next++) + " = " + node_text(node) + ";\n";
      continue;
    }
    const std::string outputs = "n" + std::to_string(next);
    text += "  const std::vector<Variable> " + outputs + " = " + node_text(node) + ";\n";
    for (int i = 0; i < node.output_count(); ++i) text += "  const Variable " + v(next++) + " = " + outputs + "[" + std::to_string(i) + "];\n";
  }
  std::string outputs = list_of(graph.outputs);
  const bool differentiates = graph.differentiates && what.find("gradient") != std::string::npos && differentiated(graph) >= 0;
  if (differentiates) text += gradient_text(graph), outputs = "gradients";
  text += "  for (const bool fuse : {true, false}) {\n    const Function f = function(" + std::string(differentiates ? "std::vector<Variable>" : "") + list_of(inputs) + ", " + outputs +
          ",\n                                {.fuse = fuse, .device = device" + (graph.share_results ? ", .share_results = true" : "") + ", .allow_unused_inputs = true});\n";
  for (std::size_t call = 0; call < graph.calls.size(); ++call) {
    text += "    {\n";
    for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
      const int owner = buffer_of(graph, static_cast<int>(i));
      const std::string dtype(name(graph.inputs[i].dtype));
      const Placement place = placement_of(graph.inputs[i], graph.calls[call]);
      if (owner == static_cast<int>(i)) text += "    const Array b" + std::to_string(i) + " = " + array_text(buffer_values(graph, owner, call), graph.inputs[i].dtype) + ";\n";
      text += "    const Array a" + std::to_string(i) + " = b" + std::to_string(owner) + ".view(" + dtype + ", " + extents_text(place.shape) + ", " +
              extents_text(place.strides) + ", " + std::to_string(place.offset) + ");\n";
    }
    text += (differentiates ? "" : expectations(graph, call)) + "    const Array arrays[] = " + list_of(inputs, "a") + ";\n    const Results results = f.call(arrays);\n" +
            "    for (const Array& result : results) {\n      std::printf(\"%s:\", fuse ? \"fused\" : \"unfused\");\n" +
            "      for (const double value : result.to_doubles()) std::printf(\" %.9g\", value);\n      std::printf(\"\\n\");\n    }\n    }\n";
  }
  return text + "  }\n}\n";
}

}  // namespace damo::testing
