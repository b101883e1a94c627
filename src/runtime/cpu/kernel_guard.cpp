#include "runtime/cpu/kernel_guard.hpp"

#include <cstdlib>
#include <utility>

namespace damo::cpu_backend {

thread_local KernelGuard* KernelGuard::current_ = nullptr;

void KernelGuard::leave(std::string what, std::string remedy) {
  KernelGuard* const guard = current_;
  if (!guard) std::abort();  // only code that the launcher called may call this
  guard->report_.fail(std::move(what), std::move(remedy));
  siglongjmp(guard->back_, 1);
}

}  // namespace damo::cpu_backend
