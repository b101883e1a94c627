//: array float64 a[960] = uniform(-1, 1)
//: array float64 b[960] = uniform(-1, 1)
//: array float64 out[12]
//: launch batched_dot<double, 64><<<(3, 4), 64>>>({a, b, out, 80})
//: check out within 1e-12
template <typename T> struct Batch { const T* a; const T* b; T* out; int n; };
template <typename T, int THREADS> __global__ void batched_dot(const Batch<T> p) {
  __shared__ T acc[THREADS];
  const int batch = blockIdx.y * gridDim.x + blockIdx.x;
  const T* a = p.a + batch * p.n; const T* b = p.b + batch * p.n;
  T s = T();
  for (int i = threadIdx.x; i < p.n; i += THREADS) s += a[i] * b[i];
  acc[threadIdx.x] = s;
  for (int k = THREADS / 2; k >= 1; k /= 2) {
    __syncthreads();
    if (threadIdx.x < k) acc[threadIdx.x] += acc[threadIdx.x + k];
  }
  if (!threadIdx.x) p.out[batch] = acc[0];
}
