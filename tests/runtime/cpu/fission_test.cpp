// Kernels with barriers and warp operations, as loops over threads: the values that CUDA gives, computed here one thread at
// a time or by formula, and the same as coroutines give.
#include <gmock/gmock.h>

#include <cmath>
#include <numeric>

#include "runtime/cpu/both_forms.hpp"

namespace damo::cpu_backend::testing {
namespace {

constexpr unsigned kBlocks[] = {1, 31, 33, 64, 256, 1024};

std::vector<int> hashed(std::size_t n) {
  std::vector<int> values(n);
  for (std::size_t i = 0; i < n; ++i) values[i] = static_cast<int>(i * 2654435761u >> 20);
  return values;
}

TEST(Fission, RunsBarriersInNestedLoops) {
  const BothForms forms(R"(
__global__ void k(int* y, const int* x, int rounds) {
  __shared__ int a[1024], b[1024];
  int t = threadIdx.x, n = blockDim.x, sum = 0;
  for (int i = 0; i < rounds; ++i) {
    a[t] = x[t] + i;
    __syncthreads();
    for (int j = 0; j < 3; ++j) {
      b[t] = a[(t + j) % n] + j;
      __syncthreads();
      sum += b[(t * 7 + i) % n];
      __syncthreads();
    }
  }
  y[t] = sum;
})");
  const auto x = hashed(1024);
  for (const unsigned n : kBlocks) {
    const auto y = forms.run("k", {1}, {n}, std::vector<int>(n), x.data(), 4);
    for (unsigned t = 0; t < n; ++t) {
      int sum = 0;
      for (unsigned i = 0; i < 4; ++i) {
        for (unsigned j = 0; j < 3; ++j) sum += x[((t * 7 + i) % n + j) % n] + static_cast<int>(i + j);
      }
      ASSERT_EQ(y[t], sum) << n << ' ' << t;
    }
  }
}

TEST(Fission, TakesBarriersThatTheBlockAsAWholeReaches) {
  const BothForms forms(R"(
__global__ void k(int* y, const int* x, int mode) {
  __shared__ int s[1024];
  int t = threadIdx.x, n = blockDim.x, at = blockIdx.x * n + t, v = x[t];
  s[t] = v;
  if (mode > 1) {
    __syncthreads();
    if (blockIdx.x % 2) { v = s[n - 1 - t]; } else { v += s[0]; __syncthreads(); s[t] = v * 2; __syncthreads(); v = s[(t + 1) % n]; }
  } else if (mode == 1) {
    v += 5;
  }
  switch (blockIdx.x) {
    case 0: break;
    case 1: __syncthreads(); s[t] = v; __syncthreads(); v = s[t / 2];  // and on
    default: __syncthreads(); v += 1;
  }
  y[at] = v;
})");
  const auto x = hashed(1024);
  for (const unsigned n : kBlocks) {
    for (int mode = 0; mode < 3; ++mode) {
      const auto y = forms.run("k", {3}, {n}, std::vector<int>(3 * n), x.data(), mode);
      for (unsigned i = 0; i < 3 * n; ++i) {
        const unsigned block = i / n;
        const auto first = [&](unsigned t) {
          if (mode < 2) return x[t] + 5 * mode;
          return block == 1 ? x[n - 1 - t] : (x[(t + 1) % n] + x[0]) * 2;
        };
        const unsigned t = i % n;
        ASSERT_EQ(y[i], block == 0 ? first(t) : block == 1 ? first(t / 2) + 1 : first(t) + 1) << n << ' ' << mode << ' ' << i;
      }
    }
  }
}

TEST(Fission, LetsThreadsGoBeforeAndBetweenBarriers) {
  const BothForms forms(R"(
__global__ void k(int* y, const int* x, int n) {
  __shared__ int s[1024];
  int t = threadIdx.x;
  s[t] = 0;
  if (t >= n) { y[t] = -1; return; }
  s[t] = x[t];
  __syncthreads();
  int big = __syncthreads_count(x[t] % 2), any = __syncthreads_or(x[t] == 3), all = __syncthreads_and(x[t] >= 0);
  for (int step = 1; step < 8; step *= 2) {
    int v = s[(t + step) % n];
    __syncthreads();
    if (t % 16 == 5 * step) { y[t] = v; return; }
    s[t] += v;
    __syncthreads();
  }
  y[t] = s[t] + big * 1000 + any * 3 + all;
})");
  const auto x = hashed(1024);
  for (const unsigned block : kBlocks) {
    for (const unsigned n : {1u, block / 2 + 1, block}) {
      const auto y = forms.run("k", {1}, {block}, std::vector<int>(block), x.data(), static_cast<int>(n));
      std::vector<int> s(x.begin(), x.begin() + n), expected(block, -1);
      std::vector<bool> gone(n);
      for (unsigned step = 1; step < 8; step *= 2) {
        const auto before = s;
        for (unsigned t = 0; t < n; ++t) {
          if (gone[t]) continue;
          if (t % 16 == 5 * step) expected[t] = before[(t + step) % n], gone[t] = true;
          else s[t] += before[(t + step) % n];
        }
      }
      int odd = 0, three = 0;
      for (unsigned t = 0; t < n; ++t) odd += x[t] % 2, three |= x[t] == 3;
      for (unsigned t = 0; t < n; ++t) {
        if (!gone[t]) expected[t] = s[t] + odd * 1000 + three * 3 + 1;
      }
      ASSERT_EQ(y, expected) << block << ' ' << n;
    }
  }
}

TEST(Fission, ReachesABarrierUnderAGuardThatOnlyThreadsThatAreDoneFail) {
  const BothForms forms(R"(
__global__ void k(int* y, const int* x, int n) {
  __shared__ int s[1024];
  int t = threadIdx.x;
  if (t < n) {
    s[t] = x[t];
    __syncthreads();
    y[t] = s[n - 1 - t];
  }
})");
  const auto x = hashed(1024);
  for (const unsigned block : kBlocks) {
    const auto n = static_cast<int>(block * 2 / 3 + 1);
    const auto y = forms.run("k", {1}, {block}, std::vector<int>(block, -7), x.data(), n);
    for (int t = 0; t < static_cast<int>(block); ++t) ASSERT_EQ(y[t], t < n ? x[n - 1 - t] : -7);
  }
}

TEST(Fission, KeepsLocalArraysAcrossBarriers) {
  const BothForms forms(R"(
struct Pair { int a, b; };
__global__ void k(int* y, const int* x, int shift) {
  __shared__ int s[1024];
  int t = threadIdx.x, n = blockDim.x, mine[8] = {}, counts[4] = {0, 0, 0, 0};
  Pair pairs[2] = {{t, 1}, {2, t}};
  for (int i = 0; i < 8; ++i) mine[(i + shift) % 8] = x[t] + i;
  for (int round = 0; round < 3; ++round) {
    s[t] = mine[(t + round) % 8];
    __syncthreads();
    ++counts[s[(t + 1) % n] & 3];
    pairs[round & 1].a += s[(t + 2) % n];
    __syncthreads();
  }
  y[t] = counts[0] + 10 * counts[1] + 100 * counts[2] + 1000 * counts[3] + pairs[shift & 1].a + pairs[1].b;
})");
  const auto x = hashed(1024);
  for (const unsigned n : kBlocks) {
    for (unsigned shift = 0; shift < 2; ++shift) {
      const auto y = forms.run("k", {1}, {n}, std::vector<int>(n), x.data(), static_cast<int>(shift));
      const auto shared = [&](unsigned t, unsigned round) { return x[t] + static_cast<int>(((t + round) % 8 + 8 - shift) % 8); };
      for (unsigned t = 0; t < n; ++t) {
        int counts[4] = {}, a[2] = {static_cast<int>(t), 2};
        for (unsigned round = 0; round < 3; ++round) {
          ++counts[shared((t + 1) % n, round) & 3];
          a[round & 1] += shared((t + 2) % n, round);
        }
        ASSERT_EQ(y[t], counts[0] + 10 * counts[1] + 100 * counts[2] + 1000 * counts[3] + a[shift] + static_cast<int>(t)) << n << ' ' << t;
      }
    }
  }
}

TEST(Fission, RunsBlocksOfTwoAndThreeDimensions) {
  const BothForms forms(R"(
__global__ void turn(int* y, const int* x, int width) {
  __shared__ int tile[8][17];
  int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
  tile[threadIdx.y][threadIdx.x] = x[row * width + column];
  __syncthreads();
  y[row * width + column] = tile[blockDim.y - 1 - threadIdx.y][blockDim.x - 1 - threadIdx.x];
}
__global__ void cube(int* y, const int* x) {
  extern __shared__ int s[];
  int3 t = make_int3(threadIdx.x, threadIdx.y, threadIdx.z);
  int linear = (t.z * blockDim.y + t.y) * blockDim.x + t.x, turned = (t.x * blockDim.y + t.y) * blockDim.z + t.z;
  s[linear] = x[linear];
  __syncthreads();
  y[turned] = s[linear] + (t.z > 0 ? s[linear - blockDim.x * blockDim.y] : 0);
})");
  const auto x = hashed(48 * 16);
  const auto y = forms.run("turn", {3, 2}, {16, 8}, std::vector<int>(48 * 16), x.data(), 48);
  for (int row = 0; row < 16; ++row) {
    for (int column = 0; column < 48; ++column) ASSERT_EQ(y[row * 48 + column], x[(row / 8 * 8 + 7 - row % 8) * 48 + column / 16 * 16 + 15 - column % 16]);
  }
  const auto z = forms.run("cube", {1}, {5, 3, 7}, std::vector<int>(105), x.data());
  for (int i = 0; i < 105; ++i) ASSERT_EQ(z[(i % 5 * 3 + i / 5 % 3) * 7 + i / 15], x[i] + (i >= 15 ? x[i - 15] : 0));
}

TEST(Fission, SwapsLoopCarriedValues) {
  const BothForms forms(R"(
__global__ void scan(int* y, const int* x) {
  __shared__ int s[2][1024];
  int t = threadIdx.x, n = blockDim.x, in = 0, out = 1, older = x[t], newer = 1;
  s[0][t] = x[t];
  __syncthreads();
  for (int step = 1; step < n; step *= 2) {
    s[out][t] = s[in][t] + (t >= step ? s[in][t - step] : 0);
    int swap = in; in = out; out = swap;
    int next = older + newer; older = newer; newer = next;
    __syncthreads();
  }
  y[t] = s[in][t] * 3 + older;
})");
  auto x = hashed(1024);
  for (int& value : x) value &= 255;  // no sum leaves the range of an int
  for (const unsigned n : kBlocks) {
    const auto y = forms.run("scan", {1}, {n}, std::vector<int>(n), x.data());
    int sum = 0;
    for (unsigned t = 0; t < n; ++t) {
      sum += x[t];
      int older = x[t], newer = 1;
      for (unsigned step = 1; step < n; step *= 2) older = std::exchange(newer, older + newer);
      ASSERT_EQ(y[t], sum * 3 + older) << n << ' ' << t;
    }
  }
}

/// Both loops carry the sum, the inner one is left at its bottom: what it gives becomes the next value of two phis.
TEST(Fission, KeepsAValueThatTwoLoopsCarry) {
  const BothForms forms(R"(
__global__ void k(int* y, const int* x, int rounds, int times) {
  __shared__ int s[1024];
  int t = threadIdx.x, n = blockDim.x, sum = 7;
  for (int i = 0; i < rounds; ++i) {
    int j = 0;
    do {
      s[t] = x[t] + j;
      __syncthreads();
      if (t < 8) for (int m = 0; m < 5; ++m) sum += s[m % n];
      __syncthreads();
    } while (++j < times);
  }
  y[t] = sum;
})");
  const auto x = hashed(1024);
  for (const unsigned n : kBlocks) {
    for (const int rounds : {0, 1, 3}) {
      const auto y = forms.run("k", {1}, {n}, std::vector<int>(n), x.data(), rounds, 2);
      for (unsigned t = 0; t < n; ++t) {
        int sum = 7;
        for (int step = 0; step < 2 * rounds && t < 8; ++step) {
          for (unsigned m = 0; m < 5; ++m) sum += x[m % n] + step % 2;
        }
        ASSERT_EQ(y[t], sum) << n << ' ' << t << " rounds " << rounds;
      }
    }
  }
}

TEST(Fission, CountsWithAtomicsInSharedMemory) {
  const BothForms forms(R"(
__global__ void histogram(int* y, const int* x, int n) {
  __shared__ int bins[16];
  if (threadIdx.x < 16) bins[threadIdx.x] = 0;
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += blockDim.x) atomicAdd(&bins[x[i] & 15], 1);
  __syncthreads();
  for (int b = threadIdx.x; b < 16; b += blockDim.x) y[b] = bins[b];
})");
  const auto x = hashed(1000);
  std::vector<int> expected(16);
  for (const int v : x) ++expected[v & 15];
  for (const unsigned n : {16u, 33u, 256u}) EXPECT_EQ(forms.run("histogram", {1}, {n}, std::vector<int>(16), x.data(), 1000), expected);
}

TEST(Fission, CarriesVectorsDoublesAndStructures) {
  const BothForms forms(R"(
struct Settings { double scale; int shift[6]; };
struct Body { float4 place; double mass; };
__global__ void k(double* y, const float* x, Settings settings) {
  __shared__ Body bodies[256];
  int t = threadIdx.x, n = blockDim.x;
  Body own{make_float4(x[t], 1, 2, 3), settings.scale * t};
  bodies[t] = own;
  __syncthreads();
  Body other = bodies[(t + settings.shift[t % 6]) % n];
  bool late = t > n / 2;
  __syncthreads();
  own.place.w += other.place.x;
  bodies[t] = own;
  __syncthreads();
  y[t] = own.mass + bodies[n - 1 - t].place.w + other.mass + (late ? 1000 : 0);
})");
  struct Settings {
    double scale = 0.5;
    int shift[6] = {1, 2, 3, 4, 5, 6};
  } settings;
  std::vector<float> x(256);
  std::iota(x.begin(), x.end(), 1.0f);
  for (const unsigned n : {1u, 33u, 256u}) {
    const auto y = forms.run("k", {1}, {n}, std::vector<double>(n), x.data(), settings);
    for (unsigned t = 0; t < n; ++t) {
      const unsigned other = (t + settings.shift[t % 6]) % n, mirror = n - 1 - t;
      const double expected = 0.5 * t + 3 + x[(mirror + settings.shift[mirror % 6]) % n] + 0.5 * other + (t > n / 2 ? 1000 : 0);
      ASSERT_EQ(y[t], expected) << n << ' ' << t;
    }
  }
}

TEST(Fission, ReadsFlagsThatOtherThreadsSet) {
  const BothForms forms(R"(
__global__ void settle(int* y, const int* x) {
  __shared__ int s[1024];
  __shared__ bool changed;
  int t = threadIdx.x, n = blockDim.x, rounds = 0;
  s[t] = x[t];
  do {
    __syncthreads();
    if (t == 0) changed = false;
    __syncthreads();
    int left = t > 0 ? s[t - 1] : s[t];
    __syncthreads();
    if (left < s[t]) { s[t] = left; changed = true; }
    ++rounds;
    __syncthreads();
  } while (changed);
  y[t] = s[t] + rounds * 100000;
})");
  const auto x = hashed(256);
  for (const unsigned n : {1u, 31u, 256u}) {
    const auto y = forms.run("settle", {1}, {n}, std::vector<int>(n), x.data());
    int least = x[0], rounds = 1;
    for (unsigned t = 0, since = 0; t < n; ++t) {
      since = x[t] < least ? 0 : since + (t > 0 && x[t] > least);
      least = std::min(least, x[t]);
    }
    for (unsigned t = 0; t < n; ++t) ASSERT_EQ(y[t] % 100000, *std::min_element(x.begin(), x.begin() + t + 1)) << n << ' ' << t;
    EXPECT_GE(y[0] / 100000, rounds);
  }
}

TEST(Fission, SortsWithBarriersInDoubleLoops) {
  const BothForms forms(R"(
__global__ void sort(int* y, const int* x) {
  __shared__ int s[1024];
  unsigned t = threadIdx.x, n = blockDim.x;
  s[t] = x[t];
  __syncthreads();
  for (unsigned k = 2; k <= n; k <<= 1) {
    for (unsigned j = k >> 1; j > 0; j >>= 1) {
      unsigned other = t ^ j;
      if (other > t) {
        bool up = (t & k) == 0;
        if ((s[t] > s[other]) == up) { int swap = s[t]; s[t] = s[other]; s[other] = swap; }
      }
      __syncthreads();
    }
  }
  y[t] = s[t];
})");
  const auto x = hashed(1024);
  for (const unsigned n : {1u, 2u, 64u, 1024u}) {
    std::vector<int> expected(x.begin(), x.begin() + n);
    std::sort(expected.begin(), expected.end());
    EXPECT_EQ(forms.run("sort", {1}, {n}, std::vector<int>(n), x.data()), expected);
  }
}

TEST(Fission, SplitsALayerNormOfTheKindThatLanguageModelsUse) {
  const BothForms forms(R"(
#define FULL 0xffffffffu
__device__ float warp_sum(float v) { for (int o = 16; o > 0; o >>= 1) v += __shfl_xor_sync(FULL, v, o); return v; }
__device__ float block_sum(float v) {
  __shared__ float part[32];
  int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  v = warp_sum(v);
  if (lane == 0) part[warp] = v;
  __syncthreads();
  v = lane < (blockDim.x + 31) / 32 ? part[lane] : 0.0f;
  v = warp_sum(v);
  __syncthreads();
  return v;
}
__global__ void norm(float* y, const float* x, int columns, int rows) {
  int row = blockIdx.x;
  if (row >= rows) return;
  const float* in = x + row * columns;
  float sum = 0, squares = 0;
  for (int i = threadIdx.x; i < columns; i += blockDim.x) sum += in[i];
  float mean = block_sum(sum) / columns;
  for (int i = threadIdx.x; i < columns; i += blockDim.x) { float d = in[i] - mean; squares += d * d; }
  float scale = rsqrtf(block_sum(squares) / columns + 1e-5f);
  for (int i = threadIdx.x; i < columns; i += blockDim.x) y[row * columns + i] = (in[i] - mean) * scale;
})");
  std::vector<float> x(3 * 200);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i * i % 97);
  for (const unsigned n : {32u, 64u, 256u}) {
    std::vector<float> y(x.size());
    const auto object = load(compile_cuda("__global__ void none() {}"));
    y = forms.run("norm", {4}, {n}, y, x.data(), 200, 3);
    for (int row = 0; row < 3; ++row) {
      double mean = 0, squares = 0;
      for (int i = 0; i < 200; ++i) mean += x[row * 200 + i] / 200.0;
      for (int i = 0; i < 200; ++i) squares += (x[row * 200 + i] - mean) * (x[row * 200 + i] - mean) / 200.0;
      for (int i = 0; i < 200; ++i) ASSERT_NEAR(y[row * 200 + i], (x[row * 200 + i] - mean) / std::sqrt(squares + 1e-5), 1e-4);
    }
  }
}

/// Loops that lanes leave at different steps part nobody behind them, though the last loop with a shuffle is left only by threads
/// that wait no more.
TEST(Fission, KeepsALaneWithItsWarpBehindALoopOfItsOwnLength) {
  const std::string text = R"(
template <bool guarded>
__global__ void softmax(float* y, const float* x, int rows, int n) {
  int lane = threadIdx.x % 32, row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
  if (guarded && row >= rows) return;
  const float* in = x + row * n;
  float* out = y + row * n;
  float most = -INFINITY, sum = 0;
  for (int c = lane; c < n; c += 32) most = fmaxf(most, in[c]);
  for (int offset = 16; offset > 0; offset /= 2) most = fmaxf(most, __shfl_xor_sync(0xffffffff, most, offset));
  for (int c = lane; c < n; c += 32) sum += out[c] = expf(in[c] - most);
  for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_xor_sync(0xffffffff, sum, offset);
  for (int c = lane; c < n; c += 32) out[c] /= sum;
}
template __global__ void softmax<false>(float*, const float*, int, int);
template __global__ void softmax<true>(float*, const float*, int, int);)";
  EXPECT_FALSE(mentions(compile_cuda(text, {"softmax<false>"}), "damo_next_region"));
  const BothForms forms(text);
  constexpr int kRows = 6;
  for (const int n : {1, 31, 32, 33, 64, 500}) {
    std::vector<float> x(static_cast<std::size_t>(kRows * n));
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>((i * 37) % 101) / 10 - 5;
    for (const char* kernel : {"softmax<false>", "softmax<true>"}) {
      const std::uint32_t blocks = kernel[8] == 't' ? 3 : 2;  // of 3 warps; one more than there are rows for
      const auto y = forms.run(kernel, {blocks}, {96}, std::vector<float>(x.size()), x.data(), kRows, n);
      for (int row = 0; row < kRows; ++row) {
        double sum = 0;
        for (int c = 0; c < n; ++c) sum += std::exp(static_cast<double>(x[row * n + c]));
        for (int c = 0; c < n; ++c) ASSERT_NEAR(y[row * n + c], std::exp(static_cast<double>(x[row * n + c])) / sum, 1e-6) << kernel << ' ' << row << ' ' << c << " of " << n;
      }
    }
  }
}

/// As on an H200.
TEST(Fission, ReadsZeroFromALaneThatIsNotThere) {
  const BothForms forms(R"(
__global__ void k(int* y) { y[threadIdx.x] = __shfl_down_sync(0xffffffff, y[threadIdx.x], 8); })");
  std::vector<int> y(16), shifted(16);
  for (int i = 0; i < 16; ++i) y[i] = i + 1, shifted[i] = i < 8 ? i + 9 : 0;
  EXPECT_EQ(forms.run("k", {1}, {16}, y), shifted);
}

}  // namespace
}  // namespace damo::cpu_backend::testing
