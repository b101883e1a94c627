// Classes with default member initialisers in __shared__ memory, which no constructor runs for.
//: array float32 x[512] = uniform(-1, 1)
//: array int32 labels[512] = integers(0, 7)
//: array float32 best[4]
//: array int32 where[4]
//: array float32 sums[16]
//: array int32 counts[28]
//: launch best_of<<<4, 128>>>(x, best, where)
//: launch sum_of<float, 4><<<4, 128>>>(x, sums)
//: launch count<<<4, 128>>>(labels, counts)
//: check best
//: check where
//: check sums within 1e-5
//: check counts
struct Candidate {
  float value = -1e30f;
  int index = -1;
  __device__ bool is_better_than(const Candidate& other) const { return value > other.value || (value == other.value && index < other.index); }
};
struct Pair : Candidate {
  Candidate second;
  short rank = 3;
};

__global__ void best_of(const float* x, float* best, int* where) {
  __shared__ Candidate all[128];
  __shared__ Pair first, *nothing;
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  Candidate own;
  own.value = x[i];
  own.index = i;
  all[threadIdx.x] = own;
  nothing = nullptr;
  for (int half = 64; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half && all[threadIdx.x + half].is_better_than(all[threadIdx.x])) all[threadIdx.x] = all[threadIdx.x + half];
  }
  if (threadIdx.x == 0) {
    first.second = all[0];
    first.rank = 1;
  }
  __syncthreads();
  if (threadIdx.x == 127 && !nothing) {
    best[blockIdx.x] = first.second.value * first.rank;
    where[blockIdx.x] = first.second.index;
  }
}

// One for each warp of the block.
template <class T, int warps>
struct Partial {
  T sums[warps] = {};
  bool is_done = false;
  __device__ void put(int warp, T sum) { sums[warp] = sum; }
};
template <class T>
struct Cell {
  T value{};
  union { int word = 1; float number; };
};

template <class T, int warps>
__device__ T total(T own) {
  static __shared__ Partial<T, warps> partial;
  __shared__ __align__(16) Cell<T> cells[32 * warps];
  cells[threadIdx.x].value = own;
  __syncthreads();
  if (threadIdx.x % 32 == 0) {
    T sum = 0;
    for (int lane = 0; lane < 32; ++lane) sum += cells[threadIdx.x + lane].value;
    partial.put(threadIdx.x / 32, sum);
  }
  __syncthreads();
  return partial.sums[threadIdx.x / 32];
}

template <class T, int warps>
__global__ void sum_of(const T* x, T* sums) {
  const T sum = total<T, warps>(x[blockIdx.x * blockDim.x + threadIdx.x]);
  if (threadIdx.x % 32 == 0) sums[blockIdx.x * warps + threadIdx.x / 32] = sum;
}

__global__ void count(const int* labels, int* counts) {
  struct Counter {
    int seen = 0, others;
    __device__ void reset() { seen = others = 0; }
  };
  __shared__ Counter counters[7];
  if (threadIdx.x < 7) counters[threadIdx.x].reset();
  __syncthreads();
  atomicAdd(&counters[labels[blockIdx.x * blockDim.x + threadIdx.x]].seen, 1);
  __syncthreads();
  if (threadIdx.x < 7) counts[blockIdx.x * 7 + threadIdx.x] = counters[threadIdx.x].seen + counters[threadIdx.x].others;
}
