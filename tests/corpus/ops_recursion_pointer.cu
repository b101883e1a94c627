// A recursive device function and a table of function pointers.
//: array int32 out[60]
//: launch table<<<1, 60>>>(out)
//: check out
__device__ int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
__device__ int square(int n) { return n * n; }
__device__ int negate(int n) { return -n; }
typedef int (*Function)(int);
__global__ void table(int* out) {
  const Function f[3] = {fib, square, negate};
  out[threadIdx.x] = f[threadIdx.x % 3](threadIdx.x / 3);
}
