// CudaBackend's device memory: allocation, copies, fills. host_memory.cpp has the rest.
#include <algorithm>
#include <cstdint>
#include <cstring>

#include <damo/error.hpp>

#include "runtime/cuda/backend.hpp"

namespace damo::cuda_backend {
namespace {

/// Null for want of memory, which is the pool's to judge: it may free what it keeps and ask again.
bool has_memory(CUresult result, const char* call, std::size_t bytes) {
  if (result == CUDA_ERROR_OUT_OF_MEMORY) return false;
  if (result != CUDA_SUCCESS) fail(result, call, std::to_string(bytes) + " bytes");
  return true;
}

}  // namespace

void* CudaBackend::allocate(std::size_t bytes) {
  bind();
  CUdeviceptr memory = 0;
  const CUresult result = driver_.mem_alloc(&memory, std::max<std::size_t>(bytes, 1));
  return has_memory(result, "cuMemAlloc", bytes) ? reinterpret_cast<void*>(memory) : nullptr;
}

// An error here is an earlier kernel's, or the end of the process: the next call that may throw reports it.
void CudaBackend::release(void* memory) noexcept {
  if (memory && bind_quietly()) driver_.mem_free(address(memory));
}

// Host memory that is not pinned: the driver itself returns only when it has read or written it.
void CudaBackend::copy(void* to, const void* from, std::size_t bytes, CopyKind kind, void* stream) {
  if (bytes == 0) return;
  if (WorkLog* log = current_log(*this); log && is_default(stream) && log->copy(to, from, bytes, kind)) return;
  bind();
  switch (kind) {
    case CopyKind::kHostToDevice:
      return check(driver_.memcpy_htod_async(address(to), from, bytes, stream_of(stream)), "cuMemcpyHtoDAsync");
    case CopyKind::kDeviceToHost:
      return check(driver_.memcpy_dtoh_async(to, address(from), bytes, stream_of(stream)), "cuMemcpyDtoHAsync");
    case CopyKind::kDeviceToDevice:
      return check(driver_.memcpy_dtod_async(address(to), address(from), bytes, stream_of(stream)),
                   "cuMemcpyDtoDAsync");
  }
}

void CudaBackend::fill(void* to, const void* element, std::size_t element_bytes, std::size_t count, void* stream) {
  if (count == 0) return;
  if (WorkLog* log = current_log(*this); log && is_default(stream) && log->fill(to, element, element_bytes, count)) return;
  bind();
  std::uint32_t words[2] = {0, 0};
  std::memcpy(words, element, element_bytes);
  const CUstream on = stream_of(stream);
  switch (element_bytes) {
    case 1:
      return check(driver_.memset_d8_async(address(to), static_cast<unsigned char>(words[0]), count, on),
                   "cuMemsetD8Async");
    case 2:
      return check(driver_.memset_d16_async(address(to), static_cast<unsigned short>(words[0]), count, on),
                   "cuMemsetD16Async");
    case 4:
      return check(driver_.memset_d32_async(address(to), words[0], count, on), "cuMemsetD32Async");
    case 8:
      if (words[0] != words[1]) return fill_words(address(to), words, count, on);
      return check(driver_.memset_d32_async(address(to), words[0], 2 * count, on), "cuMemsetD32Async");
    default:
      throw InternalError("fill of elements of " + std::to_string(element_bytes) + " bytes");
  }
}

// The driver sets at most 4 bytes: the low and the high words of a first piece as a column each, then the piece is
// copied to twice its length until all is full. Half a memset's speed, without a kernel to compile.
void CudaBackend::fill_words(CUdeviceptr to, const std::uint32_t* words, std::size_t count, CUstream stream) {
  std::size_t filled = std::min<std::size_t>(count, 4096);
  for (const std::size_t half : {0, 1}) {
    check(driver_.memset_d2d32_async(to + 4 * half, 8, words[half], 1, filled, stream), "cuMemsetD2D32Async");
  }
  while (filled < count) {
    const std::size_t next = std::min(filled, count - filled);
    check(driver_.memcpy_dtod_async(to + 8 * filled, to, 8 * next, stream), "cuMemcpyDtoDAsync");
    filled += next;
  }
}

void CudaBackend::copy_rows(const RowsCopy& rows, CopyKind kind, void* stream) {
  if (rows.rows == 0 || rows.row_bytes == 0) return;
  bind();
  const bool from_host = kind == CopyKind::kHostToDevice, to_host = kind == CopyKind::kDeviceToHost;
  CUDA_MEMCPY2D copy{};
  copy.srcMemoryType = from_host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
  copy.srcHost = from_host ? rows.from : nullptr;
  copy.srcDevice = from_host ? 0 : address(rows.from);
  copy.srcPitch = rows.from_pitch;
  copy.dstMemoryType = to_host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
  copy.dstHost = to_host ? rows.to : nullptr;
  copy.dstDevice = to_host ? 0 : address(rows.to);
  copy.dstPitch = rows.to_pitch;
  copy.WidthInBytes = rows.row_bytes;
  copy.Height = rows.rows;
  const CUresult result = driver_.memcpy_2d_async(&copy, stream_of(stream));
  // Within a device the driver may refuse a pitch that is not its own, and it refuses those of 2 GiB everywhere.
  if (result == CUDA_ERROR_INVALID_VALUE) return Backend::copy_rows(rows, kind, stream);
  check(result, "cuMemcpy2DAsync");
}

void CudaBackend::fill_rows(const RowsFill& rows, void* stream) {
  if (rows.rows == 0 || rows.columns == 0) return;
  bind();
  std::uint32_t words[2] = {0, 0};
  std::memcpy(words, rows.element, std::min<std::size_t>(rows.element_bytes, sizeof words));
  const CUdeviceptr to = address(rows.to);
  CUresult result = CUDA_ERROR_INVALID_VALUE;
  if (rows.element_bytes == 1) {
    result = driver_.memset_d2d8_async(to, rows.pitch, static_cast<unsigned char>(words[0]), rows.columns, rows.rows,
                                       stream_of(stream));
  } else if (rows.element_bytes == 2) {
    result = driver_.memset_d2d16_async(to, rows.pitch, static_cast<unsigned short>(words[0]), rows.columns, rows.rows,
                                        stream_of(stream));
  } else if (rows.element_bytes == 4) {
    result = driver_.memset_d2d32_async(to, rows.pitch, words[0], rows.columns, rows.rows, stream_of(stream));
  }
  if (result == CUDA_ERROR_INVALID_VALUE) return Backend::fill_rows(rows, stream);  // 8 bytes, a pitch beyond its own
  check(result, "cuMemset2DAsync");
}

void CudaBackend::copy_peer(void* to, Backend& other, const void* from, std::size_t bytes, void* stream) {
  if (other.kind() != DeviceKind::kCuda) throw InternalError("copy_peer from " + other.name() + " to " + name());
  if (bytes == 0) return;
  auto& source = static_cast<CudaBackend&>(other);
  source.bind();  // so that it has a context
  bind();
  enable_peer_access(source);
  // A graph has no copies between contexts, but those between addresses, which tell the GPU.
  if (is_capturing(stream_of(stream))) return check(driver_.memcpy_async(address(to), address(from), bytes, stream_of(stream)), "cuMemcpyAsync");
  check(driver_.memcpy_peer_async(address(to), context_, address(from), source.context_, bytes, stream_of(stream)),
        "cuMemcpyPeerAsync");
}

/// Without it the driver copies through the host. Two GPUs that can't see each other stay with that.
void CudaBackend::enable_peer_access(CudaBackend& other) {
  const std::lock_guard lock(peers_mutex_);
  if (!peers_.insert(other.device_).second) return;
  int can = 0;
  check(driver_.device_can_access_peer(&can, device_, other.device_), "cuDeviceCanAccessPeer");
  if (!can) return;
  const CUresult result = driver_.ctx_enable_peer_access(other.context_, 0);
  if (result != CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED) check(result, "cuCtxEnablePeerAccess");
}

}  // namespace damo::cuda_backend
