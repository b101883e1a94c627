// Merges two sorted runs: each thread finds its element's rank in the other run.
//: array int32 a[100] = integers(0, 1000)
//: array int32 b[120] = integers(0, 1000)
//: array int32 out[220]
//: launch merge_runs<<<2, 128>>>(a, 100, b, 120, out)
//: check out
__device__ int lower(const int* v, int n, int key) { int lo = 0, hi = n; while (lo < hi) { int m = (lo + hi) >> 1; if (v[m] < key) lo = m + 1; else hi = m; } return lo; }
__device__ int upper(const int* v, int n, int key) { int lo = 0, hi = n; while (lo < hi) { int m = (lo + hi) / 2; if (v[m] <= key) lo = m + 1; else hi = m; } return lo; }
__global__ void merge_runs(const int* a, int na, const int* b, int nb, int* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < na) out[i + lower(b, nb, a[i])] = a[i];
  else if (i < na + nb) { const int j = i - na; out[j + upper(a, na, b[j])] = b[j]; }
}
