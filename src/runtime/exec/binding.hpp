// Binding: what a Context worked out for layouts that it met: those of the cells, and where temporaries lie.
//
// A node's layouts are known as soon as its inputs' are, so all nodes are bound before the first of them runs, but for
// those that depend on what an op finds in its data (infer_shape gives nullopt). Such an op ends a stage: when it has run
// its outputs' layouts are known, and a Binding of its own, kept by the one before, has what follows from them. A table
// keeps a bounded number of them, the last used first, so that layouts that come in turn are worked out once.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <damo/op.hpp>
#include "runtime/exec/replay.hpp"

namespace damo {

struct Binding;

class BindingTable {
 public:
  static constexpr std::size_t kMost = 8;
  /// Calls after which one that no call used is forgotten, with the memory that only it needs.
  static constexpr std::uint64_t kLife = 64;

  /// The first for which fits(binding), moved to the front; null if there is none.
  template <class Fits>
  Binding* find(Fits fits) {
    for (std::size_t i = 0; i < all_.size(); ++i) {
      if (!fits(*all_[i])) continue;
      if (i > 0) move_to_front(i);
      return all_.front().get();
    }
    return nullptr;
  }
  /// Drops the one last used longest ago if the table is full.
  Binding& add(std::unique_ptr<Binding> binding);
  /// Drops those that the last kLife calls did not use.
  void forget(std::uint64_t call);
  /// The most bytes of arena that any of them needs.
  std::size_t arena_bytes() const;

 private:
  void move_to_front(std::size_t at);
  std::vector<std::unique_ptr<Binding>> all_;  // last used first
};

struct Binding {
  struct CellLayout {
    int cell;
    Shape shape;
    Strides strides;
    std::uint32_t version;
  };
  struct Place {
    int cell;
    std::size_t offset;  ///< in the stage's arena, in bytes
  };
  struct Work {
    int node;
    std::size_t bytes, offset;  ///< of its workspace, in the stage's arena
  };
  struct View {
    int node;
    std::int64_t offset;  ///< see Op::Layout
  };

  std::vector<CellLayout> key;    ///< of the cells whose arrays decide: the function's inputs, or a sized op's outputs
  std::vector<CellLayout> cells;  ///< that follow from them
  std::vector<int> nodes;         ///< bound in this stage
  std::vector<int> passing;       ///< those among them that hand their input on, see Op::passes_through
  struct Part {
    int part;             ///< its number
    std::int64_t offset;  ///< in the array into which it is written, in elements; kApart: it has a buffer of its own
    static constexpr std::int64_t kApart = -1;
  };
  std::vector<View> views;
  std::vector<Part> parts;  ///< that nodes of this stage write
  std::vector<int> owned;     ///< cells with a buffer of their own
  std::vector<Place> places;  ///< the others
  std::vector<Work> work;     ///< of nodes that need a workspace
  std::size_t arena_bytes = 0;
  std::size_t kept_bytes = 0;  ///< that thunks ask for themselves, and keep
  int largest_node = -1;     ///< whose output, or workspace, asks for most of the arena
  std::vector<int> waiting;  ///< nodes whose layouts the next stage finds; the first of them ends this one
  BindingTable next;
  std::uint64_t last_call = 0;
  Replay replay;
};

}  // namespace damo
