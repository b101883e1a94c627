// FaultFlag: one number in memory of the host that kernels of a call write where they come to a value which is not finite. Nothing is copied back for it: who has
// waited for the device looks. See Options::nan_guard, tests/function/nan_guard_test.cpp.
#pragma once
#include <atomic>
#include <cstdint>
#include <optional>

#include <damo/host_memory.hpp>

namespace damo {

class FaultFlag {
 public:
  explicit FaultFlag(Device device) : device_(device) {}

  /// As the device addresses it; its memory is asked for by the first who wants to know.
  void* address() {
    if (!memory_) {
      memory_.emplace(sizeof(std::uint32_t), device_, PinnedOptions{.mapped = true});
      clear();
    }
    return memory_->device_data();
  }
  /// While no kernel is under way that could write it.
  void clear() {
    if (memory_) word().store(0, std::memory_order_relaxed);
  }
  /// When the device has done its work.
  bool is_set() const { return memory_ && word().load(std::memory_order_acquire) != 0; }

 private:
  std::atomic_ref<std::uint32_t> word() const { return std::atomic_ref(*static_cast<std::uint32_t*>(memory_->data())); }

  Device device_;
  std::optional<PinnedMemory> memory_;
};

}  // namespace damo
