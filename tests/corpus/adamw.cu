//: array float32 params[1000] = uniform(-1, 1)
//: array float32 grads[1000] = uniform(-1, 1)
//: array float32 m[1000] = uniform(-0.1, 0.1)
//: array float32 v[1000] = uniform(0, 0.1)
//: launch adamw_kernel2<<<2, 512>>>(params, grads, m, v, 1000l, 0.001f, 0.9f, 0.999f, 0.271f, 0.002997001f, 1e-8f, 0.01f)
//: check params within 1e-5
//: check m within 1e-6
//: check v within 1e-6
__device__ inline float lerp(float start, float end, float weight) {
    return fma(weight, end, fma(-weight, start, start));
}
__global__ void adamw_kernel2(float* params_memory, float* grads_memory, float* m_memory, float* v_memory, long num_parameters,
                              float learning_rate, float beta1, float beta2, float beta1_correction, float beta2_correction, float eps, float weight_decay) {
   int i = blockIdx.x * blockDim.x + threadIdx.x;
   if (i >= num_parameters) return;  // guard
   float grad = grads_memory[i];
   float m = m_memory[i];
   float v = v_memory[i];
   m = lerp(grad, m, beta1);
   m_memory[i] = m;
   v = lerp(grad * grad, v, beta2);
   v_memory[i] = v;
   m /= beta1_correction;
   v /= beta2_correction;
   params_memory[i] -= learning_rate * (m / (sqrtf(v) + eps) + weight_decay * params_memory[i]);
}
