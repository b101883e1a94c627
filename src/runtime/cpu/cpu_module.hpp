// CpuModule, CpuKernel: a loaded object and its entry points.
#pragma once
#include "runtime/backend.hpp"
#include "runtime/cpu/check_table.hpp"
#include "runtime/cpu/elf_loader.hpp"
#include "runtime/cpu/native_kernel.hpp"

namespace damo {

class CpuModule;

class CpuKernel final : public LoadedKernel {
 public:
  CpuKernel(std::shared_ptr<const CpuModule> module, cpu_backend::KernelEntry entry, const std::string& name);
  CpuKernel(Backend& backend, const cpu_backend::NativeKernel& kernel);

  cpu_backend::KernelEntry entry;
  /// Not of a native kernel.
  const cpu_backend::LoadedObject& object() const;
  cpu_backend::CheckTable checks;  ///< of a checked kernel
  bool has_users_code = false;     ///< CUDA C, or generated with a user's row in it: it may fault

 private:
  std::shared_ptr<const CpuModule> module_;  // the code lives as long as its kernels; null: the library's own
};

class CpuModule final : public LoadedModule, public std::enable_shared_from_this<CpuModule> {
 public:
  CpuModule(Backend& backend, std::span<const std::byte> object, const std::string& name);

  std::shared_ptr<const LoadedKernel> kernel(const std::string& name) const override;
  std::pair<void*, std::size_t> global(const std::string& name) const override;
  /// Of CUDA C.
  std::vector<std::string> kernel_names() const override;
  Backend& backend() const { return backend_; }
  const cpu_backend::LoadedObject& object() const { return object_; }

 private:
  Backend& backend_;
  cpu_backend::LoadedObject object_;
};

struct KernelSignature {
  std::vector<ParameterType> parameters;
  std::size_t shared_bytes = 0;  ///< static
  std::size_t max_threads = 0;   ///< of a block, by __launch_bounds__; 0: no such limit
};

/// The line "name: types<TAB>8,8,4<TAB>1024,256" of the plugin's list; nothing if the kernel has no line.
std::optional<KernelSignature> signature_of(std::string_view signatures, std::string_view kernel);

}  // namespace damo
