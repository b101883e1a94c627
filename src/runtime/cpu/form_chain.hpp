// A form of CUDA C that the compiler can't make (lower_cuda.hpp) gives way to the next: loops over threads, coroutines, the
// reference form. The kernel then runs slower, and one line of the log says which and why.
#pragma once
#include <functional>
#include <string>

namespace damo::cpu_backend {

enum class KernelForm { kLoops, kCoroutines, kReference };

/// What came of compiling a text in one form.
struct FormAttempt {
  bool gives_way = false;  ///< the compiler failed where another form may do
  std::string at = {};     ///< what it was at: "kernel 'k' (user.cu:12)"
  std::string why = {};    ///< "it faulted"
};

/// Calls attempt with form, and with those after it as long as it gives way. Gives the last attempt.
FormAttempt compile_in_a_form(KernelForm form, const std::function<FormAttempt(KernelForm)>& attempt);

}  // namespace damo::cpu_backend
