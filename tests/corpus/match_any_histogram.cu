// Threads with the same key elect one to add for all of them.
//: array int32 keys[1024] = integers(0, 12)
//: array int32 counts[12]
//: launch count_keys<<<4, 256>>>(keys, counts)
//: check counts
__global__ void count_keys(const int* keys, int* counts) {
  const int key = keys[blockIdx.x * blockDim.x + threadIdx.x];
  const unsigned peers = __match_any_sync(__activemask(), key);
  const int leader = __ffs(peers) - 1;
  if ((threadIdx.x & 31) == leader) atomicAdd(&counts[key], __popc(peers));
}
