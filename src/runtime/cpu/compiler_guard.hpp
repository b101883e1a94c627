// Runs the compiler so that a source that breaks it does not break the process: on a thread of its own, whose stack is
// large enough for what a text can nest, and under a FaultCatcher.
#pragma once
#include <functional>
#include <string>

namespace damo::cpu_backend {

struct CompilerRun {
  std::string problem = {};  ///< "it faulted"; "" if work returned
  bool is_final = false;     ///< it would be the same in another form: too deep a nesting, too long a time
};

/// Runs work, which may fault, abort or take longer than DAMO_COMPILE_TIME_LIMIT seconds (default: no limit). The memory
/// that it held then is lost.
CompilerRun run_compiler(const std::function<void()>& work);

}  // namespace damo::cpu_backend
