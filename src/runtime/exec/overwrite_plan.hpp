// Which overwriting outputs (Op::overwrites) may have their input's memory. In place, if the old values are a
// temporary's and lie in C order, no later node and no output of the function reads them, themselves or through a view, and the node reads
// them once. Otherwise the executor copies them before the node runs, and the reason is kept for explain().
#pragma once
#include <vector>

#include "runtime/exec/program.hpp"

namespace damo {

/// Fills in ProgramNode::overwrites. nodes: in the order in which they run; cells: with their roles and last uses.
void plan_overwrites(std::vector<ProgramNode>& nodes, const std::vector<ProgramCell>& cells);

}  // namespace damo
