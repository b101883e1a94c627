#include "runtime/cpu/compiler_guard.hpp"

#include <link.h>
#include <pthread.h>

#include <cmath>
#include <cstdlib>
#include <optional>
#include <string_view>

#include <damo/error.hpp>

#include "graph/base/environment.hpp"
#include "runtime/cpu/fault_catcher.hpp"
#include "runtime/cpu/kernel_watchdog.hpp"

namespace damo::cpu_backend {
namespace {

constexpr std::size_t kStack = std::size_t{64} << 20;  // address space: pages come as they are used

/// 0: none.
double time_limit() {
  const std::string text = environment("DAMO_COMPILE_TIME_LIMIT");
  if (text.empty()) return 0;
  char* end = nullptr;
  const double seconds = std::strtod(text.c_str(), &end);
  if (*end == '\0' && std::isfinite(seconds) && seconds >= 0) return seconds;
  throw OptionError("DAMO_COMPILE_TIME_LIMIT is '" + text + "', which is no number of seconds", "give a number such as 60; 0: no limit");
}

struct Library {
  std::string_view name;
  CodeRange code;
};

int note_code(dl_phdr_info* info, std::size_t, void* context) {
  auto& library = *static_cast<Library*>(context);
  const std::string_view path = info->dlpi_name ? info->dlpi_name : "";
  if (path.find(library.name) == std::string_view::npos) return 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = info->dlpi_phdr[i];
    if (part.p_type == PT_LOAD && (part.p_flags & PF_X)) library.code = {info->dlpi_addr + part.p_vaddr, info->dlpi_addr + part.p_vaddr + part.p_memsz};
  }
  return 1;
}

/// Code in which a compile may be left: it holds no lock of the C library's.
CodeRange code_of(std::string_view name) {
  Library library{name, {}};
  dl_iterate_phdr(note_code, &library);
  return library.code;
}

struct Run {
  const std::function<void()>& work;
  double limit;
  CompilerRun result = {};

  void operator()() {
    FaultCatcher catcher = limit > 0 ? FaultCatcher(code_of("libclang-cpp"), code_of("libLLVM")) : FaultCatcher(CodeRange{});
    std::optional<LaunchDeadline> deadline;
    if (limit > 0) deadline.emplace(limit).enter(catcher);
    const bool returned = catcher.call(work);
    if (deadline) deadline->leave(catcher);
    if (returned) return;
    const Fault& fault = catcher.fault();
    result.is_final = catcher.was_stopped() || fault.overflows_stack();
    if (catcher.was_stopped()) result.problem = "it was stopped after " + deadline->limit_text() + " (DAMO_COMPILE_TIME_LIMIT)";
    else if (fault.overflows_stack()) result.problem = "it is nested too deeply";
    else result.problem = fault.signal == SIGABRT ? "it gave up" : "it faulted";
  }
};

}  // namespace

CompilerRun run_compiler(const std::function<void()>& work) {
  Run run{work, time_limit()};
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, kStack);
  pthread_t thread;
  const auto start = [](void* context) -> void* { return (*static_cast<Run*>(context))(), nullptr; };
  const bool is_started = pthread_create(&thread, &attributes, start, &run) == 0;
  pthread_attr_destroy(&attributes);
  if (is_started) pthread_join(thread, nullptr);
  else run();  // no memory for such a stack: this thread's has to do
  return run.result;
}

}  // namespace damo::cpu_backend
