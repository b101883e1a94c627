// Reduction, first step: interleaved addressing with a divergent branch.
//: array int32 in[2048] = integers(0, 100)
//: array int32 out[8]
//: launch reduce0<<<8, 256, 1024>>>(in, out)
//: check out
__global__ void reduce0(int *g_idata, int *g_odata) {
    extern __shared__ int sdata[];
    unsigned int tid = threadIdx.x;
    unsigned int i = blockIdx.x*blockDim.x + threadIdx.x;
    sdata[tid] = g_idata[i];
    __syncthreads();
    for (unsigned int s=1; s < blockDim.x; s *= 2) {
        if (tid % (2*s) == 0) {
            sdata[tid] += sdata[tid + s];
        }
        __syncthreads();
    }
    if (tid == 0) g_odata[blockIdx.x] = sdata[0];
}
