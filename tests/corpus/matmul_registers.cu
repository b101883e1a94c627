// A block of 32 x 32 results by 64 threads, 4 x 4 in the registers of each.
//: array float32 a[4096] = uniform(-1, 1)
//: array float32 b[4096] = uniform(-1, 1)
//: array float32 c[4096]
//: launch gemm2d<32, 32, 8, 4, 4><<<(2, 2), 64>>>(64, 64, 64, a, b, c)
//: check c within 1e-5
template <const int BM, const int BN, const int BK, const int TM, const int TN>
__global__ void gemm2d(int M, int N, int K, const float *A, const float *B, float *C) {
  __shared__ float As[BM * BK];
  __shared__ float Bs[BK * BN];
  const int threadCol = threadIdx.x % (BN / TN);
  const int threadRow = threadIdx.x / (BN / TN);
  const float *a = A + blockIdx.y * BM * K;
  const float *b = B + blockIdx.x * BN;
  float results[TM * TN] = {0.0f};
  float regM[TM] = {0.0f}, regN[TN] = {0.0f};
  for (int bk = 0; bk < K; bk += BK) {
    for (int i = threadIdx.x; i < BM * BK; i += blockDim.x) As[i] = a[(i / BK) * K + i % BK];
    for (int i = threadIdx.x; i < BK * BN; i += blockDim.x) Bs[i] = b[(i / BN) * N + i % BN];
    __syncthreads();
    a += BK;
    b += BK * N;
    for (int dot = 0; dot < BK; ++dot) {
#pragma unroll
      for (int i = 0; i < TM; ++i) regM[i] = As[(threadRow * TM + i) * BK + dot];
#pragma unroll
      for (int i = 0; i < TN; ++i) regN[i] = Bs[dot * BN + threadCol * TN + i];
#pragma unroll
      for (int m = 0; m < TM; ++m)
#pragma unroll
        for (int n = 0; n < TN; ++n) results[m * TN + n] += regM[m] * regN[n];
    }
    __syncthreads();
  }
  for (int m = 0; m < TM; ++m)
    for (int n = 0; n < TN; ++n)
      C[(blockIdx.y * BM + threadRow * TM + m) * N + blockIdx.x * BN + threadCol * TN + n] = results[m * TN + n];
}
