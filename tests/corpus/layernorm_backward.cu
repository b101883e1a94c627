// Gradients of layer norm: the input's by warps, weight's and bias' by shared memory and atomics.
//: array float32 dinp[1024]
//: array float32 dweight[64]
//: array float32 dbias[64]
//: array float32 dout[1024] = uniform(-1, 1)
//: array float32 inp[1024] = uniform(-2, 2)
//: array float32 weight[64] = uniform(0.5, 1.5)
//: array float32 mean[16] = uniform(-0.2, 0.2)
//: array float32 rstd[16] = uniform(0.8, 1.2)
//: launch layernorm_backward<<<2, 128, 512>>>(dinp, dweight, dbias, dout, inp, weight, mean, rstd, 16, 64)
//: check dinp within 1e-4
//: check dweight within 1e-4
//: check dbias within 1e-4
__device__ float warpReduceSum(float val) {
    for (int offset = 16; offset > 0; offset /= 2) {
        val += __shfl_xor_sync(0xFFFFFFFF, val, offset);
    }
    return val;
}
__global__ void layernorm_backward(float* dinp, float* dweight, float* dbias, const float* dout, const float* inp,
                                   const float* weight, const float* mean, const float* rstd, int N, int C) {
    extern __shared__ float shared[];
    float* dbias_shared = shared;
    float* dweight_shared = shared + C;
    int warpId = threadIdx.x / warpSize, laneId = threadIdx.x % warpSize;
    int warpsInGrid = gridDim.x * (blockDim.x / warpSize);
    for (int i = threadIdx.x; i < C; i += blockDim.x) { dbias_shared[i] = 0.0f; dweight_shared[i] = 0.0f; }
    __syncthreads();
    for (int idx = blockIdx.x * (blockDim.x / warpSize) + warpId; idx < N; idx += warpsInGrid) {
        const float* dout_bt = dout + idx * C;
        const float* inp_bt = inp + idx * C;
        float* dinp_bt = dinp + idx * C;
        const float mean_bt = mean[idx], rstd_bt = rstd[idx];
        float dnorm_mean = 0.0f, dnorm_norm_mean = 0.0f;
        for (int i = laneId; i < C; i += warpSize) {
            float norm_bti = (inp_bt[i] - mean_bt) * rstd_bt;
            float dnorm_i = weight[i] * dout_bt[i];
            dnorm_mean += dnorm_i;
            dnorm_norm_mean += dnorm_i * norm_bti;
        }
        dnorm_mean = warpReduceSum(dnorm_mean) / C;
        dnorm_norm_mean = warpReduceSum(dnorm_norm_mean) / C;
        for (int i = laneId; i < C; i += warpSize) {
            float dout_i = __ldcs(&dout_bt[i]);
            float norm_bti = (__ldcs(&inp_bt[i]) - mean_bt) * rstd_bt;
            atomicAdd(&dbias_shared[i], dout_i);
            atomicAdd(&dweight_shared[i], norm_bti * dout_i);
            dinp_bt[i] += (weight[i] * dout_i - dnorm_mean - norm_bti * dnorm_norm_mean) * rstd_bt;
        }
    }
    __syncthreads();
    for (int i = threadIdx.x; i < C; i += blockDim.x) {
        atomicAdd(&dbias[i], dbias_shared[i]);
        atomicAdd(&dweight[i], dweight_shared[i]);
    }
}
