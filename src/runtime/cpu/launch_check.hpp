// LaunchCheck: what one launch of a checked kernel may touch outside of its own shared and local memory, as it was when
// the launch began: the device's arrays to their last byte, host memory that was lent to it, the module's variables.
// Read by all workers at once. See check_calls.hpp for the checks, tests/runtime/cpu/checked_kernel_test.cpp for reports.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <damo/parameter_type.hpp>

#include "runtime/cpu/check_table.hpp"
#include "runtime/memory/host_ranges.hpp"

namespace damo::cpu_backend {

class LaunchCheck {
 public:
  struct Launch {
    const CheckTable& table;
    const std::vector<ParameterType>& parameters;
    void* const* arguments;
    std::size_t static_shared_bytes, dynamic_shared_bytes;
  };
  LaunchCheck(const Launch& launch, std::span<const MemoryRange> arrays, std::span<const MemoryRange> lent, MemoryRange variables);

  bool contains(std::uintptr_t address, std::size_t bytes) const;
  /// "8 bytes past the end of argument 1 (x), 1000 of float"; "far from every array" if nothing is near.
  std::string position(std::uintptr_t address, std::size_t bytes) const;

  const std::vector<SharedVariable>& shared_variables() const { return shared_; }
  std::size_t dynamic_shared_bytes() const { return dynamic_bytes_; }
  std::size_t dynamic_shared_offset() const { return dynamic_offset_; }
  std::size_t shared_bytes() const { return dynamic_offset_ + dynamic_bytes_; }

 private:
  struct Named {
    MemoryRange range;
    std::string name;
  };
  void add(std::span<const MemoryRange> ranges, const char* name);
  void name_arguments(const Launch& launch);
  void merge();

  std::vector<Named> known_;
  std::vector<MemoryRange> allowed_;  // sorted, without overlaps
  const std::vector<SharedVariable>& shared_;
  std::size_t dynamic_offset_, dynamic_bytes_;
};

/// "8 bytes past the end", "4 bytes before the beginning", "its last 3 bytes past the end": of [begin, begin + size).
std::string position_text(std::uintptr_t address, std::size_t bytes, std::uintptr_t begin, std::size_t size);

}  // namespace damo::cpu_backend
