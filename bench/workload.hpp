// The workloads of damo-bench: name, inputs, graph, and the least bytes that a call must move. bench/peers/ has the
// same ones but the compositions for other libraries under the same names; change both together.
#pragma once
#include <functional>
#include <span>
#include <string>
#include <vector>

#include <damo/damo.hpp>

namespace damo::bench {

struct Workload {
  std::string name;
  std::vector<Shape> shapes;                                              ///< of the inputs
  std::function<std::vector<Variable>(std::span<const Variable>)> graph;  ///< empty: a plain copy of the input
  double bytes = 0;                                                       ///< read and written at least
  bool compiles = false;                                                  ///< what it is about is the time to compile
  DType dtype = float32;                                                  ///< of the inputs but labels
  double operations = 0;                                                  ///< of matrix products: a multiplication and an addition each
  bool tf32 = false;
  std::int64_t classes = 0;    ///< if not 0: the last input holds labels below this number
  DType labels = int32;        ///< their dtype
  bool knows_extents = false;  ///< the graph is told all extents, not only which are 1

  bool holds_classes(std::size_t input) const { return classes != 0 && input + 1 == shapes.size(); }
  DType dtype_of(std::size_t input) const { return holds_classes(input) ? labels : dtype; }
  /// The graph's inputs.
  std::vector<Variable> variables() const;
  /// Of random values.
  std::vector<Array> inputs(Device device) const;
  Function build(Device device, bool fuse) const;
};

/// What damo-bench times, or with compositions_only those beside the copy. Larger for a GPU, whose memory is faster.
std::vector<Workload> workloads(DeviceKind kind, bool compositions_only);

/// Some 220 graphs of plain ops on arrays of about so many elements, in float32 and in bfloat16 (NAME_bf16). Where a graph must read so many whole rows, images or channels of fixed
/// extents, at least one: up to 2^23 elements. Their bytes: all inputs and results once, and what has to be read again.
std::vector<Workload> compositions(std::int64_t elements);

/// Uniform in [0, 1), the same at each run.
Array random_array(const Shape& shape, Device device, unsigned seed);

/// z = exp(-z z) + y, five times: twenty ops.
Variable twenty_ops(Variable z, const Variable& y);

/// The parts of damo-bench's large graphs, of one input: a chain of a million nodes and a balanced tree of 500,000 leaves, whose
/// numbers are all unlike; and the gradient of 5,000 ops. One output.
struct LargeGraph {
  const char* name;
  std::function<Variable(const Variable&)> make;
};
std::vector<LargeGraph> large_graphs();

}  // namespace damo::bench
