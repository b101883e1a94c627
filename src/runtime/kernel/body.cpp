#include "runtime/kernel/body.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>

#include "runtime/kernel/dialect.hpp"
#include "runtime/kernel/given_names.hpp"
#include "runtime/kernel/half_code.hpp"
#include "runtime/kernel/line_directive.hpp"

namespace damo {

std::string storage_type(DType dtype) {
  static constexpr const char* names[] = {"bool", "i8",          "i16",         "i32",  "i64",      "u8",    "u16",   "u32",
                                          "u64",  "float8_e4m3", "float8_e5m2", "half", "bfloat16", "float", "double"};
  return names[static_cast<int>(dtype)];
}

std::string value_type(DType dtype) { return is_narrow(dtype) ? "float" : storage_type(dtype); }

std::string stored_type(const KernelSpec& spec, int parameter) {
  const std::string type = storage_type(spec.parameter_dtype(parameter));
  return spec.is_table(parameter) ? "Table<" + type + ", table_index>" : type;
}

std::string loaded_type(const KernelSpec& spec, int input) { return spec.is_table(input) ? stored_type(spec, input) : value_type(spec.parameter_dtype(input)); }

namespace {

template <class T>
std::string shortest(T value) {
  // By their bits: of 1 / 0 a GPU's compiler makes a division.
  if (std::isnan(value)) return "T(math::as_double(0x7ff8000000000000ull))";
  if (std::isinf(value)) return std::string("T(math::as_double(") + (value > 0 ? "0x7ff" : "0xfff") + "0000000000000ull))";
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

/// text as an expression in brackets: it may end in a comment that goes on to the end of its line.
std::string bracketed(const std::string& text) { return "(" + text + (text.find("//") == std::string::npos ? "" : "\n") + ")"; }

/// An element of another dtype, as the prelude's convert() has it: C++ leaves some conversions undefined, and rounds a
/// double twice on its way to 16 bits.
std::string converted(const std::string& type, const std::string& text) { return "convert<" + type + ">" + bracketed(text); }

/// Whether the step rounds a float to a narrow dtype, and nothing reads that but outputs of the dtype, which round what they store: rounding twice is rounding once.
bool is_rounded_as_stored(const KernelSpec& spec, int value) {
  const Step& step = spec.step_of(value);
  if (!step.rounds || !is_narrow(step.result) || step.compute != float32 || spec.loop) return false;  // a loop's next turn may read it
  const auto reads = [value](const Step& other) { return std::find(other.inputs.begin(), other.inputs.end(), value) != other.inputs.end(); };
  if (std::any_of(spec.steps.begin(), spec.steps.end(), reads)) return false;
  for (std::size_t i = 0; i < spec.stores.size(); ++i) {
    if (spec.stores[i] == value && spec.outputs[i] != step.result) return false;
  }
  return true;
}

/// Input i of a step as its function sees it.
std::string input_type(const KernelSpec& spec, const Step& step, std::size_t i) { return spec.is_table(step.inputs[i]) ? stored_type(spec, step.inputs[i]) : value_type(step.input_as(i)); }

/// The function for a step, without its name: equal texts share one function.
std::string signature(const KernelSpec& spec, const Step& step, bool rounds) {
  std::string text = "(";
  for (std::size_t i = 0; i < step.inputs.size(); ++i) text += (i > 0 ? ", " : "") + input_type(spec, step, i) + " x" + std::to_string(i);
  const bool is_rounded = rounds && is_narrow(step.result);
  const std::string code = is_rounded ? "rounded<" + storage_type(step.result) + ">" + bracketed(half_code(step)) : converted(rounds ? storage_type(step.result) : value_type(step.result), half_code(step));
  text += ") {\n  typedef " + value_type(step.compute) + " T;\n";
  if (step.row) text += line_directive(step.row.file, step.row.line);
  text += "  return " + code + ";\n";
  if (step.row) text += "#line 1 \"generated\"\n";
  return text + "}\n";
}

/// Whether the text of a step orders numbers. Of a template's brackets too: a step too many costs an addition.
bool orders(const Step& step) {
  const auto has = [](const std::string& text) { return text.find_first_of("<>") != std::string::npos; };
  return has(step.code) || (step.join && (has(step.join->before) || has(step.join->reduce) || has(step.join->before_append) || has(step.join->append)));
}

/// The functions of a join that gives this value, of an accumulator whose first join has that number.
std::string join_functions(const KernelSpec& spec, const Step& step, int value, int accumulator) {
  const Join& join = *step.join;
  const std::string type = value_type(step.compute), own = "Joined" + std::to_string(accumulator), number = std::to_string(value);
  const auto body = [&](const std::string& result, bool is_users = true, const std::string& before = {}) {
    const bool tells_line = is_users && step.row;  // so that the compiler's messages name the user's file
    return " {\n  typedef " + type + " T;\n  typedef " + own + " Joined;\n" + (tells_line ? line_directive(step.row.file, step.row.line) : "") + (before.empty() ? "" : "  " + before + "\n") + "  return " + result + ";\n" +
           (tells_line ? "#line 1 \"generated\"\n" : "") + "}\n";
  };
  const std::string post = "DAMO_FUNCTION " + value_type(step.result) + " post" + number + "(" + own + " a, i64 n)" + body(converted(value_type(step.result), join.post.empty() ? "a" : join.post));
  if (accumulator != value) return post;
  std::string parameters;
  for (std::size_t i = 0; i < step.inputs.size(); ++i) parameters += (i > 0 ? ", " : "") + input_type(spec, step, i) + " x" + std::to_string(i);
  std::string text, members;
  for (const auto& [member_type, member] : join.members) members += " " + member_type + " " + member + ";";
  if (join.accumulator.empty() && !members.empty()) text = "struct " + own + " {" + members + " };\n";
  else text = "typedef " + (join.accumulator.empty() ? type : join.accumulator) + " " + own + ";\n";
  text += "DAMO_FUNCTION " + own + " neutral" + number + "()" + body(own + bracketed(join.neutral));
  text += "DAMO_FUNCTION " + own + " reduce" + number + "(" + own + " a, " + own + " b)" + body(own + bracketed(join.reduce), true, join.before);
  text += "DAMO_FUNCTION " + own + " joined" + number + "(" + parameters + ")" + body(own + bracketed(step.code));
  std::string arguments;
  for (std::size_t i = 0; i < step.inputs.size(); ++i) arguments += (i > 0 ? ", x" : "x") + std::to_string(i);
  text += "DAMO_FUNCTION " + own + " append" + number + "(" + own + " a, " + parameters + ")";
  text += join.append.empty() ? body("reduce" + number + "(a, joined" + number + "(" + arguments + "))", false) : body(own + bracketed(join.append), true, join.before_append);
  if (!join.append_group.empty()) {
    std::string groups;
    for (std::size_t i = 0; i < step.inputs.size(); ++i) groups += ", const " + value_type(step.input_as(i)) + " (*x" + std::to_string(i) + ")[N]";
    text += "template <int K, int N> DAMO_FUNCTION void append_group" + number + "(" + own + "* a" + groups + ") {\n  typedef " + type + " T;\n  typedef " + own + " Joined;\n  " + join.append_group + "\n}\n";
  }
  return text + post;
}

}  // namespace

std::string literal(const Scalar& value) {
  const DType dtype = value.dtype();
  if (dtype == bool_) return value.as_int() ? "true" : "false";
  if (!is_floating(dtype)) return integer(value);
  const bool is_double = dtype == float64;
  std::string text = is_double ? shortest(value.as_double()) : shortest(static_cast<float>(value.as_double()));
  if (text.front() == 'T') return value_type(dtype) + text.substr(1);
  if (!is_double) text += "f";
  return text.front() == '-' ? "(" + text + ")" : text;
}

bool is_called(const Step& step) {
  constexpr int kCalledCost = 100;  // a call costs about 20
  return step.cost >= kCalledCost;
}

StepPrinter::StepPrinter(const KernelSpec& spec) : spec_(spec), dtypes_(spec.inputs) {
  for (const Scalar& number : spec.numbers) dtypes_.push_back(number.dtype());
  for (const Scalar& constant : spec.constants) dtypes_.push_back(constant.dtype());
  for (const Step& step : spec.steps) add(step);
}

void StepPrinter::add(const Step& step) {
  const int value = static_cast<int>(dtypes_.size());
  dtypes_.push_back(step.result);
  called_.emplace_back();
  if (step.is_place || step.is_count || step.is_at_place) return;
  if (step.join) {
    const int accumulator = spec_.accumulator_of(value);
    called_.back() = "joined" + std::to_string(accumulator);
    functions_ += join_functions(spec_, step, value, accumulator);
    return;
  }
  std::string definition = signature(spec_, step, step.rounds && !is_rounded_as_stored(spec_, value));
  auto [found, is_new] = names_.try_emplace(definition, "f" + std::to_string(names_.size()) + "_" + as_identifier(step.name));
  // A long function is called, not copied to each element of a vector: on a GPU a kernel with eight of poisson took 15 s to compile.
  if (is_new) functions_ += std::string(is_called(step) ? "DAMO_CALLED " : "DAMO_FUNCTION ") + value_type(step.result) + " " + found->second + definition;
  called_.back() = found->second;
}

std::string StepPrinter::value_text(int value, const Name& name) const {
  const int argument = value - spec_.input_count(), constant = argument - static_cast<int>(spec_.numbers.size());
  if (argument >= 0 && constant < 0) return "numbers.n" + std::to_string(argument);
  const bool is_constant = constant >= 0 && constant < static_cast<int>(spec_.constants.size());
  return is_constant ? literal(spec_.constants[static_cast<std::size_t>(constant)]) : name(value);
}

std::string StepPrinter::call(int value, const Name& name) const {
  if (const Step& step = spec_.step_of(value); step.is_count) return converted(value_type(step.result), value_type(step.compute) + "(a.length)");
  return called_[static_cast<std::size_t>(value - spec_.first_step())] + "(" + arguments(value, name) + ")";
}

std::string StepPrinter::appended(int join, const std::string& before, const Name& name) const {
  return "append" + std::to_string(join) + "(" + before + ", " + arguments(join, name) + ")";
}

bool StepPrinter::computes(int value) const {
  if (value >= spec_.first_step()) return true;
  return spec_.loop && value < spec_.input_count() && spec_.loop->inputs[static_cast<std::size_t>(value)].source == SerialLoop::Source::kCarried;
}

std::string StepPrinter::arguments(int value, const Name& name) const {
  std::string text;
  for (std::size_t i = 0; i < spec_.step_of(value).inputs.size(); ++i) text += (i > 0 ? ", " : "") + argument(value, i, name);
  return text;
}

std::string StepPrinter::argument(int value, std::size_t i, const Name& name) const {
  const Step& step = spec_.step_of(value);
  if (spec_.is_table(step.inputs[i])) return name(step.inputs[i]);
  const DType from = dtype(step.inputs[i]);
  const std::string type = value_type(step.input_as(i)), given = value_text(step.inputs[i], name);
  const std::string argument = value_type(from) == type ? given : converted(type, given);
  const bool is_computed = computes(step.inputs[i]) && is_floating(from) && type == "float";
  return is_computed && orders(step) ? "math::of_any_sign(" + argument + ")" : argument;
}

std::string StepPrinter::stored(int output, const Name& name) const {
  const int value = spec_.stores[static_cast<std::size_t>(output)];
  const DType to = spec_.outputs[static_cast<std::size_t>(output)];
  const std::string type = storage_type(to), text = value_text(value, name);
  return value_type(dtype(value)) == value_type(to) ? type + "(" + text + ")" : converted(type, text);
}

std::string step_functions(const KernelSpec& spec, const std::function<bool(int output)>& as_float) {
  const StepPrinter steps(spec);
  std::string text = steps.functions() + (spec.numbers.empty() ? "DAMO_FUNCTION void body(" : "DAMO_FUNCTION void body(const Numbers& numbers, ");
  for (int i = 0; i < spec.parameter_count(); ++i) {
    const DType dtype = spec.parameter_dtype(i);
    const int output = i - spec.input_count();
    text += (i > 0 ? ", " : "") + (spec.is_output(i) ? (as_float(output) ? "float" : storage_type(dtype)) + "& y" + std::to_string(output) : loaded_type(spec, i) + " " + local_name(i));
  }
  text += ") {\n";
  for (int value = spec.first_step(); value < spec.first_step() + static_cast<int>(spec.steps.size()); ++value) {
    text += "  const " + value_type(steps.dtype(value)) + " " + local_name(value) + " = " + steps.call(value, local_name) + ";\n";
  }
  for (int i = 0; i < static_cast<int>(spec.stores.size()); ++i) {
    text += "  y" + std::to_string(i) + " = " + (as_float(i) ? steps.value_text(spec.stores[static_cast<std::size_t>(i)], local_name) : steps.stored(i, local_name)) + ";\n";
  }
  return text + "}\n";
}

std::string entry_name(const KernelSpec& spec) { return kernel_name(spec.name); }

Processors processors_of(const DeviceProperties& device) {
  const bool has_clusters = device.architecture.starts_with("sm_") && std::atoi(device.architecture.c_str() + 3) >= 90;
  return {std::max(device.multiprocessors, 1), has_clusters ? 8 : 1, device.max_shared_bytes};
}

std::vector<std::string> entry_names(const KernelSpec& spec, const Layout& layout) {
  const std::string name = entry_name(spec);
  if ((layout.chunked && !spec.scans()) || spec.joins_across()) return {name, name + "_finish"};
  return {name};
}

}  // namespace damo
