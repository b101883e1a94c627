// LoopPlan: what a loop reads and writes at each step, apart from what the step computes. Steps have positions p from 0 to count - 1, gone through
// upwards or, in gradients, downwards; where a row lies follows from p alone, so that the gradient of a loop is a loop that goes the other way.
//
//   inputs of the node     [count] sequences, initial values of states and sums, others
//   inputs of the step     a row of each sequence, each state at each of its lags, others
//   outputs of the step    a row of each output, or a term of each sum; [until]
//   outputs of the node    one for each output
#pragma once
#include <cstdint>
#include <vector>

namespace damo {

/// As many steps stand for any greater number: no array has so many rows and no loop comes to its end, while positions, offsets and rows stay far from the ends of 64 bits.
inline constexpr std::int64_t kMostLoopSteps = std::int64_t{1} << 60;

/// Row p + offset is read, of an input with count + extra rows.
struct LoopSequence {
  std::int64_t offset = 0, extra = 0;
};

struct LoopOutput {
  enum class Kind : std::uint8_t {
    kRows,   ///< row p + offset is written; the others are 0
    kState,  ///< count + depth rows, which begin, downwards: end, with the initial ones; steps read those that are `lags` steps back
    kSum     ///< one value, without an axis of rows: the initial one and each step's term
  };
  Kind kind = Kind::kRows;
  std::int64_t offset = 0;
  int like = -1;                   ///< of rows: the sequence whose gradient they are, so that it has as many and of their shape; -1: count rows
  std::vector<std::int64_t> lags;  ///< of a state: from 1 to depth
  std::int64_t depth = 0;
  /// How many rows the node gives, of those that are written last: -1 all. See trim_loops.
  std::int64_t keep = -1;
  bool keeps_initial = true;       ///< whether initial rows may be among them
};

struct LoopPlan {
  std::int64_t count = -1;       ///< -1: at the call
  bool has_count_input = false;  ///< the node's first input is the count
  int counter = -1;              ///< else: the sequence that has count + extra rows
  bool is_exact = false;         ///< all sequences have as many; else they may have more than they need
  bool is_tight = false;         ///< all sequences have count + their extra rows: this loop checks it (is_exact), or the one whose gradient it is
  bool is_backward = false;
  std::int64_t most = -1;        ///< only so many positions, the last ones, are gone through
  std::int64_t truncation = -1;  ///< `most` of the gradient
  bool has_until = false;
  bool must_end = false;         ///< until must become true
  std::vector<LoopSequence> sequences;
  std::vector<LoopOutput> outputs;

  std::size_t lag_count() const {
    std::size_t lags = 0;
    for (const LoopOutput& output : outputs) lags += output.lags.size();
    return lags;
  }
  /// Inputs of the step before the others.
  std::size_t own_inputs() const { return sequences.size() + lag_count(); }
  /// The first sequence among the node's inputs.
  int first_sequence() const { return has_count_input ? 1 : 0; }
  /// The initial value of an output among the node's inputs; -1 if it has none.
  int initial_input(std::size_t output) const {
    if (outputs[output].kind == LoopOutput::Kind::kRows) return -1;
    int input = first_sequence() + static_cast<int>(sequences.size());
    for (std::size_t i = 0; i < output; ++i) input += outputs[i].kind == LoopOutput::Kind::kRows ? 0 : 1;
    return input;
  }
  int first_other() const {
    int input = first_sequence() + static_cast<int>(sequences.size());
    for (const LoopOutput& output : outputs) input += output.kind == LoopOutput::Kind::kRows ? 0 : 1;
    return input;
  }
  /// The row of a state that a step writes, and one that it reads.
  std::int64_t written_row(const LoopOutput& state, std::int64_t p) const { return is_backward ? p : p + state.depth; }
  std::int64_t read_row(const LoopOutput& state, std::int64_t p, std::int64_t lag) const { return is_backward ? p + lag : p + state.depth - lag; }
};

}  // namespace damo
