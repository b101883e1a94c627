// Arrival and waiting apart.
//: array int32 in[256] = integers(0, 100)
//: array int32 out[256]
//: launch shift<<<1, 256>>>(in, out)
//: check out
#include <cuda/barrier>
#include <cooperative_groups.h>
__global__ void shift(const int* in, int* out) {
  using barrier = cuda::barrier<cuda::thread_scope_block>;
  __shared__ barrier bar;
  __shared__ int s[256];
  auto block = cooperative_groups::this_thread_block();
  if (block.thread_rank() == 0) init(&bar, block.size());
  block.sync();
  int v = in[threadIdx.x];
  for (int i = 0; i < 3; ++i) {
    s[threadIdx.x] = v;
    barrier::arrival_token token = bar.arrive();
    bar.wait(cuda::std::move(token));
    v = s[(threadIdx.x + 1) % 256];
    bar.arrive_and_wait();
  }
  out[threadIdx.x] = v;
}
