#include <damo/ops/choose.hpp>

#include <damo/ops/indexing.hpp>
#include <damo/ops/math.hpp>
#include <damo/ops/shape.hpp>
#include "graph/user_line.hpp"
#include "ops/both_worlds.hpp"
#include "ops/choose_of.hpp"

namespace damo {

Variable choose(const Operand& which, std::span<const Variable> choices) {
  const BuiltAt here(which.where());
  std::vector<Variable> operands(choices.begin(), choices.end());
  if (!which.is_number()) operands.insert(operands.begin(), which.variable());
  return asked("choose", [&] { return ChooseOf<OfVariables>::choose(given_variable(which), choices); }, operands, which.where());
}

std::vector<Variable> meshgrid(std::span<const Variable> vectors, std::string_view indexing, SourceLine where) {
  const BuiltAt here(where);
  return asked("meshgrid", [&] { return ChooseOf<OfVariables>::meshgrid(vectors, indexing); }, vectors, where);
}

}  // namespace damo
