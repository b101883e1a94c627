#include "graph/user_line.hpp"

#include <string>
#include <utility>
#include <vector>

namespace damo {
namespace {

thread_local SourceLine users_line;

}  // namespace

BuiltAt::BuiltAt(SourceLine line) : is_outermost_(line && !users_line) {
  if (is_outermost_) users_line = line;
}

BuiltAt::~BuiltAt() {
  if (is_outermost_) users_line = {};
}

SourceLine line_of_user(SourceLine own) { return users_line ? users_line : own; }

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
  error.add_operands(std::move(given));
  if (const SourceLine where = line_of_user(line)) error.add_where(std::string(function) + " built at " + to_string(where));
}

}  // namespace damo
