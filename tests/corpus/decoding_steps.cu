// Steps of decoding text: nucleus sampling by a bitonic sort of pairs and a scan, beam search with the best of a block's
// candidates round by round, the forward pass of CTC with a barrier for each frame.
//: array float32 logits[1024] = uniform(-3, 3)
//: array float32 draws[4] = uniform(0, 1)
//: array int32 chosen[4]
//: array float32 scores[8] = uniform(-4, 0)
//: array float32 log_probs[1600] = uniform(-6, 0)
//: array float32 beam_scores[8]
//: array int32 beam_tokens[8]
//: array int32 beam_parents[8]
//: array float32 frames[480] = uniform(-3, 0)
//: array int32 labels[10] = integers(1, 8)
//: array float32 losses[2]
//: launch top_p_sampling<256><<<4, 256, 4096>>>(logits, draws, chosen, 0.8f, 0.7f)
//: launch beam_step<4><<<2, 64>>>(scores, log_probs, 200, beam_scores, beam_tokens, beam_parents)
//: launch ctc_alpha<<<2, 32, 128>>>(frames, labels, losses, 30, 8, 5)
//: check chosen
//: check beam_scores within 1e-5
//: check beam_tokens
//: check beam_parents
//: check losses within 1e-4
#include <math_constants.h>
struct Pair { float p; int id; };
template <int BLOCK>
__global__ void top_p_sampling(const float *logits, const float *draws, int *chosen, float temperature, float top_p) {
  extern __shared__ char memory[];
  Pair *pairs = (Pair *)memory;
  float *cumulative = (float *)(pairs + BLOCK);
  __shared__ float shared_value;
  __shared__ int cut;
  const int t = threadIdx.x;
  pairs[t] = Pair{logits[blockIdx.x * BLOCK + t] / temperature, t};
  for (int k = 2; k <= BLOCK; k <<= 1) {
    for (int j = k >> 1; j > 0; j >>= 1) {
      __syncthreads();
      int other = t ^ j;
      if (other > t) {
        const bool descending = (t & k) == 0;
        if ((pairs[t].p < pairs[other].p) == descending) { Pair swap = pairs[t]; pairs[t] = pairs[other]; pairs[other] = swap; }
      }
    }
  }
  __syncthreads();
  float e = __expf(pairs[t].p - pairs[0].p);
  cumulative[t] = e;
  if (t == 0) cut = BLOCK;
  for (int offset = 1; offset < BLOCK; offset *= 2) {
    __syncthreads();
    float add = t >= offset ? cumulative[t - offset] : 0.f;
    __syncthreads();
    cumulative[t] += add;
  }
  __syncthreads();
  const float total = cumulative[BLOCK - 1];
  if (cumulative[t] >= top_p * total) atomicMin(&cut, t);
  __syncthreads();
  if (t == 0) shared_value = draws[blockIdx.x] * cumulative[cut];
  __syncthreads();
  const float u = shared_value;
  if (t <= cut && cumulative[t] > u && (t == 0 || cumulative[t - 1] <= u)) chosen[blockIdx.x] = pairs[t].id;
}
struct __align__(8) Best {
  float score; int at;
  Best() = default;
  static __device__ Best none() { return Best(-CUDART_INF_F, -1); }
  __device__ Best(float s, int a) : score(s), at(a) {}
  __device__ bool operator<(const Best &o) const { return score < o.score || (score == o.score && at > o.at); }
};
__device__ __forceinline__ Best warp_best(Best b) {
#pragma unroll
  for (int mask = 16; mask > 0; mask >>= 1) {
    Best o(__shfl_xor_sync(0xffffffff, b.score, mask), __shfl_xor_sync(0xffffffff, b.at, mask));
    if (b < o) b = o;
  }
  return b;
}
template <int BEAMS>
__global__ void beam_step(const float *scores, const float *log_probs, int vocabulary, float *next_scores, int *tokens, int *parents) {
  __shared__ Best warps[32];
  __shared__ Best taken[BEAMS];
  const int batch = blockIdx.x, total = BEAMS * vocabulary, lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  for (int round = 0; round < BEAMS; ++round) {
    Best mine = Best::none();
    for (int i = threadIdx.x; i < total; i += blockDim.x) {
      bool used = false;
      for (int r = 0; r < round; ++r) used |= taken[r].at == i;
      if (used) continue;
      Best candidate(scores[batch * BEAMS + i / vocabulary] + log_probs[batch * total + i], i);
      if (mine < candidate) mine = candidate;
    }
    mine = warp_best(mine);
    if (lane == 0) warps[warp] = mine;
    __syncthreads();
    if (warp == 0) {
      mine = lane < blockDim.x / 32 ? warps[lane] : Best::none();
      mine = warp_best(mine);
      if (lane == 0) taken[round] = mine;
    }
    __syncthreads();
  }
  if (threadIdx.x < BEAMS) {
    Best b = taken[threadIdx.x];
    next_scores[batch * BEAMS + threadIdx.x] = b.score;
    tokens[batch * BEAMS + threadIdx.x] = b.at % vocabulary;
    parents[batch * BEAMS + threadIdx.x] = b.at / vocabulary;
  }
}
__device__ inline float log_plus(float a, float b) {
  if (a == -CUDART_INF_F) return b;
  if (b == -CUDART_INF_F) return a;
  float m = fmaxf(a, b);
  return m + log1pf(expf(fminf(a, b) - m));
}
__global__ void ctc_alpha(const float *frames, const int *labels, float *losses, int T, int classes, int L) {
  extern __shared__ float alpha[];
  const int s = threadIdx.x, S = 2 * L + 1;
  const float *f = frames + blockIdx.x * T * classes;
  const int *l = labels + blockIdx.x * L;
  const int label = s & 1 && s < S ? l[s / 2] : 0;
  const bool skip = s & 1 && s >= 3 && s < S && l[s / 2] != l[s / 2 - 1];
  if (s < S) alpha[s] = s < 2 ? f[label] : -CUDART_INF_F;
  for (int t = 1; t < T; t++) {
    __syncthreads();
    float a;
    if (s < S) {
      a = alpha[s];
      if (s > 0) a = log_plus(a, alpha[s - 1]);
      if (skip) a = log_plus(a, alpha[s - 2]);
      a += f[t * classes + label];
    }
    __syncthreads();
    if (s < S) alpha[s] = a;
  }
  __syncthreads();
  if (s == 0) losses[blockIdx.x] = -log_plus(alpha[S - 1], alpha[S - 2]);
}
