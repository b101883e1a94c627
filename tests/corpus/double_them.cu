//: array float32 a[16] = uniform(-5, 5)
//: launch doublify<<<1, (4, 4)>>>(a)
//: check a
__global__ void doublify(float *a)
{
  int idx = threadIdx.x + threadIdx.y*4;
  a[idx] *= 2;
}
