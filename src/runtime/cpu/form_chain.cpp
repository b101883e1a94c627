#include "runtime/cpu/form_chain.hpp"

#include <damo/log.hpp>

namespace damo::cpu_backend {

FormAttempt compile_in_a_form(KernelForm form, const std::function<FormAttempt(KernelForm)>& attempt) {
  for (;;) {
    FormAttempt result = attempt(form);
    if (!result.gives_way || form == KernelForm::kReference) return result;
    const bool was_loops = form == KernelForm::kLoops;
    log(LogLevel::kWarning, result.at + " can't be compiled " + (was_loops ? "to loops over threads" : "to coroutines") + " (" + result.why + "): its text " +
                                (was_loops ? "becomes coroutines" : "is run thread by thread") + ", which is slower");
    form = was_loops ? KernelForm::kCoroutines : KernelForm::kReference;
  }
}

}  // namespace damo::cpu_backend
