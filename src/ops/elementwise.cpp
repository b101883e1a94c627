// How a row becomes an op and a node.
#include <damo/elementwise.hpp>

#include <memory>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ops/elementwise_op.hpp"
#include "ops/promotion.hpp"
#include "ops/rows.hpp"

namespace damo {
namespace {

void check_row(const ElementwiseRow& row) {
  const std::string label = "row '" + row.name + "'";
  if (row.name.empty()) throw GraphError("a row needs a name");
  if (arity(row) == 0) throw GraphError(label + ": its code names no input", "write x0, x1, ... for the inputs");
  if (row.condition_first && arity(row) < 2) throw GraphError(label + ": condition_first needs another input beside x0");
}

const std::vector<OpPtr>& ops_of_the_table() {
  static const std::vector<OpPtr> ops = [] {
    std::vector<OpPtr> made;
    for (const ElementwiseRow& row : builtin_rows()) {
      // The table is never freed, so nobody needs to own its rows.
      made.push_back(std::make_shared<const ElementwiseOp>(std::shared_ptr<const ElementwiseRow>(std::shared_ptr<void>(), &row)));
    }
    return made;
  }();
  return ops;
}

std::string definition(const ElementwiseRow& row) {
  return "'" + row.code + "' of " + to_string(SourceLine{row.file.c_str(), row.line});
}

Variable apply_op(const OpPtr& op, const ElementwiseRow& row, std::span<const Operand> inputs) {
  const DType common = common_dtype(row, inputs.subspan(row.condition_first ? 1 : 0));
  std::vector<Variable> variables;
  SourceLine where;
  for (const Operand& input : inputs) {
    const bool condition = row.condition_first && variables.empty();
    variables.push_back(input.as(condition ? bool_ : input.is_number() ? dtype_of_number(row, inputs, input, common) : common));
    if (!where || (input.where() && !input.is_number())) where = input.where();
  }
  return op->apply(variables, where).output();
}

}  // namespace

Elementwise::Elementwise(ElementwiseRow row) {
  check_row(row);
  row_ = std::make_shared<const ElementwiseRow>(std::move(row));
  op_ = std::make_shared<const ElementwiseOp>(row_);
}

Variable Elementwise::apply(std::initializer_list<Operand> inputs) const { return apply_op(op_, *row_, std::span(inputs.begin(), inputs.size())); }

OpPtr elementwise_op(const ElementwiseRow& row) {
  const std::span<const ElementwiseRow> table = builtin_rows();
  if (!std::less<>()(&row, table.data()) && std::less<>()(&row, table.data() + table.size())) return ops_of_the_table()[static_cast<std::size_t>(&row - table.data())];
  check_row(row);
  return std::make_shared<const ElementwiseOp>(std::make_shared<const ElementwiseRow>(row));
}

const OpPtr& op_of(std::string_view name) {
  const ElementwiseRow* row = find_elementwise(name);
  if (!row) throw GraphError("there is no built-in row '" + std::string(name) + "'", "docs/ops.md lists them");
  return ops_of_the_table()[static_cast<std::size_t>(row - builtin_rows().data())];
}

void check_names_of_rows(const FunctionGraph& graph) {
  std::unordered_map<std::string_view, const ElementwiseRow*> seen;
  std::vector<char> is_known(static_cast<std::size_t>(graph.op_limit()));  // by op
  for (NodeId node : graph.nodes()) {
    if (std::exchange(is_known[static_cast<std::size_t>(graph.op_id(node))], 1)) continue;
    const auto* const op = dynamic_cast<const ElementwiseOp*>(&graph.op(node));
    if (!op) continue;
    const ElementwiseRow& row = op->row();
    const ElementwiseRow& first = *seen.try_emplace(row.name, &row).first->second;
    if (&first == &row || first == row) continue;
    throw GraphError("row '" + row.name + "': unlike rows of this name meet in one graph: " + definition(first) + " and " + definition(row),
                     "give one of them another name");
  }
}

Variable apply_elementwise(const ElementwiseRow& row, std::initializer_list<Operand> inputs) {
  return apply_op(elementwise_op(row), row, std::span(inputs.begin(), inputs.size()));
}

}  // namespace damo
