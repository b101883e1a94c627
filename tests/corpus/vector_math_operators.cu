// float3 with its own operators: rays against a sphere.
//: array float32 out[256]
//: launch trace<<<(2, 2), (8, 8)>>>(out, 16)
//: check out within 1e-4
inline __device__ float3 operator+(float3 a, float3 b) { return make_float3(a.x + b.x, a.y + b.y, a.z + b.z); }
inline __device__ float3 operator-(float3 a, float3 b) { return make_float3(a.x - b.x, a.y - b.y, a.z - b.z); }
inline __device__ float3 operator*(float s, float3 a) { return make_float3(s * a.x, s * a.y, s * a.z); }
inline __device__ float dot(float3 a, float3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
inline __device__ float3 normalize(float3 v) { return rsqrtf(dot(v, v)) * v; }
__global__ void trace(float* out, int n) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  const float3 eye = make_float3(0.f, 0.f, -3.f);
  const float3 d = normalize(make_float3((x + 0.5f) / n - 0.5f, (y + 0.5f) / n - 0.5f, 1.f));
  const float b = dot(eye, d), c = dot(eye, eye) - 1.f, disc = b * b - c;
  float shade = 0.f;
  if (disc > 0.f) {
    const float3 hit = eye + (-b - sqrtf(disc)) * d;
    shade = fmaxf(0.f, dot(normalize(hit), normalize(make_float3(1.f, 1.f, -1.f))));
  }
  out[y * n + x] = shade;
}
