//: array float32 price[500] = uniform(5, 30)
//: array float32 strike[500] = uniform(1, 100)
//: array float32 years[500] = uniform(0.25, 10)
//: array float32 call[500]
//: array float32 put[500]
//: launch BlackScholesGPU<<<2, 256>>>(call, put, price, strike, years, 0.02f, 0.30f, 500)
//: check call within 1e-4
//: check put within 1e-4
__device__ inline float cndGPU(float d) {
  const float A1 = 0.31938153f;
  const float A2 = -0.356563782f;
  const float A3 = 1.781477937f;
  const float A4 = -1.821255978f;
  const float A5 = 1.330274429f;
  const float RSQRT2PI = 0.39894228040143267793994605993438f;
  float K = __fdividef(1.0f, (1.0f + 0.2316419f * fabsf(d)));
  float cnd = RSQRT2PI * __expf(-0.5f * d * d) * (K * (A1 + K * (A2 + K * (A3 + K * (A4 + K * A5)))));
  if (d > 0) cnd = 1.0f - cnd;
  return cnd;
}
__device__ inline void BlackScholesBodyGPU(float &CallResult, float &PutResult, float S, float X, float T, float R, float V) {
  float sqrtT, expRT;
  float d1, d2, CNDD1, CNDD2;
  sqrtT = __fdividef(1.0F, rsqrtf(T));
  d1 = __fdividef(__logf(S / X) + (R + 0.5f * V * V) * T, V * sqrtT);
  d2 = d1 - V * sqrtT;
  CNDD1 = cndGPU(d1);
  CNDD2 = cndGPU(d2);
  expRT = __expf(-R * T);
  CallResult = S * CNDD1 - X * expRT * CNDD2;
  PutResult = X * expRT * (1.0f - CNDD2) - S * (1.0f - CNDD1);
}
__launch_bounds__(256)
__global__ void BlackScholesGPU(float *__restrict c, float *__restrict p, float *__restrict s, float *__restrict x, float *__restrict t, float R, float V, int n) {
  const int i = blockDim.x * blockIdx.x + threadIdx.x;
  if (i < n) BlackScholesBodyGPU(c[i], p[i], s[i], x[i], t[i], R, V);
}
