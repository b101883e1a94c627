// Passes: in which order a row of elements is gone through, for kernels that reduce. Pass 0 makes what needs no join;
// pass 1 what needs the joins of pass 0; and so on. An element's value that a later pass needs is kept, where the
// target can keep it and making it again costs more, or made again. See tests/runtime/kernel/passes_test.cpp.
#pragma once
#include <cstddef>
#include <functional>
#include <vector>

#include "runtime/kernel/spec.hpp"

namespace damo {

inline constexpr int kDear = 8;  ///< instructions from which an element's value is better kept than made again

class Passes {
 public:
  /// Asked, for each element's value that is dear and wanted again, whether the target keeps it. Pass::stores are known.
  using MayKeep = std::function<bool(int value, const Passes& passes)>;
  Passes(const KernelSpec& spec, const MayKeep& may_keep);

  /// One going through the row. Numbers of values, in order.
  struct Pass {
    std::vector<int> inputs;     ///< arrays that it reads element by element
    std::vector<int> kept;       ///< element values of earlier passes that it reads again
    std::vector<int> prefixes;   ///< element values that joins of earlier passes gave
    std::vector<int> steps;      ///< element values that it makes
    std::vector<int> keeps;      ///< those of them that later passes read
    std::vector<int> joins;      ///< accumulators, each by the first join that has it
    std::vector<int> given;      ///< what is made of them: row values that the pass ends with, or prefixes
    std::vector<int> across;     ///< likewise the accumulators of joins across rows whose elements it has
    std::vector<int> row_steps;  ///< row values that follow from joins of this pass and before
    std::vector<int> stores;     ///< outputs, by number, whose elements it writes
  };
  const std::vector<Pass>& all() const { return passes_; }
  /// Of a scan, what reads prefixes or comes with what does: empty where nobody reads them, as of a scan of which only the shape is asked for.
  Pass behind_prefixes() const { return passes_.size() > 1 ? passes_.back() : Pass(); }
  /// Element values of the first pass that its joins are made of, in order.
  std::vector<int> before_joins() const;
  /// Row values that need no join at all.
  const std::vector<int>& first_row_steps() const { return first_row_steps_; }
  /// Outputs of which each row has one element: written when all passes are done.
  const std::vector<int>& row_stores() const { return row_stores_; }
  /// Outputs that joins across rows give: written when all rows are done.
  const std::vector<int>& across_stores() const { return across_stores_; }
  /// Whether one pass alone reads the input, and not the first: then nothing is won by reading it before.
  bool is_read_late(int input) const;
  bool is_element(int value) const { return element_[static_cast<std::size_t>(value)]; }
  /// The first pass that may use the value.
  int known(int value) const { return known_[static_cast<std::size_t>(value)]; }

 private:
  bool is_prefix(int value) const;
  int cost_again(int value, const std::vector<bool>& available) const;
  void plan(int pass, std::vector<bool>& made, const MayKeep& may_keep);

  const KernelSpec& spec_;
  std::vector<bool> element_;  // by value
  std::vector<int> known_;     // by value
  std::vector<Pass> passes_;
  std::vector<int> first_row_steps_, row_stores_, across_stores_;
};

/// act(join) for each accumulator.
template <class Act>
void each_accumulator(const KernelSpec& spec, Act act) {
  for (int value = spec.first_step(); value < spec.first_step() + static_cast<int>(spec.steps.size()); ++value) {
    if (spec.accumulates(value)) act(*spec.step_of(value).join);
  }
}

/// Whether one pass does it all, whatever it writes on its way: then rows may be cut into chunks.
bool joins_in_one_pass(const KernelSpec& spec);
/// Of what later passes want again of one element and is dear.
std::size_t kept_bytes(const KernelSpec& spec);
/// Of the values of one chunk of one row: each join's accumulator, eight bytes aligned.
std::size_t partial_bytes(const KernelSpec& spec);
/// Of the accumulators of the joins across rows, for one place of a row.
std::size_t across_bytes(const KernelSpec& spec);

}  // namespace damo
