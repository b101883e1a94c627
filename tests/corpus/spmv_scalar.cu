// Compressed rows, a thread a row.
//: array int32 ptr[101]
//: array int32 col[400]
//: array float32 val[400] = uniform(-1, 1)
//: array float32 x[100] = uniform(-1, 1)
//: array float32 y[100]
//: launch spmv_csr_scalar_kernel<<<4, 32>>>(100, ptr, col, val, x, y)
//: check y within 1e-5
__global__ void spmv_csr_scalar_kernel(const int num_rows, const int *ptr, const int *indices, const float *data, const float *x, float *y)
{
  int row = blockDim.x * blockIdx.x + threadIdx.x;
  if (row < num_rows) {
    float dot = 0;
    int row_start = ptr[row];
    int row_end = ptr[row + 1];
    for (int jj = row_start; jj < row_end; jj++)
      dot += data[jj] * x[indices[jj]];
    y[row] += dot;
  }
}
