// Every thread takes the lock, in the two ways that programs have; least and greatest double by compare and swap.
//: array int32 locks[2]
//: array int32 sums[2]
//: array float64 x[1024] = uniform(-9, 9)
//: array float64 bounds[2]
//: launch try_again<<<4, 64>>>(locks, sums)
//: launch wait_first<<<4, 64>>>(locks + 1, sums + 1)
//: launch least_and_greatest<<<4, 256>>>(x, bounds)
//: check sums
//: check bounds
struct Mutex {
  int *word;
  __device__ bool try_lock() { return atomicCAS(word, 0, 1) == 0; }
  __device__ void lock() { while (atomicCAS(word, 0, 1) != 0) { } __threadfence(); }
  __device__ void unlock() { __threadfence(); atomicExch(word, 0); }
};
__global__ void try_again(int *lock, volatile int *sum) {
  Mutex mutex{lock};
  for (bool done = false; !done;) {
    if (mutex.try_lock()) {
      sum[0] = sum[0] + 1;
      mutex.unlock();
      done = true;
    }
  }
}
__global__ void wait_first(int *lock, volatile int *sum) {
  Mutex mutex{lock};
  mutex.lock();
  sum[0] = sum[0] + 1;
  mutex.unlock();
}
__device__ void at_most(double *p, double v) {
  unsigned long long *word = (unsigned long long *)p, old = *word, seen;
  do {
    seen = old;
    if (__longlong_as_double(seen) <= v) return;
    old = atomicCAS(word, seen, __double_as_longlong(v));
  } while (old != seen);
}
__device__ void at_least(double *p, double v) { 
  unsigned long long *word = reinterpret_cast<unsigned long long *>(p), old = *word;
  while (v > __longlong_as_double(old)) {
    const unsigned long long seen = atomicCAS(word, old, (unsigned long long)__double_as_longlong(v));
    if (seen == old) break;
    old = seen;
  }
}
__global__ void least_and_greatest(const double *x, double *bounds) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  at_most(bounds, x[i]);
  at_least(bounds + 1, x[i]);
}
