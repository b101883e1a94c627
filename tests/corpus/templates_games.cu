// CRTP, packs, enable_if, tables made at compile time, kernels from macros, operators, an extern "C" kernel between
// namespaces, dynamic shared memory cut into three types.
//: array float32 a[128] = uniform(-2, 2)
//: array float32 b[128] = uniform(-2, 2)
//: array float32 crtp[128]
//: array float32 packs[128]
//: array int32 traits[4]
//: array int32 crc[32]
//: array float32 add_out[128]
//: array float32 mul_out[128]
//: array float64 cut[64]
//: array int32 arch[4]
//: launch run_crtp<<<1, 128>>>(a, crtp)
//: launch outer::inner::fold_all<<<1, 128>>>(a, b, packs)
//: launch traits_of<<<1, 1>>>(traits)
//: launch crc_table<<<1, 32>>>(crc)
//: launch elementwise_add<<<2, 64>>>(a, b, add_out, 128)
//: launch elementwise_mul<<<2, 64>>>(a, b, mul_out, 128)
//: launch cut_up<<<1, 64, 1024>>>(a, cut)
//: launch arch_of<<<1, 1>>>(arch)
//: check crtp within 1e-6
//: check packs within 1e-6
//: check traits
//: check crc
//: check add_out within 1e-6
//: check mul_out within 1e-6
//: check cut within 1e-6
//: check arch
#include <type_traits>
template <class Derived> struct Activation {
  __host__ __device__ float operator()(float x) const { return static_cast<const Derived *>(this)->forward(x) * Derived::gain; }
};
struct Relu : Activation<Relu> { static constexpr float gain = 2.0f; __host__ __device__ float forward(float x) const { return x > 0 ? x : 0; } };
struct Leaky : Activation<Leaky> {
  static constexpr float gain = 1.0f;
  float slope;
  __host__ __device__ Leaky(float s = 0.1f) : slope(s) {}
  __host__ __device__ float forward(float x) const { return x > 0 ? x : slope * x; }
};
template <class D> __device__ void apply(const Activation<D> &f, const float *x, float *y) { y[threadIdx.x] += f(x[threadIdx.x]); }
extern "C" __global__ void run_crtp(const float *x, float *y) { apply(Relu{}, x, y); apply(Leaky(0.25f), x, y); }
namespace outer { namespace inner {
template <typename T> __device__ T largest(T v) { return v; }
template <typename T, typename... Rest> __device__ T largest(T v, Rest... rest) { T o = largest(static_cast<T>(rest)...); return v > o ? v : o; }
template <typename... T> __device__ auto total(T... v) { return (v + ...); }
template <typename... F> struct Compose;
template <typename F> struct Compose<F> { F f; __device__ float operator()(float x) const { return f(x); } };
template <typename F, typename... G> struct Compose<F, G...> : Compose<G...> {
  F f;
  __device__ Compose(F f, G... g) : Compose<G...>{g...}, f(f) {}
  __device__ float operator()(float x) const { return f(Compose<G...>::operator()(x)); }
};
template <class... F> Compose(F...) -> Compose<F...>;
__global__ void fold_all(const float *a, const float *b, float *out) {
  int i = threadIdx.x;
  auto c = Compose([](float x) { return x + 1; }, [=](float x) { return x * b[i]; });
  out[i] = largest(a[i], b[i], 0.5f) + total(a[i], b[i], 3) + c(a[i]);
}
}}
template <typename T, typename = void> struct rank_of { static const int value = 0; };
template <typename T> struct rank_of<T, typename std::enable_if<std::is_floating_point<T>::value>::type> { static const int value = sizeof(T); };
template <class T, std::enable_if_t<std::is_integral_v<T>, int> = 0> __device__ int kind(T) { return 1; }
template <class T, std::enable_if_t<!std::is_integral_v<T>, int> = 0> __device__ int kind(T) { return 2; }
__global__ void traits_of(int *out) { out[0] = rank_of<double>::value; out[1] = rank_of<int>::value; out[2] = kind(1u); out[3] = kind(1.f); }
struct Table { unsigned v[256]; };
constexpr Table make_table() {
  Table t{};
  for (unsigned i = 0; i < 256; ++i) {
    unsigned c = i;
    for (int k = 0; k < 8; ++k) c = c & 1 ? 0xEDB88320u ^ (c >> 1) : c >> 1;
    t.v[i] = c;
  }
  return t;
}
__constant__ Table crc_of = make_table();
__global__ void crc_table(int *out) {
  unsigned c = ~0u;
  for (unsigned k = 0; k <= threadIdx.x; ++k) c = crc_of.v[(c ^ k) & 255] ^ (c >> 8);
  out[threadIdx.x] = (int)(~c >> 1);
}
#define ELEMENTWISE(NAME, OP)                                                              \
  extern "C" __global__ void elementwise_##NAME(const float *__restrict__ a, const float *__restrict__ b, float *c, int n) { \
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) c[i] = a[i] OP b[i]; \
  }
ELEMENTWISE(add, +)
ELEMENTWISE(mul, *)
__global__ void cut_up(const float *a, double *out) {
  extern __shared__ __align__(16) unsigned char raw[];
  double *d = reinterpret_cast<double *>(raw);
  float *f = reinterpret_cast<float *>(d + blockDim.x);
  short *s = (short *)&f[blockDim.x];
  int t = threadIdx.x;
  d[t] = a[t] * 2.0;
  f[t] = a[t];
  s[t] = (short)(t * 3);
  __syncthreads();
  int o = blockDim.x - 1 - t;
  out[t] = d[o] + f[o] + s[o];
}
__global__ void arch_of(int *out) {
#ifdef __CUDACC__
  out[0] = 1;
#endif
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 700
  out[1] = 1;
#endif
#if __CUDACC_VER_MAJOR__ >= 11
  out[2] = 1;
#endif
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ < 600
  out[3] = 1;
#endif
}
