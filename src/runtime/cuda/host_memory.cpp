// CudaBackend's host memory: pinned, registered, mapped, managed; and memory of other processes.
#include <algorithm>
#include <cstring>
#include <string>

#include <damo/error.hpp>

#include "runtime/cuda/backend.hpp"

namespace damo::cuda_backend {
namespace {

constexpr char kDigits[] = "0123456789abcdef";

std::string hexadecimal(const CUipcMemHandle& handle) {
  unsigned char bytes[sizeof handle];
  std::memcpy(bytes, &handle, sizeof handle);
  std::string text;
  for (unsigned char byte : bytes) text += {kDigits[byte >> 4], kDigits[byte & 15]};
  return text;
}

bool parse(const std::string& text, CUipcMemHandle& handle) {
  unsigned char bytes[sizeof handle];
  if (text.size() != 2 * sizeof bytes) return false;
  for (std::size_t i = 0; i < sizeof bytes; ++i) {
    const char* const high = std::find(kDigits, kDigits + 16, text[2 * i]);
    const char* const low = std::find(kDigits, kDigits + 16, text[2 * i + 1]);
    if (high == kDigits + 16 || low == kDigits + 16) return false;
    bytes[i] = static_cast<unsigned char>((high - kDigits) << 4 | (low - kDigits));
  }
  std::memcpy(&handle, bytes, sizeof handle);
  return true;
}

}  // namespace

void* CudaBackend::allocate_pinned(std::size_t bytes, PinnedOptions options) {
  bind();
  void* memory = nullptr;
  const unsigned flags = CU_MEMHOSTALLOC_PORTABLE | (options.mapped ? unsigned{CU_MEMHOSTALLOC_DEVICEMAP} : 0u) |
                         (options.write_combined ? unsigned{CU_MEMHOSTALLOC_WRITECOMBINED} : 0u);
  const CUresult result = driver_.mem_host_alloc(&memory, std::max<std::size_t>(bytes, 1), flags);
  if (result == CUDA_ERROR_OUT_OF_MEMORY) return nullptr;
  if (result != CUDA_SUCCESS) fail(result, "cuMemHostAlloc", std::to_string(bytes) + " bytes");
  return memory;
}

void CudaBackend::release_pinned(void* memory) noexcept {
  if (memory && bind_quietly()) driver_.mem_free_host(memory);
}

/// What the driver has heard of: memory that is not pinned is unknown to it.
bool CudaBackend::is_pinned(const void* memory) {
  bind();
  unsigned type = 0;
  return driver_.pointer_get_attribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address(memory)) == CUDA_SUCCESS;
}

void CudaBackend::register_host(void* memory, std::size_t bytes, PinnedOptions options) {
  bind();
  const unsigned flags = CU_MEMHOSTREGISTER_PORTABLE | (options.mapped ? unsigned{CU_MEMHOSTREGISTER_DEVICEMAP} : 0u);
  const CUresult result = driver_.mem_host_register(memory, bytes, flags);
  if (result == CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED) {
    throw DeviceError("RegisteredMemory: a part of these " + std::to_string(bytes) + " bytes is pinned already",
                      "register a range once, and not what PinnedMemory gave");
  }
  if (result != CUDA_SUCCESS) fail(result, "cuMemHostRegister", std::to_string(bytes) + " bytes");
}

void CudaBackend::unregister_host(void* memory) noexcept {
  if (bind_quietly()) driver_.mem_host_unregister(memory);
}

void* CudaBackend::device_address(void* host) {
  bind();
  CUdeviceptr device = 0;
  check(driver_.mem_host_get_device_pointer(&device, host, 0), "cuMemHostGetDevicePointer");
  return reinterpret_cast<void*>(device);
}

void* CudaBackend::allocate_managed(std::size_t bytes) {
  bind();
  if (!attribute(CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY)) {
    throw DeviceError(name() + " has no managed memory", "use DeviceMemory, or PinnedMemory with {.mapped = true}");
  }
  CUdeviceptr memory = 0;
  const CUresult result = driver_.mem_alloc_managed(&memory, std::max<std::size_t>(bytes, 1), CU_MEM_ATTACH_GLOBAL);
  if (result == CUDA_ERROR_OUT_OF_MEMORY) return nullptr;
  if (result != CUDA_SUCCESS) fail(result, "cuMemAllocManaged", std::to_string(bytes) + " bytes");
  return reinterpret_cast<void*>(memory);
}

void CudaBackend::prefetch(void* memory, std::size_t bytes, bool to_host, void* stream) {
  bind();
  if (bytes == 0 || !driver_.mem_prefetch_async || !attribute(CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS)) return;
  check(driver_.mem_prefetch_async(address(memory), bytes, to_host ? CU_DEVICE_CPU : device_, stream_of(stream)),
        "cuMemPrefetchAsync");
}

void CudaBackend::advise(void* memory, std::size_t bytes, MemoryAdvice advice) {
  bind();
  if (bytes == 0 || !driver_.mem_advise || !attribute(CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS)) return;
  const bool read_mostly = advice == MemoryAdvice::kReadMostly;
  check(driver_.mem_advise(address(memory), bytes,
                           read_mostly ? CU_MEM_ADVISE_SET_READ_MOSTLY : CU_MEM_ADVISE_SET_PREFERRED_LOCATION,
                           advice == MemoryAdvice::kPreferHost ? CU_DEVICE_CPU : device_),
        "cuMemAdvise");
}

/// The driver shares whole allocations: the handle is of the one that memory lies in.
std::pair<std::string, std::size_t> CudaBackend::share(void* memory) {
  bind();
  CUdeviceptr base = 0;
  std::size_t bytes = 0;
  check(driver_.mem_get_address_range(&base, &bytes, address(memory)), "cuMemGetAddressRange");
  CUipcMemHandle handle;
  const CUresult result = driver_.ipc_get_mem_handle(&handle, base);
  if (result == CUDA_ERROR_NOT_SUPPORTED) {
    throw DeviceError(name() + ": the driver shares no memory with other processes here",
                      "CUDA IPC needs Linux on hardware of its own; in containers, a shared IPC namespace");
  }
  check(result, "cuIpcGetMemHandle");
  return {hexadecimal(handle), address(memory) - base};
}

void* CudaBackend::open_shared(const std::string& text, std::size_t bytes) {
  bind();
  CUipcMemHandle handle;
  if (!parse(text, handle)) throw OptionError("'" + text.substr(0, 80) + "' is no handle of CUDA memory", "give IpcHandle::parse what IpcHandle::text gave, whole");
  CUdeviceptr base = 0, start = 0;
  const CUresult result = driver_.ipc_open_mem_handle(&base, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
  if (is_sticky(result)) fail(result, "cuIpcOpenMemHandle");
  if (result != CUDA_SUCCESS) {
    throw DeviceError("the memory of another process cannot be opened: cuIpcOpenMemHandle failed: " + describe(result),
                      "its process must keep it, and live, until the others have let go of it; a process cannot open "
                      "its own memory");
  }
  std::size_t size = 0;
  if (driver_.mem_get_address_range(&start, &size, base) == CUDA_SUCCESS && start + size < base + bytes) {
    driver_.ipc_close_mem_handle(base);
    throw DeviceError("the memory of another process cannot be opened: it has " + std::to_string(size) +
                      " bytes, the handle speaks of " + std::to_string(bytes),
                      "ask the process that shares it for a new handle");
  }
  return reinterpret_cast<void*>(base);
}

void CudaBackend::close_shared(void* memory) noexcept {
  if (bind_quietly()) driver_.ipc_close_mem_handle(address(memory));
}

}  // namespace damo::cuda_backend
