#include "ops/loop/loop_thunk.hpp"

#include <algorithm>
#include <deque>
#include <memory>
#include <optional>
#include <utility>

#include <damo/module_options.hpp>
#include "ops/loop/loop_kernel.hpp"
#include "ops/loop/loop_rows.hpp"
#include "runtime/exec/context.hpp"
#include "runtime/array/array_layout.hpp"
#include "runtime/exec/version_table.hpp"
#include "runtime/memory/workspace.hpp"

namespace damo {
namespace {

using Kind = LoopOutput::Kind;

constexpr std::int64_t kMostTurns = INT32_MAX;  // of a kernel, which counts them in 32 bits
constexpr std::int64_t kFirstRows = 16;  // of a loop whose end is found on the way

class LoopThunk {
 public:
  LoopThunk(const LoopOp& op, const Apply& node, ThunkContext& context)
      : op_(std::static_pointer_cast<const LoopOp>(op.shared_from_this())), plan_(op_->plan()), device_(context.device()), inputs_(cells(context, node.inputs())), outputs_(cells(context, node.outputs())), made_({inputs_.begin(), inputs_.end()}), repeat_state_(context.repeat_state()), rows_(plan_.outputs.size()), sums_(plan_.outputs.size()) {
    std::vector<int> sums;
    for (const LoopOutput& output : plan_.outputs) {
      if (output.kind == Kind::kSum) sums.push_back(static_cast<int>(op.body().inputs.size() + sums.size()));
    }
    program_ = std::make_shared<Program>(op.graph(), device_, ModuleOptions::default_check(), true, sums, false, context.contracts());
    if (op.kernel()) kernel_.emplace(op, node, context);
    else context_ = std::make_unique<Context>(program_, nullptr, false, &repeat_state_, &context.pending());
    context.runs(program_);
    const bool follows_from_shapes = !plan_.has_count_input && !plan_.has_until;
    if (follows_from_shapes && (kernel_ || context_->is_recordable())) context.promise_recordable();
    if (follows_from_shapes && (kernel_ || (context_->is_recordable() && context_->are_thunks_repeatable()))) context.promise_repeatable();
  }

  void operator()() {
    const std::span<const Shape> shapes = input_shapes();
    count_ = count_of(shapes);
    std::shared_ptr<const Shapes>* const known = made_.find();
    const std::shared_ptr<const Shapes> made = known ? *known : made_.add(std::make_shared<const Shapes>(op_->step_shapes(shapes)));
    const std::int64_t first = plan_.most < 0 ? 0 : std::max<std::int64_t>(0, count_ - plan_.most);
    const bool is_sized = plan_.has_count_input || plan_.has_until || !*made;
    is_one_kernel_ = kernel_ && count_ - first <= kMostTurns && kernel_->serves(*made);
    is_placed_.assign(plan_.outputs.size(), false);
    for (std::size_t i = 0; i < plan_.outputs.size(); ++i) {
      if (plan_.outputs[i].kind == Kind::kSum) begin_sum(i, is_sized);
      else if (const std::optional<Shape> row = row_shape(i, *made)) place(i, shapes, *row, first, is_sized);
    }
    if (is_one_kernel_) {
      (*kernel_)(count_, first, rows_);
      for (LoopRows& rows : rows_) rows.end();
      return;
    }
    if (!context_) context_ = std::make_unique<Context>(program_, nullptr, false, &repeat_state_);
    std::int64_t done = 0;
    bool has_ended = false;
    for (; done < count_ - first && !has_ended; ++done) has_ended = step(plan_.is_backward ? count_ - 1 - done : first + done, shapes, first);
    if (plan_.must_end && !has_ended && count_ > 0) {
      throw GraphError(op_->name() + ": the condition still holds after " + std::to_string(count_) + " steps, the limit", "raise the limit, or find out why it stays true");
    }
    for (std::size_t i = 0; i < plan_.outputs.size(); ++i) finish(i, done, is_sized);
  }

  /// See ThunkContext::foresee. Steps that run one by one are bound by their own Context, at the first of them.
  void foresee(const WantKernel& want) {
    if (!kernel_) return;
    kernel_->foresee(op_->step_shapes(input_shapes()), want);
  }
  /// See ThunkContext::foresee_memory: what is added up, while the loop runs; temporaries of a step, and rows that it looks back to and does not give, for all runs. Where
  /// only data tells the shapes of a step it is what the thunk then asks for.
  ThunkMemory memory() {
    std::vector<Shape> shapes;
    for (const Cell* input : inputs_) shapes.push_back(input->shape());
    const Shapes made = op_->step_shapes(shapes);
    if (!made || (kernel_ && kernel_->serves(*made))) return {};
    WorkspaceNeed need;
    std::size_t kept = 0;
    std::vector<ArrayLayout> layouts;
    std::deque<std::pair<Shape, Strides>> rows;
    const auto add = [&](const Shape& shape, Strides strides) {
      rows.emplace_back(shape, std::move(strides));
      layouts.push_back({&rows.back().first, &rows.back().second});
    };
    const auto add_row = [&](const Cell& all) {
      Shape shape = all.shape();
      Strides strides = all.strides();
      shape.erase(0);
      strides.erase(0);
      add(shape, strides);
    };
    auto from = inputs_.begin() + plan_.first_sequence();
    for (std::size_t i = 0; i < plan_.sequences.size(); ++i) add_row(**from++);
    for (std::size_t i = 0; i < plan_.outputs.size(); ++i) {
      const LoopOutput& output = plan_.outputs[i];
      const Shape& row = (*made)[i];
      const std::size_t bytes = static_cast<std::size_t>(row.size()) * itemsize(outputs_[i]->dtype());
      if (output.kind == Kind::kSum) {
        need.take(bytes);
        continue;
      }
      for (std::size_t lag = 0; lag < output.lags.size(); ++lag) add(row, contiguous_strides(row));
      kept += bytes * static_cast<std::size_t>(ring_slots(i, shapes, op_->count(shapes), row));
    }
    for (auto other = inputs_.begin() + plan_.first_other(); other != inputs_.end(); ++other) layouts.push_back({&(*other)->shape(), &(*other)->strides()});
    for (std::size_t i = 0; i < plan_.outputs.size(); ++i) {
      if (plan_.outputs[i].kind == Kind::kSum) add((*made)[i], contiguous_strides((*made)[i]));
    }
    if (!context_) context_ = std::make_unique<Context>(program_, nullptr, false, &repeat_state_);
    const ThunkMemory step = context_->step_memory(layouts);
    return {.workspace = need.bytes(), .kept = kept + step.workspace + step.kept};
  }

 private:
  static std::vector<Cell*> cells(ThunkContext& context, std::span<const Variable> variables) {
    std::vector<Cell*> cells;
    for (const Variable& variable : variables) cells.push_back(&context.storage(variable));
    return cells;
  }
  static std::vector<Cell*> cells(ThunkContext& context, const std::vector<Variable>& variables) { return cells(context, std::span(variables)); }

  std::span<const Shape> input_shapes() {
    shapes_.clear();
    for (const Cell* input : inputs_) shapes_.push_back(input->shape());
    return shapes_;
  }

  const Array& initial(std::size_t i) const { return inputs_[static_cast<std::size_t>(plan_.initial_input(i))]->array(); }

  std::int64_t count_of(std::span<const Shape> shapes) const {
    if (!plan_.has_count_input) return op_->count(shapes);
    const std::int64_t count = std::min(inputs_[0]->array().item().as_int(), kMostLoopSteps);
    if (count < 0) throw ShapeError(op_->name() + ": the number of steps is " + std::to_string(count), "give 0 or more");
    op_->require_rows(shapes, count);
    return count;
  }

  /// Of what a step gives; nothing where the first step will tell.
  std::optional<Shape> row_shape(std::size_t i, const Shapes& made) const {
    if (made) return (*made)[i];
    if (plan_.outputs[i].kind == Kind::kState) {
      Shape row = initial(i).shape();
      row.erase(0);
      return row;
    }
    const Shape& dims = op_->body().outputs[i].dims();
    if (dims.is_known()) return dims;
    if (count_ > 0) return {};
    if (const int like = plan_.outputs[i].like; like >= 0) {
      Shape row = inputs_[static_cast<std::size_t>(plan_.first_sequence() + like)]->shape();
      row.erase(0);
      return row;
    }
    throw ShapeError(op_->name() + ": no step was made, and only a step tells the shape of output " + std::to_string(i), "make one step at least");
  }

  void begin_sum(std::size_t i, bool is_sized) {
    if (!is_one_kernel_) sums_[i] = initial(i).copy();
    else if (is_sized) outputs_[i]->resize(initial(i).shape());
  }

  /// Of the ring that has what the node does not give.
  std::int64_t ring_slots(std::size_t i, std::span<const Shape> shapes, std::int64_t count, const Shape& row) const {
    const LoopOutput& output = plan_.outputs[i];
    if (plan_.has_until) return output.keep < 0 ? 0 : std::max(output.depth + 1, output.keep);
    const std::int64_t kept = op_->output_shape(i, shapes, count, row)[0], all = output.like >= 0 ? kept : count + output.depth;
    return kept < all ? output.depth + 1 : 0;
  }

  /// The ring is kept for the next run.
  void begin_rows(std::size_t i, Array kept, std::int64_t first, std::int64_t slots) {
    const WorkspaceScope from_the_pool(nullptr);
    repeat_state_.changes += rows_[i].begin(std::move(kept), first, slots);
  }

  /// Gives the rows of an output their places, with those in them that the loop begins with.
  void place(std::size_t i, std::span<const Shape> shapes, const Shape& row, std::int64_t first, bool is_sized) {
    const LoopOutput& output = plan_.outputs[i];
    is_placed_[i] = true;
    if (output.kind == Kind::kState && initial(i).shape()[0] != output.depth) {
      throw ShapeError(op_->name() + ": the initial value of output " + std::to_string(i) + " has " + std::to_string(initial(i).shape()[0]) + " rows for taps that reach back " + std::to_string(output.depth),
                       "give as many rows, the oldest first");
    }
    const DType dtype = outputs_[i]->dtype();
    Shape kept = row;
    if (plan_.has_until) {  // how many rows there will be is not known yet
      kept.insert(0, output.keep < 0 ? std::min(count_, kFirstRows) + output.depth : 0);
      begin_rows(i, Array::empty(kept, dtype, device_), 0, ring_slots(i, shapes, count_, row));
    } else {
      kept = op_->output_shape(i, shapes, count_, row);
      if (is_sized) outputs_[i]->resize(kept);
      const std::int64_t all = output.like >= 0 ? kept[0] : count_ + output.depth;
      begin_rows(i, outputs_[i]->array(), plan_.is_backward ? 0 : all - kept[0], is_one_kernel_ ? 0 : ring_slots(i, shapes, count_, row));
      const bool writes_all = first == 0 && (output.like < 0 || (output.offset == 0 && kept[0] == count_));
      const std::uint64_t zero = 0;
      if (!writes_all) device_.backend().fill(rows_[i].kept().data(), &zero, itemsize(dtype), static_cast<std::size_t>(kept.size()), nullptr);
    }
    for (std::int64_t j = 0; j < output.depth; ++j) {
      const std::int64_t number = (plan_.is_backward ? count_ : first) + j;
      if (!is_one_kernel_ || rows_[i].keeps(number)) rows_[i].row(number).copy_from(row_of(initial(i), j));
    }
  }

  /// Whether it was the last one.
  bool step(std::int64_t p, std::span<const Shape> shapes, std::int64_t first) {
    step_inputs_.clear();
    targets_.clear();
    auto from = inputs_.begin() + plan_.first_sequence();
    for (const LoopSequence& sequence : plan_.sequences) step_inputs_.push_back(row_of((*from++)->array(), p + sequence.offset));
    for (std::size_t i = 0; i < plan_.outputs.size(); ++i) {
      const LoopOutput& output = plan_.outputs[i];
      if (output.kind == Kind::kSum || !is_placed_[i]) {
        targets_.emplace_back();
        continue;
      }
      const std::int64_t row = output.kind == Kind::kState ? plan_.written_row(output, p) : p + output.offset;
      if (plan_.has_until && output.keep < 0) rows_[i].grow(row, count_ + output.depth);
      for (std::int64_t lag : output.lags) step_inputs_.push_back(rows_[i].row(plan_.read_row(output, p, lag)));
      targets_.push_back(rows_[i].row(row));
    }
    if (plan_.has_until) targets_.emplace_back();
    for (auto other = inputs_.begin() + plan_.first_other(); other != inputs_.end(); ++other) step_inputs_.push_back((*other)->array());
    for (std::size_t i = 0; i < sums_.size(); ++i) {
      if (plan_.outputs[i].kind == Kind::kSum) step_inputs_.push_back(std::move(sums_[i]));
    }
    context_->step(step_inputs_, targets_);
    for (std::size_t i = 0; i < plan_.outputs.size(); ++i) {
      if (plan_.outputs[i].kind == Kind::kSum) {
        sums_[i] = std::move(targets_[i]);
      } else if (!is_placed_[i]) {
        place(i, shapes, targets_[i].shape(), first, true);
        rows_[i].row(p + plan_.outputs[i].offset).copy_from(targets_[i]);
      }
    }
    const bool has_ended = plan_.has_until && targets_.back().item().as_int() != 0;
    targets_.clear();
    return has_ended;
  }

  void finish(std::size_t i, std::int64_t done, bool is_sized) {
    const LoopOutput& output = plan_.outputs[i];
    if (output.kind == Kind::kSum) {
      if (is_sized) outputs_[i]->resize(sums_[i].shape());
      outputs_[i]->array().copy_from(sums_[i]);
      sums_[i] = Array();
      return;
    }
    if (plan_.has_until) {
      const std::int64_t all = done + output.depth, given = done + (output.keeps_initial ? output.depth : 0), kept = output.keep < 0 ? given : std::min(output.keep, given);
      Shape shape = rows_[i].kept().shape();
      shape[0] = kept;
      outputs_[i]->resize(shape);
      if (output.keep < 0) outputs_[i]->array().copy_from(rows_[i].kept().slice({Slice{all - kept, all, 1}}));
      for (std::int64_t j = 0; output.keep >= 0 && j < kept; ++j) row_of(outputs_[i]->array(), j).copy_from(rows_[i].row(all - kept + j));
    }
    rows_[i].end();
  }

  std::shared_ptr<const LoopOp> op_;
  const LoopPlan& plan_;
  Device device_;
  std::vector<Cell*> inputs_, outputs_;
  VersionTable<std::shared_ptr<const Shapes>> made_;  // of what steps give
  std::shared_ptr<Program> program_;
  std::unique_ptr<Context> context_;  // of loops in one kernel none before a call whose shapes that does not serve
  std::optional<LoopKernelRun> kernel_;
  RepeatState& repeat_state_;
  // Of the call in progress.
  std::int64_t count_ = 0;
  std::vector<Shape> shapes_;
  std::vector<LoopRows> rows_;
  std::vector<Array> sums_, step_inputs_, targets_;
  std::vector<bool> is_placed_;
  bool is_one_kernel_ = false;
};

}  // namespace

Thunk loop_thunk(const LoopOp& loop, const Apply& node, ThunkContext& context) {
  const auto thunk = std::make_shared<LoopThunk>(loop, node, context);
  context.foresee([thunk](const WantKernel& want) { thunk->foresee(want); });
  context.foresee_memory([thunk] { return thunk->memory(); });
  return [thunk] { (*thunk)(); };
}

}  // namespace damo
