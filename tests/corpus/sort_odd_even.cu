//: array float64 v[200] = uniform(-1, 1)
//: launch oddEven<double><<<1, 128>>>(v, 200)
//: check v
template <typename T> __device__ inline void swap_if(T& a, T& b) { if (b < a) { T t = a; a = b; b = t; } }
template <typename T> __global__ void oddEven(T* v, int n) {
  for (int phase = 0; phase < n; ++phase) {
    for (int i = 2 * threadIdx.x + (phase & 1); i + 1 < n; i += 2 * blockDim.x) swap_if(v[i], v[i + 1]);
    __syncthreads();
  }
}
