// Rotary position embedding, two numbers a thread.
//: array float32 q[512] = uniform(-1, 1)
//: launch RoPe_rotation<<<8, 32>>>(q, 64)
//: check q within 1e-5
__global__ void RoPe_rotation(float* sq, int head_size) {
  const int pos = blockIdx.x, i = threadIdx.x * 2;
  float2* pair = reinterpret_cast<float2*>(sq + pos * head_size + i);
  float freq = 1.0f / powf(10000.0f, i / (float)head_size);
  float val = pos * freq, fcr, fci;
  sincosf(val, &fci, &fcr);
  float2 v = *pair;
  *pair = make_float2(v.x * fcr - v.y * fci, v.x * fci + v.y * fcr);
}
