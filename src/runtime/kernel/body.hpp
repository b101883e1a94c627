// The part of a kernel's text that no target changes: type names, one function for each distinct step, and `body`, which
// takes one element of every input to one element of every output.
#pragma once
#include <string>

#include "runtime/kernel/spec.hpp"

namespace damo {

/// As an array holds it: "half", "bool", "i16".
std::string storage_type(DType dtype);
/// As a step computes with it: float for half and bfloat16.
std::string value_type(DType dtype);
/// A literal of value_type(dtype).
std::string literal(const Scalar& value);

/// Functions and body, for a dialect that has defined DAMO_FUNCTION.
std::string step_functions(const KernelSpec& spec);

/// "body(x0, s1, y0)": a call of body; input and output give the text of each array's element. Where the spec has numbers
/// the kernel must have an object `numbers` of type Numbers (argument_struct).
template <class Element>
std::string body_call(const KernelSpec& spec, Element element) {
  std::string text = spec.numbers.empty() ? "body(" : "body(numbers, ";
  for (int i = 0; i < spec.parameter_count(); ++i) text += (i > 0 ? ", " : "") + element(i);
  return text + ");";
}

}  // namespace damo
