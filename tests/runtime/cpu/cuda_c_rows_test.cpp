// Kernels without barriers as rows of threads: blocks that are joined, guards that begin and end rows, loops that the
// threads of a row go through in step. Expected values are plain C++'s.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include "runtime/cpu/row_launches.hpp"

namespace damo::cpu_backend::testing {
TEST(CudaCRows, JoinBlocksOfAnyShapeInAnyShares) {
  const auto object = load(compile_cuda(R"(
__global__ void flat(const float* x, float* y, int w, int h) {
  int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y * blockDim.y + threadIdx.y;
  if (c < w && r < h) y[r * w + c] += 2.0f * x[r * w + c] + c;
}
__global__ void y_first(const float* x, float* y, int w, int h) {
  int r = blockIdx.y * blockDim.y + threadIdx.y, c = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= h) return;
  if (c >= w) return;
  y[r * w + c] += 2.0f * x[r * w + c] + c;
}
__global__ void natural(const float* x, float* y, unsigned w, unsigned h) {
  unsigned c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y * blockDim.y + threadIdx.y;
  if (r < h && c < w) { size_t i = (size_t)r * w + c; y[i] += 2.0f * x[i] + c; }
}
__global__ void apart(const float* x, float* y, int w, int h) {  // asks for its place in the block
  int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y * blockDim.y + threadIdx.y;
  if (c < w && r < h) y[r * w + c] += 2.0f * x[r * w + c] + (threadIdx.x + blockDim.x * blockIdx.x);
}
__global__ void by_block(const float* x, float* y, int w, int h) {  // begins of blocks and places in them
  int begin = blockIdx.x * blockDim.x, r = blockIdx.y * blockDim.y + threadIdx.y;
  int c = begin + threadIdx.x;
  if (begin < w && c < w && r < h) y[r * w + c] += 2.0f * x[r * w + c] + begin + threadIdx.x;
})"));
  for (const char* name : {"flat", "y_first", "natural", "apart", "by_block"}) {
    for (const Extent block : {Extent{16, 16}, Extent{32, 8}, Extent{5, 3}, Extent{1, 7}, Extent{1, 1}}) {
      for (const auto& [w, h] : {std::pair{37, 21}, std::pair{64, 32}, std::pair{1, 40}, std::pair{100, 1}}) {
        for (const std::int64_t share : {std::int64_t{1}, std::int64_t{3}, std::int64_t{1} << 40}) {
          const auto x = numbers(w * h);
          std::vector<float> y(w * h + 1, 1.0f);
          const Extent grid{covering(w, block.x) + 1, covering(h, block.y) + 1};
          launch_in_shares(object->kernel(name), grid, block, std::min<std::int64_t>(share, grid.x * grid.y), x.data(), y.data(), w, h);
          for (int i = 0; i < w * h; ++i) ASSERT_EQ(y[i], 1.0f + 2.0f * x[i] + i % w) << name << ' ' << i << " of " << w << " x " << h;
          ASSERT_EQ(y[w * h], 1.0f);
        }
      }
    }
  }
}

TEST(CudaCRows, KeepTheirPlacesWhereAKernelAsksForThem) {
  const auto object = load(compile_cuda(R"(
__global__ void places(int* y) {
  int c = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x;
  int i = (blockIdx.z * blockDim.z + threadIdx.z) * 6 * n + (blockIdx.y * blockDim.y + threadIdx.y) * n + c;
  y[i] = blockIdx.x * 1000 + threadIdx.x * 100 + threadIdx.y * 10 + threadIdx.z;
}
__device__ int depth(int n) { return n <= 0 ? (int)threadIdx.x : depth(n - 1); }
__global__ void calls(int* y, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; y[i] = depth(n); }
__global__ void volumes(int* y, int w, int h, int d) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y * blockDim.y + threadIdx.y, p = blockIdx.z * blockDim.z + threadIdx.z;
  if (x < w && r < h && p < d) y[(p * h + r) * w + x] += p * 10000 + r * 100 + x;
})"));
  std::vector<int> y(8 * 6 * 4);
  launch(object->kernel("places"), {4, 3, 2}, {2, 2, 2}, y.data());
  for (int z = 0; z < 4; ++z) {
    for (int r = 0; r < 6; ++r) {
      for (int c = 0; c < 8; ++c) ASSERT_EQ(y[(z * 6 + r) * 8 + c], c / 2 * 1000 + c % 2 * 100 + r % 2 * 10 + z % 2);
    }
  }
  launch(object->kernel("calls"), {4}, {3}, y.data(), 5);
  for (int i = 0; i < 12; ++i) ASSERT_EQ(y[i], i % 3);
  const int w = 19, h = 5, d = 7;
  for (const Extent block : {Extent{8, 2, 2}, Extent{4, 4, 4}, Extent{32}}) {
    std::vector<int> volume(w * h * d);
    launch(object->kernel("volumes"), {covering(w, block.x), covering(h, block.y), covering(d, block.z)}, block, volume.data(), w, h, d);
    for (int i = 0; i < w * h * d; ++i) ASSERT_EQ(volume[i], i / (w * h) * 10000 + i / w % h * 100 + i % w);
  }
}

TEST(CudaCRows, BeginWhereGuardsSay) {
  const auto object = load(compile_cuda(R"(
#define X int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y * blockDim.y + threadIdx.y;
__global__ void inner(int* y, int w, int h, int) { X if (c > 0 && c < w - 1 && r > 0 && r < h - 1) y[r * w + c] += 1; }
__global__ void outer(int* y, int w, int h, int) { X if (c == 0 || r == 0 || c >= w - 1 || r >= h - 1) return; y[r * w + c] += 1; }
__global__ void from(int* y, int w, int h, int least) { X if (c < w && r < h) if (c >= least) y[r * w + c] += 1; }
__global__ void after(int* y, int w, int h, int least) { X if (least < c) if (c < w && r < h) y[r * w + c] += 1; }
__global__ void twice(int* y, int w, int h, int least) { X if (c < w && r < h) { if (c > least) y[r * w + c] += 1; y[r * w + c] += 2; } }
__global__ void triangle(int* y, int w, int h, int) { X if (r < h && c < w && c <= r) y[r * w + c] += 1; }
__global__ void odd(int* y, int w, int h, int) { X if (c < w) if (r < h) if (r % 2) y[r * w + c] += 1; }
)"));
  const std::pair<const char*, std::function<int(int, int, int, int, int)>> kernels[] = {
      {"inner", [](int c, int r, int w, int h, int) { return int(c > 0 && c < w - 1 && r > 0 && r < h - 1); }},
      {"outer", [](int c, int r, int w, int h, int) { return int(c > 0 && c < w - 1 && r > 0 && r < h - 1); }},
      {"from", [](int c, int, int, int, int least) { return int(c >= least); }},
      {"after", [](int c, int, int, int, int least) { return int(c > least); }},
      {"twice", [](int c, int, int, int, int least) { return 2 + int(c > least); }},
      {"triangle", [](int c, int r, int, int, int) { return int(c <= r); }},
      {"odd", [](int, int r, int, int, int) { return r % 2; }}};
  constexpr int kLeast = std::numeric_limits<int>::min(), kMost = std::numeric_limits<int>::max();
  for (const auto& [name, expected] : kernels) {
    for (const auto& [w, h] : {std::pair{30, 9}, std::pair{1, 1}, std::pair{2, 3}, std::pair{64, 4}}) {
      for (const int least : {kLeast, -1, 0, 1, 17, 63, kMost}) {
        std::vector<int> y(w * h);
        launch(object->kernel(name), {covering(w, 8) + 1, covering(h, 4)}, {8, 4}, y.data(), w, h, least);
        for (int i = 0; i < w * h; ++i) ASSERT_EQ(y[i], expected(i % w, i / w, w, h, least)) << name << ' ' << i << " of " << w << " x " << h << ", " << least;
      }
    }
  }
}

TEST(CudaCRows, SumGridStrideLoopsInStep) {
  const auto object = load(compile_cuda(R"(
#define T int t = blockIdx.x * blockDim.x + threadIdx.x, step = gridDim.x * blockDim.x;
__global__ void sums(const float* x, float* y, int n) { T float s = 0; for (int i = t; i < n; i += step) s += x[i]; y[t] = s; }
__global__ void wide(const float* x, float* y, int n) {
  size_t t = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
  double s = 0;
  for (size_t i = t; i < (size_t)n; i += (size_t)gridDim.x * blockDim.x) s += x[i];
  y[t] = (float)s;
}
__global__ void several(const float* x, float* y, int n) {
  T
  float s = 0, most = -1000.0f; int count = 0;
  for (int i = t; i < n; i += step) { float v = x[i]; if (v > 0.0f) { s += v; ++count; } most = fmaxf(most, v); }
  y[t] = s + 1000.0f * count + 0.25f * most;
}
__global__ void turns(const float* x, float* y, int n) {  // each takes the other's value
  T
  float a = 1, b = 2;
  for (int i = t; i < n; i += step) { float old = a; a = b; b = old + x[i]; }
  y[t] = a + 100.0f * b;
}
__global__ void begins(const float* x, float* y, int n) {  // with what is there, which it also changes
  T
  float s = y[t] * 3.0f, scale = expf(y[t]);
  for (int i = t; i < n; i += step) { s += scale * x[i]; }
  y[t] = s + scale;
}
__global__ void of_block(const float* x, float* y, int n) {
  float s = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x) s += x[i];
  y[blockIdx.x * blockDim.x + threadIdx.x] = s;
})"));
  const auto x = numbers(10000);
  for (const char* name : {"sums", "wide", "several", "turns", "begins", "of_block"}) {
    for (const Extent block : {Extent{1}, Extent{32}, Extent{100}, Extent{1024}}) {
      for (const Extent grid : {Extent{1}, Extent{3}, Extent{9}}) {
        for (const int n : {0, 1, 50, 3100, 10000}) {
          const int threads = static_cast<int>(grid.x * block.x), step = std::string(name) == "of_block" ? static_cast<int>(block.x) : threads;
          std::vector<float> y(threads, 0.5f);
          launch_in_shares(object->kernel(name), grid, block, 5, x.data(), y.data(), n);
          for (int t = 0; t < threads; ++t) {
            double s = 0, positive = 0, most = -1000, a = 1, b = 2;
            int count = 0;
            for (int i = step == threads ? t : t % step; i < n; i += step) {
              s += x[i];
              if (x[i] > 0) positive += x[i], ++count;
              most = std::max<double>(most, x[i]);
              a = std::exchange(b, a + x[i]);
            }
            const std::string kernel = name;
            const double scale = std::exp(0.5);
            const double expected = kernel == "several"  ? positive + 1000.0 * count + 0.25 * most
                                    : kernel == "turns"  ? a + 100 * b
                                    : kernel == "begins" ? 1.5 + scale * s + scale
                                                         : s;
            ASSERT_NEAR(y[t], expected, 1e-5 * (100 + std::abs(expected))) << name << ' ' << t << " of " << grid.x << " x " << block.x << ", n " << n;
          }
        }
      }
    }
  }
}

TEST(CudaCRows, GoThroughLoopsInStep) {
  const auto object = load(compile_cuda(R"(
#define X int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y * blockDim.y + threadIdx.y;
__global__ void product(const float* a, const float* b, float* y, int w, int h, int n) {
  X
  if (c < w && r < h) { float s = 0; for (int k = 0; k < n; ++k) s += a[r * n + k] * b[k * w + c]; y[r * w + c] = s; }
}
__global__ void early(const float* a, const float* b, float* y, int w, int h, int n) {
  X
  if (r >= h || c >= w) return;
  float s = 0;
  int k = 0;
  while (k < n) { s += a[r * n + k] * b[k * w + c]; ++k; }
  y[r * w + c] = s;
}
__global__ void down(const float* a, const float* b, float* y, int w, int h, int n) {
  X
  if (c < w && r < h) { float s = 0; for (int k = n - 1; k >= 0; --k) s += a[r * n + k] * b[k * w + c]; y[r * w + c] = s; }
}
__global__ void in_place(const float* a, const float* b, float* y, int w, int h, int n) {
  X
  if (c < w && r < h) { y[r * w + c] = 0; }
  if (c < w && r < h) for (int k = 0; k < n; ++k) y[r * w + c] += a[r * n + k] * b[k * w + c];
}
__global__ void two_loops(const float* a, const float* b, float* y, int w, int h, int n) {
  X
  if (c < w && r < h) {
    float s = 0, t = 0;
    for (int k = 0; k < n; ++k) s += a[r * n + k] * b[k * w + c];
    for (int k = 0; k < n; ++k) t += s * b[k * w + c];
    y[r * w + c] = s + 0.0f * t;
  }
})"));
  for (const char* name : {"product", "early", "down", "in_place", "two_loops"}) {
    for (const auto& [w, h, n] : {std::tuple{50, 7, 33}, std::tuple{64, 8, 40}, std::tuple{3, 3, 1}, std::tuple{5, 4, 0}}) {
      const auto a = numbers(h * n), b = numbers(n * w);
      std::vector<float> y(w * h + 1, 7.0f);
      launch(object->kernel(name), {covering(w, 16), covering(h, 4)}, {16, 4}, a.data(), b.data(), y.data(), w, h, n);
      for (int i = 0; i < w * h; ++i) {
        float s = 0;
        for (int k = 0; k < n; ++k) s += a[i / w * n + k] * b[k * w + i % w];
        ASSERT_EQ(y[i], s) << name << ' ' << i << " of " << w << " x " << h << " x " << n;  // whole numbers: exact
      }
      ASSERT_EQ(y[w * h], 7.0f);
    }
  }
}

TEST(CudaCRows, CountNoStepsOfLoopsThatNobodyGetsTo) {
  // Below the last row h - 1 - r is four thousand million; to the right of the last column n - 1 would be.
  const auto object = load(compile_cuda(R"(
__global__ void rest(const float* x, float* y, unsigned w, unsigned h) {
  unsigned c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y * blockDim.y + threadIdx.y;
  if (r < h && c < w) { float s = 0; for (unsigned k = 0; k < h - r; ++k) s += x[k * w + c]; y[r * w + c] = s; }
}
__global__ void empty(const float* x, float* y, unsigned w) {
  unsigned c = blockIdx.x * blockDim.x + threadIdx.x;
  if (c < w) { float s = 0; for (unsigned k = 0; k < w - 1; ++k) s += x[k * w + c]; y[c] = s; }
})"));
  const unsigned w = 20, h = 5;
  const auto x = numbers(w * h);
  std::vector<float> y(w * h, -1.0f);
  const double time = least_milliseconds(1, [&] { launch(object->kernel("rest"), {2, 4}, {16, 4}, x.data(), y.data(), w, h); });
  for (unsigned i = 0; i < w * h; ++i) {
    float s = 0;
    for (unsigned k = 0; k < h - i / w; ++k) s += x[k * w + i % w];
    ASSERT_EQ(y[i], s) << i;
  }
  EXPECT_LT(time, 1000) << "rows outside counted to 2^32";
  EXPECT_LT(least_milliseconds(1, [&] { launch(object->kernel("empty"), {4}, {16}, x.data(), y.data(), 0u); }), 1000);
}

TEST(CudaCRows, VectoriseWhateverTheShapeOfBlocks) {
  const auto object = load(compile_cuda(R"(
__global__ void flat(const float* x, float* y, int w, int h) {
  int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y * blockDim.y + threadIdx.y;
  if (c < w && r < h) y[r * w + c] = 2.0f * x[r * w + c];
}
__global__ void tile(const float* x, float* y, int w, int h) {
  int c = blockIdx.x * 16 + threadIdx.x, r = blockIdx.y * 16 + threadIdx.y;
  if (c < w && r < h) y[r * w + c] = 2.0f * x[r * w + c];
}
__global__ void sums(const float* x, float* y, int n, int) {
  float s = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) s += x[i];
  y[blockIdx.x * blockDim.x + threadIdx.x] = s;
})"));
  const auto x = numbers(1 << 16);
  std::vector<float> y(1 << 16);
  const auto time_of = [&](const char* name, Extent grid, Extent block, int a, int b) {
    return least_milliseconds(30, [&] {
      for (int i = 0; i < 10; ++i) launch(object->kernel(name), grid, block, x.data(), y.data(), a, b);
    });
  };
  const double line = time_of("flat", {256}, {256}, 1 << 16, 1);
  for (const Extent block : {Extent{16, 16}, Extent{32, 8}, Extent{8, 8}}) {
    const double time = time_of("flat", {256 / block.x, 256 / block.y}, block, 256, 256);
    std::printf("[ figure ] 256 x 256 floats in blocks of %u x %u: %.2f of the time of one line\n", block.x, block.y, time / line);
    EXPECT_LT(time, 3 * line) << "short rows take 2 to 4 times as long, scalar code 8; the rest is for a busy machine";
  }
  const double tile = time_of("tile", {16, 16}, {16, 16}, 256, 256);
  std::printf("[ figure ] the same where the text says 16: %.2f of the time of one line\n", tile / line);
  const double sums = time_of("sums", {16}, {256}, 1 << 16, 0);
  std::printf("[ figure ] sums of 65536 floats by 4096 threads: %.2f of the time of doubling them\n", sums / line);
  EXPECT_LT(sums, 5 * line) << "scalar code takes 12 times as long";
}

}  // namespace damo::cpu_backend::testing
