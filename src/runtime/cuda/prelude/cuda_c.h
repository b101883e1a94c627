// What nvcc declares without an include and NVRTC does not: the same CUDA C then compiles on a GPU and on the CPU,
// whose own list is src/runtime/cpu/clang/prelude/cuda_c.h. Macros, aliases, templates and a few one-line functions: they
// cost next to nothing to compile. cuda_types.h goes before, cuda_constants.h behind.
// nvcc passes over the word, which C++17 has taken out of the language.
#define register
#define INFINITY __int_as_float(0x7f800000)
#define NAN __int_as_float(0x7fffffff)
#define HUGE_VAL __longlong_as_double(0x7ff0000000000000LL)
#define HUGE_VALF __int_as_float(0x7f800000)
#define CUDART_NAN_F __int_as_float(0x7fffffff)
#define CUDART_NAN __longlong_as_double(0xfff8000000000000ULL)
#define offsetof(type, member) __builtin_offsetof(type, member)
#define __DAMO_OF_INT(name) __device__ inline double name(int x) { return name(double(x)); }
__DAMO_OF_INT(sqrt) __DAMO_OF_INT(exp) __DAMO_OF_INT(log) __DAMO_OF_INT(log2) __DAMO_OF_INT(sin) __DAMO_OF_INT(cos)
__DAMO_OF_INT(floor) __DAMO_OF_INT(ceil) __DAMO_OF_INT(round) __DAMO_OF_INT(fabs)
#undef __DAMO_OF_INT
__device__ inline double pow(int x, int y) { return pow(double(x), double(y)); }
__device__ inline int ffs(int x) { return __ffs(x); }
__device__ inline int ffsll(long long x) { return __ffsll(x); }

// uint64_t is unsigned long, which nvcc's atomic functions do not take; the CPU's do.
#define __DAMO_ATOMIC(name, T)                                                        \
  __device__ inline T name(T* p, T v) {                                               \
    return static_cast<T>(name(reinterpret_cast<T long*>(p), static_cast<T long>(v))); \
  }
#define __DAMO_ATOMICS(T) \
  __DAMO_ATOMIC(atomicMin, T) __DAMO_ATOMIC(atomicMax, T) __DAMO_ATOMIC(atomicAnd, T) __DAMO_ATOMIC(atomicOr, T) __DAMO_ATOMIC(atomicXor, T)
__DAMO_ATOMICS(long) __DAMO_ATOMICS(unsigned long) __DAMO_ATOMIC(atomicAdd, unsigned long) __DAMO_ATOMIC(atomicExch, unsigned long)
__device__ inline unsigned long atomicCAS(unsigned long* p, unsigned long expected, unsigned long v) {
  return atomicCAS(reinterpret_cast<unsigned long long*>(p), static_cast<unsigned long long>(expected), static_cast<unsigned long long>(v));
}
#undef __DAMO_ATOMIC
#undef __DAMO_ATOMICS

// Before CUDA 13.4 ptxas makes two additions of three and more of one high product to one sum (a loop of x += __umulhi(a, b) that it
// unrolls, at any -O): it takes the second "multiply, add, keep the high word" and the third for one. Products of 64 bits have none.
__device__ inline unsigned __damo_umulhi(unsigned a, unsigned b) { return static_cast<unsigned>(static_cast<unsigned long long>(a) * b >> 32); }
__device__ inline int __damo_mulhi(int a, int b) { return static_cast<int>(static_cast<long long>(a) * b >> 32); }
#define __umulhi(...) __damo_umulhi(__VA_ARGS__)
#define __mulhi(...) __damo_mulhi(__VA_ARGS__)

// The name in the code of an instance over a kernel's type tells its parameters (name_guesses.cpp asks).
template <class> __device__ char damo_signature;

