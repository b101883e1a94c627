// What streams of random numbers do beside drawing: keys of streams that are split off, and the states behind draws.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include <damo/error.hpp>
#include <damo/variable.hpp>

namespace damo {

/// Of the number-th stream that is split off one with that key: words of a block that no draw reaches.
std::uint64_t split_key(std::uint64_t key, std::uint64_t number);

/// state, uint64 (2,), with the counter moved by that many draws.
Variable state_behind(const Variable& state, std::uint64_t draws, SourceLine line);

/// For each shared variable that is the state of draws which the values need, unless an update has it already: the state behind them.
std::vector<Assignment> stream_updates(std::span<const Variable> values, std::span<const Assignment> updates);

}  // namespace damo
