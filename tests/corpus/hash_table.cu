// Open addressing with compare-and-swap: distinct keys are counted.
//: array uint32 keys[600] = integers(0, 200)
//: array uint32 slots[1024] = constant(4294967295)
//: array int32 distinct[1]
//: launch insert<<<5, 128>>>(keys, 600, slots, distinct)
//: check distinct
#define EMPTY 0xffffffffu
__device__ __host__ inline unsigned hash32(unsigned k) {
  k ^= k >> 16; k *= 0x85ebca6b; k ^= k >> 13; k *= 0xc2b2ae35; k ^= k >> 16;
  return k;
}
__global__ void insert(const unsigned* keys, int n, unsigned* slots, int* distinct) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned slot = hash32(keys[i]) & 1023u;
  while (true) {
    unsigned prev = atomicCAS(&slots[slot], EMPTY, keys[i]);
    if (prev == EMPTY) { atomicAdd(distinct, 1); return; }
    if (prev == keys[i]) return;
    slot = (slot + 1) & 1023u;
  }
}
