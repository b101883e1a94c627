// One pass: maximum and sum together, pairs merged by shuffles.
//: array float32 x[1600] = uniform(-8, 8)
//: array float32 y[1600]
//: launch online_softmax<<<4, (32, 4)>>>(x, y, 16, 100)
//: check y within 1e-6
struct __align__(8) MD { float m; float d; };
__device__ __forceinline__ MD reduce_md_op(MD a, MD b) {
    bool a_bigger = (a.m > b.m);
    MD bigger_m = a_bigger ? a : b;
    MD smaller_m = a_bigger ? b : a;
    MD res;
    res.d = bigger_m.d + smaller_m.d * __expf(smaller_m.m - bigger_m.m);
    res.m = bigger_m.m;
    return res;
}
__global__ void online_softmax(const float* x, float* y, int rows, int V) {
    const int row = blockIdx.x * blockDim.y + threadIdx.y;
    if (row >= rows) return;
    x += row * V; y += row * V;
    MD md_partial;
    md_partial.m = -FLT_MAX;
    md_partial.d = 0.0F;
    for (int elem_id = threadIdx.x; elem_id < V; elem_id += warpSize) {
        MD new_elem;
        new_elem.m = x[elem_id];
        new_elem.d = 1.0F;
        md_partial = reduce_md_op(md_partial, new_elem);
    }
    for (int mask = 16; mask > 0; mask /= 2) {
        MD other;
        other.m = __shfl_xor_sync(0xffffffffu, md_partial.m, mask);
        other.d = __shfl_xor_sync(0xffffffffu, md_partial.d, mask);
        md_partial = reduce_md_op(md_partial, other);
    }
    float d_total_inverse = __fdividef(1.0F, md_partial.d);
    for (int elem_id = threadIdx.x; elem_id < V; elem_id += warpSize)
        y[elem_id] = __expf(x[elem_id] - md_partial.m) * d_total_inverse;
}
