// CUDA C as people write it: block_reduction, warp_reduction (us_per_block: of one core), warp_softmax (256 rows of 256, a warp
// each row), labeled_sums (of the lanes of a warp that have one of 8 labels), tiled_matmul (gflops: of one core on the CPU), and of 64 Ki floats, which stay in a core's cache, doubling, doubling_grid_stride, doubling_16x16 and _32x8 (an
// image, by blocks of that shape), doubling_tile_16x16 (by blocks that the text knows to be of that shape), doubling_fours
// (a thread four neighbours), doubling_float4 (likewise, as one), doubling_assert_16x16, smoothing_16x16 (four neighbours),
// sums_16x256 (one of each of 4096 threads) and product_16x16 (of 256 x 256, a thread each element), with ..._by_hand/cpu,
// the same in plain C++; triangle_16x16 (the product's terms up to the diagonal), window_7x7 (sums of 49 products around each pixel),
// polynomial_grid_stride (of 32 terms, by 4,096 threads), bodies_tiled (4,096 of them by tiles of 256); compile_doubling and compile_softmax, from the text to a kernel.
#include <damo/module.hpp>

#include "benchmarks.hpp"
#include "handwritten_loop.hpp"
#include "runtime/backend.hpp"

namespace damo::bench {
namespace {

constexpr const char* kDoubling = R"(
__global__ void doubling(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] * 2.0f;
})";

constexpr const char* kGridStride = R"(
__global__ void doubling_grid_stride(const float* x, float* y, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) y[i] = x[i] * 2.0f;
})";

constexpr const char* kImage = R"(
#define C int c = blockIdx.x * blockDim.x + threadIdx.x
#define R int r = blockIdx.y * blockDim.y + threadIdx.y
__global__ void image(const float* x, float* y, int n) { C; R; if (c < n && r < n) y[r * n + c] = x[r * n + c] * 2.0f; }
__global__ void tile(const float* x, float* y, int n) {
  int c = blockIdx.x * 16 + threadIdx.x, r = blockIdx.y * 16 + threadIdx.y;
  if (c < n && r < n) y[r * n + c] = x[r * n + c] * 2.0f;
}
__global__ void smoothing(const float* x, float* y, int n) {
  C; R;
  if (c > 0 && c < n - 1 && r > 0 && r < n - 1) y[r * n + c] = 0.25f * (x[r * n + c - 1] + x[r * n + c + 1] + x[(r - 1) * n + c] + x[(r + 1) * n + c]);
}
__global__ void fours(const float* x, float* y, int n) {
  C;
  int i = 4 * c;
  if (i + 3 < n * n) { y[i] = x[i] * 2.0f; y[i + 1] = x[i + 1] * 2.0f; y[i + 2] = x[i + 2] * 2.0f; y[i + 3] = x[i + 3] * 2.0f; }
}
__global__ void wide(const float* x, float* y, int n) {
  C;
  int i = 4 * c;
  if (i + 3 >= n * n) return;
  float4 v = *(const float4*)(x + i);
  *(float4*)(y + i) = make_float4(v.x * 2, v.y * 2, v.z * 2, v.w * 2);
}
__global__ void asserting(const float* x, float* y, int n) {
  C; R;
  assert(n > 0);
  if (c < n && r < n) y[r * n + c] = x[r * n + c] * 2.0f;
}
__global__ void sums(const float* x, float* y, int n) {
  C;
  float s = 0;
  for (int i = c; i < n * n; i += gridDim.x * blockDim.x) s += x[i];
  y[c] = s;
}
__global__ void product(const float* x, float* y, int n) {
  C; R;
  if (c >= n || r >= n) return;
  float s = 0;
  for (int k = 0; k < n; ++k) s += x[r * n + k] * x[k * n + c];
  y[r * n + c] = s;
}
__global__ void triangle(const float* x, float* y, int n) {
  C; R;
  if (c >= n || r >= n) return;
  float s = 0;
  for (int k = 0; k <= r; ++k) s += x[r * n + k] * x[k * n + c];
  y[r * n + c] = s;
}
__global__ void window(const float* x, float* y, int n) {
  C; R;
  int size = n / 36;
  if (c + size > n || r + size > n) return;
  float s = 0;
  for (int i = 0; i < size; ++i)
    for (int j = 0; j < size; ++j) s += x[(r + i) * n + c + j] * x[i * n + j];
  y[r * n + c] = s;
}
__global__ void polynomial(const float* x, float* y, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n * n; i += gridDim.x * blockDim.x) {
    float s = 0;
    for (int k = 0; k < n / 8; ++k) s = s * x[i] + x[k];
    y[i] = s;
  }
}
__global__ void bodies(const float* x, float* y, int n) {
  __shared__ float part[256];
  C;
  float s = 0;
  for (int begin = 0; begin < 16 * n; begin += 256) {
    part[threadIdx.x] = x[begin + threadIdx.x];
    __syncthreads();
    for (int k = 0; k < 256; ++k) { float d = part[k] - x[c]; s += d * rsqrtf(d * d + 0.01f); }
    __syncthreads();
  }
  y[c] = s;
})";

constexpr const char* kBlockReduction = R"(
__global__ void block_reduction(const float* x, float* y, int) {
  __shared__ float part[256];
  int t = threadIdx.x;
  part[t] = x[blockIdx.x * 256 + t];
  __syncthreads();
  for (int step = 128; step > 0; step /= 2) {
    if (t < step) part[t] += part[t + step];
    __syncthreads();
  }
  if (t == 0) y[blockIdx.x] = part[0];
})";

constexpr const char* kWarpReduction = R"(
__device__ float sum_of_warp(float v) {
  for (int offset = 16; offset > 0; offset /= 2) v += __shfl_down_sync(0xffffffff, v, offset);
  return v;
}
__global__ void warp_reduction(const float* x, float* y, int) {
  __shared__ float part[8];
  int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  float v = sum_of_warp(x[blockIdx.x * 256 + threadIdx.x]);
  if (lane == 0) part[warp] = v;
  __syncthreads();
  if (warp == 0) {
    v = sum_of_warp(lane < 8 ? part[lane] : 0.0f);
    if (lane == 0) y[blockIdx.x] = v;
  }
})";

constexpr const char* kMatmul = R"(
#define TILE 16
__global__ void tiled_matmul(const float* a, const float* b, float* c, int n) {
  __shared__ float as[TILE][TILE], bs[TILE][TILE];
  int row = blockIdx.y * TILE + threadIdx.y, column = blockIdx.x * TILE + threadIdx.x;
  float sum = 0;
  for (int m = 0; m < n / TILE; ++m) {
    as[threadIdx.y][threadIdx.x] = a[row * n + m * TILE + threadIdx.x];
    bs[threadIdx.y][threadIdx.x] = b[(m * TILE + threadIdx.y) * n + column];
    __syncthreads();
    for (int k = 0; k < TILE; ++k) sum += as[threadIdx.y][k] * bs[k][threadIdx.x];
    __syncthreads();
  }
  c[row * n + column] = sum;
})";

constexpr const char* kSoftmax = R"(
__global__ void softmax(const float* x, float* y, int columns) {
  __shared__ float part[256];
  int t = threadIdx.x;
  const float* in = x + blockIdx.x * columns;
  float* out = y + blockIdx.x * columns;
  float most = -INFINITY, sum = 0;
  for (int i = t; i < columns; i += blockDim.x) most = fmaxf(most, in[i]);
  part[t] = most;
  __syncthreads();
  for (int s = blockDim.x / 2; s > 0; s /= 2) {
    if (t < s) part[t] = fmaxf(part[t], part[t + s]);
    __syncthreads();
  }
  most = part[0];
  __syncthreads();
  for (int i = t; i < columns; i += blockDim.x) sum += out[i] = expf(in[i] - most);
  part[t] = sum;
  __syncthreads();
  for (int s = blockDim.x / 2; s > 0; s /= 2) {
    if (t < s) part[t] += part[t + s];
    __syncthreads();
  }
  for (int i = t; i < columns; i += blockDim.x) out[i] /= part[0];
})";

/// A warp for each of 256 rows.
constexpr const char* kWarpSoftmax = R"(
__global__ void warp_softmax(const float* x, float* y, int elements) {
  int n = elements / 256, lane = threadIdx.x % 32, row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
  const float* in = x + row * n;
  float* out = y + row * n;
  float most = -INFINITY, sum = 0;
  for (int c = lane; c < n; c += 32) most = fmaxf(most, in[c]);
  for (int offset = 16; offset > 0; offset /= 2) most = fmaxf(most, __shfl_xor_sync(0xffffffff, most, offset));
  for (int c = lane; c < n; c += 32) sum += out[c] = expf(in[c] - most);
  for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_xor_sync(0xffffffff, sum, offset);
  for (int c = lane; c < n; c += 32) out[c] /= sum;
})";

/// To each thread the sum of those of its warp that have its label.
constexpr const char* kLabeledSums = R"(
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;
__global__ void labeled_sums(const float* x, float* y, int) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  auto group = cg::labeled_partition(cg::tiled_partition<32>(cg::this_thread_block()), i * 2654435761u >> 29);
  y[i] = cg::reduce(group, x[i], cg::plus<float>());
})";

struct Row {
  const char *name, *source;
  LaunchConfig config;
};
const Row kRows[] = {{"doubling", kDoubling, {{256}, {256}}},
                     {"doubling_grid_stride", kGridStride, {{256}, {256}}},
                     {"block_reduction", kBlockReduction, {{256}, {256}}},
                     {"warp_reduction", kWarpReduction, {{256}, {256}}},
                     {"warp_softmax", kWarpSoftmax, {{64}, {128}}},
                     {"labeled_sums", kLabeledSums, {{256}, {256}}}};
constexpr int kElements = 256 * 256;

struct ImageRow {
  const char *name, *kernel;
  LaunchConfig config;
};
constexpr int kWidth = 256;  // and height
const ImageRow kImageRows[] = {{"doubling_16x16", "image", {{16, 16}, {16, 16}}},
                               {"doubling_tile_16x16", "tile", {{16, 16}, {16, 16}}},
                               {"doubling_32x8", "image", {{8, 32}, {32, 8}}},
                               {"doubling_fours", "fours", {{64}, {256}}},
                               {"doubling_float4", "wide", {{64}, {256}}},
                               {"doubling_assert_16x16", "asserting", {{16, 16}, {16, 16}}},
                               {"smoothing_16x16", "smoothing", {{16, 16}, {16, 16}}},
                               {"sums_16x256", "sums", {{16}, {256}}},
                               {"product_16x16", "product", {{16, 16}, {16, 16}}},
                               {"triangle_16x16", "triangle", {{16, 16}, {16, 16}}},
                               {"window_7x7", "window", {{16, 16}, {16, 16}}},
                               {"polynomial_grid_stride", "polynomial", {{16}, {256}}},
                               {"bodies_tiled", "bodies", {{16}, {256}}}};

struct HandRow {
  const char* name;
  void (*run)(const float* x, float* y);
};
const HandRow kHandRows[] = {{"doubling_by_hand", [](const float* x, float* y) { double_by_hand(x, y, kElements); }},
                             {"doubling_image_by_hand", [](const float* x, float* y) { double_image_by_hand(x, y, kWidth, kWidth); }},
                             {"smoothing_by_hand", [](const float* x, float* y) { smooth_by_hand(x, y, kWidth, kWidth); }},
                             {"sums_by_hand", [](const float* x, float* y) { sum_by_hand(x, y, kElements, 4096); }},
                             {"labeled_sums_by_hand", [](const float* x, float* y) { sum_labels_by_hand(x, y, kElements); }},
                             {"softmax_by_hand", [](const float* x, float* y) { softmax_by_hand(x, y, kWidth, kWidth); }},
                             {"product_by_hand", [](const float* x, float* y) { multiply_by_hand(x, x, y, kWidth); }}};

void run_row(benchmark::State& state, const Target& target, const Row& row, Effort effort) {
  const auto call = Module(target.device, row.source).kernel(row.name).prepare<Array, Array, int>();
  const Array x = Array::zeros({kElements}, float32, target.device), y = Array::zeros({kElements}, float32, target.device);
  const Timing timing = time_calls([&] { call(row.config, x, y, kElements); }, [&] { target.device.synchronize(); }, effort);
  report(state, timing);
  state.counters["us_per_block"] = (target.name == "cpu" ? timing.processor : timing.median) * 1e6 / row.config.grid.x;
}

void run_matmul(benchmark::State& state, const Target& target, Effort effort) {
  constexpr int n = 512;
  const auto call = Module(target.device, kMatmul).kernel("tiled_matmul").prepare<Array, Array, Array, int>();
  const Array a = Array::zeros({n, n}, float32, target.device), b = Array::zeros({n, n}, float32, target.device);
  const Array c = Array::zeros({n, n}, float32, target.device);
  const LaunchConfig config{{n / 16, n / 16}, {16, 16}};
  const Timing timing = time_calls([&] { call(config, a, b, c, n); }, [&] { target.device.synchronize(); }, effort);
  report(state, timing);
  state.counters["gflops"] = 2e-9 * n * n * n / (target.name == "cpu" ? timing.processor : timing.median);
}

void run_image(benchmark::State& state, const Target& target, const ImageRow& row, Effort effort) {
  const auto call = Module(target.device, kImage).kernel(row.kernel).prepare<Array, Array, int>();
  const Array x = Array::zeros({kElements}, float32, target.device), y = Array::zeros({kElements}, float32, target.device);
  report(state, time_calls([&] { call(row.config, x, y, kWidth); }, [&] { target.device.synchronize(); }, effort));
}

void run_by_hand(benchmark::State& state, const Target& target, const HandRow& row, Effort effort) {
  const Array x = Array::zeros({kElements}, float32, target.device), y = Array::zeros({kElements}, float32, target.device);
  const auto* from = static_cast<const float*>(x.data());
  auto* to = static_cast<float*>(y.data());
  const Timing timing = time_calls([&] { row.run(from, to); }, [] {}, effort);
  report(state, timing);
  state.counters["us_per_block"] = timing.processor * 1e6 / 256;
}

/// The compiler alone, after a first compile that makes it ready.
void run_compile(benchmark::State& state, const Target& target, const char* source, Effort effort) {
  const Compiler& compiler = target.device.backend().compiler();
  const CompileRequest request{.source = source, .kind = SourceKind::kCudaC, .file_name = "user.cu"};
  compiler.compile(request);
  compiler.compile(request);
  report(state, time_calls([&] { compiler.compile(request); }, [] {}, effort));
}

}  // namespace

void add_cuda_c(const std::vector<Target>& targets, Effort effort) {
  for (const Target& target : targets) {
    for (const Row& row : kRows) add(std::string(row.name) + "/" + target.name, [=](benchmark::State& state) { run_row(state, target, row, effort); });
    add("tiled_matmul/" + target.name, [=](benchmark::State& state) { run_matmul(state, target, effort); });
    for (const ImageRow& row : kImageRows) add(std::string(row.name) + "/" + target.name, [=](benchmark::State& state) { run_image(state, target, row, effort); });
    for (const HandRow& row : kHandRows) {
      if (target.name == "cpu") add(std::string(row.name) + "/cpu", [=](benchmark::State& state) { run_by_hand(state, target, row, effort); });
    }
    add("compile_doubling/" + target.name, [=](benchmark::State& state) { run_compile(state, target, kDoubling, effort); });
    add("compile_softmax/" + target.name, [=](benchmark::State& state) { run_compile(state, target, kSoftmax, effort); });
  }
}

}  // namespace damo::bench
