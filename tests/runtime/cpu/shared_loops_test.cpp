// Loops that all threads of a block, or of one of its rows, go through equally often: the values that CUDA gives, by formula and as
// coroutines give, and that the threads take each step together.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>

#include "runtime/cpu/both_forms.hpp"

namespace damo::cpu_backend::testing {
namespace {

using Words = std::vector<std::uint32_t>;

constexpr const char* kSource = R"(
typedef unsigned u;
#define C const int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y * blockDim.y + threadIdx.y; (void)c; (void)r;
#define A u* y, const u* x, int w, int h, int m
__global__ void columns(A) { C if (c >= w || r >= h) return; u s = r; for (int k = 0; k < m; ++k) s = s * 3 + x[k * w + c]; y[r * w + c] = s; }
__global__ void rounds(A) { C if (r < h && c < w) { u s = r; for (int o = 0; o < 3; ++o) { s += o; for (int k = 0; k < m; ++k) s = s * 3 + x[k * w + c]; } y[r * w + c] = s; } }
__global__ void triangle(A) { C if (c < w && r < h) { u s = 0; for (int k = 0; k <= r; ++k) s = s * 3 + x[k * w + c]; y[r * w + c] = s; } }
__global__ void stops(A) { C if (c >= w || r >= h) return; u s = 0; for (int k = 0; k < m; ++k) { s = s * 3 + x[k * w + c]; if (x[k] % 7 == 3) break; } y[r * w + c] = s; }
__global__ void stop_apart(A) { C if (c >= w || r >= h) return; u s = 0; for (int k = 0; k < m; ++k) { s = s * 3 + x[k * w + c]; if (x[k * w + c] % 7 == 3) break; } y[r * w + c] = s; }
__global__ void grid(A) { C for (int i = r * (gridDim.x * blockDim.x) + c; i < w * h; i += gridDim.x * blockDim.x * gridDim.y * blockDim.y) { u s = i / w; for (int k = 0; k < m; ++k) s = s * 3 + x[k * w + i % w]; y[i] = s; } }
__global__ void grid_line(A) { for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < w; i += gridDim.x * blockDim.x) { u s = 0; for (int k = 0; k < m; ++k) s = s * 3 + x[k * w + i]; if (blockIdx.y == 0 && threadIdx.y == 0) y[i] = s; } }
__global__ void carried(A) { if (blockIdx.y + threadIdx.y > 0) return; u s = 1; for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < u(w); i += gridDim.x * blockDim.x) { for (int k = 0; k < m; ++k) s = s * 5 + x[k * w + i]; y[i] = s; } }
__global__ void tiles(A) {
  __shared__ u part[64];
  C
  const int t = threadIdx.y * blockDim.x + threadIdx.x, threads = blockDim.x * blockDim.y;
  u s = 0;
  for (int begin = 0; begin < m; begin += threads) {
    if (begin + t < m) part[t] = x[begin + t];
    __syncthreads();
    for (int k = 0; k < threads && begin + k < m; ++k) s = s * 3 + part[k] * u(c + 1);
    __syncthreads();
  }
  if (c < w && r < h) y[r * w + c] = s + r;
}
)";

TEST(SharedLoops, FoldWhatEachThreadMeets) {
  const BothForms forms(kSource);
  const auto x = hashed(90 * 80);
  const auto fold = [](std::uint32_t s, const std::uint32_t* x, int begin, int end, int step, std::uint32_t factor = 3) {
    for (int k = begin; k < end; ++k) s = s * factor + x[k * step];
    return s;
  };
  struct Launch {
    Extent grid, block;
    int w, h, m;
  };
  for (const Launch& to : {Launch{{6, 2}, {16, 4}, 90, 7, 40}, Launch{{3, 1}, {32, 2}, 90, 2, 70}, Launch{{1, 8}, {7, 1}, 5, 8, 33}, Launch{{2, 1}, {64, 1}, 3, 1, 64}, Launch{{2, 2}, {8, 8}, 11, 13, 0}}) {
    for (const char* name : {"columns", "rounds", "triangle", "stops", "stop_apart", "grid", "grid_line", "carried", "tiles"}) {
      const std::string kernel = name;
      const std::vector<std::uint32_t> y = forms.run(name, to.grid, to.block, Words(to.w * to.h, 7), x.data(), to.w, to.h, to.m);
      const int line = static_cast<int>(to.grid.x * to.block.x);
      for (int i = 0; i < to.w * to.h; ++i) {
        const int c = i % to.w, r = i / to.w;
        const std::uint32_t* const column = x.data() + c;
        std::uint32_t wanted = 0;
        if (kernel == "columns" || kernel == "grid") wanted = fold(static_cast<std::uint32_t>(r), column, 0, to.m, to.w);
        if (kernel == "rounds") {
          wanted = static_cast<std::uint32_t>(r);
          for (std::uint32_t o = 0; o < 3; ++o) wanted = fold(wanted + o, column, 0, to.m, to.w);
        }
        if (kernel == "triangle") wanted = fold(0, column, 0, r + 1, to.w);
        if (kernel == "stops" || kernel == "stop_apart") {
          for (int k = 0; k < to.m; ++k) {
            wanted = wanted * 3 + column[k * to.w];
            if ((kernel == "stops" ? x[static_cast<std::size_t>(k)] : column[k * to.w]) % 7 == 3) break;
          }
        }
        if (kernel == "grid_line") wanted = r == 0 ? fold(0, column, 0, to.m, to.w) : 7;
        if (kernel == "carried") {
          wanted = 1;
          for (int at = c % line; at <= c; at += line) wanted = fold(wanted, x.data() + at, 0, to.m, to.w, 5);
          if (r > 0) wanted = 7;
        }
        if (kernel == "tiles") {
          for (int k = 0; k < to.m; ++k) wanted = wanted * 3 + x[static_cast<std::size_t>(k)] * static_cast<std::uint32_t>(c + 1);
          wanted += static_cast<std::uint32_t>(r);
        }
        ASSERT_EQ(y[static_cast<std::size_t>(i)], wanted) << name << ", element " << i << " of " << to.w << " x " << to.h << ", m " << to.m;
      }
    }
  }
}

// Whichever threads the branch keeps off, the block's first one among them: they go on without the loop, and have nothing to say of its steps.
TEST(SharedLoops, AreDoneByThoseThatCome) {
  const BothForms forms(R"(
#define A unsigned* y, const unsigned* x, int m
#define C const int c = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x;
__global__ void around(A) { C __syncthreads(); if (x[c] & 1u) goto past; for (int k = 0; k < m; ++k) y[k * n + c] += x[k * n + c]; past: y[m * n + c] = c; }
__global__ void inside(A) { C __syncthreads(); unsigned s = 5; if (x[c] % 3 != 0) for (int k = 0; k < m; ++k) s = s * 3 + x[k * n + c]; y[c] = s; }
__global__ void among(A) { C for (int i = 0; i < 2; ++i) { if ((x[c] >> i) & 1u) for (int k = 0; k < m; ++k) y[k * n + c] += x[k * n + c]; __syncthreads(); y[m * n + c] = i; } }
)");
  constexpr int kSteps = 7;
  for (const unsigned blocks : {1u, 4u}) {
    const unsigned n = blocks * 12;
    const Words x = hashed(n * kSteps), zeros(n * (kSteps + 1));
    const auto run = [&](const char* name) { return forms.run(name, {blocks}, {12}, zeros, x.data(), kSteps); };
    const Words around = run("around"), inside = run("inside"), among = run("among");
    for (unsigned c = 0; c < n; ++c) {
      std::uint32_t sum = 5;
      for (unsigned k = 0; k < kSteps; ++k) {
        const std::uint32_t word = x[k * n + c];
        sum = sum * 3 + word;
        EXPECT_EQ(around[k * n + c], x[c] % 2 == 0 ? word : 0) << c << ", step " << k;
        EXPECT_EQ(among[k * n + c], (x[c] % 2 + x[c] / 2 % 2) * word) << c << ", step " << k;
      }
      EXPECT_EQ(around[kSteps * n + c], c);
      EXPECT_EQ(inside[c], x[c] % 3 != 0 ? sum : 5) << c;
    }
  }
}

// As rounds, 80 loops took LLVM more than 100 s.
TEST(SharedLoops, StayWhereThereAreManyInAKernel) {
  std::string text = "__global__ void many(unsigned* y, const unsigned* x, const unsigned* z, int m) {\n  unsigned s = 0;\n";
  for (int i = 0; i < 80; ++i) text += "  for (int k = 0; k < m; ++k) s = s * 3 + x[k * 64 + threadIdx.x];\n  if (z[" + std::to_string(i) + "] == threadIdx.x) return;\n";
  const auto begin = std::chrono::steady_clock::now();
  const auto object = load(compile_cuda(text + "  y[threadIdx.x] = s;\n}\n"));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(40));
  const Words x = hashed(64 * 5), z(80, 7);
  Words y(64, 9);
  launch(object->kernel("many"), {1}, {64}, y.data(), x.data(), z.data(), 5);
  for (unsigned t = 0; t < 64; ++t) {
    std::uint32_t sum = 0;
    for (int i = 0; i < 80 * 5; ++i) sum = sum * 3 + x[static_cast<unsigned>(i % 5) * 64 + t];
    ASSERT_EQ(y[t], t == 7 ? 9 : sum) << t;
  }
}

TEST(SharedLoops, TakeEachStepTogether) {
  const auto object = load(compile_cuda(R"(
__global__ void flat(const float* x, float* y, int n, int m) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) for (int k = 0; k < 8; ++k) y[i] = 2.0f * x[i] + y[i]; }
__global__ void rounds(const float* x, float* y, int n, int m) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i >= n) return; float s = 0; for (int k = 0; k < m; ++k) s += x[i] * x[k]; y[i] = s; }
__global__ void grid(const float* x, float* y, int n, int m) { for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) { float s = 0; for (int k = 0; k < m; ++k) s += x[i] * x[k]; y[i] = s; } }
__global__ void tiles(const float* x, float* y, int n, int m) {
  __shared__ float part[256];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  part[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  float s = 0;
  for (int k = 0; k < m; ++k) s += x[i] * part[k];
  y[i] = s;
}
)"));
  constexpr int kAll = 1 << 14, kSteps = 64;
  std::vector<float> x(kAll, 1.0f), y(kAll);
  const auto time_of = [&](const char* name, unsigned grid, int m) {
    std::fill(y.begin(), y.end(), 0.0f);
    return least_milliseconds(20, [&] { launch(object->kernel(name), {grid}, {256}, x.data(), y.data(), kAll, m); });
  };
  const double flat = time_of("flat", kAll / 256, 0);  // eight steps
  for (const char* name : {"rounds", "grid", "tiles"}) {
    const double time = time_of(name, name == std::string("grid") ? kAll / 1024 : kAll / 256, kSteps);
    for (float value : y) ASSERT_EQ(value, kSteps) << name;
    std::printf("[ figure ] %s of 64 steps: %.1f of the time of 8 steps that are written out\n", name, time / flat);
    EXPECT_LT(time, 30 * flat) << name << ": a thread after the other waits for each sum";
  }
}

}  // namespace
}  // namespace damo::cpu_backend::testing
