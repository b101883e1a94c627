// HostBackend: a device of host memory for tests. It runs no code, counts what is asked of it, and can imitate a device
// with little memory, or (kind kCuda) one whose memory arrays must not touch directly.
#pragma once
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <stdexcept>

#include <damo/device.hpp>
#include <damo/error.hpp>

#include "runtime/backend.hpp"
#include "runtime/memory/fork_safe_mutex.hpp"
#include "runtime/memory/memory_pool.hpp"
#include "support/errors.hpp"

namespace damo::testing {

class HostBackend : public Backend {
 public:
  explicit HostBackend(std::string name = "host", DeviceKind kind = DeviceKind::kCpu)
      : Backend(std::move(name), kind) {}
  ~HostBackend() override { pool().free_cache(); }

  /// allocate() gives null once this many bytes are held.
  void fail_after(std::size_t bytes) { capacity = bytes; }

  std::atomic<std::size_t> capacity = SIZE_MAX, held = 0;
  std::atomic<int> allocations = 0, releases = 0, synchronisations = 0, copies = 0, fills = 0;
  std::atomic<std::size_t> copied_bytes = 0;

  DeviceProperties properties() const override {
    DeviceProperties properties;
    properties.description = "host memory";
    properties.memory_bytes = capacity;
    properties.free_memory_bytes = capacity - held;
    return properties;
  }

  void* allocate(std::size_t bytes) override {
    if (held + bytes > capacity) return nullptr;
    void* memory = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
    const std::lock_guard lock(mutex_);
    sizes_[memory] = bytes;
    held += bytes;
    ++allocations;
    return memory;
  }
  void release(void* memory) noexcept override {
    const std::lock_guard lock(mutex_);
    held -= sizes_[memory];
    sizes_.erase(memory);
    ++releases;
    std::free(memory);
  }
  void* allocate_pinned(std::size_t bytes, PinnedOptions) override { return std::malloc(bytes); }
  void release_pinned(void* memory) noexcept override { std::free(memory); }
  void copy(void* to, const void* from, std::size_t bytes, CopyKind, void*) override {
    ++copies;
    copied_bytes += bytes;
    std::memcpy(to, from, bytes);
  }
  void fill(void* to, const void* element, std::size_t element_bytes, std::size_t count, void*) override {
    ++fills;
    for (std::size_t i = 0; i < count; ++i) {
      std::memcpy(static_cast<std::byte*>(to) + i * element_bytes, element, element_bytes);
    }
  }
  void copy_peer(void* to, Backend&, const void* from, std::size_t bytes, void*) override {
    std::memcpy(to, from, bytes);
  }

  void* create_stream(StreamOptions) override { return this; }
  void destroy_stream(void*) noexcept override {}
  void* default_stream() override { return nullptr; }
  void synchronize(void*) override { ++synchronisations; }
  void synchronize() override { ++synchronisations; }
  void* create_event(EventOptions) override { return this; }
  void destroy_event(void*) noexcept override {}
  void record(void*, void*) override {}
  void wait(void*, void*) override {}
  void synchronize_event(void*) override {}
  bool is_done(void*) override { return true; }
  double milliseconds(void*, void*) override { return 0; }

  const Compiler& compiler() override { throw std::logic_error("HostBackend compiles nothing"); }
  const Dialect& dialect() override { throw std::logic_error("HostBackend compiles nothing"); }
  std::shared_ptr<const LoadedModule> load(std::span<const std::byte>, const std::string&) override {
    throw std::logic_error("HostBackend loads nothing");
  }
  void launch(const LoadedKernel&, const LaunchConfig&, void* const*, void*) override {}

 private:
  ForkSafeMutex mutex_;  // a child that was forked during another thread's first allocation allocates too
  std::map<void*, std::size_t> sizes_;
};

}  // namespace damo::testing
