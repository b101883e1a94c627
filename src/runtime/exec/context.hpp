// Context: one running copy of a Program: cells, thunks, buffers. Only one thread uses it at a time; the Executor keeps
// as many as there were calls at once.
//
// A call with layouts that a kept Binding has compares them, patches pointers and runs the thunks: it infers nothing,
// hashes nothing and allocates only for outputs that the caller still holds from before. Any other call binds first:
// shapes are inferred node by node, buffers sized, temporaries placed in one arena a stage (see binding.hpp).
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <damo/thunk.hpp>
#include "runtime/exec/binding.hpp"
#include "runtime/exec/profile.hpp"
#include "runtime/exec/program.hpp"

namespace damo {

class Context {
 public:
  /// Calls every make_thunk and compiles what they asked for, together.
  Context(Program& program, ProfileRecorder* recorder);
  ~Context();

  std::vector<Array> call(std::span<const Array> inputs);

 private:
  /// What the stages of the last call left: the next one mostly finds it as it needs it.
  struct Stage {
    const Binding* binding = nullptr;
    Array arena;
    std::vector<int> placed;  // cells that look into the arena
  };

  void predict();
  void make_thunks();
  void publish(SharedCall& shared);
  void run();
  Binding& enter(std::size_t stage, BindingTable& table, std::span<const int> deciding, std::span<const int> nodes);
  Binding& bind(BindingTable& table, std::span<const int> deciding, std::span<const int> nodes);
  void apply(const Binding& binding, Stage& stage, std::size_t arena_bytes);
  void allocate_arena(const Binding& binding, Stage& stage, std::size_t bytes);
  void set_owned(int cell);
  void run_node(int node, bool is_sized);
  void begin_outputs(const ProgramNode& node, bool is_sized);
  void begin_update(const ProgramUpdate& update);
  void check_outputs(const ProgramNode& node, bool is_sized) const;
  std::vector<Array> results();
  bool is_apart(const ProgramResult& result, std::span<const Array> earlier) const;
  void drop_views();

  Cell& cell(int i) { return cells_[static_cast<std::size_t>(i)]; }
  const Cell& cell(int i) const { return cells_[static_cast<std::size_t>(i)]; }

  Program& program_;
  ProfileRecorder* recorder_;  // null: no profile
  std::optional<ProfileRecorder::Clock> clock_;
  std::vector<Cell> cells_;
  std::vector<Thunk> thunks_;               // by node; empty for views
  std::vector<char> passing_;               // by node: the output is the input itself in this call
  std::vector<std::int64_t> view_offsets_;  // by node
  std::vector<std::uint32_t> versions_;     // by cell: that it was bound with
  std::vector<int> borrowing_;              // cells that have no memory of their own: views, and what overwrites in place
  std::vector<int> all_nodes_;
  std::vector<int> deciding_;               // cells whose layouts decide the first stage: inputs, and shared variables that may change theirs
  std::vector<Array*> shared_values_;       // where the values of shared variables go
  SharedCall* shared_ = nullptr;            // of the call in progress
  BindingTable bindings_;
  std::vector<Stage> stages_;
  std::uint64_t call_ = 0;
};

}  // namespace damo
