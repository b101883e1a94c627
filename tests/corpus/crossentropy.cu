// Loss of probabilities, gradient through the softmax.
//: array float32 probs[320] = uniform(0.01, 1)
//: array int32 targets[16] = integers(0, 20)
//: array float32 losses[16]
//: array float32 dlosses[16] = uniform(0.5, 1)
//: array float32 dlogits[320]
//: launch crossentropy_forward_kernel1<<<1, 32>>>(losses, probs, targets, 4, 4, 20)
//: launch crossentropy_softmax_backward_kernel1<<<2, 256>>>(dlogits, dlosses, probs, targets, 4, 4, 20)
//: check losses within 1e-5
//: check dlogits within 1e-6
__global__ void crossentropy_forward_kernel1(float* losses, float* probs, int* targets, int B, int T, int V) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < B * T) {
        int b = i / T, t = i % T;
        float* probs_bt = probs + b * T * V + t * V;
        int ix = targets[b * T + t];
        losses[b * T + t] = -logf(probs_bt[ix]);
    }
}
__global__ void crossentropy_softmax_backward_kernel1(float* dlogits, const float* dlosses, const float* probs, const int* targets, int B, int T, int V) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < B * T * V) {
        int b = i / (T * V);
        int t = (i / V) % T;
        int v = i % V;
        float dloss = dlosses[b * T + t];
        int ix = targets[b * T + t];
        float p = probs[i];
        float indicator = v == ix ? 1.0f : 0.0f;
        dlogits[i] += (p - indicator) * dloss;
    }
}
