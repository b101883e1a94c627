// Embeddings: token plus position; the gradient scatters with atomics.
//: array int32 inp[24] = integers(0, 10)
//: array float32 wte[160] = uniform(-1, 1)
//: array float32 wpe[192] = uniform(-1, 1)
//: array float32 out[384]
//: array float32 dout[384] = uniform(-1, 1)
//: array float32 dwte[160]
//: array float32 dwpe[192]
//: launch encoder_forward<<<2, 64>>>(out, inp, wte, wpe, 2, 12, 16)
//: launch encoder_backward<<<6, 64>>>(dwte, dwpe, dout, inp, 2, 12, 16)
//: check out within 1e-6
//: check dwte within 1e-5
//: check dwpe within 1e-5
__device__ inline float4 add_float4(const float4& a, const float4& b) {
    return make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);
}
__global__ void encoder_forward(float* out, const int* inp, const float* wte, const float* wpe, int B, int T, int C) {
    int C4 = C / 4;
    int idx = blockIdx.x * blockDim.x + threadIdx.x;
    int N = B * T * C4;
    if (idx < N) {
        int bt = idx / C4;
        int b = bt / T;
        int t = bt % T;
        int c4 = idx % C4;
        int ix = inp[b * T + t];
        ((float4*)out)[b * T * C4 + t * C4 + c4] = add_float4(((const float4*)wte)[ix * C4 + c4], ((const float4*)wpe)[t * C4 + c4]);
    }
}
__global__ void encoder_backward(float* dwte, float* dwpe, const float* dout, const int* inp, int B, int T, int C) {
    int idx = blockIdx.x * blockDim.x + threadIdx.x;
    if (idx < B * T * C) {
        int bt = idx / C, b = bt / T, t = bt % T, c = idx % C;
        int ix = inp[b * T + t];
        const float* dout_btc = dout + b * T * C + t * C + c;
        atomicAdd(dwte + ix * C + c, *dout_btc);
        atomicAdd(dwpe + t * C + c, *dout_btc);
    }
}
