//: array float32 a[4096] = uniform(-1, 1)
//: array float32 b[4096] = uniform(-1, 1)
//: array float32 c[4096]
//: launch matmul_tiled<<<(4, 4), (16, 16)>>>(a, b, c, 64)
//: check c within 1e-5
#define TILE 16
extern "C" __global__ void matmul_tiled(const float* A, const float* B, float* C, int N) {
    __shared__ float As[TILE][TILE];
    __shared__ float Bs[TILE][TILE];
    int tx = threadIdx.x, ty = threadIdx.y;
    int Row = blockIdx.y * TILE + ty;
    int Col = blockIdx.x * TILE + tx;
    float Pvalue = 0.0f;
    for (int m = 0; m < N / TILE; ++m) {
        As[ty][tx] = A[Row * N + m * TILE + tx];
        Bs[ty][tx] = B[(m * TILE + ty) * N + Col];
        __syncthreads();
        #pragma unroll
        for (int k = 0; k < TILE; ++k) Pvalue += As[ty][k] * Bs[k][tx];
        __syncthreads();
    }
    C[Row * N + Col] = Pvalue;
}
