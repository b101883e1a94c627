// host_isa(): what cpuid says about this machine, without LLVM. A hypervisor can hide features that the model has, and
// an operating system can leave wide registers switched off, so the bits count and not only the model.
#include <cpuid.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>

#include "runtime/cpu/clang_plugin.hpp"

namespace damo::cpu_backend {
namespace {

struct Registers {
  std::uint32_t eax = 0, ebx = 0, ecx = 0, edx = 0;
};

Registers cpuid(std::uint32_t leaf, std::uint32_t subleaf = 0) {
  Registers r;
  __get_cpuid_count(leaf, subleaf, &r.eax, &r.ebx, &r.ecx, &r.edx);
  return r;
}

/// Which register files the operating system saves: bit 2 AVX, bits 5-7 AVX-512.
std::uint64_t enabled_state(const Registers& features) {
  if (!(features.ecx & bit_OSXSAVE)) return 0;
  std::uint32_t low = 0, high = 0;
  __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (std::uint64_t{high} << 32) | low;
}

std::string hexadecimal(std::uint32_t value) {
  char text[9];
  std::snprintf(text, sizeof text, "%x", value);
  return text;
}

std::string describe() {
  const Registers vendor = cpuid(0), one = cpuid(1);
  char name[13] = {};
  std::memcpy(name, &vendor.ebx, 4);
  std::memcpy(name + 4, &vendor.edx, 4);
  std::memcpy(name + 8, &vendor.ecx, 4);
  // LLVM picks the CPU's name from vendor, family, model and features, and code depends on all of the feature words.
  // ebx of leaf 1 holds the core's number and is left out; so are the parts that differ from core to core.
  constexpr std::uint32_t kModel = 0x0fff0ff0, kHybrid = 1u << 15;
  const Registers seven = cpuid(7), seven_one = cpuid(7, 1), extended = cpuid(0x80000001), save = cpuid(13, 1);
  std::string text = std::string("x86-64 ") + name;
  const std::uint32_t words[] = {one.eax & kModel, one.ecx, one.edx, seven.ebx, seven.ecx, seven.edx & ~kHybrid,
                                 seven_one.eax, extended.ecx, extended.edx, save.eax,
                                 static_cast<std::uint32_t>(enabled_state(one))};
  for (const std::uint32_t word : words) text.append(1, ' ').append(hexadecimal(word));
  return text;
}

}  // namespace

const std::string& host_isa() {
  static const std::string isa = describe();
  return isa;
}

}  // namespace damo::cpu_backend
