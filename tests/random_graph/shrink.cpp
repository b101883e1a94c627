#include "shrink.hpp"

#include <algorithm>
#include <optional>
#include <stdexcept>

namespace damo::testing {
namespace {

/// Numbers values anew after some have gone; -1: gone.
void renumber(GraphSpec& graph, const std::vector<int>& to) {
  for (NodeSpec& node : graph.nodes) {
    for (int& operand : node.operands) operand = to[static_cast<std::size_t>(operand)];
  }
  for (int& output : graph.outputs) output = to[static_cast<std::size_t>(output)];
}

/// Without nodes and inputs that no output needs.
GraphSpec pruned(GraphSpec graph) {
  const std::size_t inputs = graph.inputs.size();
  std::vector<int> first;  // value of each node
  int count = static_cast<int>(inputs);
  for (const NodeSpec& node : graph.nodes) first.push_back(count), count += node.output_count();
  std::vector<char> needed(static_cast<std::size_t>(count), 0), node_needed(graph.nodes.size(), 0);
  for (int output : graph.outputs) needed[static_cast<std::size_t>(output)] = 1;
  for (std::size_t i = graph.nodes.size(); i-- > 0;) {
    for (int k = 0; k < graph.nodes[i].output_count(); ++k) node_needed[i] |= needed[static_cast<std::size_t>(first[i] + k)];
    if (!node_needed[i]) continue;
    for (int operand : graph.nodes[i].operands) needed[static_cast<std::size_t>(operand)] = 1;
  }
  for (const InputSpec& input : graph.inputs) {  // what others lie in stays
    if (input.shares >= 0 && needed[static_cast<std::size_t>(&input - graph.inputs.data())]) needed[static_cast<std::size_t>(input.shares)] = 1;
  }
  std::vector<int> to(static_cast<std::size_t>(count), -1);
  GraphSpec result = graph;
  result.inputs.clear();
  result.nodes.clear();
  int next = 0;
  for (std::size_t i = 0; i < inputs; ++i) {
    if (!needed[i]) continue;
    to[i] = next++;
    result.inputs.push_back(graph.inputs[i]);
    if (result.inputs.back().shares >= 0) result.inputs.back().shares = to[static_cast<std::size_t>(result.inputs.back().shares)];
  }
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    if (!node_needed[i]) continue;
    for (int k = 0; k < graph.nodes[i].output_count(); ++k) to[static_cast<std::size_t>(first[i] + k)] = next++;
    result.nodes.push_back(graph.nodes[i]);
  }
  renumber(result, to);
  return result;
}

class Shrinker {
 public:
  Shrinker(GraphSpec graph, const std::function<bool(const GraphSpec&)>& fails, int budget) : best_(std::move(graph)), fails_(fails), left_(budget) {}

  GraphSpec run() {
    try_spec(pruned(best_));
    for (bool smaller = true; smaller && left_ > 0;) smaller = drop_calls() | drop_outputs() | replace_values() | simplify_calls() | simplify_inputs();
    return best_;
  }

 private:
  bool try_spec(GraphSpec candidate) {
    if (left_-- <= 0) return false;
    try {
      candidate.types();
      if (candidate.outputs.empty() || !fails_(candidate)) return false;
    } catch (const std::logic_error&) {  // no graph at all
      return false;
    }
    best_ = std::move(candidate);
    return true;
  }

  bool drop_calls() {
    bool smaller = false;
    for (std::size_t i = 0; best_.calls.size() > 1 && i < best_.calls.size();) {
      GraphSpec candidate = best_;
      candidate.calls.erase(candidate.calls.begin() + static_cast<std::ptrdiff_t>(i));
      if (try_spec(std::move(candidate))) smaller = true;
      else ++i;
    }
    for (bool GraphSpec::*flag : {&GraphSpec::differentiates, &GraphSpec::recomputes, &GraphSpec::updates, &GraphSpec::donates}) {
      GraphSpec candidate = best_;
      candidate.*flag = false;
      if (best_.*flag) smaller |= try_spec(std::move(candidate));
    }
    if (best_.threads > 1) {
      GraphSpec candidate = best_;
      candidate.threads = 1;
      smaller |= try_spec(std::move(candidate));
    }
    return smaller;
  }

  bool drop_outputs() {
    bool smaller = false;
    for (std::size_t i = 0; best_.outputs.size() > 1 && i < best_.outputs.size();) {
      GraphSpec candidate = best_;
      candidate.outputs.erase(candidate.outputs.begin() + static_cast<std::ptrdiff_t>(i));
      if (try_spec(pruned(std::move(candidate)))) smaller = true;
      else ++i;
    }
    return smaller;
  }

  /// A node's value becomes one of its operands, or a fresh input.
  bool replace_values() {
    bool smaller = false;
    for (int value = static_cast<int>(best_.types().size()) - 1; value >= static_cast<int>(best_.inputs.size()); --value) {
      if (value >= static_cast<int>(best_.types().size())) continue;
      const std::vector<ValueType> types = best_.types();
      for (int other = 0; other < value; ++other) {
        const bool same = types[static_cast<std::size_t>(other)].dtype == types[static_cast<std::size_t>(value)].dtype &&
                          types[static_cast<std::size_t>(other)].dims == types[static_cast<std::size_t>(value)].dims;
        if (!same) continue;
        GraphSpec candidate = best_;
        use_instead(candidate, value, other);
        if (!try_spec(pruned(std::move(candidate)))) continue;
        smaller = true;
        break;
      }
      if (value < static_cast<int>(best_.types().size()) && value >= static_cast<int>(best_.inputs.size())) smaller |= cut(value);
    }
    return smaller;
  }

  static void use_instead(GraphSpec& graph, int value, int other) {
    for (NodeSpec& node : graph.nodes) std::replace(node.operands.begin(), node.operands.end(), value, other);
    std::replace(graph.outputs.begin(), graph.outputs.end(), value, other);
  }

  bool cut(int value) {
    const ValueType type = best_.types()[static_cast<std::size_t>(value)];
    if (std::find(best_.outputs.begin(), best_.outputs.end(), value) != best_.outputs.end()) return false;
    for (int symbol : type.dims) {
      if (static_cast<std::size_t>(symbol) >= best_.calls[0].size()) return false;  // data decides
    }
    GraphSpec candidate = best_;
    const int place = static_cast<int>(candidate.inputs.size());
    for (NodeSpec& node : candidate.nodes) {
      for (int& operand : node.operands) operand += operand >= place;
    }
    for (int& output : candidate.outputs) output += output >= place;
    InputSpec input{.dtype = type.dtype, .dims = type.dims, .known = std::vector<char>(type.dims.size(), 0), .seed = static_cast<unsigned>(value)};
    for (std::size_t axis = 0; axis < type.dims.size(); ++axis) input.known[axis] = type.dims[axis] == kOne;
    candidate.inputs.push_back(input);
    use_instead(candidate, value + 1, place);
    candidate = pruned(std::move(candidate));
    return candidate.nodes.size() < best_.nodes.size() && try_spec(std::move(candidate));
  }

  bool simplify_calls() {
    bool smaller = false;
    for (std::size_t call = 0; call < best_.calls.size(); ++call) {
      for (std::size_t symbol = kFirstSymbol; symbol < best_.calls[call].size(); ++symbol) {
        for (std::int64_t extent : {std::int64_t{1}, std::int64_t{2}, std::int64_t{3}, std::int64_t{8}, std::int64_t{17}, best_.calls[call][symbol] / 2}) {
          if (extent >= best_.calls[call][symbol]) break;
          GraphSpec candidate = best_;
          candidate.calls[call][symbol] = extent;
          if (!try_spec(std::move(candidate))) continue;
          smaller = true;
          break;
        }
      }
    }
    return smaller;
  }

  bool simplify_inputs() {
    bool smaller = false;
    for (std::size_t i = 0; i < best_.inputs.size(); ++i) {
      GraphSpec candidate = best_;
      candidate.inputs[i].lie = Lie::kPlain;
      if (best_.inputs[i].lie != Lie::kPlain) smaller |= try_spec(std::move(candidate));
      candidate = best_;
      candidate.inputs[i].shares = -1;
      if (best_.inputs[i].shares >= 0) smaller |= try_spec(std::move(candidate));
    }
    return smaller;
  }

  GraphSpec best_;
  const std::function<bool(const GraphSpec&)>& fails_;
  int left_;
};

}  // namespace

GraphSpec shrunk(GraphSpec graph, const std::function<bool(const GraphSpec&)>& fails, int budget) { return Shrinker(std::move(graph), fails, budget).run(); }

}  // namespace damo::testing
