// Loops and choices in random graphs. A printed program carries this file with it.
#pragma once
#include <type_traits>

#include "family_parts.hpp"

namespace damo::testing {

/// numbers: whether backwards; a choice of the step's row.
template <class T>
std::vector<T> loops_node(const std::string& how, const std::vector<T>& in, const std::vector<int>& numbers) {
  if constexpr (std::is_same_v<T, Variable>) {
    const Variable x = tamed(in[0]), y = tamed(in.back());
    const bool backwards = numbers[0] != 0;
    const auto bent = [&](const Variable& value) { return numbers[1] == 0 ? tanh(value) : numbers[1] == 1 ? value * 0.5 : maximum(value, -1.0) * 0.25; };
    const auto first = [](const Variable& of) { return subtensor(of, {0}); };
    if (how == "scan") {
      return {scan({.sequences = {x}, .initial = {first(y)}, .go_backwards = backwards}, [&](const Variable& row, const Variable& state) { return bent(state) + row; })};
    }
    if (how == "scan_two") {  // a state, what no step reads, and a value of the graph around
      const ScanOutputs both = scan({.sequences = {x, y}, .initial = {first(x), {}}, .go_backwards = backwards}, [&](const Variable& a, const Variable& b, const Variable& state) {
        return std::pair(bent(state) - a, state * b + first(y));
      });
      return {both[0], both[1]};
    }
    if (how == "scan_taps") {
      const Variable begin = stack({first(y), first(x)}, 0);
      return {scan({.sequences = {Sequence(x, {-1, 1})}, .initial = {Initial(begin, {-1, -2})}, .go_backwards = backwards},
                   [&](const Variable& before, const Variable& after, const Variable& last, const Variable& older) { return bent(last) - older * 0.25 + before * after; })};
    }
    if (how == "scan_last") {  // of whose rows the last alone is read
      const Variable states = scan({.sequences = {x}, .initial = {first(y)}, .go_backwards = backwards}, [&](const Variable& row, const Variable& state) { return bent(state) * row + 1.0; });
      return {subtensor(states, {-1})};
    }
    if (how == "scan_products") {  // of the state, of a row that no state is in, and of what no step reads
      const Variable row = y.rank() == 2 ? first(y) : first(first(y)), weights = expand_dims(row, 1) * expand_dims(row, 0) * 0.0625;
      const ScanOutputs both = scan({.sequences = {x}, .initial = {first(y), {}}, .go_backwards = backwards}, [&](const Variable& of, const Variable& state) {
        const Variable next = tanh(dot(state, weights)) + dot(of, weights);
        return std::pair(next, bent(dot(next, weights)) - of);
      });
      return {both[0], both[1]};
    }
    if (how == "scan_steps") {  // fewer than there are rows
      const Variable row = y.rank() == 2 ? first(y) : first(first(y)), weights = expand_dims(row, 1) * expand_dims(row, 0) * 0.0625;
      return {scan({.sequences = {x}, .initial = {first(y)}, .steps = 1, .go_backwards = backwards}, [&](const Variable& of, const Variable& state) { return tanh(dot(of, weights)) + bent(state); })};
    }
    if (how == "scan_checkpoints") {  // of a number of steps that is known
      const Variable rows = stack({x, y, x * 0.5, y, x}, 0);
      return {scan_checkpoints({.sequences = {rows}, .initial = {y}}, 2, [&](const Variable& row, const Variable& state) { return bent(state) + row; })};
    }
    if (how == "map") return {map({x, y}, [&](const Variable& a, const Variable& b) { return bent(a * 2.0 + b) - first(x); })};
    if (how == "reduce") return {reduce({x}, {first(y)}, [&](const Variable& row, const Variable& state) { return bent(state) - row; })};
    if (how == "while") {
      const auto is_small = [](const Variable& a, const Variable&) { return lt(max(abs(a)), 100.0); };
      return while_loop({x, y}, is_small, [&](const Variable& a, const Variable& b) { return std::pair(abs(a) * 2.0 + 1.0, bent(b)); }, 40);
    }
    if (how == "ifelse_rows") {  // as many in some calls only
      const Variable some = subtensor(x, {Index(std::nullopt, std::nullopt, 2)});
      return {ifelse(gt(mean(x), 0.0), bent(some), y * 2.0)};
    }
    return {ifelse(gt(mean(x), 0.0), bent(x) + y, y - x * 3.0)};  // "ifelse"
  }
  return {};
}

}  // namespace damo::testing
