#include "shared_check.hpp"

#include <algorithm>
#include <optional>

#include "check.hpp"

namespace damo::testing {
namespace {

enum class Way { kFused, kUnfused, kGuarded };

struct State {
  Shared variable;
  std::size_t input;
  int update = -1;  ///< the value that it gets; -1: none
};

}  // namespace

std::string check_shared(const GraphSpec& graph, const std::vector<std::vector<Tensor>>& expected, Device device, std::size_t& updates_made) {
  const std::vector<ValueType> types = graph.types();
  const std::vector<Array> first = arguments_of(graph, 0, device).arrays;
  std::vector<Variable> values, inputs, outputs;
  std::vector<State> states;
  std::vector<Assignment> givens, updates;
  values = build(graph);
  for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
    if ((i + graph.outputs.size()) % 2 == 0) {
      inputs.push_back(values[i]);
      continue;
    }
    const Shared state = shared("s" + std::to_string(i), first[i], values[i].dims());
    givens.push_back({values[i], state});
    states.push_back({state, i});
    for (int value = static_cast<int>(types.size()); --value >= static_cast<int>(graph.inputs.size());) {
      const ValueType& type = types[static_cast<std::size_t>(value)];
      const bool is_taken = std::any_of(states.begin(), states.end(), [&](const State& other) { return other.update == value; });
      if (type.dtype != types[i].dtype || type.dims != types[i].dims || is_taken) continue;
      states.back().update = value;
      updates.push_back({state, values[static_cast<std::size_t>(value)]});
      break;
    }
  }
  if (updates.empty()) return {};
  updates_made += updates.size();
  for (int output : graph.outputs) outputs.push_back(values[static_cast<std::size_t>(output)]);
  std::vector<char> has_faults;  // by call, of the fused Function: what the guarded one is to see
  for (const Way way_of : {Way::kFused, Way::kUnfused, Way::kGuarded}) {
    const bool fuse = way_of != Way::kUnfused, guards = way_of == Way::kGuarded;
    const ReplaysFrom least(device, fuse ? 1 : 0);
    damo::Options options{.fuse = fuse, .device = device, .allow_unused_inputs = true, .updates = updates, .givens = givens};
    options.nan_guard = guards;
    const Function f = function(inputs, outputs, options);
    for (std::size_t round = 0; round < 3 * graph.calls.size() + 1; ++round) {  // with layouts that were there, and often enough for replays
      const std::size_t call = round % graph.calls.size();
      const std::vector<Array> arrays = arguments_of(graph, call, device).arrays;
      std::vector<Array> given;
      for (std::size_t i = 0; i < arrays.size(); ++i) {
        const auto state = std::find_if(states.begin(), states.end(), [&](const State& each) { return each.input == i; });
        if (state == states.end()) given.push_back(arrays[i]);
        else state->variable.set(arrays[i]);
      }
      const std::string way = std::string("shared, ") + (guards ? "guarded" : fuse ? "fused" : "unfused") + ", round " + std::to_string(round) + ", ";
      std::optional<Results> made;
      try {
        made = f.call(given);
      } catch (const NotFiniteError& error) {
        if (!has_faults[call]) return way + "all values are finite, and the call threw: " + error.what();
        for (const State& state : states) {
          if (const std::string wrong = difference(state.variable.array(), expected[call][state.input]); !wrong.empty()) return way + "input " + std::to_string(state.input) + ", which was to keep its value: " + wrong;
        }
        continue;
      }
      const Results& results = *made;
      if (guards && has_faults[call]) return way + "a value is not finite, and the call did not throw";
      if (way_of == Way::kFused && round < graph.calls.size()) {
        const bool in_states = std::any_of(states.begin(), states.end(), [](const State& state) { return state.update >= 0 && has_fault(state.variable.array()); });
        has_faults.push_back(in_states || std::any_of(results.begin(), results.end(), has_fault));
      }
      for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
        if (const std::string wrong = difference(results[i], expected[call][static_cast<std::size_t>(graph.outputs[i])]); !wrong.empty()) return way + "result " + std::to_string(i) + ": " + wrong;
      }
      for (const State& state : states) {
        const auto value = state.update < 0 ? state.input : static_cast<std::size_t>(state.update);
        if (const std::string wrong = difference(state.variable.array(), expected[call][value]); !wrong.empty()) return way + "new value of input " + std::to_string(state.input) + ": " + wrong;
      }
    }
  }
  return {};
}

}  // namespace damo::testing
