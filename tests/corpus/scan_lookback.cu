// One pass over blocks that wait for the sum of the block before: in the order of a ticket.
//: array int32 in[8192] = integers(0, 5)
//: array int32 out[8192]
//: array int32 ready[64]
//: array int32 totals[64]
//: array uint32 tickets[1]
//: launch scan<<<64, 128>>>(in, out, ready, totals, tickets)
//: check out
__global__ void scan(const int *in, int *out, volatile int *ready, volatile int *totals, unsigned *tickets) {
  __shared__ int cells[128];
  __shared__ unsigned ticket;
  __shared__ int before;
  const int t = threadIdx.x;
  if (t == 0) ticket = atomicAdd(tickets, 1u);
  __syncthreads();
  const int i = ticket * blockDim.x + t;
  cells[t] = in[i];
  __syncthreads();
  for (int d = 1; d < blockDim.x; d *= 2) {
    const int left = t >= d ? cells[t - d] : 0;
    __syncthreads();
    cells[t] += left;
    __syncthreads();
  }
  if (t == 0) {
    before = 0;
    if (ticket > 0) {
      while (ready[ticket - 1] == 0) { }
      __threadfence();
      before = totals[ticket - 1];
    }
    totals[ticket] = before + cells[blockDim.x - 1];
    __threadfence();
    ready[ticket] = 1;
  }
  __syncthreads();
  out[i] = before + cells[t];
}
