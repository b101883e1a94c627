#include "graph/op_claims.hpp"

#include <string>

namespace damo {
namespace {

void check_input(const Op& op, const std::string& claim, int input, std::size_t inputs) {
  if (input == -1 || (input >= 0 && static_cast<std::size_t>(input) < inputs)) return;
  throw GraphError(op.name() + ": " + claim + " input " + std::to_string(input) + ", which is not there: the node has " + std::to_string(inputs), "count inputs from 0; -1 is none");
}

void check_same(const std::string& label, const TensorType& from, const TensorType& to, const char* remedy) {
  if (to.dtype == from.dtype && to.rank() == from.rank()) return;
  throw TypeError(label + ", their types differ: " + to_string(to) + " and " + to_string(from), remedy);
}

}  // namespace

bool has_claims(const Op& op, std::size_t outputs) {
  for (int i = 0; i < static_cast<int>(outputs); ++i) {
    if (op.view_of(i) != -1 || op.passes_through(i) != -1 || op.overwrites(i) != -1) return true;
  }
  return false;
}

void check_claims(const Op& op, std::span<const TensorType> inputs, std::span<const TensorType> outputs) {
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const int output = static_cast<int>(i), viewed = op.view_of(output), passed = op.passes_through(output), overwritten = op.overwrites(output);
    const std::string label = "output " + std::to_string(i);
    check_input(op, label + " is a view of", viewed, inputs.size());
    check_input(op, label + " may be", passed, inputs.size());
    check_input(op, label + " overwrites", overwritten, inputs.size());
    if ((viewed >= 0 || passed >= 0) && outputs.size() > 1) {
      throw GraphError(op.name() + ": " + label + (viewed >= 0 ? " is a view" : " may be an input") + " and the op has " + std::to_string(outputs.size()) + " outputs",
                       "make it an op of its own");
    }
    if (passed >= 0) {
      check_same(op.name() + ": " + label + " may be input " + std::to_string(passed), inputs[static_cast<std::size_t>(passed)], outputs[i],
                 "an output that may be its input has its dtype and shape");
    }
    if (overwritten >= 0) {
      check_same(op.name() + ": " + label + " overwrites input " + std::to_string(overwritten), inputs[static_cast<std::size_t>(overwritten)], outputs[i],
                 "an output that overwrites has its input's dtype and shape");
    }
  }
}

}  // namespace damo
