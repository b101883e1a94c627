// Whose line a node and an error have. Ops take the line of their call from their operands; what is made of several ops takes care that each of them,
// and what is refused before any of them is built, has the line of the user's call and not one of Damo's sources:
//
//   Variable Embedding::operator()(const Operand& positions) const {
//     const BuiltAt here(positions.where());                         // all nodes that this thread builds until here ends
//     return take(weight, positions, 0);
//   }
//   return asked("take", [&] { ...throw ShapeError("take: ...")...; }, x, positions);
//
// See tests/errors/user_line_test.cpp.
#pragma once
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <damo/error.hpp>
#include <damo/variable.hpp>

namespace damo {

/// While it lives, line_of_user() of this thread is its line; the outermost counts, which is the user's own call. An unknown line changes nothing.
class BuiltAt {
 public:
  explicit BuiltAt(SourceLine line);
  ~BuiltAt();
  BuiltAt(const BuiltAt&) = delete;
  BuiltAt& operator=(const BuiltAt&) = delete;

 private:
  bool is_outermost_;
};

/// The line that a BuiltAt of this thread says, else `own`.
SourceLine line_of_user(SourceLine own);

/// While it lives, nodes that this thread builds are for its function (call_of_user); the outermost counts. asked() makes one.
class Called {
 public:
  explicit Called(std::string_view function);
  ~Called();
  Called(const Called&) = delete;
  Called& operator=(const Called&) = delete;

 private:
  bool is_outermost_;
};

/// The user's call that a node is built for: line_of_user(own), and the function of a Called of this thread. Ops that passes put in the node's place have it too.
SourceLine call_of_user(SourceLine own);
/// The function that was called there, of a node that is one of several; else `own`.
std::string called_at(SourceLine call, std::string_view own);
/// "stack built at model.cpp:12": where a node of that op comes from, by the name of the function that was called.
std::string built_at(std::string_view op, SourceLine call);
std::string built_at(const Apply& node);
/// Gives an error of a node, of its shapes at a call say, the name of the function that was called, and its place, unless an inner frame has said where it was.
void add_node(Error& error, SourceLine call, const std::string& place);

/// Begins a UserError's text with the name of the op that refused, unless it begins with a name already: "picky: takes 2 inputs, 1 was given".
void add_name(Error& error, std::string_view op);

/// Gives an error the name, the operands and the line of the function that was called, whatever op of those that it is made of has refused.
void add_asked(Error& error, std::string_view function, std::initializer_list<const Operand*> operands);
void add_asked(Error& error, std::string_view function, std::span<const Variable> operands, SourceLine line);
void add_asked(Error& error, std::string_view function, std::vector<std::string> operands, SourceLine line);

/// build(), whose errors tell which function was asked with which operands, at which line: the outermost asked() is the user's call and has the last word.
template <class Build, class... Operands>
  requires(std::is_same_v<Operands, Operand> && ...)
auto asked(std::string_view function, const Build& build, const Operands&... operands) {
  const Called here(function);
  try {
    return build();
  } catch (Error& error) {
    add_asked(error, function, {&operands...});
    throw;
  }
}

/// The same of Variables without lines of their own.
template <class Build>
auto asked(std::string_view function, const Build& build, std::span<const Variable> operands, SourceLine line) {
  const Called here(function);
  try {
    return build();
  } catch (Error& error) {
    add_asked(error, function, operands, line);
    throw;
  }
}

}  // namespace damo
