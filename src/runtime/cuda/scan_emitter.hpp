// The text of one generated CUDA kernel of prefix joins. Each element is read once and written once.
//
// A tile is what the threads of a block hold, in registers or, of several tiles, in shared memory (scan_schedule.hpp): of rows `lanes * items`
// vectors of one row, in which a warp has neighbouring vectors, a sweep of 32 for each item; of columns `lanes * items` elements of
// neighbouring columns, each thread some that follow each other. A thread joins its own elements, lanes hand on what they have by shuffles or
// shared memory, and every element is joined with what stands before it. Several rows share a block where they are short.
//
// Longer rows are several tiles, each a block's, that hand on what they have in memory (decoupled look-back: Merrill and Garland 2016).
// Blocks take the tiles in order, by a ticket, so a block waits for blocks alone that have begun. Unlike there no block waits for the joined value
// of all before it, which would tie the order of joining to who came when: each 32 (of columns 8) tiles' values are joined by the last of these tiles into
// one of the next level, each 32 of which again. What stands before a tile is joined from no more than 32 values a level, of rows also of each of the
// three groups of 32 tiles before, whose own value would come a trip later than their tiles' do; in one order
// whatever the timing, so results are the same bits at every call. Other warps wait for other levels: what a level costs is a
// trip to the second-level cache, and so all trips are taken at once. A tile of a row that waits in shared memory is on its way to that cache
// (sm_90) when 64 tiles before it begin. No value is neutral but the one of which an exclusive scan begins: the
// first element of a row stays as it is.
#pragma once
#include <string>

#include "runtime/cuda/reducing_emitter.hpp"

namespace damo {

class CudaScanEmitter : private CudaReducingEmitter {
 public:
  CudaScanEmitter(const KernelSpec& spec, const Layout& layout) : CudaReducingEmitter(spec, layout) {}
  std::string emit();

 private:
  void emit_ask_ahead();
  void emit_begin();
  void emit_tile();
  void emit_staging(const std::vector<int>& inputs);
  void emit_joined();
  void begin_vector(const Passes::Pass& pass, const std::vector<int>& inputs);
  void emit_inputs(const std::vector<int>& inputs);
  void emit_join(int join);
  void emit_row_prefix(int join);
  void emit_column_prefix(int join);
  void emit_states(int join);
  void emit_results();
  void emit_value(int join);
  void emit_stores(const Passes::Pass& pass);
  void emit_elements(const Passes::Pass& pass);
  void emit_steps(const std::vector<int>& steps);
  std::string all_joined(int join, const std::string& which) const;
  std::string own_joined(int join) const;
  std::string before_joined(int join) const;
  /// Whether tiles of the input, which wait in shared memory, lie in one piece each.
  bool is_asked_ahead(int input) const { return is_read(input) && access(input) == Access::kRow && is_unit(input) && !spec_.is_ordinals(input); }
  bool asks_ahead() const;
  int slots() const { return block_ / layout_.lanes; }
};

}  // namespace damo
