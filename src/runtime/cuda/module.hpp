// CudaModule and CudaKernel: compiled code in one GPU's context. Kernels are looked up once and keep their module
// loaded. See tests/runtime/cuda/module_test.cpp.
#pragma once
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string>

#include "runtime/backend.hpp"
#include "runtime/cuda/code_container.hpp"
#include "runtime/cuda/driver.hpp"

namespace damo::cuda_backend {

class CudaBackend;

class CudaModule : public LoadedModule, public std::enable_shared_from_this<CudaModule> {
 public:
  /// The backend's context must be current. Throws DeviceError with the driver's own log.
  CudaModule(CudaBackend& backend, std::span<const std::byte> bytes, std::string name);
  ~CudaModule() override;

  std::shared_ptr<const LoadedKernel> kernel(const std::string& name) const override;
  std::pair<void*, std::size_t> global(const std::string& name) const override;
  std::vector<std::string> kernel_names() const override;

 private:
  void require_alive() const;
  [[noreturn]] void fail_without(const std::string& name) const;
  /// Reads the names of code that came without them, where the driver is new enough to tell.
  void read_names();

  CudaBackend& backend_;
  const Driver& driver_;
  std::string name_;
  std::map<std::string, CodeName> names_;
  std::set<std::string> wait_first_;  // symbols of kernels (cubin_waits.hpp)
  std::vector<std::string> variables_;  // their symbols, where the code tells
  CUmodule module_ = nullptr;
  std::uint32_t generation_;  // of the context it is loaded in
};

class CudaKernel : public LoadedKernel {
 public:
  /// known: what the compiler told of it; may be null.
  CudaKernel(CudaBackend& owner, std::shared_ptr<const CudaModule> module, CUfunction function, std::string name,
             const CodeName* known, bool waits_first = false);

  CUfunction function() const { return function_; }
  Occupancy occupancy(int threads, std::size_t shared_bytes) const override;
  int resident_clusters(int cluster, int threads, std::size_t shared_bytes) const override;
  int suggested_threads(std::size_t shared_bytes) const override;
  std::uint32_t generation() const { return generation_; }
  /// Before anything else it waits for the work that it follows, so that it may be launched before that has ended.
  bool waits_first() const { return waits_first_; }
  /// Lives as long as the process: for error texts after the kernel is gone.
  const std::string* lasting_name() const { return lasting_name_; }
  /// Lets a launch ask for this much dynamic shared memory: beyond 48 KB a block a kernel must be told.
  void grant_shared(std::size_t bytes) const {
    if (bytes > granted_shared_bytes_.load(std::memory_order_relaxed)) [[unlikely]]
      raise_grant(bytes);
  }

 private:
  void raise_grant(std::size_t bytes) const;
  void read_attributes();
  void read_parameters(const CodeName* known);
  int attribute(CUfunction_attribute attribute) const;

  const CudaBackend& owner_;
  const Driver& driver_;
  std::shared_ptr<const CudaModule> module_;
  CUfunction function_;
  std::uint32_t generation_;
  bool waits_first_;
  const std::string* lasting_name_;
  mutable std::mutex grant_mutex_;
  mutable std::atomic<std::size_t> granted_shared_bytes_{0};
};

}  // namespace damo::cuda_backend
