// A maximum of floats by compare-and-swap on their bits.
//: array float32 in[5000] = uniform(-100, 100)
//: array float32 out[1] = constant(-1000)
//: launch max_kernel<<<5, 128>>>(in, out, 5000ul)
//: check out
__device__ static float atomicMaxFloat(float* address, float val)
{
    int* address_as_i = (int*) address;
    int old = *address_as_i, assumed;
    do {
        assumed = old;
        old = ::atomicCAS(address_as_i, assumed,
            __float_as_int(::fmaxf(val, __int_as_float(assumed))));
    } while (assumed != old);
    return __int_as_float(old);
}
__global__ void max_kernel(const float* x, float* result, size_t n) {
    float best = -INFINITY;
    for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += (size_t)blockDim.x * gridDim.x) best = max(best, x[i]);
    atomicMaxFloat(result, best);
}
