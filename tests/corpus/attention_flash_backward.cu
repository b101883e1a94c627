// Flash attention backward: scores are made again from the saved logarithms of sums, gradients of keys and values stay in
// shared memory, that of queries is added up by atomics.
//: array float32 q[2048] = uniform(-1, 1)
//: array float32 k[2048] = uniform(-1, 1)
//: array float32 v[2048] = uniform(-1, 1)
//: array float32 o[2048]
//: array float32 go[2048] = uniform(-1, 1)
//: array float32 lse[128]
//: array float32 delta[128]
//: array float32 dq[2048]
//: array float32 dk[2048]
//: array float32 dv[2048]
//: launch forward<16, 64><<<2, 64>>>(q, k, v, o, lse, 0.25f)
//: launch row_deltas<<<16, (16, 8)>>>(o, go, delta, 16)
//: launch backward<16, 16, 16><<<(4, 2), 16, 7168>>>(q, k, v, go, lse, delta, dq, dk, dv, 64, 0.25f)
//: check o within 1e-5
//: check dq within 2e-5
//: check dk within 2e-5
//: check dv within 2e-5
template <int D, int N> __global__ void forward(const float *q, const float *k, const float *v, float *o, float *lse, float scale) {
  __shared__ float K[N][D + 1], V[N][D];
  const int base = blockIdx.x * N * D, i = threadIdx.x;
  float row[D];
  for (int d = 0; d < D; ++d) { K[i][d] = k[base + i * D + d]; V[i][d] = v[base + i * D + d]; row[d] = q[base + i * D + d] * scale; }
  __syncthreads();
  float m = -INFINITY, l = 0.f, acc[D] = {};
  for (int j = 0; j <= i; ++j) {
    float s = 0.f;
#pragma unroll
    for (int d = 0; d < D; ++d) s = fmaf(row[d], K[j][d], s);
    const float m_new = fmaxf(m, s), fade = __expf(m - m_new), p = __expf(s - m_new);
    l = l * fade + p;
#pragma unroll
    for (int d = 0; d < D; ++d) acc[d] = acc[d] * fade + p * V[j][d];
    m = m_new;
  }
  for (int d = 0; d < D; ++d) o[base + i * D + d] = acc[d] / l;
  lse[blockIdx.x * N + i] = m + logf(l);
}
__global__ void row_deltas(const float *o, const float *go, float *delta, int D) {
  int row = blockIdx.x * blockDim.y + threadIdx.y;
  float s = o[row * D + threadIdx.x] * go[row * D + threadIdx.x];
  for (int w = 8; w > 0; w >>= 1) s += __shfl_xor_sync(0xffffffffu, s, w, 16);
  if (threadIdx.x == 0) delta[row] = s;
}
template <int Br, int Bc, int D>
__global__ void backward(const float *Q, const float *K, const float *V, const float *dO, const float *L, const float *Delta, float *dQ, float *dK, float *dV, const int N, const float scale) {
  const int tx = threadIdx.x, head = blockIdx.y, jc = blockIdx.x;
  const size_t offset = (size_t)head * N * D;
  extern __shared__ float sram[];
  float *Kj = sram, *Vj = Kj + Bc * D, *dKj = Vj + Bc * D, *dVj = dKj + Bc * D, *Qi = dVj + Bc * D, *dOi = Qi + Br * D, *S = dOi + Br * D;
  for (int x = 0; x < D; x++) {
    Kj[tx * D + x] = K[offset + (jc * Bc + tx) * D + x];
    Vj[tx * D + x] = V[offset + (jc * Bc + tx) * D + x];
    dKj[tx * D + x] = dVj[tx * D + x] = 0;
  }
  for (int i = jc * Bc / Br; i < N / Br; i++) {
    __syncthreads();
    for (int x = 0; x < D; x++) {
      Qi[tx * D + x] = Q[offset + (i * Br + tx) * D + x];
      dOi[tx * D + x] = dO[offset + (i * Br + tx) * D + x];
    }
    const float l = L[head * N + i * Br + tx], delta = Delta[head * N + i * Br + tx];
    for (int y = 0; y < Bc; y++) {
      float sum = 0;
      for (int x = 0; x < D; x++) sum += Qi[tx * D + x] * Kj[y * D + x];
      sum *= scale;
      if (i * Br + tx < jc * Bc + y) sum = -INFINITY;
      S[tx * Bc + y] = __expf(sum - l);
    }
    __syncthreads();
    for (int x = 0; x < D; x++) {
      float sum = 0;
      for (int y = 0; y < Br; y++) sum += S[y * Bc + tx] * dOi[y * D + x];
      dVj[tx * D + x] += sum;
    }
    __syncthreads();
    for (int y = 0; y < Bc; y++) {
      float dp = 0;
      for (int x = 0; x < D; x++) dp += dOi[tx * D + x] * Vj[y * D + x];
      S[tx * Bc + y] *= dp - delta;
    }
    __syncthreads();
    for (int x = 0; x < D; x++) {
      float sum = 0;
      for (int y = 0; y < Bc; y++) sum += S[tx * Bc + y] * Kj[y * D + x];
      atomicAdd(&dQ[offset + (i * Br + tx) * D + x], scale * sum);
      sum = 0;
      for (int y = 0; y < Br; y++) sum += S[y * Bc + tx] * Qi[y * D + x];
      dKj[tx * D + x] += scale * sum;
    }
  }
  for (int x = 0; x < D; x++) {
    dK[offset + (jc * Bc + tx) * D + x] = dKj[tx * D + x];
    dV[offset + (jc * Bc + tx) * D + x] = dVj[tx * D + x];
  }
}
