#include "runtime/cpu/fault_text.hpp"

#include <cstdio>

namespace damo::cpu_backend {
namespace {

constexpr const char* kUseCheck = "compile with check, or set DAMO_CHECK=1: then block, thread and the array it lies next to are named";

FaultText memory_text(const Fault& fault) {
  if (fault.is_jump) return {"call of address " + hexadecimal(fault.address) + ", where there is no function", "look at the function pointers"};
  if (fault.overflows_stack()) return {"the thread's stack is full", "recursion without an end, or local arrays that are too large"};
  // For an address that no program can have the processor does not say which it was.
  if (fault.code == SI_KERNEL) return {"access to an address that can't be, or that is not aligned for a vector such as float4", kUseCheck};
  const std::string access = fault.is_write ? "write to" : "read of";
  if (fault.address < kNullRange) return {access + " address " + hexadecimal(fault.address) + ", next to a null pointer", kUseCheck};
  const bool is_protected = fault.code == SEGV_ACCERR;
  return {access + " address " + hexadecimal(fault.address) + (is_protected ? ", which is protected" : ", where there is no memory"), kUseCheck};
}

}  // namespace

std::string hexadecimal(std::uintptr_t number) {
  char text[2 + 16 + 1];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(number));
  return text;
}

FaultText text_of(const Fault& fault) {
  switch (fault.signal) {
    case SIGSEGV: return memory_text(fault);
    case SIGBUS: return {"access to address " + hexadecimal(fault.address) + ", which the system can't serve", kUseCheck};
    case SIGFPE: return {"integer division by zero", "or of the smallest integer by -1; a GPU gives an arbitrary value instead"};
    case SIGILL:
    case SIGTRAP: return {"it reached code that can't be reached", "a function that returns nothing where it should, or __builtin_unreachable()"};
    case SIGABRT: return {"a function of the C library gave up (abort)", "look at free() and at writes past what malloc() gave"};
    default: return {"signal " + std::to_string(fault.signal), {}};
  }
}

}  // namespace damo::cpu_backend
