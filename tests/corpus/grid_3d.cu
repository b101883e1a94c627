//: array int32 out[480]
//: launch number<<<(2, 2, 2), (5, 4, 3)>>>(out, 10, 8, 6)
//: check out
__global__ void number(int* out, int nx, int ny, int nz) {
  const uint3 t = threadIdx;
  const int x = blockIdx.x * blockDim.x + t.x, y = blockIdx.y * blockDim.y + t.y, z = blockIdx.z * blockDim.z + t.z;
  if (x < nx && y < ny && z < nz) out[(z * ny + y) * nx + x] = x + 100 * y + 10000 * z;
}
