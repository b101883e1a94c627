// Context: one running copy of a Program: cells, thunks, buffers. Only one thread uses it at a time; the Executor keeps
// as many as there were calls at once.
//
// A call with shapes and strides as last time compares them, patches pointers and runs the thunks: it infers nothing,
// hashes nothing and allocates only for outputs that the caller still holds from before. Any other call first binds:
// shapes are inferred node by node, buffers sized, temporaries placed in one arena.
#pragma once
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <damo/thunk.hpp>
#include "runtime/exec/memory_plan.hpp"
#include "runtime/exec/profile.hpp"
#include "runtime/exec/program.hpp"

namespace damo {

class Context {
 public:
  /// Calls every make_thunk and compiles what they asked for, together.
  Context(Program& program, ProfileRecorder* recorder);
  ~Context();

  std::vector<Array> call(std::span<const Array> inputs);

  std::size_t arena_bytes() const { return arena_ ? arena_.nbytes() : 0; }

 private:
  void predict();
  void predict_node(int node);
  void make_thunks();
  bool take_inputs(std::span<const Array> inputs);
  void bind();
  bool bind_node(int node);
  Op::Layout bind_view(const ProgramNode& node);
  void plan_memory();
  void set_output(int cell);
  void check_overwrites(const ProgramNode& node) const;
  std::vector<int> memory_of_cells() const;
  void place_in_arena(const std::vector<int>& cells, const std::vector<Lifetime>& lives);
  void begin_outputs(const ProgramNode& node);
  void look_through(const ProgramNode& node);
  void run();
  void run_sized_by_data();
  void run_node(int node);
  std::vector<Array> results();
  void drop_views();
  void drop_inputs();

  Cell& cell(int i) { return cells_[static_cast<std::size_t>(i)]; }
  const Cell& cell(int i) const { return cells_[static_cast<std::size_t>(i)]; }

  Program& program_;
  ProfileRecorder* recorder_;  // null: no profile
  std::optional<ProfileRecorder::Clock> clock_;
  void* stream_;
  std::vector<Cell> cells_;
  std::vector<Thunk> thunks_;       // by node; empty for views
  std::vector<char> passing_;       // by node: the output is the input itself in this binding
  std::vector<int> owned_outputs_;  // cells of role kOutput
  std::vector<int> views_;          // cells of role kView
  std::vector<int> overwriting_;    // cells, no outputs, that have the memory of what their node overwrites
  std::vector<std::pair<int, int>> in_outputs_;  // temporaries that lie in an output's buffer, which overwrites them
  Array arena_;
  bool bound_ = false;
  bool sized_by_data_ = false;      // some op sizes its own cells: every call infers as it goes
};

}  // namespace damo
