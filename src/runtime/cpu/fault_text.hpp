// What a Fault means, in words: "write to address 0x10, where there is no memory".
#pragma once
#include <cstdint>
#include <string>

#include "runtime/cpu/fault_catcher.hpp"

namespace damo::cpu_backend {

/// Bytes from address 0 at which an address is a null pointer and an offset: Linux maps nothing there (vm.mmap_min_addr).
inline constexpr std::uintptr_t kNullRange = 65536;

struct FaultText {
  std::string what, remedy;
};

FaultText text_of(const Fault& fault);

/// "0x7f0012345678".
std::string hexadecimal(std::uintptr_t number);

}  // namespace damo::cpu_backend
