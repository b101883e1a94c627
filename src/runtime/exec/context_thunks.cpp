#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <damo/log.hpp>

#include "runtime/exec/binder.hpp"
#include "runtime/exec/cell_access.hpp"
#include "runtime/exec/context.hpp"
#include "runtime/exec/node_context.hpp"

namespace damo {
namespace {

// Stand for unknown extents when layouts are predicted: kernels for the first, a large one, are compiled before the first call in any case; for the others as far as threads are left.
constexpr std::int64_t kExpectedExtent = 1024, kOtherExtents[] = {64};

bool has_unknown(const Program& program) {
  return std::any_of(program.cells().begin(), program.cells().end(), [](const ProgramCell& cell) { return !cell.type.dims.is_known(); });
}

}  // namespace

/// Layouts as if every unknown extent were this one: those to compile for ahead of the first call. Gives the nodes that would hand their input on.
std::vector<int> Context::predict(std::int64_t extent) {
  const auto declare = [&](int number) {
    Shape shape = program_.cells()[static_cast<std::size_t>(number)].type.dims;
    std::replace(shape.begin(), shape.end(), kUnknown, extent);
    CellAccess::set_layout(cell(number), shape, contiguous_strides(shape));
  };
  Binder binder(program_, cells_);
  Binding none;
  for (int input : program_.inputs()) declare(input);
  for (int number : all_nodes_) {
    try {
      if (blame(program_, number, [&] { return binder.bind_node(number, none); })) {
        none.nodes.push_back(number);
        continue;
      }
    } catch (const ShapeError&) {  // unknown extents that must differ: such a node compiles at its first call
    }
    for (int output : program_.nodes()[static_cast<std::size_t>(number)].outputs) declare(output);
  }
  binder.bind_parts(none);
  return none.passing;
}

void Context::make_thunks(PendingKernels* around) {
  const std::vector<int> passing = predict(kExpectedExtent);  // nodes of which no thunk is expected to run
  PendingKernels own(program_.device().backend()), &pending = around ? *around : own;
  thunks_.resize(program_.nodes().size());
  foresights_.resize(program_.nodes().size());
  memory_.resize(program_.nodes().size());
  std::vector<Guess> guesses;
  for (std::size_t i = 0; i < thunks_.size(); ++i) {
    const ProgramNode& node = program_.nodes()[i];
    if (node.is_view) continue;
    const int number = static_cast<int>(i);
    NodeContext context(program_, number, cells_, pending, faults_, *repeat_state_, foresights_[i], memory_[i]);
    blame(program_, number, [&] {
      thunks_[i] = node.apply.op().make_thunk(node.apply, context);
      recordable_[i] = context.is_recordable();
      contained_[i] = context.is_contained();
      are_thunks_repeatable_ &= context.is_repeatable();
      if (!thunks_[i]) throw GraphError("make_thunk gave an empty Thunk", "return a function to call, or override view_of for a view");
      if (context.is_guessed() || context.code()) guesses.push_back({number, context.code()});
      if (!context.is_guessed() || std::binary_search(passing.begin(), passing.end(), number)) return;
      try {
        foresights_[i]([&](SpecKernel& kernel, const Layout& layout, std::int64_t) { return pending.add(program_, number, kernel, layout), false; });
      } catch (const ShapeError&) {  // extents that stand for unknown ones need not fit together: the first call's layouts tell
      }
    });
  }
  is_repeatable_ &= are_thunks_repeatable_;
  guess_further(guesses, pending);
  if (!own.is_empty()) {
    log(LogLevel::kDebug, "compiling for expected layouts: " + own.names());
    if (const std::string names = own.maybe_names(); !names.empty()) log(LogLevel::kDebug, "and as far as threads are left, for other layouts: " + names);
    own.compile();
  }
  for (std::size_t i = 0; replays_ && i < thunks_.size(); ++i) {
    if (!recordable_[i] && program_.tells_splits()) {
      log(LogLevel::kInfo, program_.describe(static_cast<int>(i)) + ": its thunk does not promise_recordable(), so a call is not replayed as one graph, but in parts before and after it");
    }
  }
  program_.told_splits();
}

/// What may be compiled beside the kernels for expected layouts: kernels for other extents, and code that thunks have compiled at a first call.
void Context::guess_further(std::span<const Guess> guesses, PendingKernels& pending) {
  const auto add = [&](bool has_kernels, std::span<const int> passing) {
    for (const Guess& guess : guesses) {
      if (std::binary_search(passing.begin(), passing.end(), guess.node)) continue;
      blame(program_, guess.node, [&] {
        try {
          if (guess.code) {
            CodeRequests wanted = guess.code();
            for (CompileRequest& request : wanted.all) pending.add_maybe(std::move(request));
          } else if (!has_kernels) {
            foresights_[static_cast<std::size_t>(guess.node)]([&](SpecKernel& kernel, const Layout& layout, std::int64_t count) { return pending.add_maybe(kernel, layout, count), false; });
          }
        } catch (const Error&) {  // what is wrong the call says
        }
      });
    }
  };
  add(true, {});
  if (!has_unknown(program_)) return;
  for (const std::int64_t extent : kOtherExtents) add(false, predict(extent));
}

bool Context::is_recordable() const { return std::all_of(recordable_.begin(), recordable_.end(), [](char is) { return is != 0; }); }

/// Kernels that no guess foresaw, and that thunks would compile one after the other when they run. What fails here is left to them: a thunk that asks again throws
/// with its node's line and operands, and only once all nodes before it have run.
void Context::compile_ahead(const Binding& binding) {
  PendingKernels pending(program_.device().backend());
  for (int number : binding.nodes) {
    const Foresight& foresight = foresights_[static_cast<std::size_t>(number)];
    if (!foresight || std::binary_search(binding.passing.begin(), binding.passing.end(), number)) continue;
    blame_with_operands(number, [&] {
      try {
        foresight([&](SpecKernel& kernel, const Layout& layout, std::int64_t count) { return pending.add_unserved(program_, number, kernel, layout, count); });
      } catch (const Error&) {
      }
    });
  }
  if (pending.is_empty()) return;
  log(LogLevel::kDebug, "compiling for the layouts of a call: " + pending.names());
  try {
    pending.compile();
  } catch (const Error&) {
  }
}

/// As with kernels: what fails here a thunk says again when it runs. What is no Error it may know nothing of.
void Context::foresee_memory(Binding& binding) const {
  for (int number : binding.nodes) {
    const auto& memory = memory_[static_cast<std::size_t>(number)];
    if (!memory || std::binary_search(binding.passing.begin(), binding.passing.end(), number)) continue;
    blame_with_operands(number, [&] {
      try {
        const ThunkMemory needed = memory();
        if (needed.workspace != 0) binding.work.push_back({number, needed.workspace, 0});
        binding.kept_bytes += needed.kept;
      } catch (const Error&) {
      }
    });
  }
}

}  // namespace damo
