#include "runtime/cpu/compiler_guard.hpp"

#include <pthread.h>

#include "runtime/cpu/fault_catcher.hpp"

namespace damo::cpu_backend {
namespace {

constexpr std::size_t kStack = std::size_t{64} << 20;  // address space: pages come as they are used

struct Run {
  const std::function<void()>& work;
  std::string problem = {};
};

void* run(void* context) {
  auto& run = *static_cast<Run*>(context);
  FaultCatcher catcher(0, 0);
  if (catcher.call(run.work)) return nullptr;
  const Fault& fault = catcher.fault();
  const char* const how = fault.overflows_stack() ? "it is nested too deeply"
                          : fault.signal == SIGABRT ? "it gave up"
                                                    : "it faulted";
  run.problem = std::string("the compiler can't compile this text: ") + how;
  return nullptr;
}

}  // namespace

std::string run_compiler(const std::function<void()>& work) {
  Run context{work};
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, kStack);
  pthread_t thread;
  const bool is_started = pthread_create(&thread, &attributes, run, &context) == 0;
  pthread_attr_destroy(&attributes);
  if (is_started) pthread_join(thread, nullptr);
  else run(&context);  // no memory for such a stack: this thread's has to do
  return context.problem;
}

}  // namespace damo::cpu_backend
