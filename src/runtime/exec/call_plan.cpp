#include "runtime/exec/call_plan.hpp"

#include <algorithm>

#include "runtime/array/array_layout.hpp"
#include "runtime/exec/cell_access.hpp"
#include "runtime/memory/memory_pool.hpp"

namespace damo {
namespace {

std::size_t at(int number) { return static_cast<std::size_t>(number); }
std::size_t bytes_of(const Cell& cell) { return static_cast<std::size_t>(cell.shape().size()) * itemsize(cell.dtype()); }

}  // namespace

std::string CallPlan::to_string() const {
  const auto part = [](const char* name, std::size_t bytes) { return bytes == 0 ? std::string() : std::string(", ") + name + " " + bytes_text(bytes); };
  std::string parts = part("inputs", inputs) + part("constants", constants) + part("shared variables", shared) + part("results", results) +
                      part("updates", updates) + part("temporaries", temporaries);
  if (!parts.empty()) parts.replace(0, 1, ":");
  return "peak " + bytes_text(peak()) + parts + (is_complete ? "" : "; more where an op finds sizes in its data");
}

void set_known_layouts(const Program& program, std::vector<Cell>& cells) {
  for (std::size_t i = 0; i < cells.size(); ++i) {
    CellAccess::prepare(cells[i], program.cells()[i].type.dtype, program.device());
    if (const Array& value = program.constant(static_cast<int>(i))) CellAccess::set_layout(cells[i], value.shape(), value.strides());
  }
  for (std::size_t i = 0; i < program.shared().size(); ++i) {
    SharedState& state = *program.shared_uses()[i].state;
    const Shape shape = state.type().dims.is_known() ? state.type().dims : state.value().shape();
    CellAccess::set_layout(cells[at(program.shared()[i])], shape, contiguous_strides(shape));
  }
}

CallPlan plan_of(const Program& program, const std::vector<Cell>& cells, const Binding& binding) {
  CallPlan plan;
  for (int input : program.inputs()) plan.inputs += bytes_of(cells[at(input)]);
  for (int shared : program.shared()) plan.shared += bytes_of(cells[at(shared)]);
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (program.constant(static_cast<int>(i))) plan.constants += bytes_of(cells[i]);
  }
  plan.is_complete = binding.waiting.empty();
  plan.temporaries = binding.arena_bytes + binding.kept_bytes;
  for (int owned : binding.owned) (program.cells()[at(owned)].update < 0 ? plan.results : plan.updates) += bytes_of(cells[at(owned)]);
  const auto is_bound = [&](int cell) {
    const int producer = program.cells()[at(cell)].producer;
    return producer < 0 || std::find(binding.waiting.begin(), binding.waiting.end(), producer) == binding.waiting.end();
  };
  for (const ProgramResult& result : program.results()) {
    if (result.is_copied && is_bound(result.cell)) plan.results += bytes_of(cells[at(result.cell)]);
  }
  for (const ProgramUpdate& update : program.updates()) {
    if (is_bound(update.cell) && !(update.copied.empty() && plan.is_complete && (update.apart.empty() || program.is_guarded()))) plan.updates += bytes_of(cells[at(update.cell)]);
  }
  return plan;
}

void require_memory(const Program& program, const CallPlan& plan, const Binding& binding, std::size_t held_bytes) {
  constexpr std::size_t kSmall = std::size_t{1} << 20;  // which asking the device would take longer than trying
  const std::size_t needed = plan.asked_for();
  if (needed < kSmall) return;
  Backend& backend = program.device().backend();
  const MemoryStatistics pool = backend.pool().statistics();
  const bool is_limited = pool.limit_bytes != 0;
  if (!is_limited && needed <= pool.cached_bytes + held_bytes) return;
  std::size_t available;
  if (is_limited) {
    available = pool.limit_bytes - std::min(pool.limit_bytes, pool.in_use_bytes);
  } else if (program.device().is_host()) {
    available = backend.limits().memory_bytes;  // what is free there tells little: the system gives up its caches first
  } else {
    available = backend.properties().free_memory_bytes + pool.cached_bytes;
  }
  available += held_bytes;
  if (needed <= available) return;
  const int node = binding.largest_node >= 0 ? binding.largest_node : binding.owned.empty() ? -1 : program.cells()[at(binding.owned.front())].producer;
  OutOfMemoryError error(backend.name() + (is_limited ? ": memory limit: " : ": ") + bytes_text(needed) + " asked for by the call, " + bytes_text(available) + " are there (" +
                             plan.to_string() + "); " + bytes_text(pool.in_use_bytes) + " in use by arrays",
                         std::string(is_limited ? "raise the limit with Device::set_memory_limit, or " : "") + "let go of arrays, or compute in smaller batches; Function::plan tells what a call takes");
  if (node >= 0) error.add_where("most of it for " + program.describe(node));
  throw error;
}

}  // namespace damo
