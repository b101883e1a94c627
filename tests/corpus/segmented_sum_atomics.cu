// Sums of runs of equal labels: lanes of one label find each other, and one adds for all.
//: array int32 labels[1024] = integers(0, 10)
//: array float32 x[1024] = uniform(0, 1)
//: array float32 sums[10]
//: array int32 counts[10]
//: launch by_label<<<4, 256>>>(labels, x, sums, counts)
//: check sums within 1e-5
//: check counts
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
__global__ void by_label(const int *labels, const float *x, float *sums, int *counts) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x, label = labels[i], lane = threadIdx.x & 31;
  const unsigned peers = __match_any_sync(0xffffffffu, label);
  float sum = 0.f;
  for (unsigned left = peers; __any_sync(0xffffffffu, left != 0); left &= left - 1) {
    const float v = __shfl_sync(0xffffffffu, x[i], left ? __ffs(left) - 1 : lane);
    if (left) sum += v;
  }
  if (lane == __ffs(peers) - 1) atomicAdd(&sums[label], sum);
  if (label % 2 == 0) {
    cg::coalesced_group active = cg::coalesced_threads();
    for (int l = 0; l < 10; l += 2) {
      const unsigned those = active.ballot(label == l);
      if (active.thread_rank() == 0) atomicAdd(&counts[l], __popc(those));
    }
  } else {
    atomicAdd(counts + label, 1);
  }
}
