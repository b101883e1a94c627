// Runs the compiler so that a source that breaks it does not break the process: on a thread of its own, whose stack is
// large enough for what a text can nest, and under a FaultCatcher.
#pragma once
#include <functional>
#include <string>

namespace damo::cpu_backend {

/// What is wrong, if work faulted, aborted or took longer than DAMO_COMPILE_TIME_LIMIT seconds (default: no limit); "" if
/// it returned. The memory that it held then is lost.
std::string run_compiler(const std::function<void()>& work);

}  // namespace damo::cpu_backend
