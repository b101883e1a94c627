// The instructions that compiled kernels may use: those of this CPU, or of a level that many CPUs have (DAMO_CPU_ISA).
#pragma once
#include <string>

namespace damo::cpu_backend {

/// "x86-64-v3", which is also LLVM's name of it, or "" for all that this CPU has. Read from the environment each time. Throws OptionError
/// for an unknown level, and for one that this CPU can't run.
std::string isa_level();

}  // namespace damo::cpu_backend
