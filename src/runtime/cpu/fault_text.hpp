// What a Fault means, in words: "write to address 0x10, where there is no memory".
#pragma once
#include <string>

#include "runtime/cpu/fault_catcher.hpp"

namespace damo::cpu_backend {

struct FaultText {
  std::string what, remedy;
};

FaultText text_of(const Fault& fault);

/// "0x7f0012345678".
std::string hexadecimal(std::uintptr_t number);

}  // namespace damo::cpu_backend
