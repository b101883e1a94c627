// Alignment scores by anti-diagonals in shared memory.
//: array uint8 s[40] = integers(0, 4)
//: array uint8 t[40] = integers(0, 4)
//: array int32 score[1681]
//: launch align<<<1, 64>>>(s, t, score)
//: check score
#define N 40
__global__ void align(const unsigned char* s, const unsigned char* t, int* score) {
  __shared__ int h[N + 1][N + 1];
  for (int i = threadIdx.x; i <= N; i += blockDim.x) { h[i][0] = -2 * i; h[0][i] = -2 * i; }
  __syncthreads();
  for (int diagonal = 2; diagonal <= 2 * N; ++diagonal) {
    int i = threadIdx.x + 1, j = diagonal - i;
    if (i <= N && j >= 1 && j <= N) {
      int best = h[i - 1][j - 1] + (s[i - 1] == t[j - 1] ? 1 : -1);
      best = max(best, h[i - 1][j] - 2);
      best = max(best, h[i][j - 1] - 2);
      h[i][j] = best;
    }
    __syncthreads();
  }
  for (int i = threadIdx.x; i < (N + 1) * (N + 1); i += blockDim.x) score[i] = h[i / (N + 1)][i % (N + 1)];
}
