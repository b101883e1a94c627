// Variables of the module: counters, tables, constants that code sets.
//: array int32 out[64]
//: launch fill<<<1, 16>>>()
//: launch read<<<1, 64>>>(out)
//: check out
__device__ int table[16];
__device__ int offset = 1000;
__constant__ int factors[4] = {1, 10, 100, 1000};
static __device__ const char letters[] = "damo";
__global__ void fill() { table[threadIdx.x] = threadIdx.x * threadIdx.x; if (threadIdx.x == 0) offset += 1; }
__global__ void read(int* out) { out[threadIdx.x] = table[threadIdx.x & 15] * factors[threadIdx.x >> 4] + offset + letters[threadIdx.x & 3]; }
