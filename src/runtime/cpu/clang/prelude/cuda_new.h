// new and delete in kernels, and <new>: on the device's heap, as malloc() and free() are. There is no exception: where the
// heap has no room a `new` gives null (-fcheck-new), also without std::nothrow.
#pragma once

namespace std {
enum class align_val_t : size_t {};
struct nothrow_t {
  explicit nothrow_t() = default;
};
inline constexpr nothrow_t nothrow{};
template <class T>
__host__ __device__ constexpr T* launder(T* p) { return __builtin_launder(p); }
}  // namespace std

namespace damo::cuda {

// malloc() aligns to 16 bytes; where that is not enough the address that it gave stands before the one that is used.
__device__ inline void* allocate_aligned(size_t bytes, size_t alignment) {
  char* const memory = static_cast<char*>(malloc(bytes + alignment + sizeof(void*)));
  if (!memory) return nullptr;
  const size_t first = (reinterpret_cast<size_t>(memory) + sizeof(void*) + alignment - 1) / alignment * alignment;
  void** const place = reinterpret_cast<void**>(memory + (first - reinterpret_cast<size_t>(memory)));
  place[-1] = memory;
  return place;
}
__device__ inline void free_aligned(void* p) { if (p) free(static_cast<void**>(p)[-1]); }

}  // namespace damo::cuda

#define __DAMO_NEW(name)                                                                                                            \
  __device__ inline void* operator name(size_t bytes) { return malloc(bytes); }                                                     \
  __device__ inline void* operator name(size_t bytes, const std::nothrow_t&) noexcept { return malloc(bytes); }                     \
  __device__ inline void* operator name(size_t bytes, std::align_val_t a) { return damo::cuda::allocate_aligned(bytes, size_t(a)); } \
  __device__ inline void* operator name(size_t bytes, std::align_val_t a, const std::nothrow_t&) noexcept { return damo::cuda::allocate_aligned(bytes, size_t(a)); } \
  __host__ __device__ inline void* operator name(size_t, void* place) noexcept { return place; }
#define __DAMO_DELETE(name)                                                                                            \
  __device__ inline void operator name(void* p) noexcept { free(p); }                                                  \
  __device__ inline void operator name(void* p, size_t) noexcept { free(p); }                                          \
  __device__ inline void operator name(void* p, const std::nothrow_t&) noexcept { free(p); }                           \
  __device__ inline void operator name(void* p, std::align_val_t) noexcept { damo::cuda::free_aligned(p); }            \
  __device__ inline void operator name(void* p, size_t, std::align_val_t) noexcept { damo::cuda::free_aligned(p); }    \
  __device__ inline void operator name(void* p, std::align_val_t, const std::nothrow_t&) noexcept { damo::cuda::free_aligned(p); } \
  __host__ __device__ inline void operator name(void*, void*) noexcept {}
__DAMO_NEW(new) __DAMO_NEW(new[])
__DAMO_DELETE(delete) __DAMO_DELETE(delete[])
