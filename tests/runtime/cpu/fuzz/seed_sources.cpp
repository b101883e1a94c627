#include "runtime/cpu/fuzz/seed_sources.hpp"

namespace damo::cpu_backend::testing {
namespace {

constexpr std::string_view kSeeds[] = {
    R"(__global__ void scale(const float* x, float* y, float factor, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = factor * x[i];
})",
    R"(#define TILE 16
__global__ void multiply(const float* a, const float* b, float* c, int n) {
  __shared__ float s[TILE][TILE], t[TILE][TILE];
  int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * TILE + y, column = blockIdx.x * TILE + x;
  float sum = 0.0f;
  for (int k = 0; k < n / TILE; ++k) {
    s[y][x] = a[row * n + k * TILE + x];
    t[y][x] = b[(k * TILE + y) * n + column];
    __syncthreads();
#pragma unroll
    for (int j = 0; j < TILE; ++j) sum += s[y][j] * t[j][x];
    __syncthreads();
  }
  c[row * n + column] = sum;
})",
    R"(extern "C" __global__ void __launch_bounds__(256) reduce(const float* __restrict__ x, float* out, unsigned n) {
  extern __shared__ float partial[];
  unsigned t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
  partial[t] = i < n ? x[i] : 0.0f;
  __syncthreads();
  for (unsigned s = blockDim.x / 2; s > 0; s >>= 1) {
    if (t < s) partial[t] += partial[t + s];
    __syncthreads();
  }
  if (t == 0) atomicAdd(out, partial[0]);
})",
    R"(template <class T, int N> struct Vec { T v[N]; __device__ T& operator[](int i) { return v[i]; } };
template <class T> __device__ T square(T x) { return x * x; }
__device__ int factorial(int n) { return n < 2 ? 1 : n * factorial(n - 1); }
__global__ void classes(float* y, int n) {
  Vec<float, 4> v;
  for (int i = 0; i < 4; ++i) v[i] = square(float(i + factorial(i)));
  auto add = [&](float a) { return a + v[threadIdx.x % 4]; };
  if (threadIdx.x < n) y[threadIdx.x] = add(1.0f);
})",
    R"(__constant__ float weights[8] = {1, 2, 3, 4, 5, 6, 7, 8};
__device__ unsigned counter;
namespace filters {
__global__ void convolve(const float* x, float* y, int n) {
  int i = threadIdx.x + blockIdx.x * blockDim.x;
  if (i >= n) return;
  float sum = 0;
  for (int k = 0; k < 8; ++k) sum += weights[k] * x[min(max(i + k - 4, 0), n - 1)];
  y[i] = sum;
  atomicInc(&counter, 100u);
}
})",
    R"(__global__ void warp(const int* x, int* y, int n) {
  int lane = threadIdx.x & 31, value = threadIdx.x < n ? x[threadIdx.x] : 0;
  for (int offset = 16; offset > 0; offset /= 2) value += __shfl_down_sync(0xffffffff, value, offset);
  unsigned votes = __ballot_sync(0xffffffffu, value > 3);
  if (lane == 0) y[threadIdx.x / 32] = value + __popc(votes);
})",
    R"(struct Particle { float4 place; float3 speed; int kind; };
__global__ void move(Particle* p, int n, double dt) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    p[i].place.x += p[i].speed.x * dt;
    p[i].place.y += sinf(p[i].speed.y) * expf(-p[i].place.w);
    switch (p[i].kind) { case 0: p[i].kind = 1; break; case 1: continue; default: p[i].kind = 0; }
  }
})",
    R"(__device__ __noinline__ void meet(int* s) { s[threadIdx.x] += 1; __syncthreads(); }
__global__ void fibers(int* y) {
  __shared__ int s[64];
  s[threadIdx.x] = y[threadIdx.x];
  for (int i = 0; i < 3; ++i) meet(s);
  y[threadIdx.x] = s[63 - threadIdx.x];
  assert(y[0] >= 0);
  if (y[1] == 77) printf("%d %f %s\n", y[1], 1.5, "text");
})",
    R"(typedef unsigned long long u64;
__device__ inline u64 mix(u64 x) { x ^= x >> 33; x *= 0xff51afd7ed558ccdULL; return x ^ (x >> 29); }
__global__ void histogram(const unsigned char* data, unsigned* bins, long n) {
  __shared__ unsigned local[256];
  local[threadIdx.x & 255] = 0;
  __syncthreads();
  long i = (long)blockIdx.x * blockDim.x + threadIdx.x;
  while (i < n) { atomicAdd(&local[mix(data[i]) & 0xff], 1u); i += (long)blockDim.x * gridDim.x; }
  __syncthreads();
  atomicAdd(&bins[threadIdx.x & 255], local[threadIdx.x & 255]);
})",
};

constexpr std::string_view kHostile[] = {
    "int threadIdx = 3;\n__global__ void k(int* y) { *y = threadIdx; }",
    "__global__ void k(int* y) { int threadIdx = 3; *y = threadIdx; }",
    "#define threadIdx blockIdx\n__global__ void k(int* y) { *y = threadIdx.x; }",
    "#undef __global__\n__global__ void k() {}",
    "#define __global__\n__global__ void k() {}",
    "#define void int\n__global__ void k() {}",
    "#define state 3\n#define arguments 4\n#define frame 5\n#define first 6\n#define last 7\n#define block 8\n#define at 9\n__global__ void k(int* y) { *y = 1; }",
    "#define device 1\n#define __attribute__(x)\n__global__ void k(int* y) { *y = 1; }",
    "#define damo 1\n__global__ void k(int* y) { *y = 1; }",
    "#define __DAMO_RUN_BLOCKS(x)\n#define __DAMO_RUN_THREADS(x) x\n__global__ void k(int* y) { *y = 1; }",
    "#undef __DAMO_RUN_BLOCKS\n#undef __DAMO_RUN_THREADS\n__global__ void k(int* y) { *y = 1; }",
    "extern \"C\" __device__ unsigned long __damo_wait(int, unsigned, unsigned long, int) { return 1; }\n__global__ void k(int* y) { __syncthreads(); *y = 1; }",
    "__global__ void k(unsigned long* y) { *y = __damo_wait(99, 1, 2, 3); }",
    "__global__ void k(unsigned long* y) { *y = __damo_wait(int(*y), *y, *y, *y); }",
    "extern \"C\" __device__ void __damo_entry_0() {}\n__global__ void k() {}",
    "extern \"C\" __device__ int __damo_thread_0(void* const*, void*) { return 1; }\n__global__ void k() {}",
    "extern \"C\" __device__ void __damo_blocks_0(int) {}\n__global__ void k() {}",
    "extern \"C\" __global__ void __damo_thread_0(int) {}",
    "extern \"C\" __global__ void __damo_entry_0(void* const* a, const damo::LaunchFrame* f, long i, long n) {}",
    "__global__ void k() { __damo_thread_loop(); }",
    "__global__ void k() { __damo_indices(nullptr); }",
    "__global__ void k(int* y) { *y = __damo_thread_x(); }",
    "extern \"C\" __device__ unsigned __damo_thread_x() { return 7; }\n__global__ void k(unsigned* y) { *y = threadIdx.x; }",
    "#pragma damo_entries\n__global__ void k() {}",
    "__global__ void k() {\n#pragma damo_entries\n}",
    "__global__ void k() {}\n#pragma damo_entries\n#pragma damo_entries\n",
    "__global__ void k(int* y) {\n#pragma damo_entries\n *y = 1; }",
    "# 1 \"<damo-entry>\"\n__global__ void k() { x; }",
    "#line 4294967295 \"a\\\\b\\\"\"\n__global__ void k() { x; }",
    "#line 0\n__global__ void k(int* y) { *y = 1; }",
    "extern \"C\" __global__ void memcpy(void* a, const void* b, size_t n) {}",
    "extern \"C\" __device__ void* memcpy(void* a, const void* b, size_t n) { return a; }\nstruct S { int v[100]; };\n__global__ void k(S* a, S* b) { *a = *b; }",
    "extern \"C\" __global__ void damo_signatures(int* y) { *y = 1; }",
    "extern \"C\" { __device__ int damo_signatures = 3; }\n__global__ void k(int* y) { *y = damo_signatures; }",
    "extern \"C\" __global__ void damo_run_coroutines(int* y) { __syncthreads(); *y = 1; }",
    "extern \"C\" __device__ void damo_run_coroutines(int) {}\n__global__ void k(int* y) { __syncthreads(); *y = 1; }",
    "extern \"C\" __device__ int damo_current_thread(int) { return 1; }\n__device__ __noinline__ int f(int n) { return n ? f(n - 1) + threadIdx.x : 0; }\n__global__ void k(int* y) { *y = f(*y); }",
    "extern \"C\" __device__ float damo_coroutine_memory(float) { return 1; }\n__global__ void k(int* y) { __syncthreads(); *y = 1; }",
    "__global__ void exp(float* y) { *y = ::expf(*y); }",
    "extern \"C\" __global__ void main(int* y) { *y = 1; }",
    "extern \"C\" __global__ void printf(int* y) { *y = 1; }",
    "extern \"C\" __global__ void sinf(float* y) { *y = 1; }",
    "extern \"C\" __device__ float sinf(float x) { return sinf(x); }\n__global__ void k(float* y) { *y = sinf(*y); }",
    "__global__ void k(int* y) { asm volatile(\"mov.u32 %0, %laneid;\" : \"=r\"(*y)); }",
    "asm(\".globl oops\\noops: hlt\");\n__global__ void k() {}",
    "__device__ int f();\nasm(\".symver f, g@@h\");\n__global__ void k(int* y) { *y = f(); }",
    "__device__ __attribute__((alias(\"nothing\"))) int f();\n__global__ void k(int* y) { *y = f(); }",
    "__device__ int g() { return 1; }\nextern \"C\" __device__ __attribute__((alias(\"_Z1gv\"))) int f();\n__global__ void k(int* y) { *y = f(); }",
    "__device__ __attribute__((section(\".init_array\"))) int v = 1;\n__global__ void k(int* y) { *y = v; }",
    "__device__ __attribute__((section(\".text\"))) int v = 1;\n__global__ void k(int* y) { *y = v; }",
    "__device__ __attribute__((weak)) int v;\n__device__ __attribute__((constructor)) void f() { v = 1; }\n__global__ void k(int* y) { *y = v; }",
    "struct S { __device__ S(); int v; };\n__device__ S::S() : v(3) {}\n__device__ S s;\n__global__ void k(int* y) { *y = s.v; }",
    "__device__ thread_local int v;\n__global__ void k(int* y) { *y = v; }",
    "__global__ void k(int* y) { static thread_local int v; *y = v++; }",
    "__global__ void k(int* y) { static int v = *y; *y = v++; }",
    "__shared__ int s;\n__global__ void k(int* y) { s = 1; *y = s; }",
    "__global__ void k(int** y) { __shared__ int s; static int* p = &s; *y = p; }",
    "__device__ int* p;\n__global__ void k() { __shared__ int s[4]; p = &s[threadIdx.x]; *p = 1; }",
    "__global__ void k(int n) { __shared__ int s[n]; s[0] = 1; }",
    "__global__ void k(int n) { int s[n]; s[n - 1] = 1; }",
    "__global__ void k() { __shared__ char s[1ull << 62]; s[threadIdx.x] = 1; }",
    "__global__ void k(char* y) { char s[1ull << 40]; s[threadIdx.x] = 1; *y = s[3]; }",
    "struct Big { char c[100000000]; };\n__global__ void k(Big b, char* y) { *y = b.c[*y]; }",
    "__global__ void k(int* y, ...) { *y = 1; }",
    "__global__ void k(int&& y) { y = 1; }",
    "template <int N> struct F { static constexpr long value = F<N - 1>::value + F<N - 2>::value; };\ntemplate <int N> __global__ void k(long* y) { *y = F<N>::value; }\ntemplate __global__ void k<500>(long*);",
    "template <class T> struct R { R<R<T>> r; };\n__global__ void k() { R<int> r; }",
    "constexpr int f(int n) { return n ? f(n - 1) : 0; }\n__global__ void k(int* y) { constexpr int v = f(100000); *y = v; }",
    "constexpr long f() { long n = 0; while (true) ++n; return n; }\n__global__ void k(long* y) { constexpr long v = f(); *y = v; }",
    "#define A B B B B\n#define B C C C C\n#define C D D D D\n#define D E E E E\n#define E 1 +\n__global__ void k(int* y) { *y = A 1; }",
    "#include __FILE__\n__global__ void k() {}",
    "#include \"user.cu\"\n__global__ void k() {}",
    "#include \"/dev/zero\"\n",
    "#include \"/dev/stdin\"\n__global__ void k() {}",
    "#include \"/proc/self/mem\"\n__global__ void k() {}",
    "#include \".\"\n__global__ void k() {}",
    "#include <vector>\n#include <cuda_runtime.h>\n__global__ void k() {}",
    "#pragma once\n#pragma GCC poison __global__ damo k\n__global__ void k() {}",
    "#pragma clang optimize off\n__global__ void k(int* y) { __syncthreads(); *y = 1; }",
    "#pragma clang attribute push(__attribute__((annotate(\"x\"))), apply_to = function)\n__global__ void k(int* y) { *y = 1; }",
    "#pragma clang attribute push(__attribute__((noinline)), apply_to = function)\n__global__ void k(int* y) { __syncthreads(); *y = 1; }",
    "#pragma clang force_cuda_host_device begin\n__global__ void k(int* y) { *y = 1; }",
    "#pragma push_macro(\"__global__\")\n#pragma pack(1)\nstruct S { char c; double d; };\n__global__ void k(S s, double* y) { *y = s.d; }",
    "namespace damo { namespace cuda { struct ThreadState { int x; }; } }\n__global__ void k(int* y) { *y = 1; }",
    "namespace damo { struct LaunchFrame {}; }\n__global__ void k(int* y) { *y = 1; }",
    "namespace damo::cuda { template <> struct ParameterOf<0, void(int*)> { using type = char; }; }\n__global__ void k(int* y) { *y = 1; }",
    "namespace { __global__ void k(int* y) { *y = 1; } }",
    "struct S { static __global__ void k(int* y) { *y = 1; } };",
    "class C { __global__ void k(int* y) { *y = 1; } };",
    "template <class T> class C { template <int N> static __global__ void k(T* y) { *y = N; } };",
    "__global__ __host__ void k(int* y) { *y = 1; }",
    "__global__ void k(int* y) { k<<<1, 1>>>(y); }",
    "__global__ void k(int* y) { if (*y) k(y); }",
    "__global__ void a(int*); __global__ void b(int* y) { a(y); } __global__ void a(int* y) { *y = 1; }",
    "__global__ void k(void (*f)(int)) { f(1); }",
    "__device__ void g(int) { __syncthreads(); }\n__global__ void k(int n) { void (*f)(int) = g; f(n); }",
    "struct V { __device__ virtual void f() { __syncthreads(); } };\nstruct W : V { __device__ void f() override {} };\n__global__ void k(int n) { V v; W w; V* p = n ? &v : &w; p->f(); }",
    "__global__ void k(int* y) { try { *y = 1; } catch (...) { throw; } }",
    "__global__ void k(int* y) { delete[] (new int[*y]); }",
    "__global__ void k(int* y) { goto *(&&a + *y); a: *y = 1; }",
    "__global__ void k(int* y) { goto b; for (;;) { a: __syncthreads(); if (*y) return; b: if (y[1]) goto a; } }",
    "__global__ void k(int* y) { switch (*y) { case 0: for (int i = 0; i < 3; ++i) { case 1: __syncthreads(); y[i] = i; } } }",
    "__global__ void k(int* y) { __builtin_unreachable(); }",
    "__global__ void k(int* y) { __builtin_trap(); }",
    "__global__ void k(int* y) { *(volatile int*)0 = __builtin_return_address(0) != 0; }",
    "__global__ void k(char* y) { char* p = (char*)__builtin_alloca(*y); __syncthreads(); *p = *y; }",
    "__global__ void k(int* y) { __builtin_longjmp((void**)y, 1); }",
    "__global__ void k(int* y) { if (__builtin_setjmp((void**)y)) *y = 1; }",
    "__global__ void k(_Complex float* y) { *y *= *y; }",
    "__global__ void k(__int128* y) { *y /= 3; }",
    "__global__ void k(_BitInt(8388608)* y) { *y += 1; }",
    "__global__ void k(_BitInt(129)* y) { *y /= 3; }",
    "__global__ void k(float __attribute__((vector_size(1 << 20)))* y) { *y *= 2; }",
    "__global__ void k(float __attribute__((ext_vector_type(3)))* y) { *y *= 2; __syncthreads(); *y += 1; }",
    "__global__ void k(long double* y) { *y = __builtin_sinl(*y); }",
    "__global__ void k(__bf16* y, _Float16* z) { *y = 1; *z = *z * *z; }",
    "__global__ void k(int* y) { __asm__(\"\"); *y = 1; }",
    "import module; export module x; __global__ void k() {}",
    "co_return; __global__ void k(int* y) { co_await 1; }",
    "__global__ void k(int* y) requires true { *y = 1; }",
    "__global__ auto k(int* y) -> void { *y = 1; }",
    "__global__ void k(auto* y) { *y = 1; }",
    "__global__ void k(int* y) [[clang::musttail]] { return; }",
    "__device__ void f(int* y);\n__global__ void k(int* y) { [[clang::musttail]] return f(y); }\n__device__ void f(int* y) { __syncthreads(); }",
    "__global__ void operator\"\" _k(unsigned long long) {}",
    "__global__ void k(int* y) { enum { a = __COUNTER__ }; *y = a; } /* no end",
    "__global__ void k(const char* y) { y = \"no end",
    "R\"no_such_end(",
    "__global__ void k(int* y) { *y = 'abcdefgh'; }",
    "__global__ void k(int* y) { *y = 0x1p99999999999 + 1e-99999999999 + 99999999999999999999999999999999; }",
    "__global__ void \xc3\xa9t\xc3\xa9(int* y) { *y = 1; }",
    "__global__ void k(int* \\u00e9) { *\\u00e9 = 1; }",
    "\xff\xfe__global__ void k() {}",
    "\xef\xbb\xbf__global__ void k(int* y) { *y = 1; }",
    "?\?=define x\n__global__ void k(int* y) ?\?< *y = 1; ?\?>",
    "%:define x\n__global__ void k(int* y) <% y<:0:> = 1; %>",
    "#if 1\n__global__ void k() {}",
    "#error \"user\"\n",
    "#embed \"/dev/zero\"\n",
    "#embed \"/dev/zero\" limit(10)\n__global__ void k() {}",
    "_Pragma(\"damo_entries\") __global__ void k() {}",
    "__has_include(\"x\")",
    "#if __has_embed(\"/dev/urandom\") || __has_include_next(\"x\")\n#endif\n__global__ void k() {}",
    "",
    "\\",
    "#",
    "//\\",
};

}  // namespace

std::span<const std::string_view> seed_sources() { return kSeeds; }
std::span<const std::string_view> hostile_sources() { return kHostile; }

}  // namespace damo::cpu_backend::testing
