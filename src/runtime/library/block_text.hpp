// The CUDA C of block_convolution.hpp: a product of matrices whose second one is never made, only read where its elements lie. Defined in front of it: what
// element_text and kSizesText define; ROLE, as ConvolutionRole counts; K0.., S0.., D0.., P0..: window, stride, dilation, padding; IS_CHECKED: whether windows reach beyond x;
// TM, TN: rows and columns of a block's part of the result.
#pragma once

namespace damo {

inline constexpr const char* kBlockText = R"(
#define TK 16                   // products that a block adds up at a time
#define THREADS (TM * TN / 16)  // each has 4 by 4 elements of the result
#define WINDOW (K0 * K1 * K2)
#define A_EACH (TM * TK / THREADS)
#define B_EACH (TN * TK / THREADS)

struct alignas(4 * sizeof(SUM)) Four { SUM v[4]; };

[[maybe_unused]] static __device__ inline bool is_below(int i, int extent) { return (unsigned)i < (unsigned)extent; }

extern "C" __global__ void __launch_bounds__(THREADS) convolve(T* __restrict__ x, T* __restrict__ w, T* __restrict__ y, SUM* __restrict__ partial, Sizes s, int parts) {
  // One column more, so that elements that are written together lie in different banks.
  __shared__ Four a_tile[TK][TM / 4 + 1], b_tile[TK][TN / 4 + 1];
  const int t = threadIdx.x, group = blockIdx.z / parts, part = blockIdx.z % parts, m0 = blockIdx.y * TM, n0 = blockIdx.x * TN;
  const int groups = (int)s.groups, channels = (int)s.channels, outputs = (int)s.outputs, batch = (int)s.batch;
  const int in0 = (int)s.in[0], in1 = (int)s.in[1], in2 = (int)s.in[2], out0 = (int)s.out[0], out1 = (int)s.out[1], out2 = (int)s.out[2];
  const int in_size = in0 * in1 * in2, places = out0 * out1 * out2;
  SUM a_next[A_EACH], b_next[B_EACH], sums[4][4] = {};

#if ROLE == 2
  const int rows = outputs, columns = channels * WINDOW, depth = batch * places;
#elif ROLE == 1
  const int rows = channels, columns = batch * in_size, depth = outputs * WINDOW;
#else
  const int rows = outputs, columns = batch * places, depth = channels * WINDOW;
#endif
  const int chunk = ((depth + parts - 1) / parts + TK - 1) / TK * TK, begin = part * chunk, end = begin + chunk < depth ? begin + chunk : depth;

#if ROLE == 2
  // The thread's place is that of its k, which grows by TK.
  const int first_k = begin + t % TK;
  int p2 = first_k % out2, p1 = first_k / out2 % out1, p0 = first_k / (out2 * out1) % out0, n = first_k / places;
  const int step2 = TK % out2, step1 = TK / out2 % out1, step0 = TK / (out2 * out1) % out0, step_n = TK / places;
  int offsets[B_EACH], at0[B_EACH], at1[B_EACH], at2[B_EACH];
  #pragma unroll
  for (int i = 0; i < B_EACH; ++i) {
    const int column = n0 + t / TK + i * (THREADS / TK), j = column % WINDOW;
    at0[i] = j / (K1 * K2) * D0 - P0, at1[i] = j / K2 % K1 * D1 - P1, at2[i] = j % K2 * D2 - P2;
    offsets[i] = column < columns ? column / WINDOW * in_size + (at0[i] * in1 + at1[i]) * in2 + at2[i] : -1;
    if (column >= columns) at0[i] = at1[i] = at2[i] = 0;
  }
  const auto load = [&](int k0) {
    const bool is_there = k0 + t % TK < end;
    const T* of_y = y + (size_t)(n * groups + group) * outputs * places + (p0 * out1 + p1) * out2 + p2;
    #pragma unroll
    for (int i = 0; i < A_EACH; ++i) {
      const int m = m0 + t / TK + i * (THREADS / TK);
      a_next[i] = is_there && m < rows ? TO_SUM(of_y[m * places]) : (SUM)0;
    }
    const T* of_x = x + (size_t)(n * groups + group) * channels * in_size;
    const int corner = (p0 * S0 * in1 + p1 * S1) * in2 + p2 * S2;
    #pragma unroll
    for (int i = 0; i < B_EACH; ++i) {
      bool is_in = is_there && n0 + t / TK + i * (THREADS / TK) < columns;
#if IS_CHECKED
      is_in = is_in && is_below(p0 * S0 + at0[i], in0) && is_below(p1 * S1 + at1[i], in1) && is_below(p2 * S2 + at2[i], in2);
#endif
      b_next[i] = is_in ? TO_SUM(of_x[offsets[i] + corner]) : (SUM)0;
    }
    p2 += step2;
    const int over2 = p2 >= out2;
    p2 -= over2 * out2;
    p1 += step1 + over2;
    const int over1 = p1 >= out1;
    p1 -= over1 * out1;
    p0 += step0 + over1;
    const int over0 = p0 >= out0;
    p0 -= over0 * out0;
    n += step_n + over0;
  };
#else
  // The thread's column is one place.
  const int column = n0 + t % TN;
#if ROLE == 1
  const int i2 = column % in2 + P2, i1 = column / in2 % in1 + P1, i0 = column / (in2 * in1) % in0 + P0, n = column / in_size;
  const T* from = y + (size_t)(n * groups + group) * outputs * places;
#else
  const int i2 = column % out2 * S2 - P2, i1 = column / out2 % out1 * S1 - P1, i0 = column / (out2 * out1) % out0 * S0 - P0, n = column / places;
  const T* from = x + (size_t)(n * groups + group) * channels * in_size;
#endif
  const auto load = [&](int k0) {
    const int a_k = k0 + t % TK;
    #pragma unroll
    for (int i = 0; i < A_EACH; ++i) {
      const int m = m0 + t / TK + i * (THREADS / TK);
#if ROLE == 1
      const size_t at = ((size_t)(group * outputs + a_k / WINDOW) * channels + m) * WINDOW + a_k % WINDOW;
#else
      const size_t at = (size_t)(group * outputs + m) * depth + a_k;
#endif
      a_next[i] = a_k < end && m < rows ? TO_SUM(w[at]) : (SUM)0;
    }
    #pragma unroll
    for (int i = 0; i < B_EACH; ++i) {
      const int k = k0 + t / TN + i * (THREADS / TN), j = k % WINDOW, j0 = j / (K1 * K2), j1 = j / K2 % K1, j2 = j % K2;
      bool is_in = k < end && column < columns;
#if ROLE == 1
      const int e0 = i0 - j0 * D0, e1 = i1 - j1 * D1, e2 = i2 - j2 * D2, q0 = e0 / S0, q1 = e1 / S1, q2 = e2 / S2;
      is_in = is_in && q0 * S0 == e0 && q1 * S1 == e1 && q2 * S2 == e2 && is_below(q0, out0) && is_below(q1, out1) && is_below(q2, out2);
      b_next[i] = is_in ? TO_SUM(from[k / WINDOW * places + (q0 * out1 + q1) * out2 + q2]) : (SUM)0;
#else
      const int e0 = i0 + j0 * D0, e1 = i1 + j1 * D1, e2 = i2 + j2 * D2;
#if IS_CHECKED
      is_in = is_in && is_below(e0, in0) && is_below(e1, in1) && is_below(e2, in2);
#endif
      b_next[i] = is_in ? TO_SUM(from[k / WINDOW * in_size + (e0 * in1 + e1) * in2 + e2]) : (SUM)0;
#endif
    }
  };
#endif

  const int tx = t % (TN / 4), ty = t / (TN / 4);
  load(begin);
  for (int k0 = begin; k0 < end; k0 += TK) {
    #pragma unroll
    for (int i = 0; i < A_EACH; ++i) {
      const int m = t / TK + i * (THREADS / TK);
      a_tile[t % TK][m / 4].v[m % 4] = a_next[i];
    }
    #pragma unroll
    for (int i = 0; i < B_EACH; ++i) {
#if ROLE == 2
      const int k = t % TK, c = t / TK + i * (THREADS / TK);
#else
      const int k = t / TN + i * (THREADS / TN), c = t % TN;
#endif
      b_tile[k][c / 4].v[c % 4] = b_next[i];
    }
    __syncthreads();
    if (k0 + TK < end) load(k0 + TK);
    #pragma unroll
    for (int k = 0; k < TK; ++k) {
      const Four a = a_tile[k][ty], b = b_tile[k][tx];
      #pragma unroll
      for (int i = 0; i < 4; ++i)
        #pragma unroll
        for (int j = 0; j < 4; ++j) sums[i][j] += a.v[i] * b.v[j];
    }
    __syncthreads();
  }

  #pragma unroll
  for (int i = 0; i < 4; ++i)
    #pragma unroll
    for (int j = 0; j < 4; ++j) {
      const int row = m0 + ty * 4 + i, at = n0 + tx * 4 + j;
      if (row >= rows || at >= columns) continue;
#if ROLE == 2
      const size_t element = (size_t)(group * outputs + row) * columns + at;
      if (parts == 1) w[element] = TO_T(sums[i][j]);
      else partial[(size_t)part * groups * outputs * columns + element] = sums[i][j];
#elif ROLE == 1
      x[((size_t)(at / in_size * groups + group) * channels + row) * in_size + at % in_size] = TO_T(sums[i][j]);
#else
      y[((size_t)(at / places * groups + group) * outputs + row) * places + at % places] = TO_T(sums[i][j]);
#endif
    }
}

extern "C" __global__ void finish(const SUM* __restrict__ partial, T* __restrict__ w, long long elements, int parts) {
  const long long element = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (element >= elements) return;
  SUM sum = 0;
  for (int part = 0; part < parts; ++part) sum += partial[part * elements + element];
  w[element] = TO_T(sum);
}
)";

}  // namespace damo
