// What <new> has beside placement and plain new, which NVRTC has itself.
#pragma once
namespace std {
struct nothrow_t {
  explicit nothrow_t() = default;
};
__device__ constexpr nothrow_t nothrow{};
template <class T>
__host__ __device__ constexpr T* launder(T* p) { return p; }
}  // namespace std
__device__ inline void* operator new(size_t bytes, const std::nothrow_t&) noexcept { return malloc(bytes); }
__device__ inline void* operator new[](size_t bytes, const std::nothrow_t&) noexcept { return malloc(bytes); }
