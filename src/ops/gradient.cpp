// The walk behind grad() and lop(): nodes in topological order by a stack of its own, gradients in the reverse order.
#include "ops/backward.hpp"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include <damo/log.hpp>
#include <damo/loop.hpp>
#include <damo/ops/math.hpp>
#include "graph/order.hpp"
#include "graph/user_line.hpp"
#include "ops/gradient_parts.hpp"
#include "ops/loop/ifelse_op.hpp"

namespace damo {
namespace {

Operand operand(const Variable& variable, SourceLine where) { return {variable, where.file, where.line}; }

/// g, stretched to the shape of x where their types say that it must be.
Variable spread(const Variable& g, const Variable& x, SourceLine where) {
  bool is_less = g.rank() < x.rank();
  for (int axis = 1; axis <= g.rank() && !is_less; ++axis) is_less = g.dims()[-axis] == 1 && x.dims()[-axis] != 1;
  return is_less ? second(operand(cast_at(x, gradient_dtype(x.dtype()), where), where), operand(g, where)) : g;
}

/// What arrived at a Variable. within: holds only where these branches of ifelse were taken, the outermost first; elsewhere it is 0, and what it is computed from
/// may be no number.
struct Arrived {
  Variable gradient;
  std::vector<Branch> within;
};

class BackwardWalk {
 public:
  /// outputs: of the graph, those whose gradients are known among them.
  BackwardWalk(std::span<const Variable> outputs, std::span<const Variable> inputs, std::span<const Variable> constants, SourceLine where)
      : order_(needed_nodes(outputs)), where_(where) {
    for (const Variable& constant : constants) constants_.insert(constant.id());
    for (const Apply& node : order_) {
      for (const Variable& variable : node.inputs()) reached_.insert(variable.id());
      for (const Variable& variable : node.outputs()) reached_.insert(variable.id());
    }
    for (const Variable& output : outputs) reached_.insert(output.id());
    for (const Variable& input : inputs) {
      if (constants_.contains(input.id())) throw GraphError("the gradient by " + describe(input) + " was asked for, which GradOptions::constants names", "name it once");
      wanted_.insert(input.id());
    }
    for (const Apply& node : order_) {
      const bool depends =
          std::any_of(node.inputs().begin(), node.inputs().end(), [&](const Variable& v) { return wants(v); });
      if (!depends) continue;
      for (const Variable& output : node.outputs()) {
        if (!constants_.contains(output.id())) wanted_.insert(output.id());
      }
    }
  }

  /// The gradient by a Variable, to which nothing is added.
  void know(const Variable& variable, const Variable& gradient) {
    if (!known_.insert(variable.id()).second) throw GraphError("the known gradient by " + describe(variable) + " is given twice", "name it once, with their sum");
    slots_.insert_or_assign(variable.id(), std::vector{Arrived{spread(gradient, variable, where_), {}}});
  }

  /// A gradient of the outputs' by one of them.
  void seed(const Variable& output, const Variable& gradient) {
    if (!constants_.contains(output.id())) arrive(output, {spread(gradient, output, where_), {}});
  }

  void run() {
    for (auto node = order_.rbegin(); node != order_.rend(); ++node) pass(*node);
  }

  /// One for each; empty where nothing arrived. What is of one branch is chosen together, so that the branch computes what several of them need.
  std::vector<Variable> gradients_of(std::span<const Variable> variables) {
    std::vector<Arrived> all;
    for (const Variable& variable : variables) {
      const auto found = slots_.find(variable.id());
      all.push_back(found == slots_.end() ? Arrived() : sum_of(variable, found->second));
    }
    for (;;) {
      const auto deepest = std::max_element(all.begin(), all.end(), [](const Arrived& a, const Arrived& b) { return a.within.size() < b.within.size(); });
      if (deepest == all.end() || deepest->within.empty()) break;
      const std::vector<Branch> within = deepest->within;
      std::vector<std::size_t> of_branch;
      std::vector<Variable> there, elsewhere;
      for (std::size_t i = 0; i < all.size(); ++i) {
        if (all[i].within != within) continue;
        of_branch.push_back(i);
        there.push_back(all[i].gradient);
        elsewhere.push_back(zeros_like(variables[i], where_));
      }
      const std::vector<Variable> chosen = choose(within.back(), there, elsewhere);
      for (std::size_t i = 0; i < of_branch.size(); ++i) {
        all[of_branch[i]].gradient = chosen[i];
        all[of_branch[i]].within.pop_back();
      }
    }
    std::vector<Variable> gradients;
    for (const Arrived& arrived : all) gradients.push_back(arrived.gradient);
    return gradients;
  }
  bool is_reached(const Variable& variable) const { return reached_.contains(variable.id()); }

 private:
  bool wants(const Variable& variable) const {
    return is_floating(variable.dtype()) && wanted_.contains(variable.id());
  }

  void arrive(const Variable& variable, Arrived arrived) {
    if (known_.contains(variable.id())) return;
    slots_[variable.id()].push_back(std::move(arrived));
  }

  std::vector<Variable> choose(const Branch& branch, std::span<const Variable> there, std::span<const Variable> elsewhere) const {
    return ifelse(operand(branch.condition, where_), branch.is_first ? there : elsewhere, branch.is_first ? elsewhere : there);
  }

  /// With zeros where the branches behind the first ones were not taken.
  void leave_branches(const Variable& variable, Arrived& arrived, std::size_t kept) const {
    for (; arrived.within.size() > kept; arrived.within.pop_back()) {
      const Variable zeros = zeros_like(variable, where_);
      arrived.gradient = choose(arrived.within.back(), std::span(&arrived.gradient, 1), std::span(&zeros, 1)).front();
    }
  }

  /// Whether a branch, and those within it, were taken; what a branch that was not taken needs is not computed.
  Variable holds(std::span<const Branch> branches) const {
    const auto [condition, is_first] = branches.front();
    if (branches.size() == 1) return is_first ? condition : logical_not(operand(condition, where_));
    const Variable inner = holds(branches.subspan(1)), no = constant(Scalar(false), where_);
    return choose(branches.front(), std::span(&inner, 1), std::span(&no, 1)).front();
  }

  /// Takes what has arrived at variables to the same branches: those that all are within, and one that is taken where any of them was. Elsewhere none is needed, and what
  /// they are computed from may be no number.
  void meet(std::span<Arrived* const> all, std::span<const Variable> variables) const {
    if (std::all_of(all.begin(), all.end(), [](const Arrived* arrived) { return arrived->within.empty(); })) return;
    const std::vector<Branch>& first = all.front()->within;
    std::size_t kept = first.size();
    for (const Arrived* other : all) {
      kept = std::min(kept, static_cast<std::size_t>(std::mismatch(first.begin(), first.end(), other->within.begin(), other->within.end()).first - first.begin()));
    }
    std::vector<std::vector<Branch>> apart;  // what each is within besides
    for (const Arrived* arrived : all) {
      std::vector<Branch> behind(arrived->within.begin() + static_cast<std::ptrdiff_t>(kept), arrived->within.end());
      if (std::find(apart.begin(), apart.end(), behind) == apart.end()) apart.push_back(std::move(behind));
    }
    const bool is_always = std::any_of(apart.begin(), apart.end(), [&](const std::vector<Branch>& branches) {
      if (branches.empty()) return true;
      return branches.size() == 1 && std::find(apart.begin(), apart.end(), std::vector{Branch{branches[0].condition, !branches[0].is_first}}) != apart.end();
    });
    for (std::size_t i = 0; i < all.size(); ++i) leave_branches(variables[i], *all[i], kept);
    if (is_always) return;
    Variable any = holds(apart.front());
    for (std::size_t i = 1; i < apart.size(); ++i) any = logical_or(operand(any, where_), operand(holds(apart[i]), where_));
    for (Arrived* arrived : all) arrived->within.push_back({any, true});
  }

  /// Of all that arrived: that alone from then on.
  const Arrived& sum_of(const Variable& variable, std::vector<Arrived>& arrived) const {
    if (arrived.size() > 1) {
      std::vector<Arrived*> all;
      for (Arrived& one : arrived) all.push_back(&one);
      meet(all, std::vector(all.size(), variable));
      Arrived sum = std::move(arrived.front());
      for (std::size_t i = 1; i < arrived.size(); ++i) sum.gradient = add(operand(sum.gradient, where_), operand(arrived[i].gradient, where_));
      arrived = {std::move(sum)};
    }
    return arrived.front();
  }

  /// One for each output of the node, and within which branches all of them are; empty if none has any.
  std::pair<std::vector<Variable>, std::vector<Branch>> output_gradients(const Apply& node) {
    std::vector<Arrived> found;
    std::vector<Variable> reached;
    for (const Variable& output : node.outputs()) {
      const auto slot = slots_.find(output.id());
      if (slot == slots_.end()) continue;
      found.push_back(sum_of(output, slot->second));
      reached.push_back(output);
    }
    if (found.empty()) return {};
    std::vector<Arrived*> all;
    for (Arrived& one : found) all.push_back(&one);
    meet(all, reached);
    std::vector<Variable> gradients;
    for (const Variable& output : node.outputs()) {
      const auto at = std::find_if(reached.begin(), reached.end(), [&](const Variable& other) { return other.is_same(output); });
      if (at != reached.end()) gradients.push_back(found[static_cast<std::size_t>(at - reached.begin())].gradient);
      else gradients.push_back(is_floating(output.dtype()) ? zeros_like(output, node.where()) : Variable());
    }
    return {std::move(gradients), std::move(found.front().within)};
  }

  void pass(const Apply& node) {
    if (std::none_of(node.inputs().begin(), node.inputs().end(), [&](const Variable& v) { return wants(v); })) return;
    const auto [arrived, within] = output_gradients(node);
    if (arrived.empty()) return;
    const Gradients gradients = input_gradients(node, arrived);
    for (std::size_t i = 0; i < node.inputs().size(); ++i) {
      const Variable& input = node.inputs()[i];
      if (!wants(input)) continue;
      if (!gradients[i].is_defined()) refuse(node, static_cast<int>(i), gradients[i].reason());
      if (gradients[i].is_disconnected()) continue;
      check(node, static_cast<int>(i), gradients[i].value());
      Arrived there{spread(gradients[i].value(), input, node.where()), within};
      if (std::optional<Branch> branch = branch_of(node, static_cast<int>(i))) there.within.push_back(std::move(*branch));
      arrive(input, std::move(there));
    }
  }

  static Gradients input_gradients(const Apply& node, const std::vector<Variable>& arrived) {
    try {
      Gradients gradients = node.op().gradient(node, arrived);
      if (gradients.size() == node.inputs().size()) return gradients;
      throw GraphError(node.op().name() + ": its gradient gave " + std::to_string(gradients.size()) +
                           " gradients for " + std::to_string(node.inputs().size()) + " inputs",
                       "give one for each input, or Gradient::disconnected()");
    } catch (Error& error) {
      error.add_where("in the gradient of " + built_at(node));
      throw;
    }
  }

  [[noreturn]] static void refuse(const Apply& node, int input, const std::string& reason) {
    ErrorParts parts{
        "the gradient by input " + std::to_string(input) + " of " + node.op().name() + " is not defined: " + reason,
        {describe(node.input(input))},
        built_at(node),
        "give a row or a RawKernel a .gradient, override Op::gradient, or leave out what lies behind it"};
    throw GraphError(std::move(parts));
  }

  static void check(const Apply& node, int input, const Variable& gradient) {
    const Variable& of = node.input(input);
    bool fits = gradient.rank() <= of.rank();
    for (int axis = 1; fits && axis <= gradient.rank(); ++axis) {
      const std::int64_t have = gradient.dims()[-axis], want = of.dims()[-axis];
      fits = have == want || have == 1 || have == kUnknown || want == kUnknown;
    }
    if (gradient.dtype() == gradient_dtype(of.dtype()) && fits) return;
    ErrorParts parts{node.op().name() + ": the gradient by input " + std::to_string(input) + " is " +
                         to_string(gradient.type()) + ", the input " + to_string(of.type()),
                     {},
                     "in the gradient of " + built_at(node),
                     is_float8(of.dtype()) ? "the gradient of 8-bit floats is float32, which this op does not know: cast to float32 before it"
                                           : "a gradient has its input's dtype and shape: cast it, or sum what is too much"};
    if (gradient.dtype() != gradient_dtype(of.dtype())) throw TypeError(std::move(parts));
    throw ShapeError(std::move(parts));
  }

  std::vector<Apply> order_;
  SourceLine where_;
  std::unordered_set<std::size_t> reached_;  // Variables of the graph
  std::unordered_set<std::size_t> wanted_;   // what is asked for, and what depends on it
  std::unordered_set<std::size_t> constants_, known_;
  std::unordered_map<std::size_t, std::vector<Arrived>> slots_;  // gradients that arrived, of the Variables' shapes
};

/// what: "lop: output "
void check_seeds(const std::string& what, std::span<const Variable> outputs, std::span<const Variable> gradients) {
  if (outputs.size() != gradients.size()) {
    throw GraphError(
        "lop: " + std::to_string(gradients.size()) + " gradients for " + std::to_string(outputs.size()) + " outputs",
        "give one for each output");
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const std::string label = what + std::to_string(i);
    if (!outputs[i] || !gradients[i]) throw GraphError(label + " or its gradient is an empty Variable", "assign it before it is used");
    if (!is_floating(outputs[i].dtype())) {
      throw TypeError(label + ", " + describe(outputs[i]) + ", has no gradient: only floating values have",
                      "cast it before");
    }
    if (gradients[i].dtype() != gradient_dtype(outputs[i].dtype()) || gradients[i].rank() > outputs[i].rank()) {
      throw TypeError(
          label + " is " + to_string(outputs[i].type()) + ", its gradient " + to_string(gradients[i].type()),
          is_float8(outputs[i].dtype()) ? "the gradient of 8-bit floats is float32" : "a gradient has its output's dtype and shape");
    }
  }
}

void check_inputs(std::span<const Variable> inputs) {
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i]) throw GraphError("the gradient by an empty Variable was asked for", "assign it before it is used");
    if (is_floating(inputs[i].dtype())) continue;
    throw TypeError(describe(inputs[i]) + " has no gradient: only floating values have",
                    "cast the input before it is used");
  }
}

}  // namespace

std::vector<Variable> backward(std::span<const Variable> outputs, std::span<const Variable> output_gradients, std::span<const Variable> inputs, const GradOptions& options, SourceLine where) {
  check_seeds("lop: output ", outputs, output_gradients);
  check_inputs(inputs);
  std::vector<Variable> roots, gradients;
  for (const Assignment& known : options.known) {
    roots.push_back(known.variable);
    gradients.push_back(known.value);
  }
  check_seeds("grad: known gradient ", roots, gradients);
  roots.insert(roots.end(), outputs.begin(), outputs.end());
  BackwardWalk walk(roots, inputs, options.constants, where);
  for (const Assignment& known : options.known) walk.know(known.variable, known.value);
  for (std::size_t i = 0; i < outputs.size(); ++i) walk.seed(outputs[i], output_gradients[i]);
  walk.run();
  const std::vector<Variable> results = walk.gradients_of(inputs);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Variable& input = inputs[i];
    if (results[i] || options.disconnected == Disconnected::kZero) continue;
    const std::string reason = describe(input) + (walk.is_reached(input) ? " is read only by ops that pass no gradient on" : " is not part of the graph of the outputs");
    if (options.disconnected == Disconnected::kRaise) throw GraphError(reason, "leave it out, or give Disconnected::kZero for zeros");
    log(LogLevel::kWarning, reason + ": its gradient is zeros" + (where ? ", asked for at " + to_string(where) : ""));
  }
  return results;
}

namespace {

std::vector<Variable> with_zeros(std::vector<Variable> gradients, std::span<const Variable> inputs, SourceLine where) {
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!gradients[i]) gradients[i] = zeros_like(inputs[i], where);
  }
  return gradients;
}

/// build(), whose errors tell where the gradient was asked for.
template <class Build>
auto at_line(SourceLine where, const Build& build) {
  try {
    return build();
  } catch (Error& error) {
    if (where) error.add_where("in the gradient asked for at " + to_string(where));
    throw;
  }
}

std::vector<Variable> lop_with(std::span<const Variable> outputs, std::span<const Variable> output_gradients, std::span<const Variable> inputs, const GradOptions& options, SourceLine where) {
  return at_line(where, [&] { return with_zeros(backward(outputs, output_gradients, inputs, options, where), inputs, where); });
}

}  // namespace

std::vector<Variable> lop(std::span<const Variable> outputs, std::span<const Variable> output_gradients,
                          std::span<const Variable> inputs, Disconnected disconnected, SourceLine where) {
  return lop_with(outputs, output_gradients, inputs, {.disconnected = disconnected}, where);
}

std::vector<Variable> grad(const Variable& cost, std::span<const Variable> inputs, const GradOptions& options, SourceLine where) {
  at_line(where, [&] {
    if (!cost) throw GraphError("grad: the cost is an empty Variable", "assign it before it is used");
    if (cost.rank() != 0) throw ShapeError("grad: the cost must be 0-d, it is " + describe(cost), "sum it, or give the gradient of each element: lop(cost, gradients, x)");
    if (!is_floating(cost.dtype()) || is_float8(cost.dtype())) throw TypeError("grad: " + describe(cost) + " has no gradient", "cast it to a floating dtype before");
  });
  const Variable one = constant(Scalar(1.0).cast(cost.dtype()), where);
  return lop_with(std::span(&cost, 1), std::span(&one, 1), inputs, options, where);
}

std::vector<Variable> grad(const Variable& cost, std::span<const Variable> inputs, Disconnected disconnected, SourceLine where) {
  return grad(cost, inputs, GradOptions{.disconnected = disconnected}, where);
}

}  // namespace damo
