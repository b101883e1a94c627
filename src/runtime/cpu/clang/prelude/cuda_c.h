// The CUDA C dialect on the CPU: what nvcc declares without an include. Compiled in Clang's CUDA device mode on the
// host's own target. The functions named __damo_* below are markers: lower_cuda.cpp turns them into loop variables.
// Macros named __DAMO_* stay defined, as no program may have such names: only those that are defined anew are undefined.
#pragma once

#define __host__ __attribute__((host))
#define __device__ __attribute__((device))
#define __global__ _Pragma("damo_kernel") __attribute__((global))
#define __shared__ _Pragma("damo_variable") __attribute__((shared, damo_shared))
#define __constant__ _Pragma("damo_variable") __attribute__((constant))
#define __forceinline__ __inline__ __attribute__((always_inline))
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))
#define __cluster_dims__(...)
#define __block_size__(...)
#define __maxnreg__(...)
#define __grid_constant__
#define __managed__ _Pragma("damo_variable") __attribute__((device))
#define __nv_pure__ __attribute__((pure))
#define __device_builtin__
#define __cudart_builtin__
#define __align__(n) __attribute__((aligned(n)))
#define __builtin_align__(n) __attribute__((aligned(n)))
#define __CUDA_ALIGN__(n) __attribute__((aligned(n)))
#define CUDARTAPI
#define CUDART_CB
#define __CUDACC__ 1
#define __CUDACC_RTC__ 1
#define __CUDACC_VER_MAJOR__ 13
#define __CUDACC_VER_MINOR__ 0
#define __CUDACC_VER_BUILD__ 0
#define CUDART_VERSION 13000
#define CUDA_VERSION 13000
#undef __CUDA_ARCH__
#define __CUDA_ARCH__ 800
#define __DAMO_CPU__ 1

using size_t = decltype(sizeof(0));
using ptrdiff_t = decltype((char*)0 - (char*)0);
using clock_t = long;
using nullptr_t = decltype(nullptr);
#define NULL __null
#define offsetof(type, member) __builtin_offsetof(type, member)
#include "cuda_types.h"

#define INFINITY __builtin_inff()
#define NAN __builtin_nanf("")
#define HUGE_VAL __builtin_huge_val()
#define HUGE_VALF __builtin_huge_valf()
#define CUDART_NAN_F __builtin_bit_cast(float, 0x7fffffff)
#define CUDART_NAN __builtin_bit_cast(double, 0xfff8000000000000ull)
#include "cuda_constants.h"
#include "cuda_vector.h"

// ---- indices ------------------------------------------------------------------------------------------------------
#define __DAMO_MARKER(name) extern "C" __device__ __attribute__((const)) unsigned name(void);
#define __DAMO_AXIS(marker, axis)                                                                            \
  __declspec(property(get = __##axis)) unsigned axis;                                                        \
  __device__ static inline unsigned __##axis() { return __damo_##marker##_##axis(); }
#define __DAMO_INDEX(variable, marker)                                                                       \
  __DAMO_MARKER(__damo_##marker##_x) __DAMO_MARKER(__damo_##marker##_y) __DAMO_MARKER(__damo_##marker##_z)   \
  struct __damo_##variable {                                                                                 \
    __DAMO_AXIS(marker, x) __DAMO_AXIS(marker, y) __DAMO_AXIS(marker, z)                                     \
    __device__ operator uint3() const { return uint3{__x(), __y(), __z()}; }                                 \
    __device__ operator dim3() const { return dim3(__x(), __y(), __z()); }                                   \
    __damo_##variable(const __damo_##variable&) = delete;                                                    \
    __device__ void operator&() const = delete;                                                              \
  };                                                                                                         \
  extern const __device__ __damo_##variable variable;
__DAMO_INDEX(threadIdx, thread)
__DAMO_INDEX(blockIdx, block)
__DAMO_INDEX(blockDim, block_size)
__DAMO_INDEX(gridDim, grid_size)
constexpr int warpSize = 32;

#include "cuda_strided.h"

namespace damo::cuda {

#include "thread_state.h"

template <class T>
using same = typename If<true, T>::type;  // not deduced from

// Of a kernel's type, for decltype alone.
template <int I, class... P>
__device__ __type_pack_element<I, P...> parameter(void (*)(P...));
// A parameter of type T, of which a launch has the place, and how a thread hands it to the kernel. by_address: a class whose objects are passed by
// address, as copying or destroying one does something. CUDA copies the bytes of such arguments too, and their constructors may be the host's alone.
template <class T, bool by_address>
struct Argument {
  using Held = T;
  using Passed = T;
  static __device__ T&& at(void* place) { return static_cast<T&&>(*static_cast<T*>(place)); }  // moving does no more than copying the bytes
  static __device__ T&& pass(T& held) { return static_cast<T&&>(held); }
};
template <class T>
struct Argument<T&, false> {
  using Held = T&;
  using Passed = T&;
  static __device__ T& at(void* place) { return **static_cast<T**>(place); }
  static __device__ T& pass(T& held) { return held; }
};
template <class T>
struct Argument<T, true> {
  using Held = T&;
  using Passed = T&;
  struct Copy {
    alignas(T) char bytes[sizeof(T)];
    __device__ operator T&() { return *reinterpret_cast<T*>(bytes); }
  };
  static __device__ T& at(void* place) { return *static_cast<T*>(place); }
  static __device__ Copy pass(T& held) {
    Copy copy;
    __builtin_memcpy(copy.bytes, __builtin_addressof(held), sizeof(T));
    return copy;
  }
};

}  // namespace damo::cuda

extern "C" __device__ void __damo_indices(damo::cuda::ThreadState*);
extern "C" __device__ void __damo_thread_loop(unsigned y, unsigned z);
extern "C" __device__ __attribute__((const)) unsigned __damo_row_threads(void);
extern "C" __device__ __attribute__((const)) unsigned __damo_by_rows(void);

// The body of an entry: a statement for each of the blocks [first, last), or for as many of them as stand side by side
// along x if block_rows.cpp joins them. Blocks are counted, not divided: a division costs as much as 64 threads of a small
// kernel. Variadic because a kernel's name may hold commas.
#define __DAMO_RUN_BLOCKS(...)                                                                               \
  damo::cuda::ThreadState state;                                                                            \
  __damo_indices(&state);                                                                                   \
  damo::cuda::ThreadState& at = state;                                                                      \
  const unsigned nx = frame->block[0], ny = frame->block[1], nz = frame->block[2];                          \
  const unsigned gx = frame->grid[0], gy = frame->grid[1];                                                  \
  state.frame = frame;                                                                                      \
  at.block_size[0] = nx, at.block_size[1] = ny, at.block_size[2] = nz;                                      \
  at.grid_size[0] = gx, at.grid_size[1] = gy, at.grid_size[2] = frame->grid[2];                             \
  at.block[0] = unsigned(first % gx);                                                                       \
  at.block[1] = unsigned(first / gx % gy);                                                                  \
  at.block[2] = unsigned(first / gx / gy);                                                                  \
  for (long block = first; block < last;) {                                                                 \
    unsigned joined = __damo_row_threads() / (__damo_by_rows() ? 1 : ny * nz) / nx;                         \
    if (joined > gx - at.block[0]) joined = gx - at.block[0];                                               \
    if (joined > last - block) joined = last - block;                                                       \
    if (joined == 0) joined = 1;                                                                            \
    __VA_ARGS__                                                                                             \
    block += joined;                                                                                        \
    at.block[0] += joined;                                                                                  \
    if (at.block[0] == gx) {                                                                                \
      at.block[0] = 0;                                                                                      \
      if (++at.block[1] == gy) at.block[1] = 0, ++at.block[2];                                              \
    }                                                                                                       \
  }

// The call once for each thread of the block, or of the joined ones. Without barriers threads are independent, so the
// innermost loop is over x and vectorises. No x passes 2^31 - 1, as the launcher sees to: said by a signed sum, which can't
// wrap, it makes what is indexed by x a row of neighbours for every analysis.
#define __DAMO_RUN_THREADS(...)                                                                              \
  const unsigned row = joined * nx;                                                                         \
  for (unsigned z = 0; z < nz; ++z)                                                                         \
    for (unsigned y = 0; y < ny; ++y)                                                                       \
      for (unsigned x = 0; x < row; x = unsigned(int(x) + 1)) {                                             \
        __damo_thread_loop(y, z);                                                                           \
        at.thread[0] = x, at.thread[1] = y, at.thread[2] = z;                                               \
        __VA_ARGS__;                                                                                        \
      }

// A call for all threads of the block, or of the joined ones; or one for each row of them (fission/rounds.hpp).
#define __DAMO_RUN_ROWS(...)                                                                                 \
  const unsigned planes = __damo_by_rows() ? nz : 1, rows = __damo_by_rows() ? ny : 1;                      \
  for (unsigned z = 0; z < planes; ++z)                                                                     \
    for (unsigned y = 0; y < rows; ++y) {                                                                   \
      at.thread[0] = joined * nx, at.thread[1] = y, at.thread[2] = z;                                       \
      __VA_ARGS__;                                                                                          \
    }

#include "cuda_sync.h"
#include "cuda_new.h"
