// The part of CudaReducingEmitter in which joins take what a thread has read of a row, or of each of its columns, as a group (Join::append_group), of rows that are not held. The elements of each place of a
// vector stay in registers until all of them are there. Where a row, or its chunk, begins or ends among them a text of its own appends those that are the row's one after the other.
#include <algorithm>
#include <string>

#include "runtime/cuda/reducing_emitter.hpp"

namespace damo {

/// What a pass does with a tile: one that is the row's as a whole, and where there may be others one of which some vectors or elements are not.
void CudaReducingEmitter::emit_tiles(const Passes::Pass& pass) {
  const bool guarded = is_guarded(), anywhere = asks_elements();
  if (std::none_of(pass.joins.begin(), pass.joins.end(), [this](int join) { return joins_groups(join); })) return emit_tile(pass);
  const std::string last = "tile + " + number((layout_.items - 1) * step());
  if (guarded) line("      if (" + (anywhere ? "tile >= begin && " + last + " + " + number(layout_.vector) + " <= end" : last + " < end") + ") {");
  is_full_ = true;
  emit_tile(pass);
  is_full_ = false;
  if (!guarded) return;
  line("      } else {");
  emit_tile(pass);
  line("      }");
}

/// g3_0, ...: what the elements at places k of a thread's vectors u give a join's inputs.
void CudaReducingEmitter::declare_groups(const Passes::Pass& pass) {
  for (int join : pass.joins) {
    const Step& step = spec_.step_of(join);
    for (std::size_t i = 0; is_full_ && joins_groups(join) && i < step.inputs.size(); ++i) {
      line("      " + value_type(step.input_as(i)) + " " + group(join, i) + "[" + number(layout_.vector) + "][" + number(layout_.items) + "];");
    }
  }
}

/// Element k of vector u to its join: into the group, or at once where there is none.
void CudaReducingEmitter::emit_join(int join, const std::string& guard) {
  const auto names = [this](int value) { return name(value); };
  if (!is_full_ || !joins_groups(join)) {
    line("          " + guard + "m" + number(join) + "[k] = " + steps_.appended(join, "m" + number(join) + "[k]", names) + ";");
    return;
  }
  for (std::size_t i = 0; i < spec_.step_of(join).inputs.size(); ++i) line("          " + group(join, i) + "[k][u] = " + steps_.argument(join, i, names) + ";");
}

/// The groups to what is joined before. Of rows that begin anywhere the places of a vector may have joined more or fewer elements than each other.
void CudaReducingEmitter::emit_groups(const Passes::Pass& pass) {
  const bool apart = rows() && layout_.ends == Ends::kAnywhere;
  const std::string width = number(layout_.vector), from = apart ? " + k" : "";
  for (int join : pass.joins) {
    if (!is_full_ || !joins_groups(join)) continue;
    const std::string n = number(join);
    std::string call = "append_group" + n + "<" + (apart ? "1" : width) + ", " + number(layout_.items) + ">(m" + n + from;
    for (std::size_t i = 0; i < spec_.step_of(join).inputs.size(); ++i) call += ", " + group(join, i) + from;
    line((apart ? "#pragma unroll\n      for (int k = 0; k < " + width + "; ++k) " : "      ") + call + ");");
  }
}

}  // namespace damo
