// The text of one generated kernel that reduces, for the CPU. A task is some rows, or a chunk of one.
//
//   kRows     a row is gone through once a pass, with `lanes` partial values side by side, which vectorise. Short rows go in
//             blocks of some rows, pass by pass: what a row's partial values join to is joined for all of them together, as
//             the chain of these joins, one row after another, would take as long as the row.
//   kColumns  `lanes` neighbouring rows at once: their partial values are arrays, along which loops vectorise. So go rows
//             that are too short for partial values of their own, too (Layout::turned): what lies along them goes through
//             tiles, in which a place's elements of all rows lie side by side.
//
// A spec that joins across rows goes over rows: each task has values of its own for all places of a row, in scratch memory, into which it joins its rows
// one after another; a second kernel joins those of the tasks, in their order.
//
// Of rows in chunks a second kernel joins the parts that the chunks give: those of a row lie side by side, of columns those of neighbouring columns.
// The text of a user's CUDA C is the same, in functions that kernels behind it call, a task a block (users_text.hpp).
//
// A partial value takes few elements before it is joined with others, so that the error of a sum grows slowly.
// Of rows that share arrays, as the weights of a norm, several go through the last pass together, so that these are read once for all of them (row_bands.cpp).
// Rows that are short pieces beside each other go as columns, a piece being as many columns, which are joined at the end of a pass (Layout::pieces; the condition is in_pieces() of
// dialect.cpp). Values are the same but for the order in which a row is joined, which follows from shapes and strides alone.
// A value that a later pass needs is held in memory of the task's thread if it fits (Layout::whole); else it is kept where an output's row will be, if there is
// one of its type; else it is made again.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "runtime/cpu/guard_text.hpp"
#include "runtime/kernel/body.hpp"
#include "runtime/kernel/layout.hpp"
#include "runtime/kernel/passes.hpp"

namespace damo {

inline constexpr int kCpuAcrossColumns = 512;  ///< columns, or places of a row, that a task of the second kernel joins
inline constexpr int kCpuRun = 32;             ///< elements that a partial value takes before it is joined with others
inline constexpr int kCpuShortLanes = 16;      ///< of rows that are one run of so many; shorter ones than kCpuRun have one
inline constexpr int kCpuBlockRows = 16;       ///< short rows, of a block; fewer of those that are longer
inline constexpr int kCpuBlockElements = 2048;
inline constexpr int kCpuAcrossBlockElements = 512;  ///< of rows that are joined across, too: what they are joined into takes its part of the first-level cache
inline constexpr int kCpuHeldBytes = 4 << 20;  ///< of a task's values, in memory of its thread: a core's share of the last-level cache, from which a value is sooner read than made again

class CpuReducingEmitter {
 public:
  CpuReducingEmitter(const KernelSpec& spec, const Layout& layout);
  std::string emit();
  /// Of all dear values of a task's rows or columns.
  static std::int64_t held_bytes(const KernelSpec& spec, const Layout& layout, const Geometry& geometry);

 protected:
  void emit_rows();
  void emit_columns();
  void emit_finish();
  void declare_held(const std::string& indent);
  void emit_held_across();
  std::vector<int> parted() const;
  std::string places_across() const { return layout_.batched ? "(a.n / a.joined * a.length)" : "a.length"; }  ///< values that joins across rows give
  void emit_parts(const std::string& count);
  void begin_finish_of_parts(const std::string& all);
  void emit_finish_across();
  void emit_head();
  void emit_users_kernels();
  void begin(const std::string& name, bool task_by_task = true);
  void end();
  std::string storing(int output, const std::string& target, const StepPrinter::Name& names, bool to_strip = false) const;
  void emit_row_start(const std::string& indent, const std::string& number, int axes, const std::string& column);
  void emit_elements(const std::string& indent, const std::string& count, const std::string& before, const std::string& letter, const Passes::Pass& pass);
  bool is_turned(int parameter) const { return layout_.turned && access(parameter) == Access::kTransposed; }
  void emit_turned(bool outputs);
  void emit_joined_lanes(const std::string& indent, const Passes::Pass& pass);
  /// before: the letter of what rows' joins have so far, in arrays; none: each begins.
  void emit_row_pass(const Passes::Pass& pass, const std::string& before = {});
  void emit_row_block();
  void emit_block_pass(const Passes::Pass& pass);
  void emit_block_joins(const Passes::Pass& pass);
  void emit_block_values(const std::vector<int>& joins, const std::vector<int>& given, const std::vector<int>& steps, bool are_last);
  void begin_row_of_block(const std::string& indent);
  std::string held_elements() const;
  void emit_column_pass(const Passes::Pass& pass);
  void emit_joined_pieces(const Passes::Pass& pass);
  void emit_reduced_offsets(const std::string& indent, const std::string& place, int axes, const Passes::Pass& pass);
  /// prefixes: statements that make the values that the element has from prefix joins.
  /// strip_place: what is stored goes to that element of strips.
  void emit_element(const std::string& indent, const std::string& index, const std::string& place, const Passes::Pass& pass, const std::string& prefixes = {}, const std::string& strip_place = {});
  bool streams(const Passes::Pass& pass) const;
  bool has_strips() const;
  bool has_bands() const;
  bool has_windows() const;
  void emit_windows();
  void emit_bands();
  void emit_band_size();
  std::vector<int> row_values() const;
  void emit_strips(const std::string& indent, const std::string& count, const std::string& before, const Passes::Pass& pass);
  std::string head_of(int output) const;
  const Passes::Pass* asks_ahead() const;
  void declare_ahead(const std::string& indent);
  void emit_slices_ahead(const std::string& indent);
  void emit_ahead(const std::string& indent, const std::string& before, const Passes::Pass& pass);
  void emit_stores(const std::string& indent, const std::string& count, const std::string& before, const Passes::Pass& pass);
  void emit_joins(const std::string& indent, const std::string& letter, bool in_lanes, const Passes::Pass& pass, bool are_first = false);
  void emit_row_values(const std::string& indent, const std::vector<int>& given, const std::vector<int>& steps);
  void emit_row_results(const std::string& indent, const std::vector<int>& given, const std::vector<int>& steps);

  /// Partial values side by side, in arrays of their own for each member, so that loops over them vectorise.
  void declare_lanes(const std::string& indent, const std::string& letter, int join, const std::string& count);
  std::string lane(const std::string& letter, int join, const std::string& k) const;
  std::string set_lane(const std::string& letter, int join, const std::string& k, const std::string& value) const;
  bool may_keep(int value, const Passes& passes);
  /// Where a kept value of one element is; at: that place in an array's row.
  std::string kept(int value, const std::string& place, const std::function<std::string(int)>& at) const;
  void emit_last_lanes(const std::string& indent, const std::string& count, const std::string& before, const Passes::Pass& pass);
  /// What a join makes of all elements of the row at hand.
  std::string joined_value(int join) const {
    const int accumulator = spec_.accumulator_of(join);
    return steps_.post(join, columns() ? lane("m", accumulator, "k") : (in_blocks() ? "all" : "j") + number(accumulator), "a.length");
  }
  /// Whether a row is no longer than its lanes take in one run.
  bool has_one_run() const { return layout_.reduced_rank == 1 && (layout_.lanes == 1 || layout_.lanes == kCpuShortLanes); }
  /// Whether rows go in blocks.
  bool in_blocks() const { return blocks_ && !columns(); }
  bool pays_blocks() const;
  bool columns() const { return layout_.form == Form::kColumns; }
  Access access(int parameter) const { return layout_.access[static_cast<std::size_t>(parameter)]; }
  std::string pointer_type(int parameter) const;
  std::string kept_step(int parameter) const;
  std::string inner_step(int parameter) const;
  std::string column_place(int parameter, const std::string& column) const;
  /// Of columns: reduced axes that a column goes along, and its elements.
  int column_axes() const { return layout_.reduced_rank - (layout_.pieces ? 1 : 0); }
  std::string column_length() const { return layout_.pieces ? "a.length / piece" : "a.length"; }
  std::string row_name(int value) const { return columns() && !is_scalar_input(value) ? local_name(value) + "[k]" : local_name(value); }
  std::string name(int value) const { return passes_.is_element(value) ? local_name(value) : row_name(value); }
  /// Whether neighbours in a row are neighbours in memory.
  bool is_contiguous(int parameter) const { return access(parameter) == Access::kRow || access(parameter) == Access::kEveryRow; }
  bool is_scalar_input(int value) const { return value < spec_.input_count() && is_scalar(access(value)); }
  int parameter_of(int output) const { return spec_.input_count() + output; }
  template <class Do>
  void each_moving(const Passes::Pass& pass, Do act) const;
  void line(const std::string& text) { text_ += text + "\n"; }

  /// Unrolled, a short loop over partial values would not be vectorised as one.
  static constexpr const char* kLanes = "#pragma clang loop vectorize(assume_safety) unroll(disable)";
  /// Of loops that run seldom: one vector at a time compiles sooner.
  static constexpr const char* kBriefly = "#pragma clang loop interleave_count(1) unroll(disable)";

  const KernelSpec& spec_;
  const Layout& layout_;
  StepPrinter steps_;
  CpuGuardText guard_;
  bool blocks_ = false;
  bool backward_;             // a scan from the last element: places are counted from there
  static constexpr int kNowhere = -1, kHeld = -2;
  std::vector<int> kept_in_;  // by value: the parameter in whose row it is kept
  Passes passes_;
  std::vector<int> of_block_;  // values that each row of the block has, so far
  std::string text_;
};

}  // namespace damo
