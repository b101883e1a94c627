// CudaBackend: one GPU through the CUDA driver. It works in the GPU's primary context, so that its memory and streams
// are those of the CUDA runtime and of libraries built on it. The context is made at the first use of the device and
// bound to each thread that calls; a thread that has it bound pays one look (about 6 ns).
//
// Streams are "blocking" ones: they wait for work on CUDA's legacy default stream and it waits for them, so code of
// other libraries that knows nothing of Damo's streams is still ordered with Damo's. See tests/runtime/cuda/.
#pragma once
#include <atomic>
#include <mutex>
#include <optional>
#include <set>

#include "runtime/backend.hpp"
#include "runtime/cuda/driver.hpp"
#include "runtime/cuda/nvrtc.hpp"

namespace damo::cuda_backend {

class CudaBackend : public Backend {
 public:
  /// Throws DeviceError if there is no such GPU. Makes no context.
  explicit CudaBackend(int index);

  DeviceProperties properties() const override;

  void* allocate(std::size_t bytes) override;
  void release(void* memory) noexcept override;
  void* allocate_pinned(std::size_t bytes) override;
  void release_pinned(void* memory) noexcept override;
  void copy(void* to, const void* from, std::size_t bytes, CopyKind kind, void* stream) override;
  void fill(void* to, const void* element, std::size_t element_bytes, std::size_t count, void* stream) override;
  void copy_peer(void* to, Backend& other, const void* from, std::size_t bytes, void* stream) override;

  void* create_stream() override;
  void destroy_stream(void* stream) noexcept override;
  void* default_stream() override;
  void synchronize(void* stream) override;
  void synchronize() override;
  void* create_event() override;
  void destroy_event(void* event) noexcept override;
  void record(void* event, void* stream) override;
  void wait(void* stream, void* event) override;
  void synchronize_event(void* event) override;
  bool is_done(void* event) override;
  double milliseconds(void* from, void* to) override;

  const Compiler& compiler() override;
  const Dialect& dialect() override;
  std::shared_ptr<const LoadedModule> load(std::span<const std::byte> bytes, const std::string& name) override;
  /// linker.cpp.
  std::vector<std::byte> link(std::span<const CodePart> parts, const CompileOptions& options) override;
  void launch(const LoadedKernel& kernel, const LaunchConfig& config, void* const* arguments, void* stream) override;

  const Driver& driver() const { return driver_; }
  /// That a multiprocessor can hold at once.
  int threads_per_multiprocessor() const;
  /// Makes the device's context the calling thread's. Another library may have bound its own since the last call, so
  /// every call looks.
  void bind() const {
    CUcontext current = nullptr;
    const CUresult result = driver_.ctx_get_current(&current);
    if (result != CUDA_SUCCESS || !current || current != context_.load(std::memory_order_acquire)) [[unlikely]]
      bind_slowly();
  }
  /// For what must not throw: whether it worked. Makes no context.
  bool bind_quietly() const noexcept;

 private:
  void bind_slowly() const;
  int attribute(CUdevice_attribute attribute) const;
  CUstream stream_of(void* stream) const { return static_cast<CUstream>(stream ? stream : default_stream_); }
  void fill_words(CUdeviceptr to, const std::uint32_t* words, std::size_t count, CUstream stream);
  void enable_peer_access(CudaBackend& other);

  const Driver& driver_;
  CUdevice device_ = 0;
  int architecture_ = 0;
  // Made together at the first use; never given back: the process's other libraries share the context, and at its end
  // the driver may be gone before this object is.
  mutable std::once_flag once_;
  mutable std::atomic<CUcontext> context_{nullptr};
  mutable void* default_stream_ = nullptr;
  std::mutex peers_mutex_;
  std::set<int> peers_;  // devices whose memory this one may read, as far as that can be had
  NvrtcCompiler compiler_;
};

}  // namespace damo::cuda_backend
