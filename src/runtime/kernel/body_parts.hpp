// The body of an elementwise kernel in parts, each a function of one element: a kernel runs a part for all elements of a thread before it begins the next. A
// number that the launch brings is then read once for all of them; in a body that runs element by element a compiler that looks ahead less far than the body is
// long reads it for each. Every element goes through the same steps in the same order, so its value is the same.
#pragma once
#include <string>
#include <vector>

#include "runtime/kernel/spec.hpp"

namespace damo {

class BodyParts {
 public:
  /// Of a spec without joins, turns and ordinals. A part ends when its steps cost this much.
  BodyParts(const KernelSpec& spec, int cost);

  /// The functions of the steps, then part0, part1, ...
  const std::string& functions() const { return functions_; }

  struct Part {
    std::vector<int> reads;    ///< inputs, and values that earlier parts leave
    std::vector<int> leaves;   ///< values that later parts read
    std::vector<int> outputs;  ///< numbers of the outputs that it gives their element
  };
  const std::vector<Part>& parts() const { return parts_; }
  /// The C type of a value that a part leaves.
  std::string type_of(int value) const;

  /// "part3(numbers, x0, v155[e], v177[e]);": value and output give the text of what the part reads and leaves, and of outputs' elements.
  template <class Value, class Output>
  std::string call(std::size_t part, Value value, Output output) const {
    std::vector<std::string> arguments;
    if (!spec_.numbers.empty()) arguments.emplace_back("numbers");
    for (int read : parts_[part].reads) arguments.push_back(value(read));
    for (int left : parts_[part].leaves) arguments.push_back(value(left));
    for (int stored : parts_[part].outputs) arguments.push_back(output(stored));
    return "part" + std::to_string(part) + "(" + listed(arguments) + ");";
  }

 private:
  static std::string listed(const std::vector<std::string>& texts);
  void share_out(int cost);

  const KernelSpec& spec_;
  std::vector<DType> dtypes_;             // of every value
  std::vector<std::pair<int, int>> steps_;  // of every part: its first step and the one behind its last
  std::vector<Part> parts_;
  std::string functions_;
};

}  // namespace damo
