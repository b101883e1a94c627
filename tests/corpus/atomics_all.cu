//: array int32 i[8] = constant(100)
//: array uint32 u[8] = constant(100)
//: array uint64 w[4] = constant(7)
//: array float64 d[1]
//: launch touch<<<4, 64>>>(i, u, w, d)
//: check i
//: check u
//: check w
//: check d
__global__ void touch(int* i, unsigned* u, unsigned long long* w, double* d) {
  const int id = blockIdx.x * blockDim.x + threadIdx.x;
  atomicAdd(i, id); atomicSub(i + 1, 2); atomicMin(i + 2, id - 20); atomicMax(i + 3, id);
  atomicAnd(i + 4, ~(1 << (id & 3))); atomicOr(i + 5, 1 << (id & 7)); atomicXor(i + 6, id); atomicAdd_block(i + 7, 1);
  atomicInc(u, 149u); atomicDec(u + 1, 99u); atomicMin(u + 2, (unsigned)id + 3u); atomicMax(u + 3, 4000000000u + id);
  atomicAdd(w, (unsigned long long)id << 32); atomicMax(w + 1, (unsigned long long)id); atomicMin(w + 2, 3ull);
  atomicAdd(d, 0.5);
}
