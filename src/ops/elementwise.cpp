// How a row becomes an op and a node.
#include <damo/elementwise.hpp>

#include <algorithm>
#include <cctype>
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

/// Where the quote at .at begins a literal, its last character; else, between the digits of 1'000, .at.
std::size_t end_of_literal(std::string_view code, std::size_t at) {
  const char quote = code[at];
  std::size_t word = at;
  while (word > 0 && (std::isalnum(static_cast<unsigned char>(code[word - 1])) || code[word - 1] == '\'')) --word;
  if (quote == '\'' && word < at && std::isdigit(static_cast<unsigned char>(code[word]))) return at;
  for (++at; at < code.size() && code[at] != quote; ++at) at += code[at] == '\\' ? 1 : 0;
  return at;
}

/// What is wrong with the brackets of a row's code: its text would end the function that it is put into. "" if nothing is.
std::string bracket_problem(std::string_view code) {
  std::string open;
  for (std::size_t at = 0; at < code.size(); ++at) {
    if (code.substr(at, 2) == "//") at = std::min(code.find('\n', at), code.size());
    if (code.substr(at, 2) == "/*") {
      at = code.find("*/", at + 2);
      if (at == std::string_view::npos) return "a comment that begins with /* does not end";
      ++at;
      continue;
    }
    if (at == code.size()) break;
    const char c = code[at];
    if (c == '"' || c == '\'') at = end_of_literal(code, at);
    if (c == '(' || c == '[' || c == '{') open += c == '(' ? ')' : c == '[' ? ']' : '}';
    if (c != ')' && c != ']' && c != '}') continue;
    if (open.empty() || open.back() != c) return std::string("a '") + c + "' closes nothing";
    open.pop_back();
  }
  return open.empty() ? "" : std::string("a '") + open.back() + "' is missing";
}

void check_row(const ElementwiseRow& row) {
  const std::string label = "row '" + row.name + "'";
  if (row.name.empty()) throw GraphError("a row needs a name", "give .name, by which errors and kernels call it");
  if (arity(row) == 0) throw GraphError(label + ": its code names no input", "write x0, x1, ... for the inputs");
  for (const std::string* const code : {&row.code, &row.integer_code, &row.bool_code}) {
    if (const std::string problem = bracket_problem(*code); !problem.empty()) throw GraphError(label + ": " + problem + " in its code '" + *code + "'", "write one expression");
  }
  if (row.condition_first && arity(row) < 2) throw GraphError(label + ": condition_first needs another input beside x0", "write x1, x2, ... for what the condition x0 chooses from");
}

const std::vector<OpPtr>& ops_of_the_table() {
  // Not destroyed: another thread may be building a graph as the process ends.
  static const std::vector<OpPtr>& ops = *[] {
    auto* const made = new std::vector<OpPtr>;
    for (const ElementwiseRow& row : builtin_rows()) {
      // The table is never freed, so nobody needs to own its rows.
      made->push_back(std::make_shared<const ElementwiseOp>(std::shared_ptr<const ElementwiseRow>(std::shared_ptr<void>(), &row)));
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
