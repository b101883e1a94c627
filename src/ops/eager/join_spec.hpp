// JoinSpec: what a ReductionKernel or a scan kernel says, as a KernelSpec with one accumulator. The user's expressions become functions in
// the text before the kernel; join and step are calls of these, which every dialect prints as it prints any reduction.
//
//   x[i]             an input; the function gets its element as an object whose [i] is that element;
//                   16-bit floats are inputs of uint16, whose bits they are
//   other uses of x  an input passed by value: the address of elements in C order
//   a number         an input passed by value
//   i, r             the elements' ordinals and the step that is their place, where the map names them
#pragma once
#include <string>
#include <vector>

#include <damo/join_definition.hpp>

#include "ops/raw_parameter.hpp"
#include "runtime/kernel/spec.hpp"

namespace damo {

struct JoinSpec {
  std::string label;                     ///< "ReductionKernel moments": for errors
  std::vector<RawParameter> parameters;  ///< the spec's inputs, in order, but for the ordinals behind them
  std::vector<bool> plain;               ///< parameter by parameter: an array passed by its address
  KernelSpec spec;
};

/// prefix: of a scan. An inclusive one of a single value needs no neutral one. Throws GraphError for a definition that makes no sense.
JoinSpec join_spec(JoinDefinition definition, Prefix prefix = Prefix::kNone);

}  // namespace damo
