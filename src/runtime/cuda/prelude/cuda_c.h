// What nvcc declares without an include and NVRTC does not: the same CUDA C then compiles on a GPU and on the CPU,
// whose own list is src/runtime/cpu/clang/prelude/cuda_c.h. Macros, aliases and templates only: they cost nothing to compile.
// A program's own "typedef unsigned int uint32_t;" may stand beside these.
using int8_t = signed char;
using int16_t = short;
using int32_t = int;
#ifndef __DAMO_OWN_int64_t
using int64_t = long;
#endif
using uint8_t = unsigned char;
using uint16_t = unsigned short;
using uint32_t = unsigned int;
#ifndef __DAMO_OWN_uint64_t
using uint64_t = unsigned long;
#endif
#ifndef __DAMO_OWN_intptr_t
using intptr_t = long;
#endif
#ifndef __DAMO_OWN_uintptr_t
using uintptr_t = unsigned long;
#endif
using uchar = unsigned char;
using ushort = unsigned short;
using uint = unsigned int;
#ifndef __DAMO_OWN_ulong
using ulong = unsigned long;
#endif
#define INFINITY __int_as_float(0x7f800000)
#define NAN __int_as_float(0x7fffffff)
#define HUGE_VAL __longlong_as_double(0x7ff0000000000000LL)
#define CUDART_INF_F __int_as_float(0x7f800000)
#define CUDART_NAN_F __int_as_float(0x7fffffff)
#define CUDART_INF __longlong_as_double(0x7ff0000000000000LL)
#define CUDART_PI_F 3.141592654f
#define CUDART_PI 3.1415926535897931e+0
#define FLT_MAX 3.402823466e+38f
#define FLT_MIN 1.175494351e-38f
#define FLT_EPSILON 1.192092896e-07f
#define DBL_MAX 1.7976931348623158e+308
#define DBL_MIN 2.2250738585072014e-308
#define DBL_EPSILON 2.2204460492503131e-16
#define INT_MAX 2147483647
#define INT_MIN (-2147483647 - 1)
#define UINT_MAX 4294967295u
#define M_PI 3.14159265358979323846
#define M_PI_2 1.57079632679489661923
#define M_E 2.7182818284590452354
#define M_SQRT2 1.41421356237309504880
#define M_SQRT1_2 0.70710678118654752440

// The name in the code of an instance over a kernel's type tells its parameters (name_guesses.cpp asks).
template <class> __device__ char damo_signature;

namespace damo {
// An array with its shape and strides, in elements (<damo/strided.hpp>).
template <class T, int rank>
struct Strided {
  T* data;
  long shape[rank];
  long strides[rank];
  template <class... Index>
  __host__ __device__ T& operator()(Index... index) const {
    static_assert(sizeof...(Index) == rank, "one index for each axis");
    const long at[] = {static_cast<long>(index)...};
    long offset = 0;
    for (int axis = 0; axis < rank; ++axis) offset += at[axis] * strides[axis];
    return data[offset];
  }
};
}  // namespace damo
