// The ThreadState that compiled code and the scheduler (cooperative.hpp) share.
#pragma once
#include "runtime/cpu/kernel_abi.hpp"

namespace damo::cpu_backend {
#include "runtime/cpu/clang/prelude/thread_state.h"
}  // namespace damo::cpu_backend
