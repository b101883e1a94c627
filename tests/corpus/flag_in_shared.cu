// Threads wait in a loop for a flag that another warp of the block sets, and for a neighbour lane.
//: array int32 out[256]
//: array int32 turns[64]
//: launch wait_for_flag<<<4, 64>>>(out)
//: launch one_after_the_other<<<2, 32>>>(turns)
//: check out
//: check turns
__global__ void wait_for_flag(int *out) {
  __shared__ volatile int flag, data;
  if (threadIdx.x == 0) flag = 0;
  __syncthreads();
  if (threadIdx.x == 50) {
    data = 7 + blockIdx.x;
    __threadfence_block();
    flag = 1;
  } else if (threadIdx.x < 32) {
    while (flag == 0) {
    }
    __threadfence_block();
    out[blockIdx.x * blockDim.x + threadIdx.x] = data;
  } else {
    out[blockIdx.x * blockDim.x + threadIdx.x] = -1;
  }
}
__global__ void one_after_the_other(int *turns) {
  __shared__ volatile int turn;
  __shared__ volatile int sum;
  if (threadIdx.x == 0) turn = sum = 0;
  __syncthreads();
  bool done = false;
  while (!done) {
    if (turn == 31 - (int)threadIdx.x) {
      sum = 3 * sum % 1009 + threadIdx.x;
      turns[blockIdx.x * blockDim.x + threadIdx.x] = sum;
      turn = turn + 1;
      done = true;
    }
  }
}
