// The text of one generated kernel for the CPU; see dialect.hpp.
#pragma once
#include <functional>
#include <string>

#include "runtime/cpu/guard_text.hpp"
#include "runtime/cpu/segments.hpp"
#include "runtime/kernel/layout.hpp"
#include "runtime/kernel/spec.hpp"

namespace damo {

/// Elements of one block: enough work that handing it to a thread does not show.
int cpu_chunk(const KernelSpec& spec);
/// Elements that fill a cache line in every array: what streaming stores work on.
int cpu_vector(const KernelSpec& spec);
/// Elements that go through all turns together: what they carry stays in the first-level cache, and few threads' work does not run short.
inline constexpr int kTurnStrip = 4096;
/// The pragma before a loop over elements.
std::string vectorise(const KernelSpec& spec);
inline constexpr int kCpuTile = 64;  // kStrip of the prelude
inline constexpr int kHeavyCost = 60;  // instructions an element from which a kernel waits for arithmetic, and a block has fewer elements

class CpuEmitter {
 public:
  CpuEmitter(const KernelSpec& spec, const Layout& layout) : spec_(spec), layout_(layout), segments_(spec), guard_(spec) {}
  std::string emit();

 private:
  void emit_joined();
  void emit_scalars();
  void emit_range();
  void emit_rows();
  void emit_tiles();
  void emit_tile_position();
  void emit_inner_loop(const std::string& indent, const std::string& count);
  bool has_segments() const { return segments_.segments.size() > 1 && !layout_.in_place && !spec_.loop; }
  void emit_turns(const std::string& indent, const std::string& count);  // loop_emitter.cpp
  std::string segment_function(const CpuSegment& segment) const;
  void emit_segment_functions();
  void emit_segments(const std::string& indent, const std::string& count);
  void emit_strips(const std::string& indent, const std::string& count);
  void emit_elements(const std::string& indent, const std::string& index,
                     const std::function<std::string(int)>& target, bool to_strip = false);
  std::string tile_stride(int parameter, int axis) const;
  std::string tile_address(int parameter) const;
  std::string row_offset(int parameter) const;

  Access access(int parameter) const { return layout_.access[static_cast<std::size_t>(parameter)]; }
  /// Whether an input has one element for all turns.
  bool is_steady(int i) const { return !spec_.is_output(i) && (!spec_.loop || spec_.source(i) == SerialLoop::Source::kOnce); }
  bool is_scalar_input(int i) const { return is_scalar(access(i)) && is_steady(i); }
  bool is_hoisted(int i) const { return access(i) == Access::kRepeat && is_steady(i); }
  std::string stored(int i) const;
  std::string loaded(int i) const;
  std::string array(int i) const {
    if (spec_.is_ordinals(i)) return "const Ordinals";
    return std::string(spec_.is_output(i) ? "" : "const ") + stored(i) + (layout_.in_place ? "*" : "* __restrict");
  }
  std::string element(int i, const std::string& index, const char* pointer = "r") const;
  bool streams() const;
  void line(const std::string& text) { text_ += text + "\n"; }

  const KernelSpec& spec_;
  const Layout& layout_;
  const CpuSegments segments_;
  const CpuGuardText guard_;
  std::vector<std::string> segment_names_;  // by segment: the namespace of its function
  std::string text_;
};

}  // namespace damo
