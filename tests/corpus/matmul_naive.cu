//: array float32 A[1200] = uniform(-1, 1)
//: array float32 B[800] = uniform(-1, 1)
//: array float32 C[600]
//: launch MatMulKernel<<<(2, 2), (16, 16)>>>({40, 30, A}, {20, 40, B}, {20, 30, C})
//: check C within 1e-5
typedef struct {
    int width;
    int height;
    float* elements;
} Matrix;

__global__ void MatMulKernel(Matrix A, Matrix B, Matrix C)
{
    float Cvalue = 0;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= C.height || col >= C.width) return;
    for (int e = 0; e < A.width; ++e)
        Cvalue += A.elements[row * A.width + e] * B.elements[e * B.width + col];
    C.elements[row * C.width + col] = Cvalue;
}
