// Runs a random graph in every way and holds it against the reference.
#pragma once
#include <functional>
#include <string>

#include "graph_spec.hpp"
#include "runtime/backend.hpp"

namespace damo::testing {

struct Tally {
  std::size_t graphs = 0, fused = 0;
  std::size_t gradient_elements = 0, updates = 0;  ///< of gradients that were compared; of shared variables
  std::size_t no_graphs = 0;    ///< for which some extent does not fit: nothing was run
  std::size_t left_out = 0;     ///< whose ops need libraries that an emulated GPU (tests/emulated_gpu) has not
  std::size_t elements = 0, known = 0;
  std::size_t results = 0, known_results = 0;  ///< of which half the elements are known: one large graph does not decide
};

/// Fused, unfused and on Arrays at once, all calls, and on several threads where the graph asks for it. What is wrong, with
/// the way and the result; empty if nothing is.
std::string check_graph(const GraphSpec& graph, Device device, Tally& tally);

/// Whether an array has a NaN or an infinity, which Options::nan_guard is to see.
bool has_fault(const Array& array);

/// A row on Arrays whose result goes into one of several overlapping views. program: one that shows it.
std::string check_in_place(std::uint64_t seed, Device device, std::string* program = nullptr);

/// While it lives, calls of so many launches are replayed, on a CPU too, whose replays change the order as far as the waits allow it; 0: none.
class ReplaysFrom {
 public:
  ReplaysFrom(Device device, int least) : backend_(device.backend()), before_(backend_.least_replayed.exchange(least)) {}
  ReplaysFrom(const ReplaysFrom&) = delete;
  ReplaysFrom& operator=(const ReplaysFrom&) = delete;
  ~ReplaysFrom() { backend_.least_replayed = before_; }

 private:
  Backend& backend_;
  int before_;
};

/// What takes the place of a node's value.
using Stand = std::function<Variable(const Variable&)>;
/// One Variable a value. instead_of: what readers get in the place of a node's values.
std::vector<Variable> build(const GraphSpec& graph, const Stand& instead_of = {});
/// The inputs of one call, on the device, lying in their buffers.
struct Arguments {
  std::vector<Array> buffers, arrays;
};
Arguments arguments_of(const GraphSpec& graph, std::size_t call, Device device);

}  // namespace damo::testing
