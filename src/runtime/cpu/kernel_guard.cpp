#include "runtime/cpu/kernel_guard.hpp"

#include <cstdlib>
#include <utility>

#include "runtime/cpu/cooperative.hpp"
#include "runtime/cpu/elf_loader.hpp"
#include "runtime/cpu/fault_text.hpp"
#include "runtime/cpu/fiber_threads.hpp"
#include "runtime/cpu/kernel_watchdog.hpp"
#include "runtime/cpu/source_place.hpp"

namespace damo::cpu_backend {
namespace {

thread_local KernelGuard* current_guard = nullptr;

CodeRange code_of(const LoadedObject* object) {
  return object ? CodeRange{object->code().first, object->code().second} : CodeRange{};
}

}  // namespace

KernelGuard::KernelGuard(LaunchReport& report)
    : report_(report), outer_(current_guard), catcher_(code_of(report.object)) {
  current_guard = this;
  damo_enter_thread(nullptr);
  if (report_.deadline) report_.deadline->enter(catcher_);
}

KernelGuard::~KernelGuard() {
  if (report_.deadline) report_.deadline->leave(catcher_);
  current_guard = outer_;
}

LaunchReport* KernelGuard::report() { return current_guard ? &current_guard->report_ : nullptr; }

void KernelGuard::note(const std::string& what, const std::string& remedy) {
  if (!current_guard) std::abort();  // only code that the launcher called may call this
  current_guard->report_.fail(what, remedy);
}

void KernelGuard::leave(std::string what, std::string remedy) {
  {
    const std::string taken_what = std::move(what), taken_remedy = std::move(remedy);  // no destructor runs after the jump
    note(taken_what, taken_remedy);
  }
  leave();
}

void KernelGuard::leave() {
  if (!current_guard) std::abort();
  current_guard->catcher_.leave();
}

/// Out of the handler, where memory may be allocated. What was said before is kept.
void KernelGuard::tell() {
  FiberThreads::left();
  const Fault& fault = catcher_.fault();
  const std::uintptr_t place = fault.caller ? fault.caller - 1 : fault.place;  // the call, not what follows it
  if (catcher_.was_stopped()) {
    report_.fail("stopped after " + report_.deadline->limit_text() + source_place_text(report_.object, place),
                 "raise the limit (DAMO_KERNEL_TIME_LIMIT, Device::set_kernel_time_limit) if the kernel only needs more time");
  } else if (fault.signal != 0) {
    FaultText text = text_of(fault);
    report_.fail(text.what + source_place_text(report_.object, place) + running_thread_text(), std::move(text.remedy));
  }
  damo_enter_thread(nullptr);  // what the faulting thread was is gone with its stack
}

}  // namespace damo::cpu_backend
