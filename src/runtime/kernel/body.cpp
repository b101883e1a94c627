#include "runtime/kernel/body.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>

#include "runtime/kernel/dialect.hpp"
#include "runtime/kernel/line_directive.hpp"

namespace damo {

std::string storage_type(DType dtype) {
  static constexpr const char* names[] = {"bool", "i8",  "i16",  "i32",      "i64",   "u8",    "u16",
                                          "u32",  "u64", "half", "bfloat16", "float", "double"};
  return names[static_cast<int>(dtype)];
}

std::string value_type(DType dtype) { return is_half(dtype) ? "float" : storage_type(dtype); }

namespace {

template <class T>
std::string shortest(T value) {
  if (std::isnan(value)) return "(T(0) / T(0))";
  if (std::isinf(value)) return value > 0 ? "(T(1) / T(0))" : "(-T(1) / T(0))";
  char digits[40];
  const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
  std::string text(digits, end);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

std::string integer(const Scalar& value) {
  const std::string type = storage_type(value.dtype());
  if (value.dtype() == uint64) return type + "(" + std::to_string(static_cast<std::uint64_t>(value.as_int())) + "ull)";
  if (value.as_int() == INT64_MIN) return type + "(-9223372036854775807ll - 1)";
  return type + "(" + std::to_string(value.as_int()) + (itemsize(value.dtype()) == 8 ? "ll)" : ")");
}

void replace_all(std::string& text, const std::string& from, const std::string& to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) text.replace(at, from.size(), to);
}

/// An element of another dtype, as the prelude's convert() has it: C++ leaves some conversions undefined, and rounds a
/// double twice on its way to 16 bits.
std::string converted(const std::string& type, const std::string& text) { return "convert<" + type + ">(" + text + ")"; }

/// The function for a step, without its name: equal texts share one function.
std::string signature(const Step& step) {
  std::string text = "(";
  for (std::size_t i = 0; i < step.inputs.size(); ++i) {
    text += (i > 0 ? ", " : "") + (i == 0 && step.condition_first ? "bool" : value_type(step.compute)) + " x" + std::to_string(i);
  }
  std::string code = converted(step.rounds ? storage_type(step.result) : value_type(step.result), step.code);
  if (step.rounds && is_half(step.result)) code = "float(" + code + ")";
  text += ") {\n  typedef " + value_type(step.compute) + " T;\n";
  if (step.row) text += line_directive(step.row.file, step.row.line);
  text += "  return " + code + ";\n";
  if (step.row) text += "#line 1 \"generated\"\n";
  return text + "}\n";
}

std::string identifier(const std::string& name) {
  std::string text = name;
  std::replace_if(text.begin(), text.end(), [](unsigned char c) { return !std::isalnum(c); }, '_');
  return text;
}

class BodyPrinter {
 public:
  explicit BodyPrinter(const KernelSpec& spec) : spec_(spec), dtypes_(spec.inputs) {
    for (const Scalar& number : spec.numbers) dtypes_.push_back(number.dtype());
    for (const Scalar& constant : spec.constants) dtypes_.push_back(constant.dtype());
  }

  std::string print() {
    for (const Stage& stage : spec_.stages) {
      for (const Step& step : stage.steps) add(step);
    }
    std::string head = spec_.numbers.empty() ? "DAMO_FUNCTION void body(" : "DAMO_FUNCTION void body(const Numbers& numbers, ";
    for (int i = 0; i < spec_.parameter_count(); ++i) {
      if (i > 0) head += ", ";
      const DType dtype = spec_.parameter_dtype(i);
      head += spec_.is_output(i) ? storage_type(dtype) + "& y" + std::to_string(i - spec_.input_count())
                                 : value_type(dtype) + " v" + std::to_string(i);
    }
    for (std::size_t i = 0; i < spec_.stores.size(); ++i) {
      const DType dtype = spec_.outputs[i], from = dtypes_[static_cast<std::size_t>(spec_.stores[i])];
      const std::string type = storage_type(dtype), text = value_text(spec_.stores[i]);
      body_ += "  y" + std::to_string(i) + " = " + (value_type(from) == value_type(dtype) ? type + "(" + text + ")" : converted(type, text)) + ";\n";
    }
    return functions_ + head + ") {\n" + body_ + "}\n";
  }

 private:
  void add(const Step& step) {
    std::string definition = signature(step);
    auto [found, is_new] = names_.try_emplace(definition, "f" + std::to_string(names_.size()) + "_" + identifier(step.name));
    if (is_new) functions_ += "DAMO_FUNCTION " + value_type(step.result) + " " + found->second + definition;
    std::string call = found->second + "(";
    for (std::size_t i = 0; i < step.inputs.size(); ++i) {
      const DType wanted = i == 0 && step.condition_first ? bool_ : step.compute;
      call += (i > 0 ? ", " : "") + value(step.inputs[i], wanted);
    }
    body_ += "  const " + value_type(step.result) + " v" + std::to_string(dtypes_.size()) + " = " + call + ");\n";
    dtypes_.push_back(step.result);
  }

  std::string value_text(int number) const {
    const int argument = number - spec_.input_count(), constant = argument - static_cast<int>(spec_.numbers.size());
    if (argument >= 0 && constant < 0) return "numbers.n" + std::to_string(argument);
    const bool is_constant = constant >= 0 && constant < static_cast<int>(spec_.constants.size());
    return is_constant ? literal(spec_.constants[static_cast<std::size_t>(constant)]) : "v" + std::to_string(number);
  }
  /// A value as value_type(wanted).
  std::string value(int number, DType wanted) const {
    const std::string type = value_type(wanted), text = value_text(number);
    return value_type(dtypes_[static_cast<std::size_t>(number)]) == type ? text : converted(type, text);
  }

  const KernelSpec& spec_;
  std::vector<DType> dtypes_;  // of every value so far
  std::map<std::string, std::string> names_;
  std::string functions_, body_;
};

}  // namespace

std::string literal(const Scalar& value) {
  const DType dtype = value.dtype();
  if (dtype == bool_) return value.as_int() ? "true" : "false";
  if (!is_floating(dtype)) return integer(value);
  const bool is_double = dtype == float64;
  std::string text = is_double ? shortest(value.as_double()) : shortest(static_cast<float>(value.as_double()));
  if (text.front() == '(') {
    replace_all(text, "T", value_type(dtype));
    return text;
  }
  if (!is_double) text += "f";
  return text.front() == '-' ? "(" + text + ")" : text;
}

std::string step_functions(const KernelSpec& spec) { return BodyPrinter(spec).print(); }

std::string entry_name(const KernelSpec& spec) { return "damo_" + identifier(spec.name).substr(0, 80); }

}  // namespace damo
