// KernelStatements: what a random kernel does. Statements of a thread by itself (kernel_statements.cpp), loops (kernel_loops.cpp),
// and those at which threads come together (kernel_meetings.cpp) hold each other.
#pragma once
#include "runtime/cpu/random_kernels/kernel_values.hpp"

namespace damo::random_kernels {

/// Who comes to a statement together.
enum class Together { kBlock, kWarp, kNobody };

class KernelStatements : protected KernelValues {
 public:
  using KernelValues::KernelValues;

 protected:
  Node statements(unsigned count, unsigned depth, Together together);
  /// Over all elements of the thread by their place: grid-stride loops and their kin.
  Node own_elements_loop(unsigned);
  bool goes_in_step() const { return program_.seed % 3 == 1; }

  bool has_warps_ = false, has_locks_ = false;

 private:
  Node body(unsigned depth, Together together) { return statements(1 + below(is_plain_ ? 2 : 3), depth + 1, together); }
  /// Of a kernel as short as most are: loops over elements, stores, sums.
  Node tiny_statement(unsigned depth, Together together);
  Node any_statement(unsigned depth, Together together);
  Node store();
  Node simple();
  Node atomic();
  Node locked();
  /// With a condition that those who come together agree on.
  Node condition(Together together);
  Node flow(unsigned depth, Together together);
  Node tail_return(unsigned);

  /// What a header may do beside counting: "a[i] += 1, ".
  std::vector<Node> header_effect(std::string& text);
  Node loop_test(Together inside, unsigned limit, std::string& bound);
  /// A way out of a loop that those who come together take together, or each for itself where nobody does.
  Node way_out(Together inside, bool may_continue);
  Node counted_loop(unsigned depth, Together inside);
  /// Over what all read, or a block's elements: the threads of a block or warp go side by side.
  Node side_by_side_loop();
  /// As many steps in all threads, or in those of a row, over what all read: the threads could take each step together.
  Node loop_in_step();

  /// The block's threads exchange values.
  Node meeting(unsigned depth);
  /// Of the lanes of wm, or of the first few.
  Node warp_operation();

  /// Only of some seeds: the others' programs are as they were.
  bool goes_side_by_side() const { return (has_barriers_ || has_warps_) && program_.seed % 3 == 0; }

  unsigned left_ = 20;  ///< statements until only simple ones follow: the few kernels that are longer would take half of the compiler's time
};

}  // namespace damo::random_kernels
