// Keeps the positive ones in order: ballot within the warp, prefix over the warps of one block.
//: array int32 in[1024] = integers(-100, 100)
//: array int32 out[1024]
//: array int32 count[1]
//: launch compact<<<1, 1024>>>(in, out, count)
//: check out
//: check count
__global__ void compact(const int* in, int* out, int* count) {
  __shared__ int offsets[33];
  const unsigned lane = threadIdx.x & 31u, warp = threadIdx.x >> 5;
  const int v = in[threadIdx.x];
  const bool keep = v > 0;
  const unsigned votes = __ballot_sync(0xffffffffu, keep);
  if (lane == 0) offsets[warp + 1] = __popc(votes);
  if (threadIdx.x == 0) offsets[0] = 0;
  __syncthreads();
  if (threadIdx.x == 0) for (int w = 1; w <= 32; ++w) offsets[w] += offsets[w - 1];
  __syncthreads();
  if (keep) out[offsets[warp] + __popc(votes & ((1u << lane) - 1u))] = v;
  if (threadIdx.x == 0) *count = offsets[32];
}
