// One thread a block takes a lock to update two numbers together.
//: array int32 lock[1]
//: array int32 pair[2]
//: launch guarded<<<16, 32>>>(lock, pair)
//: check pair
__global__ void guarded(int* lock, volatile int* pair) {
  if (threadIdx.x != 0) return;
  while (atomicCAS(lock, 0, 1) != 0) { }
  __threadfence();
  pair[0] = pair[0] + 1;
  pair[1] = pair[1] + (int)blockIdx.x;
  __threadfence();
  atomicExch(lock, 0);
}
