// Which outputs are written where a later node would copy them: into a window of the array that it puts together (Op::places_inputs), so that
// nothing is left to copy. A part is a temporary whose op may write a window, which nobody overwrites and which does not leave the function, itself or through
// a view; between it and the node there may be views that have each of its elements once. Beside that node only generated kernels read it, which
// read any strides: others may want C order. Of parts that are several inputs the last one lies in place. The array is alive from its first part on.
//
// Whether it can be so is seen when a call is bound: where an extent shows in data, the array may be of a later stage than the part, which then has a
// buffer of its own and is copied.
#pragma once
#include <vector>

#include "runtime/exec/program.hpp"

namespace damo {

/// Makes the parts' cells views of the arrays into which they are written; notes the nodes' placed inputs. nodes: in the order in which they run; cells: with
/// their roles and last uses. Gives each part behind those that it may lie in. Cost: linear in the graph.
std::vector<ProgramPart> plan_parts(std::vector<ProgramNode>& nodes, std::vector<ProgramCell>& cells, const std::vector<ProgramUpdate>& updates);

}  // namespace damo
