//: array int32 in[3000] = integers(-50, 50)
//: array int32 out[1]
//: launch sum_kernel<<<3, 256>>>(out, in, 3000)
//: check out
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;

__global__ void sum_kernel(int *sum, const int *input, int n)
{
    cg::grid_group grid = cg::this_grid();
    cg::thread_block block = cg::this_thread_block();
    auto tile = cg::tiled_partition<32>(block);
    int mine = 0;
    for (unsigned long long i = grid.thread_rank(); i < n; i += grid.size()) mine += input[i];
    mine = cg::reduce(tile, mine, cg::plus<int>());
    if (tile.thread_rank() == 0) atomicAdd(sum, mine);
}
