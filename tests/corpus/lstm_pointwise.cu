//: array float32 gates[512] = uniform(-2, 2)
//: array float32 c[128] = uniform(-1, 1)
//: array float32 h[128]
//: launch lstm_cell<<<1, 128>>>(gates, c, h, 128)
//: check c within 1e-6
//: check h within 1e-6
__forceinline__ __device__ float sigmoidf(float in) { return 1.f / (1.f + expf(-in)); }
__global__ void lstm_cell(const float* gates, float* c, float* h, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    const float in_gate = sigmoidf(gates[i]);
    const float forget_gate = sigmoidf(gates[n + i]);
    const float in_gate2 = tanhf(gates[2 * n + i]);
    const float out_gate = sigmoidf(gates[3 * n + i]);
    float val = (forget_gate * c[i]) + (in_gate * in_gate2);
    c[i] = val;
    h[i] = out_gate * tanhf(val);
  }
}
