// The text of one generated kernel of prefix joins, for the CPU.
//
//   kRows     a row is gone through in strips that stay in the first-level cache: what is joined is made by one loop, which vectorises;
//             eight chains then go through eight parts of the strip side by side, since one would run at the latency of its operation; a
//             loop that vectorises joins each part with what stands before it and does the rest.
//   kColumns  `lanes` neighbouring rows at once: their values so far are arrays, along which loops vectorise.
//
// Few rows are cut into chunks, which tasks take in order, by a ticket. A chunk begins with what all before it give: where that is there when
// the chunk is begun, it is read once. Else its own value is made first, while the others work, and it is read again from the second-level
// cache. Both ways join the same values in the same order, so the results are the same bits at every call.
#pragma once
#include <functional>
#include <string>

#include "runtime/cpu/reducing_emitter.hpp"

namespace damo {

class CpuScanEmitter : private CpuReducingEmitter {
 public:
  CpuScanEmitter(const KernelSpec& spec, const Layout& layout) : CpuReducingEmitter(spec, layout) {}
  std::string emit();

 private:
  void emit_turn();
  void emit_stores_of_rows(const std::string& indent);
  void emit_rounds(const std::function<void()>& go_through);
  void emit_scanned_rows();
  void emit_strip();
  void emit_chains(int join);
  void emit_scanned_columns();
  void emit_column_element();
  const std::vector<int>& joins() const { return passes_.all()[0].joins; }
  /// What the joins give that have these prefixes: statements.
  std::string given_prefixes(const std::string& indent, const std::function<std::string(int accumulator)>& prefix, const std::string& place) const;
  Prefix prefix_of(int join) const { return spec_.step_of(join).join->prefix; }
};

}  // namespace damo
