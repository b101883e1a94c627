//: array int32 in[1024] = integers(0, 100)
//: array int32 out[1024]
//: launch reverse<<<4, 256>>>(in, out)
//: check out
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
namespace cg = cooperative_groups;
__global__ void reverse(const int* in, int* out) {
  __shared__ int tile[256];
  cg::thread_block block = cg::this_thread_block();
  cg::memcpy_async(block, tile, in + blockIdx.x * 256, sizeof(int) * 256);
  cg::wait(block);
  out[blockIdx.x * 256 + block.thread_rank()] = tile[255 - block.thread_rank()];
}
