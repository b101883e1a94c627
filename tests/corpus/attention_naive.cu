// Query times key, softmax with a causal mask, times value: three kernels.
//: array float32 q[512] = uniform(-1, 1)
//: array float32 k[512] = uniform(-1, 1)
//: array float32 v[512] = uniform(-1, 1)
//: array float32 att[1024]
//: array float32 out[512]
//: launch scores<<<4, 256>>>(att, q, k, 32, 16)
//: launch causal_softmax<<<1, 32>>>(att, 32)
//: launch weigh<<<2, 256>>>(out, att, v, 32, 16)
//: check out within 1e-5
__global__ void scores(float* att, const float* q, const float* k, int T, int D) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= T * T) return;
  int row = i / T, col = i % T;
  if (col > row) { att[i] = -INFINITY; return; }
  float s = 0.f;
  for (int d = 0; d < D; d++) s = fmaf(q[row * D + d], k[col * D + d], s);
  att[i] = s * rsqrtf((float)D);
}
__global__ void causal_softmax(float* att, int T) {
  int row = threadIdx.x;
  if (row >= T) return;
  float m = -INFINITY, sum = 0.f;
  for (int j = 0; j <= row; j++) m = max(m, att[row * T + j]);
  for (int j = 0; j < T; j++) { float e = expf(att[row * T + j] - m); att[row * T + j] = e; sum += e; }
  for (int j = 0; j < T; j++) att[row * T + j] /= sum;
}
__global__ void weigh(float* out, const float* att, const float* v, int T, int D) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= T * D) return;
  int t = i / D, d = i % D;
  float s = 0.f;
  for (int j = 0; j <= t; j++) s += att[t * T + j] * v[j * D + d];
  out[i] = s;
}
