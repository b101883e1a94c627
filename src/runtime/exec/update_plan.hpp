// How the new values of shared variables come to be theirs. A new value that a node writes gets the variable's own memory,
// where each call may find that nobody else looks at the old value and no later node needs it, else a buffer that becomes
// the variable's. A value that is something else's too (an input, a view, another variable) is copied when all is computed. The reasons are
// kept for explain().
#pragma once
#include <span>
#include <vector>

#include "runtime/exec/program.hpp"

namespace damo {

/// Completes the updates, whose variables and cells are known. nodes: in the order in which they run, overwrites planned;
/// cells: with their roles and last uses. results: cells. keeps_old: no old value is written over.
void plan_updates(std::vector<ProgramUpdate>& updates, std::vector<ProgramNode>& nodes, std::vector<ProgramCell>& cells, const std::vector<int>& results, bool keeps_old);

/// Results that may have the memory of inputs that the caller gives up: as new values that of shared variables, by the same rules. donated:
/// cells of inputs, each of which gives its memory to the first result of its type that may have it; the others stay as they are.
/// Afterwards, when results are known. variable: the input; state: null.
std::vector<ProgramUpdate> plan_donations(std::span<const int> donated, const std::vector<ProgramResult>& results, std::vector<ProgramUpdate>& updates, std::vector<ProgramNode>& nodes, std::vector<ProgramCell>& cells);

}  // namespace damo
