// SynchronousBackend: what the CPU and the null device share. Memory is the host's; every stream runs in the calling
// thread, so work is done when a call returns and there is nothing to wait for; an event is the time of its record.
// Back ends differ in how they compile, load and launch.
#pragma once
#include "runtime/backend.hpp"

namespace damo {

class SynchronousBackend : public Backend {
 public:
  SynchronousBackend(std::string name, DeviceKind kind) : Backend(std::move(name), kind) {}

  /// 64-aligned, which a vector register needs; large blocks are aligned to, and marked for, huge pages.
  void* allocate(std::size_t bytes) override;
  void release(void* memory) noexcept override;
  void* allocate_pinned(std::size_t bytes) override { return allocate(bytes); }
  void release_pinned(void* memory) noexcept override { release(memory); }
  void copy(void* to, const void* from, std::size_t bytes, CopyKind kind, void* stream) override;
  void fill(void* to, const void* element, std::size_t element_bytes, std::size_t count, void* stream) override;
  void copy_peer(void* to, Backend& other, const void* from, std::size_t bytes, void* stream) override;

  void* create_stream() override;
  void destroy_stream(void* stream) noexcept override;
  void* default_stream() override { return nullptr; }
  void synchronize(void*) override {}
  void synchronize() override {}
  void* create_event() override;
  void destroy_event(void* event) noexcept override;
  void record(void* event, void* stream) override;
  void wait(void*, void*) override {}
  void synchronize_event(void*) override {}
  bool is_done(void*) override { return true; }
  double milliseconds(void* from, void* to) override;

 protected:
  /// The host's part of properties(): memory, limits of a launch.
  DeviceProperties host_properties() const;
};

}  // namespace damo
