// The last warp unrolled through volatile shared memory, with the synchronisation that independent threads need.
//: array float32 in[8192] = uniform(0, 1)
//: array float32 out[4]
//: launch reduce6<float, 256><<<4, 256, 1024>>>(in, out, 8192u)
//: check out within 1e-5
template <class T, unsigned int blockSize>
__device__ void warpReduce(volatile T *sdata, unsigned int tid) {
    T v = sdata[tid];
    if (blockSize >= 64) { v += sdata[tid + 32]; __syncwarp(); sdata[tid] = v; __syncwarp(); }
    if (blockSize >= 32) { v += sdata[tid + 16]; __syncwarp(); sdata[tid] = v; __syncwarp(); }
    if (blockSize >= 16) { v += sdata[tid + 8]; __syncwarp(); sdata[tid] = v; __syncwarp(); }
    if (blockSize >= 8) { v += sdata[tid + 4]; __syncwarp(); sdata[tid] = v; __syncwarp(); }
    if (blockSize >= 4) { v += sdata[tid + 2]; __syncwarp(); sdata[tid] = v; __syncwarp(); }
    if (blockSize >= 2) { v += sdata[tid + 1]; __syncwarp(); sdata[tid] = v; }
}
template <class T, unsigned int blockSize>
__global__ void reduce6(T *g_idata, T *g_odata, unsigned int n) {
    extern __shared__ __align__(16) unsigned char raw[];
    T *sdata = reinterpret_cast<T *>(raw);
    unsigned int tid = threadIdx.x;
    unsigned int i = blockIdx.x*(blockSize*2) + tid;
    unsigned int gridSize = blockSize*2*gridDim.x;
    T sum = 0;
    while (i < n) { sum += g_idata[i] + g_idata[i+blockSize]; i += gridSize; }
    sdata[tid] = sum;
    __syncthreads();
    if (blockSize >= 512) { if (tid < 256) { sdata[tid] += sdata[tid + 256]; } __syncthreads(); }
    if (blockSize >= 256) { if (tid < 128) { sdata[tid] += sdata[tid + 128]; } __syncthreads(); }
    if (blockSize >= 128) { if (tid < 64) { sdata[tid] += sdata[tid + 64]; } __syncthreads(); }
    if (tid < 32) warpReduce<T, blockSize>(sdata, tid);
    if (tid == 0) g_odata[blockIdx.x] = sdata[0];
}
