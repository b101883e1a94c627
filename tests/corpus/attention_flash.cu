// Tiles of keys and values in shared memory, the softmax rescaled as they pass.
//: array float32 Q[1024] = uniform(-1, 1)
//: array float32 K[1024] = uniform(-1, 1)
//: array float32 V[1024] = uniform(-1, 1)
//: array float32 O[1024]
//: launch flash_forward<16, 16><<<4, 16>>>(Q, K, V, O, 64, 0.25f)
//: check O within 1e-5
template <int Bc, int D>
__global__ void flash_forward(const float* Q, const float* K, const float* V, float* O, int N, float scale) {
  __shared__ float Kj[Bc][D];
  __shared__ float Vj[Bc][D];
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  float qi[D], acc[D] = {};
  for (int d = 0; d < D; ++d) qi[d] = Q[row * D + d];
  float m = -INFINITY, l = 0.0f;
  for (int j0 = 0; j0 < N; j0 += Bc) {
    for (int d = 0; d < D; ++d) {
      Kj[threadIdx.x][d] = K[(j0 + threadIdx.x) * D + d];
      Vj[threadIdx.x][d] = V[(j0 + threadIdx.x) * D + d];
    }
    __syncthreads();
    float S[Bc];
    float m_new = m;
    for (int j = 0; j < Bc; ++j) {
      float s = 0;
      for (int d = 0; d < D; ++d) s += qi[d] * Kj[j][d];
      S[j] = s * scale;
      m_new = fmaxf(m_new, S[j]);
    }
    const float correction = __expf(m - m_new);
    l *= correction;
    for (int d = 0; d < D; ++d) acc[d] *= correction;
    for (int j = 0; j < Bc; ++j) {
      const float p = __expf(S[j] - m_new);
      l += p;
      for (int d = 0; d < D; ++d) acc[d] += p * Vj[j][d];
    }
    m = m_new;
    __syncthreads();
  }
  for (int d = 0; d < D; ++d) O[row * D + d] = acc[d] / l;
}
