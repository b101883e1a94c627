#include "runtime/cpu/check_calls.hpp"

#include <algorithm>
#include <string>
#include <unordered_map>
#include <vector>

#include "runtime/cpu/cooperative.hpp"
#include "runtime/cpu/fault_text.hpp"
#include "runtime/cpu/kernel_guard.hpp"
#include "runtime/cpu/launch_check.hpp"
#include "runtime/memory/host_ranges.hpp"

namespace damo::cpu_backend {
namespace {

struct Local {
  const char* name;
  std::uintptr_t begin;
  std::size_t bytes;
  bool stays;
};

/// One worker's, of the block that it runs.
struct CheckedBlock {
  std::uintptr_t shared = 0;
  std::vector<char> written;  // a byte for each of shared memory
  std::unordered_map<const ThreadState*, std::vector<Local>> locals;
};

CheckedBlock& block() {
  thread_local CheckedBlock block;
  return block;
}

const LaunchCheck* running_check() {
  const LaunchReport* const report = KernelGuard::report();
  return report ? report->check : nullptr;
}

struct Access {
  const char* place;
  std::uintptr_t address;
  std::size_t bytes;
  std::uint32_t bits;

  std::string text() const {
    const std::string size = std::to_string(bytes) + (bytes == 1 ? " byte" : " bytes");
    if ((bits & kCheckRead) && (bits & kCheckWrite)) return "atomic access to " + size;
    return (bits & kCheckWrite ? "write of " : "read of ") + size;
  }
  std::string where() const { return " at " + std::string(place) + running_thread_text(); }
  std::size_t alignment() const { return std::size_t{1} << (bits >> kCheckAlignment); }
};

// The checks report and give false; the call from compiled code then leaves the kernel, when no string is left to destroy.

bool refuse(std::string what, const char* remedy) {
  KernelGuard::report()->fail(std::move(what), remedy);
  return false;
}

bool refuse_bounds(const Access& access, const std::string& position) {
  return refuse(access.text() + " out of bounds" + access.where() + ": address " + hexadecimal(access.address) + ", " + position,
                "compare the index with the number of elements before the access");
}

bool is_aligned(const Access& access) {
  if (access.address % access.alignment() == 0) return true;
  return refuse(access.text() + " that is not aligned" + access.where() + ": address " + hexadecimal(access.address) + " is no multiple of " +
                    std::to_string(access.alignment()),
                "a vector such as float4 is read from an address that is a multiple of its size");
}

/// "shared array 's' of 256 bytes (element 64)".
std::string object_text(const char* kind, const std::string& name, std::uintptr_t begin, std::size_t size, const Access& access) {
  std::string text = kind + (" '" + name + "' of " + std::to_string(size)) + (size == 1 ? " byte" : " bytes");
  const auto offset = static_cast<std::int64_t>(access.address - begin), bytes = static_cast<std::int64_t>(access.bytes);
  if (bytes <= 16 && offset % bytes == 0) text += " (element " + std::to_string(offset / bytes) + ")";
  return text;
}

const char* kind_of(std::uint32_t bits) { return bits & kCheckShared ? "shared array" : bits & kCheckLocal ? "local array" : "variable"; }

/// The static variable or the dynamic part whose neighbour, or part, the address is.
struct SharedPart {
  std::string name;
  std::uintptr_t begin;
  std::size_t bytes;
};

SharedPart shared_part(const LaunchCheck& check, std::uintptr_t address) {
  const std::uintptr_t base = block().shared, offset = address - base;
  if (offset >= check.dynamic_shared_offset() && check.dynamic_shared_bytes() > 0) {
    return {"extern __shared__", base + check.dynamic_shared_offset(), check.dynamic_shared_bytes()};
  }
  SharedPart part{"__shared__", base, 0};
  for (const SharedVariable& variable : check.shared_variables()) {
    if (variable.offset <= offset) part = {variable.name, base + variable.offset, variable.bytes};
  }
  return part;
}

bool is_written(const Access& access, const LaunchCheck& check) {
  const auto begin = block().written.begin() + static_cast<std::ptrdiff_t>(access.address - block().shared);
  const auto end = begin + static_cast<std::ptrdiff_t>(access.bytes);
  if (access.bits & kCheckRead) {
    const auto first = std::find(begin, end, 0);
    const bool is_missing = access.bits & kCheckCopy ? std::find(begin, end, 1) == end : first != end;
    if (is_missing) {
      const SharedPart part = shared_part(check, access.address);
      return refuse("read of shared memory that no thread of the block has written" + access.where() + ": " +
                        object_text("shared array", part.name, part.begin, part.bytes, access),
                    "write it first, with a __syncthreads() between; shared memory begins with any contents");
    }
  }
  if (access.bits & kCheckWrite) std::fill(begin, end, 1);
  return true;
}

bool is_shared(const LaunchCheck& check, std::uintptr_t address) {
  return block().shared != 0 && address >= block().shared && address - block().shared < check.shared_bytes();
}

bool is_local(std::uintptr_t address, std::size_t bytes) {
  const auto found = block().locals.find(damo_current_thread());
  if (found == block().locals.end()) return false;
  return std::any_of(found->second.begin(), found->second.end(), [&](const Local& local) {
    return address >= local.begin && address - local.begin < local.bytes && bytes <= local.bytes - (address - local.begin);
  });
}

/// Of malloc() since the launch began, or before by a checked kernel.
bool is_lent_since(std::uintptr_t address, std::size_t bytes) {
  const std::vector<MemoryRange> ranges = host_ranges();
  return std::any_of(ranges.begin(), ranges.end(), [&](const MemoryRange& range) {
    return address >= range.begin && address < range.end() && bytes <= range.end() - address;
  });
}

bool is_good_shared(const Access& access, const LaunchCheck& check) {
  const SharedPart part = shared_part(check, access.address);
  const bool fits = access.address - part.begin < part.bytes && access.bytes <= part.bytes - (access.address - part.begin);
  if (!fits) {
    return refuse_bounds(access, position_text(access.address, access.bytes, part.begin, part.bytes) +
                                     object_text("shared array", part.name, part.begin, part.bytes, access));
  }
  return is_aligned(access) && is_written(access, check);
}

bool is_good_in_object(const Access& access, const LaunchCheck& check, const char* name, std::uintptr_t begin, std::size_t size) {
  const bool fits = access.address >= begin && access.address - begin < size && access.bytes <= size - (access.address - begin);
  if (!fits) {
    return refuse_bounds(access, position_text(access.address, access.bytes, begin, size) + object_text(kind_of(access.bits), name, begin, size, access));
  }
  return is_aligned(access) && (!(access.bits & kCheckShared) || is_written(access, check));
}

bool is_good(const Access& access, const LaunchCheck& check) {
  if (is_shared(check, access.address)) return is_good_shared(access, check);
  const bool fits = check.contains(access.address, access.bytes) || is_local(access.address, access.bytes) ||
                    is_lent_since(access.address, access.bytes);
  if (!fits) return refuse_bounds(access, check.position(access.address, access.bytes));
  return is_aligned(access);
}

}  // namespace

void begin_checked_block(const LaunchFrame& frame) {
  const auto* const report = static_cast<const LaunchReport*>(frame.report);
  if (!report || !report->check) return;
  block().shared = reinterpret_cast<std::uintptr_t>(frame.shared);
  block().written.assign(report->check->shared_bytes(), 0);
  block().locals.clear();
}

void note_kernel_memory(void* memory, std::size_t bytes) {
  if (running_check()) add_host_range(memory, bytes);
}

void forget_kernel_memory(void* memory) {
  for (const MemoryRange& range : host_ranges()) {
    if (range.begin == reinterpret_cast<std::uintptr_t>(memory)) return remove_host_range(memory, range.bytes);
  }
}

}  // namespace damo::cpu_backend

using namespace damo::cpu_backend;

void damo_check_object(const char* place, const char* name, const void* object, std::uint64_t object_bytes, const void* address,
                       std::uint64_t bytes, std::uint32_t bits) {
  const LaunchCheck* const check = running_check();
  if (!check || bytes == 0) return;
  const Access access{place, reinterpret_cast<std::uintptr_t>(address), bytes, bits};
  const std::size_t size = bits & kCheckDynamic ? check->dynamic_shared_bytes() : object_bytes;
  const bool is_right = KernelGuard::without_exceptions([&] { return is_good_in_object(access, *check, name, reinterpret_cast<std::uintptr_t>(object), size); });
  if (!is_right) KernelGuard::leave();
}

void damo_check_memory(const char* place, const void* address, std::uint64_t bytes, std::uint32_t bits) {
  const LaunchCheck* const check = running_check();
  if (!check || bytes == 0) return;
  const Access access{place, reinterpret_cast<std::uintptr_t>(address), bytes, bits};
  if (!KernelGuard::without_exceptions([&] { return is_good(access, *check); })) KernelGuard::leave();
}

void damo_check_local(const char* name, const void* array, std::uint64_t bytes, std::uint32_t stays) {
  if (!running_check()) return;
  KernelGuard::without_exceptions([&] {
    std::vector<Local>& locals = block().locals[damo_current_thread()];
    const auto begin = reinterpret_cast<std::uintptr_t>(array);
    // Functions further down the stack have returned.
    if (!stays) std::erase_if(locals, [&](const Local& local) { return !local.stays && local.begin <= begin; });
    locals.push_back({name, begin, bytes, stays != 0});
  });
}
