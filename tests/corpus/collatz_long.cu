//: array uint64 start[500] = integers(1, 100000)
//: array int32 steps[500]
//: array uint64 peak[500]
//: launch collatz<<<4, 128>>>(start, steps, peak, 500)
//: check steps
//: check peak
typedef unsigned long long ull;
__global__ void collatz(const ull* start, int* steps, ull* peak, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  ull x = start[i], top = x;
  int count = 0;
  do {
    if (x == 1ULL) break;
    x = (x & 1ULL) ? 3ULL * x + 1ULL : x >> 1;
    if (x > top) top = x;
    ++count;
  } while (true);
  steps[i] = count;
  peak[i] = top;
}
