// Three levels of a breadth-first search, one launch each.
//: array int32 ptr[101]
//: array int32 col[400]
//: array int32 dist[100] = constant(-1)
//: array int32 changed[1]
//: launch start<<<1, 1>>>(dist)
//: launch bfs_level<<<4, 32>>>(ptr, col, dist, changed, 0, 100)
//: launch bfs_level<<<4, 32>>>(ptr, col, dist, changed, 1, 100)
//: launch bfs_level<<<4, 32>>>(ptr, col, dist, changed, 2, 100)
//: check dist
extern "C" {
__global__ void start(int* dist) { dist[0] = 0; }
__global__ void bfs_level(const int* ptr, const int* col, int* dist, int* changed, int level, int n) {
  int v = blockIdx.x * blockDim.x + threadIdx.x;
  if (v >= n || dist[v] != level) return;
  for (int e = ptr[v]; e < ptr[v + 1]; ++e) {
    if (atomicCAS(&dist[col[e]], -1, level + 1) == -1) *changed = 1;
  }
}
}
