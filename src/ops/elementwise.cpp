// The registry of rows, and how a row becomes a node.
#include <damo/elementwise.hpp>

#include <deque>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>

#include "ops/elementwise_op.hpp"
#include "ops/promotion.hpp"
#include "ops/rows.hpp"

namespace damo {
namespace {

/// One of the four pieces of process-wide state.
struct Registry {
  std::shared_mutex mutex;
  std::deque<ElementwiseRow> users;  // never shrinks: addresses stay
  std::vector<const ElementwiseRow*> all;
  std::unordered_map<std::string_view, const ElementwiseRow*> by_name;
  std::unordered_map<const ElementwiseRow*, OpPtr> ops;

  Registry() {
    for (const ElementwiseRow& row : builtin_rows()) add(row);
  }
  void add(const ElementwiseRow& row) {
    all.push_back(&row);
    by_name.emplace(row.name, &row);
    ops.emplace(&row, std::make_shared<const ElementwiseOp>(row));
  }
};

Registry& registry() {
  static Registry* const registry = new Registry;  // rows of other static objects may outlive ours
  return *registry;
}

void check_row(const ElementwiseRow& row) {
  const std::string label = "row '" + std::string(row.name) + "'";
  if (row.name.empty()) throw GraphError("a row needs a name");
  if (arity(row) == 0) throw GraphError(label + ": its code names no input", "write x0, x1, ... for the inputs");
  if (row.condition_first && arity(row) < 2) throw GraphError(label + ": condition_first needs another input beside x0");
}

}  // namespace

Elementwise::Elementwise(const ElementwiseRow& row) {
  check_row(row);
  Registry& the = registry();
  const std::unique_lock lock(the.mutex);
  if (the.by_name.contains(row.name)) {
    throw GraphError("row '" + std::string(row.name) + "': another row has this name", "choose another name");
  }
  the.users.push_back(row);
  row_ = &the.users.back();
  the.add(*row_);
}

Variable Elementwise::apply(std::initializer_list<Operand> inputs) const { return apply_elementwise(*row_, inputs); }

OpPtr elementwise_op(const ElementwiseRow& row) {
  Registry& the = registry();
  const std::shared_lock lock(the.mutex);
  const auto found = the.ops.find(&row);
  if (found == the.ops.end()) throw GraphError("row '" + std::string(row.name) + "' is not registered", "make an Elementwise of it");
  return found->second;
}

Variable apply_elementwise(const ElementwiseRow& row, std::initializer_list<Operand> inputs) {
  const DType common = common_dtype(row, std::span(inputs.begin(), inputs.size()).subspan(row.condition_first ? 1 : 0));
  std::vector<Variable> variables;
  SourceLine where;
  for (const Operand& input : inputs) {
    const bool condition = row.condition_first && variables.empty();
    variables.push_back(input.as(condition ? bool_ : is_too_large(input, common) ? computed_in(row, common) : common));
    if (!where || (input.where() && !input.is_number())) where = input.where();
  }
  return elementwise_op(row)->apply(variables, where).output();
}

std::vector<const ElementwiseRow*> elementwise_rows() {
  Registry& the = registry();
  const std::shared_lock lock(the.mutex);
  return the.all;
}

const ElementwiseRow* find_elementwise(std::string_view name) {
  Registry& the = registry();
  const std::shared_lock lock(the.mutex);
  const auto found = the.by_name.find(name);
  return found == the.by_name.end() ? nullptr : found->second;
}

}  // namespace damo
