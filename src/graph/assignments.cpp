#include "graph/assignments.hpp"

#include <unordered_map>
#include <unordered_set>
#include <utility>

#include <damo/op.hpp>
#include <damo/rewrite.hpp>

namespace damo {
namespace {

template <class E = GraphError>
[[noreturn]] void refuse(std::string message, const Variable& built, std::string remedy) {
  ErrorParts parts{std::move(message), {}, {}, std::move(remedy)};
  if (built.where()) parts.where = "built at " + to_string(built.where());
  throw E(std::move(parts));
}

/// Extents that are known on both sides and differ never fit. who: "updates: the new value of"
void check_fits(const std::string& who, const Variable& variable, const Variable& value) {
  const std::string message = who + " " + describe(variable) + " is " + describe(value);
  if (value.dtype() != variable.dtype()) refuse<TypeError>(message, value, "cast it: cast(value, " + std::string(name(variable.dtype())) + ")");
  if (value.rank() != variable.rank()) refuse<ShapeError>(message, value, "give it " + std::to_string(variable.rank()) + (variable.rank() == 1 ? " axis" : " axes"));
  for (int axis = 0; axis < value.rank(); ++axis) {
    if (variable.dims()[axis] == kUnknown || value.dims()[axis] == kUnknown || variable.dims()[axis] == value.dims()[axis]) continue;
    refuse<ShapeError>(message + ": axis " + std::to_string(axis) + " differs", value, "reshape it, or declare the extent as kUnknown where the variable is made");
  }
}

/// Copies the nodes that depend on a replaced Variable; the others stay the user's.
class Substitution {
 public:
  explicit Substitution(std::span<const Assignment> givens) {
    for (const auto& [variable, value] : givens) {
      if (!variable) throw GraphError("givens: the variable to replace is an empty Variable", "assign it before it is used");
      const std::string label = "givens: " + describe(variable);
      if (!value) refuse(label + " is replaced by an empty Variable", variable, "give an expression");
      check_fits("givens: what replaces", variable, value);
      if (!values_.emplace(variable.id(), value).second) refuse(label + " is replaced twice", variable, "give it one value: all are replaced at once");
    }
  }

  Variable operator()(const Variable& output) {
    enter(output);
    while (!stack_.empty()) {
      if (stack_.back().next < stack_.back().node.inputs().size()) {
        const Variable input = stack_.back().node.inputs()[stack_.back().next++];
        enter(input);
      } else {
        leave(stack_.back().node);
        stack_.pop_back();
      }
    }
    return replaced(output);
  }
  bool has_used(const Variable& variable) const { return used_.contains(variable.id()); }

 private:
  struct Visit {
    Apply node;
    std::size_t next = 0;
  };

  void enter(const Variable& variable) {
    if (values_.contains(variable.id()) || !variable.has_owner()) return;
    Apply node = variable.owner();
    if (seen_.insert(node.output().id()).second) stack_.push_back({std::move(node)});
  }

  void leave(const Apply& node) {
    std::vector<Variable> inputs;
    bool changes = false;
    for (const Variable& input : node.inputs()) {
      inputs.push_back(replaced(input));
      changes |= !inputs.back().is_same(input);
    }
    if (!changes) return;
    const Apply copy = node.op().apply(inputs, node.where());
    for (int i = 0; i < node.output_count(); ++i) {
      if (!node.output(i).name().empty()) copy.output(i).set_name(node.output(i).name());
    }
    copies_.emplace(node.output().id(), copy);
  }

  Variable replaced(const Variable& variable) {
    if (const auto given = values_.find(variable.id()); given != values_.end()) {
      used_.insert(variable.id());
      return given->second;
    }
    if (!variable.has_owner()) return variable;
    const auto copy = copies_.find(variable.owner().output().id());
    return copy == copies_.end() ? variable : copy->second.output(variable.index());
  }

  std::unordered_map<std::size_t, Variable> values_;  // by the replaced Variable
  std::unordered_set<std::size_t> used_;
  std::unordered_set<std::size_t> seen_;            // nodes, by their first output
  std::unordered_map<std::size_t, Apply> copies_;  // likewise
  std::vector<Visit> stack_;
};

}  // namespace

void check_updates(std::span<const Assignment> updates) {
  std::unordered_set<std::size_t> seen;
  for (const auto& [variable, value] : updates) {
    if (!variable) throw GraphError("updates: the variable is an empty Variable", "make it by shared(name, array)");
    const std::string label = "updates: " + describe(variable);
    if (!variable.is_shared()) refuse(label + " is not a shared variable", variable, "make it by shared(name, array)");
    if (!value) refuse(label + ": its new value is an empty Variable", variable, "give an expression");
    if (!seen.insert(variable.id()).second) refuse(label + " is updated twice", variable, "give it one new value: all updates happen at once");
    check_fits("updates: the new value of", variable, value);
  }
}

std::vector<Variable> substitute(std::span<const Variable> outputs, std::span<const Assignment> givens, bool allow_unused) {
  Substitution substitution(givens);
  std::vector<Variable> replaced;
  for (const Variable& output : outputs) replaced.push_back(output ? substitution(output) : output);
  for (const Assignment& given : givens) {
    if (allow_unused || substitution.has_used(given.variable)) continue;
    refuse("givens: " + describe(given.variable) + " is used by no output", given.variable, "leave it out, or set Options::allow_unused_inputs");
  }
  return replaced;
}

}  // namespace damo
