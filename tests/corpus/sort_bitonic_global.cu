// One launch a step, as PyCUDA programs do it.
//: array float32 v[64] = uniform(0, 1)
//: launch bitonic_sort_step<<<2, 32>>>(v, 1, 2)
//: launch bitonic_sort_step<<<2, 32>>>(v, 2, 4)
//: launch bitonic_sort_step<<<2, 32>>>(v, 1, 4)
//: launch bitonic_sort_step<<<2, 32>>>(v, 4, 8)
//: launch bitonic_sort_step<<<2, 32>>>(v, 2, 8)
//: launch bitonic_sort_step<<<2, 32>>>(v, 1, 8)
//: launch bitonic_sort_step<<<2, 32>>>(v, 8, 16)
//: launch bitonic_sort_step<<<2, 32>>>(v, 4, 16)
//: launch bitonic_sort_step<<<2, 32>>>(v, 2, 16)
//: launch bitonic_sort_step<<<2, 32>>>(v, 1, 16)
//: launch bitonic_sort_step<<<2, 32>>>(v, 16, 32)
//: launch bitonic_sort_step<<<2, 32>>>(v, 8, 32)
//: launch bitonic_sort_step<<<2, 32>>>(v, 4, 32)
//: launch bitonic_sort_step<<<2, 32>>>(v, 2, 32)
//: launch bitonic_sort_step<<<2, 32>>>(v, 1, 32)
//: launch bitonic_sort_step<<<2, 32>>>(v, 32, 64)
//: launch bitonic_sort_step<<<2, 32>>>(v, 16, 64)
//: launch bitonic_sort_step<<<2, 32>>>(v, 8, 64)
//: launch bitonic_sort_step<<<2, 32>>>(v, 4, 64)
//: launch bitonic_sort_step<<<2, 32>>>(v, 2, 64)
//: launch bitonic_sort_step<<<2, 32>>>(v, 1, 64)
//: check v
__global__ void bitonic_sort_step(float *dev_values, int j, int k)
{
  unsigned int i, ixj;
  i = threadIdx.x + blockDim.x * blockIdx.x;
  ixj = i^j;
  if ((ixj)>i) {
    if ((i&k)==0) {
      if (dev_values[i]>dev_values[ixj]) {
        float temp = dev_values[i];
        dev_values[i] = dev_values[ixj];
        dev_values[ixj] = temp;
      }
    }
    if ((i&k)!=0) {
      if (dev_values[i]<dev_values[ixj]) {
        float temp = dev_values[i];
        dev_values[i] = dev_values[ixj];
        dev_values[ixj] = temp;
      }
    }
  }
}
