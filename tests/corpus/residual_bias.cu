//: array float32 a[512] = uniform(-1, 1)
//: array float32 b[512] = uniform(-1, 1)
//: array float32 bias[64] = uniform(-1, 1)
//: array float32 out[512]
//: launch residual_forward_kernel<<<4, 32>>>(out, a, b, 512)
//: launch add_bias<<<8, 64>>>(out, bias, 8, 64)
//: check out within 1e-6
typedef float4 f4;
__global__ void residual_forward_kernel(float* out, const float* inp1, const float* inp2, int N) {
    int idx = (blockIdx.x * blockDim.x + threadIdx.x) * 4;
    if (idx < N) {
        f4 x = *reinterpret_cast<const f4*>(inp1 + idx), y = *reinterpret_cast<const f4*>(inp2 + idx);
        f4 z; z.x = x.x + y.x; z.y = x.y + y.y; z.z = x.z + y.z; z.w = x.w + y.w;
        *reinterpret_cast<f4*>(out + idx) = z;
    }
}
__global__ void add_bias(float* out, const float* bias, int B, int OC) {
    int idx = blockIdx.x * blockDim.x + threadIdx.x;
    int stride = blockDim.x * gridDim.x;
    for (int i = idx; i < B * OC; i += stride) {
        int col = i % OC;
        out[i] += bias[col];
    }
}
