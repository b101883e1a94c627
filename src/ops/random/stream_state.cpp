#include "ops/random/stream_state.hpp"

#include <algorithm>
#include <cstring>
#include <unordered_map>

#include <damo/ops/math.hpp>
#include "graph/base/hash_index.hpp"
#include "ops/random/random_op.hpp"

namespace damo {
namespace {

/// The prelude's philox() on the host: of one block.
std::uint64_t philox(std::uint64_t key, std::uint64_t draw, std::uint64_t block) {
  std::uint32_t a = static_cast<std::uint32_t>(block), b = static_cast<std::uint32_t>(block >> 32), c = static_cast<std::uint32_t>(draw), d = static_cast<std::uint32_t>(draw >> 32);
  std::uint32_t key_a = static_cast<std::uint32_t>(key), key_b = static_cast<std::uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round, key_a += 0x9e3779b9u, key_b += 0xbb67ae85u) {
    const std::uint64_t first = std::uint64_t{0xd2511f53u} * a, second = std::uint64_t{0xcd9e8d57u} * c;
    a = static_cast<std::uint32_t>(second >> 32) ^ b ^ key_a;
    b = static_cast<std::uint32_t>(second);
    c = static_cast<std::uint32_t>(first >> 32) ^ d ^ key_b;
    d = static_cast<std::uint32_t>(first);
  }
  return std::uint64_t{b} << 32 | a;
}

}  // namespace

std::uint64_t split_key(std::uint64_t key, std::uint64_t number) { return philox(key, ~std::uint64_t{0}, number); }

Variable state_behind(const Variable& state, std::uint64_t draws, SourceLine line) {
  const std::uint64_t words[] = {0, draws};
  ConstantData data{{uint64, {2}}, std::vector<std::byte>(sizeof words)};
  std::memcpy(data.bytes.data(), words, sizeof words);
  return add(Operand(state, line.file, line.line), constant(std::move(data), {}, line));
}

std::vector<Assignment> stream_updates(std::span<const Variable> values, std::span<const Assignment> updates) {
  HashIndex seen(1024);
  std::vector<std::size_t> ids;  // of the nodes that were seen
  std::vector<Variable> waiting(values.begin(), values.end());
  std::vector<Assignment> moved;
  std::unordered_map<std::size_t, std::size_t> place;  // of a state in `moved`
  std::vector<std::uint64_t> draws;
  while (!waiting.empty()) {
    const Variable value = waiting.back();
    waiting.pop_back();
    if (!value.has_owner()) continue;
    const Apply node = value.owner();
    const std::size_t id = node.output(0).id();
    if (seen.find_or_add(id >> 4, static_cast<int>(ids.size()), [&](int other) { return ids[static_cast<std::size_t>(other)] == id; }) >= 0) continue;
    ids.push_back(id);
    for (const Variable& input : node.inputs()) {
      if (input.has_owner()) waiting.push_back(input);
    }
    const auto* op = dynamic_cast<const DrawOp*>(&node.op());
    if (!op) continue;
    const Variable &counter = node.input(op->key_input() + 1), &ordinal = node.input(op->key_input() + 2);
    if (!counter.has_owner() || !ordinal.is_constant()) continue;
    const Variable state = counter.owner().input(0);
    if (!state.is_shared() || std::any_of(updates.begin(), updates.end(), [&](const Assignment& update) { return update.variable.is_same(state); })) continue;
    const auto [found, is_new] = place.try_emplace(state.id(), moved.size());
    if (is_new) moved.push_back({state, {}}), draws.push_back(0);
    draws[found->second] = std::max(draws[found->second], static_cast<std::uint64_t>(ordinal.constant()->scalar().as_int()) + 1);
  }
  for (std::size_t i = 0; i < moved.size(); ++i) moved[i].value = state_behind(moved[i].variable, draws[i], moved[i].variable.where());
  return moved;
}

}  // namespace damo
