// A mask from a hash of the index: the same on every device.
//: array float32 x[1000] = uniform(-1, 1)
//: array float32 y[1000]
//: launch dropout<<<4, 256>>>(x, y, 1000, 0.25f, 12345u)
//: check y within 1e-6
__device__ __forceinline__ unsigned int pcg_hash(unsigned int input) {
    unsigned int state = input * 747796405u + 2891336453u;
    unsigned int word = ((state >> ((state >> 28u) + 4u)) ^ state) * 277803737u;
    return (word >> 22u) ^ word;
}
__global__ void dropout(const float* x, float* y, int n, float p, unsigned seed) {
    const int i = threadIdx.x + blockDim.x * blockIdx.x;
    if (i >= n) return;
    const float u = pcg_hash(seed ^ i) * (1.0f / 4294967296.0f);
    y[i] = u < p ? 0.0f : x[i] / (1.0f - p);
}
