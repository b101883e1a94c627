// The text of one generated CUDA kernel that reduces. `lanes` threads of a block share a row: neighbours along the row
// (Form::kRows), or, so that neighbours in memory go to neighbouring threads, along the rows beside it (kColumns).
//
//   whole     the lanes hold a row in registers, so each element is read once however many passes there are.
//   else      each pass reads the row again, a tile of lanes * items vectors at a time.
//   chunked   a row is cut into chunks, a block each, whose values a second kernel joins.
//
// How many lanes and items there are, and why: reducing_schedule.hpp.
#pragma once
#include <string>
#include <vector>

#include "runtime/kernel/body.hpp"
#include "runtime/kernel/layout.hpp"
#include "runtime/kernel/passes.hpp"

namespace damo {

class CudaReducingEmitter {
 public:
  CudaReducingEmitter(const KernelSpec& spec, const Layout& layout);
  std::string emit();

 private:
  void emit_main();
  void emit_finish();
  void begin(const std::string& name);
  void emit_row_start();
  void emit_offset_functions();
  void emit_load(int parameter);
  /// Declares and fills, before anything is computed, what the lanes hold of these inputs.
  void emit_whole_loads(const std::vector<int>& inputs);
  void emit_pass(const Passes::Pass& pass);
  void emit_vector(const Passes::Pass& pass);
  void emit_across(int join);
  void emit_row_values(const std::vector<int>& joins, const std::vector<int>& steps);
  void emit_row_stores();

  bool rows() const { return layout_.form == Form::kRows; }
  Access access(int parameter) const { return layout_.access[static_cast<std::size_t>(parameter)]; }
  bool moves(int parameter) const { return access(parameter) == Access::kRow || access(parameter) == Access::kStrided; }
  bool is_read(int input) const { return passes_.is_element(input) && !is_scalar(access(input)); }
  std::string stored(int parameter) const;
  std::string loaded(int parameter) const;
  std::string partial(const std::string& chunk) const;
  void line(const std::string& text) { text_ += text + "\n"; }

  const KernelSpec& spec_;
  const Layout& layout_;
  StepPrinter steps_;
  Passes passes_;
  int block_, vector_;
  std::string text_;
};

}  // namespace damo
