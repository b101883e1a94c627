// The part of a kernel's text that no target changes: type names, one function for each distinct step, and `body`, which
// takes one element of every input to one element of every output. Kernels that reduce call the functions themselves.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "runtime/kernel/spec.hpp"

namespace damo {

/// As an array holds it: "half", "bool", "i16".
std::string storage_type(DType dtype);
/// As a step computes with it: float for half, bfloat16 and 8-bit floats.
std::string value_type(DType dtype);
/// As the array of a parameter holds it, or the launch what it brings by value: "Table<half, table_index>", whose second type argument_struct() says.
std::string stored_type(const KernelSpec& spec, int parameter);
/// As steps compute with an input.
std::string loaded_type(const KernelSpec& spec, int input);
/// A literal of value_type(dtype).
std::string literal(const Scalar& value);
/// Whether the step's function is long, or has a loop, so that it is called and not copied to each place.
bool is_called(const Step& step);
inline std::string number(std::int64_t value) { return std::to_string(value); }

/// Prints the steps of a spec: a function for each distinct one, and the calls of these functions.
class StepPrinter {
 public:
  explicit StepPrinter(const KernelSpec& spec);

  /// All functions, for a dialect that has defined DAMO_FUNCTION. Of an accumulator, by the number v of the first join that has it: Joined<v>, and
  /// neutral<v>(), reduce<v>(a, b), joined<v>(x0, ...), append<v>(a, x0, ...), and where it has one append_group<v>(a, x0, ...) of arrays. Of a join of value v: post<v>(a, n). A dialect defines the type `place`.
  const std::string& functions() const { return functions_; }
  /// How the text at hand calls a value that is no constant.
  using Name = std::function<std::string(int value)>;
  /// A step's value, or of a join what one element gives.
  std::string call(int value, const Name& name) const;
  /// What a join makes of the accumulator of so many elements.
  static std::string post(int join, const std::string& accumulator, const std::string& count) { return "post" + number(join) + "(" + accumulator + ", " + count + ")"; }
  /// A join's accumulator with one more element, which stands behind all that are in it.
  std::string appended(int join, const std::string& before, const Name& name) const;
  /// What the function of a step, or of a join, is given for its input i.
  std::string argument(int value, std::size_t i, const Name& name) const;
  /// How the text calls a value: a constant, a number or what name says.
  std::string value_text(int value, const Name& name) const;
  /// What an output stores.
  std::string stored(int output, const Name& name) const;
  DType dtype(int value) const { return dtypes_[static_cast<std::size_t>(value)]; }

 private:
  void add(const Step& step);
  /// Whether the kernel makes a value, this turn or one before: of what it loads its compiler knows nothing.
  bool computes(int value) const;
  std::string arguments(int value, const Name& name) const;

  const KernelSpec& spec_;
  std::vector<DType> dtypes_;           // of every value
  std::vector<std::string> called_;     // the function of every step
  std::map<std::string, std::string> names_;  // of functions, by their text
  std::string functions_;
};

/// "v3".
inline std::string local_name(int value) { return "v" + std::to_string(value); }

/// Functions and `body` of an elementwise spec. as_float: outputs of 16-bit floats that body gives as the floats that they are computed as, for the kernel to round.
std::string step_functions(
    const KernelSpec& spec, const std::function<bool(int output)>& as_float = [](int) { return false; });

/// "body(x0, s1, y0)": a call of body; input and output give the text of each array's element. Where the spec has numbers
/// the kernel must have an object `numbers` of type Numbers (argument_struct).
template <class Element>
std::string body_call(const KernelSpec& spec, Element element) {
  std::string text = spec.numbers.empty() ? "body(" : "body(numbers, ";
  for (int i = 0; i < spec.parameter_count(); ++i) text += (i > 0 ? ", " : "") + element(i);
  return text + ");";
}

}  // namespace damo
