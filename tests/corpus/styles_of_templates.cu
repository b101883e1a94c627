// Packs, folds, if constexpr, operators as types, storage as a nested type, a class that finds dynamic shared memory.
//: array float32 x[512] = uniform(-1, 1)
//: array float32 t[512]
//: array float32 u[4]
//: array float32 w[512]
//: array float32 r[512]
//: launch folded<float, 1, 2, 3><<<2, 256>>>(x, t)
//: launch totals<float, Plus<float>><<<4, 128>>>(x, u)
//: launch reversed<double><<<4, 128, 1024>>>(x, w)
//: launch space::inner::iterate<<<4, 128>>>(x, r)
//: check t within 1e-6
//: check u within 1e-5
//: check w within 1e-6
//: check r within 1e-5
#include <type_traits>
#include <utility>
template <typename T, int... Factors>
__global__ void folded(const T *x, T *t) {
  static_assert(sizeof...(Factors) == 3, "three factors");
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if constexpr (std::is_same_v<T, float>) t[i] = ((x[i] * Factors) + ...) + T((Factors * ... * 1));
  else t[i] = 0;
}
template <class T>
struct Plus {
  static constexpr T identity = T(0);
  __host__ __device__ __forceinline__ T operator()(const T &a, const T &b) const { return a + b; }
};
template <class T, int N, class Op>
class BlockReduce {
 public:
  struct Storage { T cells[N]; };
  __device__ explicit BlockReduce(Storage &storage) : storage_(storage) {}
  __device__ T reduce(T v, Op op) {
    storage_.cells[threadIdx.x] = v;
    __syncthreads();
#pragma unroll
    for (int d = N / 2; d > 0; d >>= 1) {
      if (threadIdx.x < d) storage_.cells[threadIdx.x] = op(storage_.cells[threadIdx.x], storage_.cells[threadIdx.x + d]);
      __syncthreads();
    }
    return storage_.cells[0];
  }

 private:
  Storage &storage_;
};
template <class T, class Op>
__global__ void totals(const T *x, T *u) {
  using Reduce = BlockReduce<T, 128, Op>;
  __shared__ typename Reduce::Storage storage;
  const T total = Reduce(storage).reduce(x[blockIdx.x * 128 + threadIdx.x], Op());
  if (threadIdx.x == 0) u[blockIdx.x] = total + Op::identity;
}
template <class T>
struct Shared {
  __device__ operator T *() {
    extern __shared__ __align__(16) unsigned char bytes[];
    return reinterpret_cast<T *>(bytes);
  }
};
template <class T>
__global__ void reversed(const float *x, float *w) {
  Shared<T> shared;
  T *cells = shared;
  cells[threadIdx.x] = x[blockIdx.x * blockDim.x + threadIdx.x];
  __syncthreads();
  w[blockIdx.x * blockDim.x + threadIdx.x] = cells[blockDim.x - 1 - threadIdx.x];
}
namespace space { namespace inner {
struct Complex {
  float re, im;
  __device__ Complex(float re = 0, float im = 0) : re(re), im(im) {}
  __device__ Complex operator*(const Complex &o) const { return {re * o.re - im * o.im, re * o.im + im * o.re}; }
  __device__ Complex &operator+=(const Complex &o) { re += o.re; im += o.im; return *this; }
  __device__ float norm() const { return re * re + im * im; }
};
enum class Way { kFloat, kBits };
union Word { float f; unsigned u; struct { unsigned low : 16, high : 16; } parts; };
__global__ void iterate(const float *x, float *r) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  Complex z(x[i], 0.5f), c(0.1f, x[i]);
  for (int k = 0; k < 3; ++k) {
    z = z * z;
    z += c;
    if (z.norm() > 4.0f) break;
  }
  Word word;
  word.f = z.norm();
  switch (word.parts.high & 1 ? Way::kFloat : Way::kBits) {
    case Way::kFloat: r[i] = word.f; break;
    case Way::kBits: r[i] = __uint_as_float(word.u); break;
  }
}
} }
