// Seven-point stencil that marches along z: two planes in registers, one in shared memory with its halo.
//: array float32 in[8192] = uniform(-1, 1)
//: array float32 out[8192]
//: launch march<16, 8><<<(2, 2), (16, 8)>>>(in, out, 32, 16, 16, 0.5f, 0.1f)
//: check out within 1e-6
template <int TX, int TY>
__global__ void march(const float *__restrict__ in, float *__restrict__ out, int nx, int ny, int nz, float c0, float c1) {
  __shared__ float plane[TY + 2][TX + 2];
  const int x = blockIdx.x * TX + threadIdx.x, y = blockIdx.y * TY + threadIdx.y;
  const int tx = threadIdx.x + 1, ty = threadIdx.y + 1, stride = nx * ny;
  const auto at = [=](int i, int j, int k) { return i < 0 || j < 0 || k < 0 || i >= nx || j >= ny || k >= nz ? 0.f : in[(k * ny + j) * nx + i]; };
  float behind = 0.f, current = at(x, y, 0), front = at(x, y, 1);
  for (int z = 0; z < nz; ++z) {
    plane[ty][tx] = current;
    if (threadIdx.x == 0) plane[ty][0] = at(x - 1, y, z);
    if (threadIdx.x == TX - 1) plane[ty][TX + 1] = at(x + 1, y, z);
    if (threadIdx.y == 0) plane[0][tx] = at(x, y - 1, z);
    if (threadIdx.y == TY - 1) plane[TY + 1][tx] = at(x, y + 1, z);
    __syncthreads();
    out[z * stride + y * nx + x] = c0 * current + c1 * (behind + front + plane[ty][tx - 1] + plane[ty][tx + 1] + plane[ty - 1][tx] + plane[ty + 1][tx]);
    __syncthreads();
    behind = current;
    current = front;
    front = at(x, y, z + 2);
  }
}
