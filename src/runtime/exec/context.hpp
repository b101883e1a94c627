// Context: one running copy of a Program: cells, thunks, buffers. Only one thread uses it at a time; the Executor keeps
// as many as there were calls at once.
//
// A call with layouts that a kept Binding has compares them, patches pointers and runs the thunks: it infers nothing,
// hashes nothing and allocates only for outputs that the caller still holds from before. Any other call binds first:
// shapes are inferred node by node, missing kernels compiled, thunks asked what they need while they run, and then temporaries
// and thunks' workspaces placed in one arena a stage (see binding.hpp).
//
// Where a launch costs more than noting it (Backend::least_replayed) the thunks' work is noted in a log and replayed (replay.hpp).
// In a thread that captures a stream the work goes to that stream; the Context then belongs to the captured graph, which
// writes its buffers at each launch, and must not be called again.
//
// context.cpp is a call from inputs to results; context_thunks.cpp makes thunks and asks them ahead for kernels and memory;
// context_stages.cpp binds, and gives cells and workspaces their memory; context_replay.cpp goes through the nodes, into a
// log or past one; context_nodes.cpp runs one.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <damo/call_plan.hpp>
#include <damo/thunk.hpp>
#include "runtime/exec/binding.hpp"
#include "runtime/exec/blame.hpp"
#include "runtime/exec/fault_flag.hpp"
#include "runtime/exec/profile.hpp"
#include "runtime/exec/program.hpp"
#include "runtime/exec/repeat_state.hpp"
#include "runtime/kernel/layout.hpp"
#include "runtime/memory/workspace.hpp"
#include "runtime/stream/work_log.hpp"

namespace damo {

class CaptureScope;

class Context {
 public:
  /// Calls every make_thunk and compiles what they asked for, together. outer: of the Context whose thunk runs this one by step(); else null.
  /// around: where to ask for kernels that somebody else compiles before the first step; null: nobody does.
  Context(std::shared_ptr<Program> program, ProfileRecorder* recorder, bool replays = true, RepeatState* outer = nullptr, PendingKernels* around = nullptr);
  ~Context();

  /// given_up: none, or the same inputs, which the caller does not need any more: results may have their memory.
  std::vector<Array> call(std::span<const Array> inputs, std::span<Array> given_up = {});

  /// A call within another Context's call, whose log, capture and blame it shares; the Program has no shared variables and is built with share_results. inputs: taken.
  /// targets: by result, C order, where its values go; what is empty gets the result. Throws ShapeError for a target of another shape.
  /// arenas: kTheCallers: in the workspace of the thunk that calls this, for this step alone.
  enum class Arenas : std::uint8_t { kOwn, kTheCallers };
  void step(std::span<Array> inputs, std::span<Array> targets, Arenas arenas = Arenas::kOwn);
  /// What a call with inputs of these shapes, in C order, takes; nothing runs. Throws ShapeError as a call would.
  CallPlan plan(std::span<const Shape> shapes);
  /// What a step with inputs of these layouts takes, for the thunk that calls it to tell (ThunkContext::foresee_memory); workspace: its arenas. Kernels for it are compiled.
  ThunkMemory step_memory(std::span<const ArrayLayout> inputs);
  /// Whether all its thunks have promised ThunkContext::promise_recordable.
  bool is_recordable() const;
  /// The same of ThunkContext::promise_repeatable.
  bool are_thunks_repeatable() const { return are_thunks_repeatable_; }

 private:
  /// What the stages of the last call left: the next one mostly finds it as it needs it.
  struct Stage {
    const Binding* binding = nullptr;
    Array arena;
    std::vector<int> placed;  // cells that look into the arena
  };

  [[noreturn]] static void refuse_target(std::size_t result, const Shape& made, const Shape& wanted);
  std::vector<int> predict(std::int64_t extent);
  struct Guess {
    int node;
    std::function<CodeRequests()> code;  ///< empty: its foresight tells
  };
  void guess_further(std::span<const Guess> guesses, PendingKernels& pending);
  void make_thunks(PendingKernels* around);
  void refuse_faults();
  void collect_new_values();
  std::vector<Array> run(CaptureScope* capture);
  Binding* run_node_of(Binding& binding, int number, int& stage);
  Binding* run_step_of(Binding& binding, int number, int& stage, WorkLog* log);
  void touch_cells(int number, WorkLog& log, std::uint32_t step);
  [[noreturn]] void refuse_captured_update() const;
  void flush(Binding& binding, CaptureScope* capture);
  bool repeats(Binding& binding);
  void look(int view);
  Binding& enter(std::size_t stage, BindingTable& table, std::span<const int> deciding, std::span<const int> nodes);
  Binding& bind(BindingTable& table, std::span<const int> deciding, std::span<const int> nodes);
  void work_out(std::span<const int> nodes, Binding& binding);
  void foresee_memory(Binding& binding) const;
  void leave_stages();
  void give_up_arenas();
  void leave_workspace();
  void compile_ahead(const Binding& binding);
  void apply(const Binding& binding, Stage& stage, std::size_t arena_bytes);
  void clear_placed(Stage& stage);
  void allocate_arena(const Binding& binding, Stage& stage, std::size_t bytes);
  std::size_t held_bytes() const;
  void set_owned(int cell);
  const Array* target_of(int cell) const;
  void run_node(int node, bool is_sized);
  void run_thunk(std::size_t node);
  std::vector<std::string> describe_operands(const ProgramNode& node) const;
  /// Rethrows with the node's operands, too.
  template <class Work>
  void blame_with_operands(int node, Work&& work) const {
    blame(program_, node, [&] {
      try {
        as_error(program_, node, work);
      } catch (Error& error) {
        error.add_operands(describe_operands(program_.nodes()[static_cast<std::size_t>(node)]));
        throw;
      }
    });
  }
  void begin_outputs(const ProgramNode& node, bool is_sized);
  void place_part(int cell);
  void begin_update(const ProgramUpdate& update);
  void check_outputs(const ProgramNode& node, bool is_sized) const;
  std::vector<Array> results();
  bool is_apart(const ProgramResult& result, std::span<const Array> earlier) const;
  void tidy();

  Cell& cell(int i) { return cells_[static_cast<std::size_t>(i)]; }
  const Cell& cell(int i) const { return cells_[static_cast<std::size_t>(i)]; }

  std::shared_ptr<Program> owner_;
  Program& program_;
  ProfileRecorder* recorder_;  // null: no profile
  std::optional<ProfileRecorder::Clock> clock_;
  Stream default_stream_;
  FaultFlag faults_;
  std::unique_ptr<Workspace> workspace_;  // of the node that runs
  Workspace* lender_ = nullptr;  // where the arenas of the step in progress come from; null: the pool
  std::vector<Cell> cells_;
  std::vector<Thunk> thunks_;               // by node; empty for views
  std::vector<Foresight> foresights_;       // by node
  std::vector<std::function<ThunkMemory()>> memory_;  // by node; empty: it needs none
  std::vector<char> recordable_;            // by node: its thunk's work may wait for others'
  std::vector<char> contained_;             // by node: its thunk's work touches what its cells have and nothing else
  bool replays_;
  bool are_thunks_repeatable_ = true;
  bool is_repeatable_;                      // with the same addresses a call is the same work
  std::uint64_t schedules_ = 0;             // of the backend, at the last call
  RepeatState own_state_, *repeat_state_;   // the outer Context's, if there is one
  std::vector<const void*> addresses_;      // of the call in progress
  WorkLog log_;
  struct Place {
    std::byte* memory = nullptr;
    std::size_t bytes = 0;
  };
  std::vector<Place> work_places_;          // by node: of its workspace
  bool is_logged_step_ = false;             // the step in progress is noted in the log of the Context around
  std::vector<char> passing_;               // by node: the output is the input itself in this call
  std::vector<std::int64_t> view_offsets_;  // by node
  std::vector<std::int64_t> part_offsets_;  // by part
  std::vector<std::uint32_t> versions_;     // by cell: that it was bound with
  std::vector<int> borrowing_;              // cells that have no memory of their own: views, and what overwrites in place
  std::vector<int> all_nodes_;
  std::vector<int> deciding_;               // cells whose layouts decide the first stage: inputs, and shared variables that may change theirs
  std::vector<Array*> shared_values_;       // where the values of shared variables go
  SharedCall* shared_ = nullptr;            // of the call in progress
  std::vector<SharedCall::NewValue> new_values_;  // of the call that ends
  std::vector<Array> copies_;               // those of its new values that stay something else's too
  BindingTable bindings_;
  std::vector<Stage> stages_;
  std::uint64_t call_ = 0;
  bool binds_later_ = false;                // nodes of the call in progress wait for the layouts that another one finds, and may be refused then
  std::span<const Array> targets_;          // of the step in progress
};

}  // namespace damo
