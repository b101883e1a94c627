// LU without pivoting of 8 x 8 matrices that lean on their diagonals, one a block.
//: array float64 A[320] = uniform(-0.5, 0.5)
//: launch lu<8><<<5, (8, 8)>>>(A)
//: check A within 1e-12
template <int N> __global__ void lu(double* A) {
  __shared__ double a[N][N + 1];
  const int r = threadIdx.y, c = threadIdx.x;
  double* mine = A + blockIdx.x * N * N;
  a[r][c] = mine[r * N + c] + (r == c ? 8.0 : 0.0);
  for (int k = 0; k < N; ++k) {
    __syncthreads();
    if (c == k && r > k) a[r][k] /= a[k][k];
    __syncthreads();
    if (c > k && r > k) a[r][c] -= a[r][k] * a[k][c];
  }
  __syncthreads();
  mine[r * N + c] = a[r][c];
}
