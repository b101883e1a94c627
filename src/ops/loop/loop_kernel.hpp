// LoopKernel: a loop's steps as one kernel, which goes through all of them element by element (KernelSpec's SerialLoop). LoopKernelRun: that kernel on a device.
//
// Condition, seen when the graph is rewritten: every node of the step is an elementwise KernelOp that counts no elements, of which fusion's limits leave one kernel together
// with what the steps carry; the loop has no `until`. Then element k of what a step gives follows from elements at k's place alone: of rows, of what earlier
// steps gave there, of others. So to compute all steps of one element before those of the next changes no value. And, seen at each call: everything that a step
// gives has one shape, to which what it reads broadcasts; else what one element of a state gives is read by several elements of another. Where that does
// not hold, steps run one by one.
//
// Values: the text of a step is that of its fused kernel, and what is carried is rounded to its dtype between steps, so they are those of steps that run one by
// one, where the compiler contracts within a step the same products and sums (on the CPU; on a GPU too, except across steps, where nothing is contracted).
#pragma once
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <damo/options.hpp>
#include <damo/thunk.hpp>
#include "ops/loop/loop_plan.hpp"
#include "ops/loop/loop_rows.hpp"
#include "runtime/exec/version_table.hpp"
#include "runtime/kernel/spec_kernel.hpp"

namespace damo {

class LoopOp;

struct LoopKernel {
  /// Where the array of a parameter comes from.
  struct Input {
    enum class From : std::uint8_t { kSequence, kInitial, kSum, kOther, kConstant };
    From from = From::kOther;
    int number = 0;          ///< of the sequence, the output or the node's input
    int lag = 0;             ///< of kInitial
    ConstantPtr constant;
  };
  KernelSpec spec;
  std::vector<Input> inputs;  ///< by input of the spec; its outputs are the loop's
};

/// Null where the condition does not hold. Linear in the step.
std::shared_ptr<const LoopKernel> loop_kernel(const LoopOp& loop, const FusionLimits& limits);

class LoopKernelRun {
 public:
  LoopKernelRun(const LoopOp& loop, const Apply& node, ThunkContext& context);

  /// Wants the kernel for the cells' layouts, if the second condition holds for them; see ThunkContext::foresee. rows: of what a step gives.
  void foresee(const Shapes& rows, const WantKernel& want);
  /// Whether the second condition holds for the cells' shapes; rows: of what a step gives.
  bool serves(const Shapes& rows);
  /// rows: where those of outputs with rows lie; sums go to the outputs' cells. After serves().
  void operator()(std::int64_t count, std::int64_t first, std::span<const LoopRows> rows);

 private:
  struct Bound {
    bool serves = false;
    std::optional<BoundKernel> kernel;
  };
  std::vector<Shape> row_shapes(const Shapes& rows) const;
  std::optional<Bound> bind(const Shapes& rows, const WantKernel* want) const;  // want: see BoundKernel::bind; nothing where code is missing
  template <class Use>
  bool with_arrays(const Shapes& rows, Use use) const;
  const std::byte* first_row(const Array& rows, std::int64_t row) const;

  const LoopPlan& plan_;
  const LoopKernel& code_;
  std::vector<Cell*> inputs_, outputs_;
  std::vector<Array> constants_;  // by input of the spec
  Stream stream_;
  SpecKernel& kernel_;
  VersionTable<Bound> bound_;
  LoopRun run_;
};

}  // namespace damo
