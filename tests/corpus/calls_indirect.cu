// Tables of functions, virtual calls on objects that are made on the device, recursion, templates that recurse, lambdas that
// capture by reference, static device variables and constant tables.
//: array float32 x[256] = uniform(0.1, 4)
//: array float32 y[256]
//: array float32 area[256]
//: array int32 n[256] = integers(0, 18)
//: array int32 fib[256]
//: array int32 hanoi[256]
//: array int32 sorted[256]
//: array float32 integral[256]
//: array int32 text[64]
//: array float32 poly[256]
//: launch apply_table<<<2, 128>>>(x, y, 256)
//: launch areas<<<2, 128>>>(x, area, 256)
//: launch recurse<<<8, 32>>>(n, fib, hanoi)
//: launch quicksorts<<<2, 8>>>(n, sorted)
//: launch integrals<<<2, 128>>>(x, integral)
//: launch spell<<<1, 64>>>(text)
//: launch horner_all<<<1, 256>>>(x, poly)
//: check y within 1e-5
//: check area within 1e-5
//: check fib
//: check hanoi
//: check sorted
//: check integral within 1e-4
//: check text
//: check poly within 1e-5
typedef float (*unary)(float);
__device__ float half_of(float v) { return 0.5f * v; }
__device__ float square(float v) { return v * v; }
__device__ float root(float v) { return sqrtf(v); }
__device__ float logarithm(float v) { return logf(v); }
__device__ unary table[4] = {half_of, square, root, logarithm};
__constant__ unary constants[] = {square, root};
static __device__ int turn = 2;
__global__ void apply_table(const float *x, float *y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unary f = table[i % 4], g = constants[(i / 4) % turn];
  y[i] = f(x[i]) + g(x[i]);
}
struct Shape {
  __device__ virtual float area() const = 0;
  __device__ virtual float grown(float by) const { return area() * by * by; }
  __device__ virtual ~Shape() {}
};
struct Circle : Shape {
  float r;
  __device__ explicit Circle(float r) : r(r) {}
  __device__ float area() const override { return 3.14159265f * r * r; }
};
class Rectangle final : public Shape {
  float a, b;
 public:
  __device__ Rectangle(float a, float b) : a(a), b(b) {}
  __device__ float area() const override { return a * b; }
  __device__ float grown(float by) const override { return (a * by) * (b * by) + 1.0f; }
};
__device__ float measure(const Shape &s, float by) { return s.area() + s.grown(by); }
__global__ void areas(const float *x, float *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  Circle c(x[i]);
  Rectangle r(x[i], 2.0f);
  const Shape *s = i & 1 ? static_cast<const Shape *>(&c) : &r;
  out[i] = measure(*s, 0.5f);
}
__device__ int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
__device__ int odd(int);
__device__ int even(int n) { return n == 0 ? 1 : odd(n - 1); }
__device__ int odd(int n) { return n == 0 ? 0 : even(n - 1); }
__device__ __noinline__ void move(int n, int from, int to, int *count) {
  if (n == 0) return;
  move(n - 1, from, 3 - from - to, count);
  *count += 1;
  move(n - 1, 3 - from - to, to, count);
}
__global__ void recurse(const int *n, int *fib, int *hanoi) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, count = 0;
  fib[i] = fibonacci(n[i]) + 10000 * even(n[i]);
  move(n[i] % 8, 0, 2, &count);
  hanoi[i] = count;
}
template <typename T> __device__ void quicksort(T *a, int lo, int hi) {
  if (lo >= hi) return;
  T p = a[(lo + hi) / 2];
  int i = lo, j = hi;
  while (i <= j) {
    while (a[i] < p) i++;
    while (p < a[j]) j--;
    if (i <= j) { T t = a[i]; a[i++] = a[j]; a[j--] = t; }
  }
  quicksort(a, lo, j);
  quicksort(a, i, hi);
}
__global__ void quicksorts(const int *in, int *out) {
  int first = (blockIdx.x * blockDim.x + threadIdx.x) * 16;
  int mine[16];
  for (int k = 0; k < 16; k++) mine[k] = in[first + k];
  quicksort(mine, 0, 15);
  for (int k = 0; k < 16; k++) out[first + k] = mine[k];
}
template <class F> __device__ float simpson(F f, float a, float b, int n) {
  float h = (b - a) / n, s = f(a) + f(b);
  for (int k = 1; k < n; k++) s += (k % 2 ? 4 : 2) * f(a + k * h);
  return s * h / 3;
}
__global__ void integrals(const float *x, float *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, calls = 0;
  float c = x[i];
  auto f = [&, c](float t) { ++calls; return c * sinf(t) + t; };
  out[i] = simpson(f, 0.0f, 2.0f, 32) + calls;
}
__constant__ char alphabet[] = "abcdefgh";
__device__ const char *const names[] = {"one", "two", "three", alphabet};
__global__ void spell(int *out) {
  const char *s = names[threadIdx.x % 4];
  int h = 5381;
  while (*s) h = h * 33 + *s++;
  out[threadIdx.x] = h & 0xffffff;
}
template <int K> struct Coefficient { static constexpr float value = Coefficient<K - 1>::value / K; };
template <> struct Coefficient<0> { static constexpr float value = 1.0f; };
template <int K, int N> __device__ __forceinline__ float horner(float x) {
  if constexpr (K == N) return Coefficient<K>::value;
  else return Coefficient<K>::value + x * horner<K + 1, N>(x);
}
__global__ void horner_all(const float *x, float *y) { y[threadIdx.x] = horner<0, 14>(x[threadIdx.x] * 0.5f); }
