// Two steps of the heat equation, fixed edges.
//: array float32 u[1536] = uniform(0, 100)
//: array float32 v[1536]
//: launch heat<<<(3, 4), (16, 8)>>>(u, v, 48, 32, 0.1f)
//: launch heat<<<(3, 4), (16, 8)>>>(v, u, 48, 32, 0.1f)
//: check u within 1e-5
#define IDX(x, y) ((y) * nx + (x))
__global__ void heat(const float* __restrict__ u, float* __restrict__ v, int nx, int ny, float alpha) {
  const int x = threadIdx.x + blockIdx.x * blockDim.x, y = threadIdx.y + blockIdx.y * blockDim.y;
  if (x >= nx || y >= ny) return;
  if (x == 0 || y == 0 || x == nx - 1 || y == ny - 1) { v[IDX(x, y)] = u[IDX(x, y)]; return; }
  v[IDX(x, y)] = u[IDX(x, y)] + alpha * (__ldg(&u[IDX(x - 1, y)]) + __ldg(&u[IDX(x + 1, y)]) + __ldg(&u[IDX(x, y - 1)]) + __ldg(&u[IDX(x, y + 1)]) - 4.f * u[IDX(x, y)]);
}
