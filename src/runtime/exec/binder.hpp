// Binder: works out a Binding. It asks each op for the layouts of its outputs and checks them; the cells have the layouts then. What workspace the nodes' thunks
// need with these is theirs to say (ThunkContext::foresee_memory); when the binding has that, it places temporaries and workspaces.
#pragma once
#include <span>
#include <unordered_map>
#include <vector>

#include <damo/thunk.hpp>
#include "runtime/exec/binding.hpp"
#include "runtime/exec/memory_plan.hpp"
#include "runtime/exec/program.hpp"

namespace damo {

class Binder {
 public:
  Binder(const Program& program, std::vector<Cell>& cells) : program_(program), cells_(cells) {}

  /// Binds those of the nodes, which are in order, whose inputs' layouts are known; the others wait for the next stage.
  void bind(std::span<const int> nodes, Binding& binding);
  /// Gives the outputs of one node their layouts; false if only its thunk can.
  bool bind_node(int node, Binding& binding);
  /// Lays those outputs that are written into larger arrays where these are, once all nodes of the binding are bound, and what looks at them.
  void bind_parts(Binding& binding);
  /// Gives what the bound nodes write, and their workspaces, places: memory of its own for what leaves the function, else in the arena.
  void place(Binding& binding) const;

 private:
  void bind_view(int node, Binding& binding);
  void bind_passing(int node, Binding& binding) const;
  void bind_part(const ProgramPart& part, Binding& binding);
  void set_layout(int cell, const Shape& shape, const Strides& strides, Binding& binding);
  void check_overwrites(const ProgramNode& node) const;
  /// By cell: the nodes before its producer that write parts of it.
  using PartWriters = std::unordered_map<int, std::vector<int>>;
  MemoryPlan plan_of(const Binding& binding, std::vector<Lifetime> lives, const PartWriters& writers) const;

  Cell& cell(int i) { return cells_[static_cast<std::size_t>(i)]; }
  const Cell& cell(int i) const { return cells_[static_cast<std::size_t>(i)]; }

  const Program& program_;
  std::vector<Cell>& cells_;
};

/// Throws ShapeError for a shape that no value of the output can have. who: "infer_shape".
void check_shape(const char* who, const Op& op, int output, const TensorType& type, const Shape& shape);

}  // namespace damo
