// What the corpus' kernels should give, computed on the host in float64 or exact integers. A reference is found by the
// name of the kernel's file; it may prepare inputs that no rule of the head can write (a graph, a sparse matrix).
#pragma once
#include <string>
#include <vector>

#include "case.hpp"

namespace damo::corpus {

class Reference {
 public:
  using Function = void (*)(Arrays&);
  /// Registers the function for the file of that name.
  Reference(const char* name, Function compute, Function prepare = nullptr);
};

/// Changes inputs before the kernels run. Does nothing for most.
void prepare(const std::string& name, Arrays& arrays);
/// Makes the arrays what they should be afterwards. Throws std::runtime_error if there is no reference.
void compute_reference(const std::string& name, Arrays& arrays);

using Values = std::vector<double>;
inline Values& of(Arrays& arrays, const char* name) { return arrays.at(name).values; }

}  // namespace damo::corpus
