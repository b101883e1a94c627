// What a bound call takes of memory: by kind for Function::plan, and as a check before a call with new layouts runs.
#pragma once
#include <span>
#include <vector>

#include <damo/call_plan.hpp>
#include "runtime/exec/binding.hpp"
#include "runtime/exec/program.hpp"

namespace damo {

class Cell;

/// Layouts of what a Program holds before any call, of constants and shared variables.
void set_known_layouts(const Program& program, std::vector<Cell>& cells);

/// cells have the binding's layouts.
CallPlan plan_of(const Program& program, const std::vector<Cell>& cells, const Binding& binding);

/// Throws OutOfMemoryError if the device's memory, or the pool's limit, cannot hold what the call asks for even when
/// all that is cached and held_bytes, what the caller gives up for it, are had back.
void require_memory(const Program& program, const CallPlan& plan, const Binding& binding, std::size_t held_bytes);

}  // namespace damo
