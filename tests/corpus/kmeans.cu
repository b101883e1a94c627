// Assign to the nearest centre, then sum and count by atomics.
//: array float32 points[600] = uniform(0, 1)
//: array float32 centres[10] = uniform(0, 1)
//: array int32 label[300]
//: array float32 sums[10]
//: array int32 counts[5]
//: launch assign<5><<<3, 128>>>(points, centres, label, 300)
//: launch accumulate<<<3, 128>>>(points, label, sums, counts, 300)
//: check label
//: check sums within 1e-4
//: check counts
template <int K> __global__ void assign(const float2* points, const float2* centres, int* label, int n) {
  __shared__ float2 c[K];
  if (threadIdx.x < K) c[threadIdx.x] = centres[threadIdx.x];
  __syncthreads();
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float best = 3.4e38f; int which = -1;
  for (int k = 0; k < K; ++k) {
    float dx = points[i].x - c[k].x, dy = points[i].y - c[k].y;
    float d = dx * dx + dy * dy;
    if (d < best) { best = d; which = k; }
  }
  label[i] = which;
}
__global__ void accumulate(const float2* points, const int* label, float* sums, int* counts, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    atomicAdd(sums + 2 * label[i], points[i].x);
    atomicAdd(sums + 2 * label[i] + 1, points[i].y);
    atomicAdd(counts + label[i], 1);
  }
}
