// Program: a rewritten FunctionGraph as the executor runs it: nodes in topological order, one cell a value, what each
// cell is for and when its last reader has run. Immutable but for the kernels compiled so far; shared by all contexts.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include <damo/array.hpp>
#include <damo/graph.hpp>
#include "runtime/exec/shared_state.hpp"
#include "runtime/kernel/spec_kernel.hpp"

namespace damo {

enum class CellRole : std::uint8_t {
  kInput,
  kConstant,
  kShared,     ///< a shared variable's value before the call
  kOutput,     ///< leaves the function, as a result or a shared variable's new value, itself, through a view or overwritten in place: has a buffer of its own
  kTemporary,  ///< lives in the arena from its producer to its last reader
  kView        ///< has no memory: looks into another cell, which a node's own output does where it is a part (ProgramPart)
};

struct ProgramCell {
  TensorType type;
  std::string name;
  CellRole role = CellRole::kTemporary;
  int producer = -1;   ///< node, -1 for inputs and constants
  int last_use = -1;   ///< the last node that reads it, through views too
  int base = -1;       ///< of a view: the cell it looks into
  int update = -1;     ///< whose buffer becomes the shared variable's
  int donation = -1;   ///< a result's that may have a donated input's buffer
  int part = -1;       ///< of an output that is written into a larger array
  bool has_parts = false;  ///< nodes before its producer write into it
};

/// A node's output that is written where another node, which puts it beside others, would copy it; see parts_plan.hpp. Its cell looks into that node's output.
struct ProgramPart {
  int cell = 0;
  int node = 0, input = 0;  ///< which has it there, as which input
  std::vector<int> views;   ///< nodes that turn the cell into that input, the last one first
};

/// An output that begins as one of its node's inputs (Op::overwrites): in the input's memory, or as a copy of it.
struct ProgramOverwrite {
  int output = 0, input = 0;  ///< positions
  bool in_place = false;
  std::string reason;  ///< of a copy: "it is an input of the function"
};

/// What leaves the function. Results share no elements with each other, with inputs or with constants, unless the
/// caller asked for it: where one would, it is copied.
struct ProgramResult {
  int cell = 0;
  bool is_copied = false;   ///< at each call: the memory is an input's or a constant's
  std::vector<int> rivals;  ///< earlier results in the same memory: copied where it shares elements with one of them
  std::string reason;       ///< "it is input x"; empty: never copied
};

struct ProgramNode {
  NodeId id;
  Apply apply;
  std::vector<int> inputs, outputs;  ///< cells
  bool is_view = false;
  int passes = -1;  ///< the input that stands for the output where it is contiguous, see Op::passes_through
  bool runs_in_place = false;  ///< an output may have an input's memory, element for element
  bool writes_parts = false;   ///< some outputs are parts
  std::vector<int> placed;     ///< inputs that lie in its output already
  std::vector<ProgramOverwrite> overwrites;

  /// Whether the output gets its memory from what it overwrites.
  bool is_in_place(int output) const {
    return std::any_of(overwrites.begin(), overwrites.end(), [&](const ProgramOverwrite& overwrite) { return overwrite.in_place && overwrite.output == output; });
  }
};

/// The new value of a shared variable, see update_plan.hpp.
struct ProgramUpdate {
  int variable = 0, cell = 0;  ///< cells: of the old value and of the new one
  SharedState* state = nullptr;
  std::string copied;          ///< why the new value is copied: "it is input x"; empty: its buffer becomes the variable's
  std::string apart;           ///< why that buffer never is the old value's: "tanh reads the old value later"; empty: it may be
  std::vector<int> aliases;    ///< other cells that may look at the old value
};

/// A guarded call came to a value that is not finite. Function tells which.
struct NotFiniteFound {};

class Program {
 public:
  /// check: compile the ops' CUDA C with checked accesses. share_results: see Options.
  /// donated: positions of inputs whose memory a result may have where the caller gives them up. guarded: a call waits for the device, and where one of its
  /// kernels has set the fault flag (ThunkContext::fault_flag) it throws NotFiniteFound before shared variables get new values, which therefore are never written over the old ones.
  Program(const FunctionGraph& graph, Device device, bool check, bool share_results = false, std::span<const int> donated = {}, bool guarded = false, bool contracts = true);

  Device device() const { return device_; }
  bool checks() const { return check_; }
  bool is_guarded() const { return guarded_; }
  /// Whether generated kernels may contract products and sums (CompileOptions).
  bool contracts() const { return contracts_; }
  const std::vector<ProgramNode>& nodes() const { return nodes_; }
  const std::vector<ProgramCell>& cells() const { return cells_; }
  const std::vector<int>& inputs() const { return inputs_; }
  const std::vector<ProgramResult>& results() const { return results_; }
  /// Cells of the shared variables, and beside them how they are used.
  const std::vector<int>& shared() const { return shared_; }
  const std::vector<SharedCall::Use>& shared_uses() const { return shared_uses_; }
  /// In the order of those shared variables that are updated.
  const std::vector<ProgramUpdate>& updates() const { return updates_; }
  /// Whether new values are written to a buffer of the Context's, which then has the old ones' in turn: of a guarded call, and none of them is somebody else's too. So two sets of
  /// addresses alternate, and a call's work follows from them.
  bool swaps_buffers() const {
    return guarded_ && std::all_of(updates_.begin(), updates_.end(), [](const ProgramUpdate& update) { return update.copied.empty(); });
  }
  /// Whether an output that begins as an input is a copy of it: not if it is in the input's memory, or is a shared variable's new value where the old one lies.
  bool copies_first(const ProgramNode& node, const ProgramOverwrite& overwrite) const;
  const std::vector<ProgramUpdate>& donations() const { return donations_; }
  /// Each behind those that it may lie in.
  const std::vector<ProgramPart>& parts() const { return parts_; }
  /// The cell that has the memory which this one looks into, through views of views; itself if it is no view.
  int root(int cell) const;
  /// Values of constant cells, on the device; empty for others.
  const Array& constant(int cell) const { return constants_[static_cast<std::size_t>(cell)]; }
  /// Throws ShapeError for a new value that its variable cannot hold.
  void check_update(const ProgramUpdate& update, const Shape& shape) const;
  /// "node 7 of 19, tanh built at model.cpp:12".
  std::string describe(int node) const;

  /// Whether the first Context is yet to say where calls cannot be one graph.
  bool tells_splits() const { return !told_splits_; }
  void told_splits() { told_splits_ = true; }

  /// The request-th kernel that the node asks for: the same object for every context.
  SpecKernel& kernel(int node, int request, const KernelSpec& spec);
  /// The same one for all nodes that ask with the same spec.
  SpecKernel& kernel(int node, int request, std::shared_ptr<const KernelSpec> spec);
  /// Those that the node asked for, and those of graphs that it runs.
  std::vector<const SpecKernel*> kernels(int node) const;
  /// The number-th graph that the node runs; of several contexts the first one's stays.
  void add_inner(int node, int number, std::shared_ptr<const Program> program);

 private:
  void add_cells(const FunctionGraph& graph);
  void add_shared(const FunctionGraph& graph, ValueId value, int cell);
  void add_nodes(const FunctionGraph& graph);
  void find_roles();
  void extend_lives();
  void find_results(bool share);

  Device device_;
  bool check_, guarded_, contracts_;
  std::vector<ProgramNode> nodes_;
  std::vector<ProgramCell> cells_;
  std::vector<Array> constants_;
  std::vector<int> inputs_;
  std::vector<ProgramResult> results_;
  std::vector<SharedPtr> storages_;
  std::vector<int> shared_;
  std::vector<SharedCall::Use> shared_uses_;
  std::vector<ProgramUpdate> updates_, donations_;
  std::vector<ProgramPart> parts_;
  std::vector<int> cell_of_;  // by ValueId
  std::atomic<bool> told_splits_ = false;
  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<SpecKernel>> all_kernels_;
  std::vector<std::vector<SpecKernel*>> kernels_;  // by node and request
  std::unordered_map<int, std::vector<std::shared_ptr<const Program>>> inner_;  // by node
  struct Like {
    std::shared_ptr<const KernelSpec> spec;  // held, so that its address stays its own
    SpecKernel* kernel;
  };
  std::unordered_map<const KernelSpec*, Like> like_;
};

}  // namespace damo
