// The text of one generated CUDA kernel that reduces. `lanes` threads of a block share a row: neighbours along the row
// (Form::kRows), or, so that neighbours in memory go to neighbouring threads, along the rows beside it (kColumns).
//
//   whole     the lanes hold a row in registers, so each element is read once however many passes there are. A row may
//             be shared by the blocks of a cluster, which give each other joined values.
//   else      each pass reads the row again, a tile of lanes * items vectors at a time.
//   beside    the threads of a warp have neighbouring rows, lanes of them each: what lanes join they exchange within warps first, then by the warps and then by the blocks of a cluster
//   chunked   a row is cut into chunks, a block each, whose values a second kernel joins.
//   across    (a spec that joins across rows; whole) a.chunks blocks, or clusters, go over the rows in turn. Each thread's elements of all its
//             rows lie at the same places of the row, so it joins them into values that lie in shared memory and are its own;
//             a second kernel joins the blocks' values, in their order.
//
//   ahead     (whole) blocks, or clusters, that stay go over the rows, or tiles of rows beside each other, in turn. What a row's threads read they have asked for, each its own, into a ring in
//             shared memory when they began with a row before. Their parts of what all rows share lie behind the ring from the first row on. The blocks of a cluster meet by messages; where that serves once for the first
//             two passes, whose sums of exponentials are then against each block's own maximum (own_maximum.hpp). With joins across rows a thread has
//             the values of its places in registers, and what all rows share there; where they have no room in shared memory.
//
//   runs      (whole) neighbouring rows lie one behind the other in memory, so a warp's are one piece, which it moves through shared memory. A thread has
//             whole ones of them, one after the other, and needs nothing from other threads.
//
//   prefixes  (whole) beside joins of rows: made of the elements as they are held (reducing_prefixes.cpp)
//
//   sought    an element that is known by its place is read when the row begins (reducing_places.cpp)
//
//   groups    (else) joins append what a thread has read of a row at once, not vector by vector (reducing_groups.cpp).
//
// Of rows a vector is neighbours along the row; where rows begin anywhere (Ends), vectors lie where memory wants them, of blocks that stay in whole
// lines of the cache a warp, and the first and the last of a row are read by element. Of columns a vector is neighbouring columns: a thread then has as many rows' values.
// How many lanes and items there are, and why: reducing_schedule.hpp, run_schedule.hpp. Helpers of the text: reducing_text.hpp.
#pragma once
#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "runtime/cuda/guard_text.hpp"
#include "runtime/cuda/reducing_schedule.hpp"
#include "runtime/cuda/staying_rows.hpp"
#include "runtime/kernel/body.hpp"
#include "runtime/kernel/layout.hpp"
#include "runtime/kernel/own_maximum.hpp"
#include "runtime/kernel/passes.hpp"

namespace damo {

class CudaReducingEmitter {
 public:
  CudaReducingEmitter(const KernelSpec& spec, const Layout& layout);
  std::string emit();

 protected:
  void emit_main();
  void emit_finish();
  void emit_head();
  void begin_kernel(const std::string& name, const std::string& bounds, const std::string& cluster = {});
  void emit_users_kernels();
  void begin(const std::string& name);
  void emit_single_values();
  std::string coordinates() const;
  std::string quotient(const std::string& place, const std::string& extents, int rank, const std::string& axis) const;
  std::string row_start(int parameter) const;
  void emit_row_start();
  std::string phase(int parameter, int elements) const;
  int leader() const;
  void emit_shift(const std::vector<int>& parameters);
  void emit_offset_functions();
  void emit_offset_function(int i, const std::string& function, const std::string& strides);
  bool is_looked_up_once(int i) const;
  void emit_load(int parameter);
  void emit_bases(const std::vector<int>& parameters, const std::string& at);
  void emit_loads(const std::vector<int>& inputs, const std::string& at);
  std::string thread_row(const std::string& n) const;
  void emit_fetch_row();
  void emit_fetch(const std::string& row);
  void emit_run();
  void emit_leave_run();
  void emit_ring();
  void emit_open_meetings();
  void emit_stay();
  void emit_stay_across();
  void emit_loads_ahead(const std::vector<int>& inputs);
  void emit_leave();
  void declare_vectors(const std::vector<int>& inputs);
  void emit_pass(const Passes::Pass& pass);
  void emit_elements(const Passes::Pass& pass, bool sought);
  void emit_vector(const Passes::Pass& pass);
  void emit_tile(const Passes::Pass& pass);
  void emit_tiles(const Passes::Pass& pass);
  bool joins_groups(int join) const { return vectors_of_a_group(*spec_.step_of(join).join, layout_) > 1; }
  static std::string group(int join, std::size_t input) { return "g" + number(join) + "_" + number(static_cast<std::int64_t>(input)); }
  void declare_groups(const Passes::Pass& pass);
  void emit_join(int join, const std::string& guard);
  void emit_groups(const Passes::Pass& pass);
  void emit_store(int output);
  bool adds_floats(int join) const;
  bool is_over_count(int value) const;
  bool divides_by_count() const;  ///< some value of a row is
  void declare_accumulators(const std::string& letter, int join, const std::string& indent);
  void declare_shared(const std::vector<int>& joins, int count, const std::string& letter = "s");
  void emit_across(const std::vector<int>& joins);
  bool joins_floats(int join) const;
  void emit_across_staying(const std::vector<int>& joins);
  void emit_across_tile(const std::vector<int>& joins);
  void emit_across_blocks(const std::vector<int>& joins);
  std::string met_place(const std::string& block, int join) const;
  void emit_meeting(int number, const std::vector<int>& joins);
  void emit_exchange_beside(const std::vector<int>& joins, int lanes);
  void emit_joined_tile(const std::vector<int>& joins);
  void emit_taken(const std::vector<int>& joins, const std::string& letter);
  void emit_tile_of_block(const std::vector<int>& joins);
  void emit_tile_meeting(int number, const std::vector<int>& joins);
  std::vector<int> row_joins(const Passes::Pass& pass) const;
  std::vector<int> prefix_joins(const Passes::Pass& pass) const;
  bool is_prefix(int join) const { return spec_.step_of(join).join->prefix != Prefix::kNone; }
  std::string scanning_lane() const;
  void emit_appended_prefix(int join);
  void emit_warp_prefixes(int join, const std::string& joined);
  void emit_thread_prefixes(int join);
  void emit_block_prefixes(int join);
  std::string prefix_value(int join, const std::string& own, const std::string& before) const;
  void emit_prefixes(const Passes::Pass& pass);
  void emit_passes();
  void emit_divisors(const Passes::Pass& pass);
  void emit_row_values(const std::vector<int>& given, const std::vector<int>& steps);
  void emit_row_stores();
  int held_piece(int join) const;
  std::string held_place(int join, const std::string& row) const;
  bool is_in_registers(int join) const { return stays() && std::find(across_shared_.begin(), across_shared_.end(), join) == across_shared_.end(); }
  void emit_held_shared(const std::vector<int>& joins, std::int64_t from);
  std::string held(int join, const std::string& row) const;                             ///< the thread's vector u
  std::string hold(int join, const std::string& row, const std::string& vector) const;  ///< the statement that writes it
  void emit_batch();
  void emit_held_across();
  void emit_leave_across();
  void emit_parts_across();
  void emit_finish_across();

  /// Lanes of a row that a warp has, and warps of a row.
  int in_warp() const { return std::min(layout_.lanes, 32); }
  int warps() const { return layout_.lanes / in_warp(); }
  /// Rows that a block goes through side by side.
  int slots() const { return block_ / layout_.lanes; }
  /// Of a tile whose blocks stay: its rows, and lanes of a warp that join what the warps have of one of them.
  int tile_rows() const { return slots() * values(); }
  int joiners() const { return std::min({32, block_ / 32, block_ / tile_rows()}); }
  /// Of __launch_bounds__.
  std::string bounds() const { return number(block_) + (layout_.residents > 0 ? ", " + number(layout_.residents) : ""); }
  std::string part() const { return layout_.cluster > 1 ? "part" : "0"; }
  bool rows() const { return layout_.form == Form::kRows; }
  /// Whether neighbouring threads have neighbouring rows, not neighbours along one.
  bool beside() const { return !rows() || layout_.beside > 0; }
  /// Values of a thread of each join, and of a block.
  int values() const { return several() ? layout_.vector : 1; }
  /// Whether a thread has several rows, whose values are arrays.
  bool several() const { return !rows() && layout_.vector > 1; }
  Access access(int parameter) const { return layout_.access[static_cast<std::size_t>(parameter)]; }
  bool moves(int parameter) const { return !is_scalar(access(parameter)) && access(parameter) != Access::kRepeat; }
  /// Whether vectors in memory hold the elements in the order opposite to the scan's.
  bool turns() const { return backward_ && rows(); }
  /// Whether a vector, which is whole where rows have several axes, has one element of the input.
  bool is_steady(int input) const { return access(input) == Access::kSteady; }
  bool is_together(int parameter) const {
    return layout_.vector > 1 && !spec_.is_ordinals(parameter) && (is_in_run(parameter) || (layout_.aligned && (access(parameter) == Access::kRow || access(parameter) == Access::kEveryRow)));
  }
  /// Whether the array is no memory but numbers, of which the first of each vector is a multiple of the vector's length: move_in_vectors looked at their distances as at those of arrays. Runs are laid out otherwise.
  bool counts_in_vectors(int input) const {
    return spec_.is_ordinals(input) && layout_.vector > 1 && layout_.ends != Ends::kAnywhere && !has_runs() && !backward_ && (access(input) == Access::kRow || (rows() && access(input) == Access::kEveryRow));
  }
  /// Whether threads have whole rows of runs, and the array is moved so.
  bool has_runs() const { return layout_.rows_each > 0; }
  bool is_in_run(int parameter) const { return access(parameter) == Access::kDense; }
  /// Of what points into an array, or counts in its place.
  std::string pointer_type(int parameter) const { return spec_.is_ordinals(parameter) ? "const Ordinals " : std::string(spec_.is_output(parameter) ? "" : "const ") + stored(parameter) + "* const "; }
  /// Whether some vectors of the text at hand may not be the row's, or, where rows begin anywhere, some of their elements.
  bool is_guarded() const { return layout_.ends != Ends::kTiles && !is_full_; }
  bool asks_elements() const { return is_guarded() && rows() && layout_.ends == Ends::kAnywhere; }
  /// Whether each pass that wants the input reads it. A block that goes over many rows finds what they share in its cache.
  bool is_late(int input) const { return !is_kept(input) && !is_ahead(input) && !(is_steady(input) && asks_early_) && (passes_.is_read_late(input) || (!across_.empty() && access(input) == Access::kEveryRow)); }
  /// Whether a thread has what rows share in registers, from row to row: not where its part lies in shared memory.
  bool is_kept(int input) const { return stays() && !across_.empty() && access(input) == Access::kEveryRow && std::find(shared_.begin(), shared_.end(), input) == shared_.end(); }
  /// Whether rows begin anywhere, and their vectors where some in memory do.
  bool shifts() const { return rows() && layout_.ends == Ends::kAnywhere && layout_.vector > 1; }
  /// Whether a row that begins anywhere may be known to have others of the array beside it in memory.
  bool reaches(int i) const { return shifts() && is_together(i) && layout_.rank == 1 && access(i) == Access::kRow && !spec_.is_output(i) && !spec_.scans(); }
  std::vector<int> parameters() const;
  bool is_read(int input) const { return passes_.is_element(input) && !is_scalar(access(input)); }
  bool is_row_value(int value) const { return several() && !passes_.is_element(value) && !(value < spec_.input_count() && is_scalar(access(value))); }
  bool divides_by_row(int value) const;
  bool divides() const;  ///< some step does
  int compared_with_place(int value) const;
  bool compares_place() const;
  void emit_inner(int i);
  std::set<int> sought_by(const Passes::Pass& pass) const;
  std::vector<int> made_of_element(int value) const;
  void emit_sought_load(int value);
  void emit_sought_loads();
  void emit_sought_element(int value);
  bool is_only_stored_short(int value) const;
  /// Looks at what an output stores, if it is guarded.
  std::string look(int output, const std::string& stored) const { return cuda_look(spec_, output, stored); }
  std::string storing(int output, const std::string& target) const;
  std::string stored(int parameter) const;
  std::string loaded(int parameter) const;
  /// Whether blocks go through rows in turn, reading ahead.
  bool stays() const { return layout_.ahead > 0; }
  /// Whether they read them in pieces that memory can be asked for.
  bool fetches() const { return layout_.ends == Ends::kAnywhere || layout_.aligned; }
  /// A multiple of so many elements in memory is where a thread's first vector may be, of rows that begin anywhere.
  int first_at(int parameter) const { return stays() ? kLineBytes / spec_.element_bytes(parameter) : layout_.vector; }
  int meetings() const;  ///< passes that end with joins of a row
  /// Whether what warps give each other lies in two places in turn, so that one meeting a row is enough.
  bool alternates() const { return stays() && !across_.empty() && meetings() == 1; }
  /// Whether vectors of the input are words, of which each has two elements.
  bool is_in_words(int input) const { return stays() && layout_.vector % 2 == 0 && is_together(input) && spec_.parameter_dtype(input) == bfloat16; }
  bool has_words() const;
  /// Whether a thread's part of what rows share lies in shared memory. Arrays that are not aligned are read where they lie.
  bool is_shared(int input) const { return fetches() && std::find(shared_.begin(), shared_.end(), input) != shared_.end(); }
  bool is_ahead(int input) const { return std::find(ahead_.begin(), ahead_.end(), input) != ahead_.end(); }
  std::string in_ring(int parameter, const std::string& stage) const;
  std::string in_shared(int parameter) const;
  std::string read_held(int parameter, const std::string& place) const;
  void emit_fetch_shared();
  std::string end_of_rows() const { return layout_.batched ? "end_row" : "a.n"; }                             ///< that a block goes over
  std::string places_across() const { return layout_.batched ? "(a.n / a.joined * a.length)" : "a.length"; }  ///< values that joins across rows give
  std::string rows_apart() const { return across_.empty() ? "clusters" : "a.chunks"; }  ///< from a block's row to its next
  std::string name(int value) const { return (is_own_ && value == own_->maximum ? "own" + number(value) : local_name(value)) + (is_row_value(value) ? "[k]" : ""); }
  std::string call(int value) const;
  /// From one of a thread's vectors to the next, in elements of the row or, of columns, in rows.
  int step() const {
    if (spec_.scans()) return rows() ? in_warp() * layout_.vector : 1;
    return layout_.lanes * (layout_.beside > 0 ? 1 : layout_.cluster) * (rows() ? layout_.vector : 1);
  }
  bool is_unit(int parameter) const { return is_in_run(parameter) || (lies_along_row(layout_, parameter) && (access(parameter) == Access::kRow || access(parameter) == Access::kEveryRow)); }
  std::string address(int parameter, bool k) const;
  std::string neighbour(int input) const;
  std::string element_offset(int parameter, const std::string& at) const;
  std::string read_vector(int parameter) const;
  std::string inside(const std::string& from, const std::string& to) const;
  std::string across(int parameter) const;
  std::string partial(const std::string& chunk) const;
  std::string unrolled(const std::string& indent, const std::string& body) const;
  std::vector<int> read_by(const Passes::Pass& pass, bool late_alone) const;
  void line(const std::string& text) { text_ += text + "\n"; }

  const KernelSpec& spec_;
  const Layout& layout_;
  StepPrinter steps_;
  Passes passes_;
  int block_;
  bool asks_early_;            // for what vectors have one element of
  bool backward_;              // a scan from the last element
  std::vector<int> across_;    // accumulators of joins across rows
  std::optional<OwnMaximum> own_;  // of blocks that meet once for two passes
  bool is_full_ = false;           // all that the text at hand reads is the row's, and joins may take it as groups
  bool is_own_ = false;            // the text at hand has the block's own maximum, not the row's
  std::vector<int> ahead_;         // arrays of which blocks that stay read rows ahead
  std::vector<int> shared_;        // arrays that rows share, of which they have their part in shared memory
  std::vector<int> across_shared_;  // those of across_ whose values blocks that stay have there
  std::vector<int> places_;        // of arrays in runs (places_of_run)
  std::vector<int> divisors_;  // that the text at hand has declared
  std::string text_, users_kernels_;
};

}  // namespace damo
