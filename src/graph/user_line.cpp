#include "graph/user_line.hpp"

#include <deque>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <damo/op.hpp>

namespace damo {
namespace {

thread_local SourceLine users_line;
thread_local std::string_view users_function;
thread_local std::uint32_t users_function_number = 0;  // in FunctionNames; 0: nobody has asked for it yet

/// The names of the functions that nodes were built for, each once and for good: a node keeps a number, which fits beside its line. They are few, those of the
/// library's functions.
class FunctionNames {
 public:
  static FunctionNames& all() {
    static auto& names = *new FunctionNames;  // errors of static objects name functions too
    return names;
  }
  /// From 1 on.
  std::uint32_t number(std::string_view name) {
    const std::lock_guard lock(mutex_);
    if (const auto found = numbers_.find(name); found != numbers_.end()) return found->second;
    const std::string_view kept = names_.emplace_back(name);
    return numbers_[kept] = static_cast<std::uint32_t>(names_.size());
  }
  std::string_view name(std::uint32_t number) {
    const std::lock_guard lock(mutex_);
    return names_[number - 1];
  }

 private:
  std::mutex mutex_;
  std::deque<std::string> names_;  // where they stand they stay
  std::unordered_map<std::string_view, std::uint32_t> numbers_;
};

constexpr std::string_view kBuiltAt = " built at ";

/// Where the name ends that a text begins with; 0: it begins with none.
std::size_t end_of_name(std::string_view text) {
  std::size_t end = 0;
  while (end < text.size() && (text[end] == '_' || (text[end] >= 'a' && text[end] <= 'z') || (end > 0 && text[end] >= '0' && text[end] <= '9'))) ++end;
  return end;
}

/// "take: ...", "take does not compute with ...", "take takes numbers ..."
bool speaks_of(std::string_view message, std::string_view function) {
  if (function.empty() || !message.starts_with(function)) return false;
  const std::string_view rest = message.substr(function.size());
  return rest.starts_with(": ") || rest.starts_with(" does not ") || rest.starts_with(" takes ");
}

/// What an op of those that a function is made of has refused becomes the function's word.
void speak_as(ErrorParts& parts, std::string_view function) {
  const std::string_view name = std::string_view(parts.message).substr(0, end_of_name(parts.message));
  if (speaks_of(parts.message, name)) parts.message.replace(0, name.size(), function);
  else if (!speaks_of(parts.message, function)) parts.message.insert(0, std::string(function) + ": ");  // "nn::GroupNorm: ..." is no op's name
}

/// What an op of those that a function is made of has refused, told of the function. line: of the call, where it is known.
ErrorParts told_of(std::string_view function, std::vector<std::string> operands, std::string line, ErrorParts parts) {
  // "take built at model.cpp:12" is the op's; what a pass, a node of a running graph or a gradient says stays.
  const std::size_t end = end_of_name(parts.where);
  const bool has_op = end > 0 && std::string_view(parts.where).substr(end).starts_with(kBuiltAt);
  if (line.empty() && has_op) line = parts.where.substr(end + kBuiltAt.size());
  speak_as(parts, function);
  if ((has_op || parts.where.empty()) && !line.empty()) parts.where = std::string(function).append(kBuiltAt) + line;
  parts.operands = std::move(operands);
  return parts;
}

}  // namespace

BuiltAt::BuiltAt(SourceLine line) : is_outermost_(line && !users_line) {
  if (is_outermost_) users_line = line;
}

BuiltAt::~BuiltAt() {
  if (is_outermost_) users_line = {};
}

SourceLine line_of_user(SourceLine own) { return users_line ? users_line : own; }

Called::Called(std::string_view function) : is_outermost_(users_function.empty()) {
  if (is_outermost_) users_function = function;
}

Called::~Called() {
  if (!is_outermost_) return;
  users_function = {};
  users_function_number = 0;
}

SourceLine call_of_user(SourceLine own) {
  SourceLine call = line_of_user(own);
  if (users_function.empty()) return call;
  if (users_function_number == 0) users_function_number = FunctionNames::all().number(users_function);
  call.function = users_function_number;
  return call;
}

std::string called_at(SourceLine call, std::string_view own) { return std::string(call.function == 0 ? own : FunctionNames::all().name(call.function)); }

std::string built_at(std::string_view op, SourceLine call) {
  const std::string line = to_string(call);
  return called_at(call, op) + (line.empty() ? "" : std::string(kBuiltAt) + line);
}

std::string built_at(const Apply& node) { return built_at(node.op().name(), node.where()); }

void add_node(Error& error, SourceLine call, const std::string& place) {
  if (!error.parts().where.empty()) return;
  if (call.function != 0 && dynamic_cast<const UserError*>(&error)) {
    ErrorParts parts = error.parts();
    speak_as(parts, FunctionNames::all().name(call.function));
    error = Error(std::move(parts));  // it stays the class that it is
  }
  error.add_where(place);
}

void add_name(Error& error, std::string_view op) {
  if (!dynamic_cast<const UserError*>(&error)) return;
  ErrorParts parts = error.parts();
  const std::string_view message = parts.message;
  // "nn::BatchNorm: ..." and "same_as(1): ..." name somebody too, though no op
  const bool has_name = speaks_of(message, message.substr(0, end_of_name(message))) || message.substr(0, message.find(": ")).find(' ') == std::string_view::npos;
  if (has_name) return;
  parts.message.insert(0, std::string(op) + ": ");
  error = Error(std::move(parts));  // it stays the class that it is
}

void add_asked(Error& error, std::string_view function, std::initializer_list<const Operand*> operands) {
  std::vector<Variable> variables;
  SourceLine line;
  for (const Operand* operand : operands) {
    if (!operand->is_number()) variables.push_back(operand->variable());
    if (!line) line = operand->where();
  }
  add_asked(error, function, variables, line);
}

void add_asked(Error& error, std::string_view function, std::span<const Variable> operands, SourceLine line) {
  std::vector<std::string> given;
  for (const Variable& operand : operands) {
    if (operand) given.push_back(describe(operand));
  }
  add_asked(error, function, std::move(given), line);
}

void add_asked(Error& error, std::string_view function, std::vector<std::string> given, SourceLine line) {
  const std::string where = to_string(line_of_user(line));
  if (dynamic_cast<const UserError*>(&error)) {
    error = Error(told_of(function, std::move(given), where, error.parts()));  // it stays the class that it is
    return;
  }
  error.add_operands(std::move(given));
  if (!where.empty()) error.add_where(std::string(function).append(kBuiltAt) + where);
}

}  // namespace damo
