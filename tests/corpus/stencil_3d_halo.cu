// Seven points in three dimensions; the tile's halo is loaded by its edge threads.
//: array float32 in[4096] = uniform(-1, 1)
//: array float32 out[4096]
//: launch stencil7<8><<<(2, 2, 2), (8, 8, 8)>>>(in, out, 16)
//: check out within 1e-5
template <int T> __global__ void stencil7(const float* in, float* out, int n) {
  __shared__ float s[T + 2][T + 2][T + 2];
  const dim3 t = threadIdx;
  const int x = blockIdx.x * T + t.x, y = blockIdx.y * T + t.y, z = blockIdx.z * T + t.z;
  auto at = [=](int i, int j, int k) -> float {
    return (i < 0 || j < 0 || k < 0 || i >= n || j >= n || k >= n) ? 0.0f : in[(k * n + j) * n + i];
  };
  const int i = t.x + 1, j = t.y + 1, k = t.z + 1;
  s[k][j][i] = at(x, y, z);
  if (t.x == 0) s[k][j][0] = at(x - 1, y, z);
  if (t.x == T - 1) s[k][j][T + 1] = at(x + 1, y, z);
  if (t.y == 0) s[k][0][i] = at(x, y - 1, z);
  if (t.y == T - 1) s[k][T + 1][i] = at(x, y + 1, z);
  if (t.z == 0) s[0][j][i] = at(x, y, z - 1);
  if (t.z == T - 1) s[T + 1][j][i] = at(x, y, z + 1);
  __syncthreads();
  out[(z * n + y) * n + x] = -6.0f * s[k][j][i] + s[k][j][i - 1] + s[k][j][i + 1] + s[k][j - 1][i] + s[k][j + 1][i] + s[k - 1][j][i] + s[k + 1][j][i];
}
