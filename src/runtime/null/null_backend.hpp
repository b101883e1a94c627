// NullBackend: a device that allocates and copies for good but runs no kernel, "null". For tests of what happens around
// kernels, and for seeing what a program would launch. Compiled code is the source's bytes; every kernel name exists.
// See tests/runtime/null/null_backend_test.cpp.
#pragma once
#include <atomic>
#include <cstdint>

#include "runtime/synchronous_backend.hpp"

namespace damo {

class NullBackend final : public SynchronousBackend {
 public:
  NullBackend();
  ~NullBackend() override;

  /// Kernels launched so far.
  std::uint64_t launches() const { return launches_; }

  DeviceProperties properties() const override;
  const Compiler& compiler() override;
  const Dialect& dialect() override;
  std::shared_ptr<const LoadedModule> load(std::span<const std::byte> bytes, const std::string& name) override;
  void launch(const LoadedKernel& kernel, const LaunchConfig& config, void* const* arguments, void* stream) override;

 private:
  std::atomic<std::uint64_t> launches_ = 0;
};

std::unique_ptr<Backend> make_null_backend();

}  // namespace damo
