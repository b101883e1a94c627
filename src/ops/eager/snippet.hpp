// What kernels made of a user's C snippets share: the parameters, the text that carries the user's lines, and how a
// snippet uses its arrays.
//
// Only "x[i]" of an array needs no more than the address of one element, which an array of any strides has. A snippet
// that does anything else with x ("x[i + 1]", "f(x, i)") gets a pointer to elements in C order.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <damo/array_operand.hpp>
#include <damo/graph_lists.hpp>
#include <damo/source_text.hpp>

#include "runtime/exec/array_lists.hpp"
#include "runtime/kernel/line_directive.hpp"
#include "ops/raw_parameter.hpp"

namespace damo {

/// "float a, const float* x" -> its parameters. Throws GraphError as parse_parameter does, for two of one name, and for names that mean something else in the text.
std::vector<RawParameter> parse_parameters(std::string_view list);

/// Back to lines that are not the user's.
inline constexpr const char* kGeneratedLine = "#line 1 \"generated\"\n";

/// The text, its lines the user's, and behind it lines that are not.
std::string with_lines(const SourceText& text);
/// A device function: "type signature { return type(expression); }", the expression's lines the user's.
std::string function_of(const std::string& type, const std::string& signature, const SourceText& expression, const SourceText& before = {});

/// "float", "__half", "long long": in CUDA C.
std::string c_type(DType dtype);
/// The includes that CUDA C needs for parameters of these dtypes.
std::string includes_for(std::span<const DType> dtypes);

/// Whether the text has this identifier.
bool names(std::string_view text, std::string_view identifier);
/// Whether every use of the array is array[i].
bool only_at_i(std::string_view text, std::string_view array);
/// The text with every array[i] of these arrays taken out: what is left may name i for another reason.
std::string without_elements(std::string_view text, std::span<const RawParameter> parameters);

/// The arguments of one call against the parameters. Throws TypeError for a wrong count, dtype or kind, DeviceError for
/// arrays on several devices.
struct SnippetArguments {
  std::vector<Array> arrays;     ///< in order of the pointer parameters
  SmallList<Scalar, 8> numbers;  ///< in order of the others, of their dtypes
  Backend* backend = nullptr;

  SnippetArguments(const std::string& kernel, std::span<const RawParameter> parameters,
                   std::span<const ArrayOperand> given);
  SnippetArguments(const SnippetArguments&) = delete;
  SnippetArguments& operator=(const SnippetArguments&) = delete;
  ~SnippetArguments() { keep_array_list(std::move(arrays)); }
};

/// To which all broadcast. Throws ShapeError.
Shape common_shape(const std::string& kernel, std::span<const Array> arrays);

}  // namespace damo
