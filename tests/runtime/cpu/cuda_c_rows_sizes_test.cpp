// Kernels whose text says how many threads a block has, in blocks of that and of other sizes.
#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "runtime/cpu/row_launches.hpp"

namespace damo::cpu_backend::testing {

TEST(CudaCRowsSizes, MeanWhatTheTextSays) {
  // In blocks of another width threads overlap or leave gaps: what each adds is then as plain C++ counts it.
  const auto object = load(compile_cuda(R"(
#define TILE 16
constexpr int kTile = 16;
#define R int r = blockIdx.y * blockDim.y + threadIdx.y
__global__ void macro(const float* x, int* y, int w, int h) { int c = blockIdx.x * TILE + threadIdx.x; R; if (c < w && r < h) y[r * w + c] += (int)x[r * w + c] + c; }
__global__ void constant(const float* x, int* y, int w, int h) { const int c = threadIdx.x + kTile * blockIdx.x; R; if (r >= h || c >= w) return; y[r * w + c] += (int)x[r * w + c] + c; }
template <int B> __global__ void instance(const float* x, int* y, int w, int h) { int tx = threadIdx.x, bx = blockIdx.x, c = bx * B + tx; R; if (c < w) if (r < h) y[r * w + c] += (int)x[r * w + c] + c; }
__global__ void shift(const float* x, int* y, int w, int h) { unsigned c = (blockIdx.x << 4) + threadIdx.x; R; if (c < (unsigned)w && r < h) y[r * w + c] += (int)x[r * w + c] + c; }
__global__ void wide(const float* x, int* y, int w, int h) { size_t c = (size_t)blockIdx.x * TILE + threadIdx.x; R; if (c < (size_t)w && r < h) y[r * w + c] += (int)x[r * w + c] + c; }
__global__ void begin(const float* x, int* y, int w, int h) { int b = blockIdx.x * TILE, c = b + threadIdx.x; R; if (c < w && r < h) y[r * w + c] += (int)x[r * w + c] + c; }
__global__ void both(const float* x, int* y, int w, int h) {  // the second sum is the first only where blockDim.x is TILE
  int c = blockIdx.x * TILE + threadIdx.x, d = blockIdx.x * blockDim.x + threadIdx.x; R;
  if (c < w && r < h) y[r * w + c] += (int)x[r * w + c] + d;
}
__global__ void twice(const float* x, int* y, int w, int h) {  // two sizes: never joined
  int c = blockIdx.x * TILE + threadIdx.x, d = blockIdx.x * 8 + threadIdx.x; R;
  if (c < w && r < h) y[r * w + c] += (int)x[r * w + c] + d;
}
__global__ void place(const float* x, int* y, int w, int h) {  // asks for its place in the block
  int c = blockIdx.x * TILE + threadIdx.x; R;
  if (c < w && r < h) y[r * w + c] += (int)x[r * w + c] + 100 * blockIdx.x + threadIdx.x;
}
__global__ void inner(const float* x, int* y, int w, int h) {
  int c = blockIdx.x * TILE + threadIdx.x; R;
  if (c > 0 && c < w - 1 && r > 0 && r < h - 1) y[r * w + c] += (int)(x[r * w + c - 1] + x[r * w + c + 1] + x[(r - 1) * w + c] + x[(r + 1) * w + c]);
}
__global__ void stride(const float* x, int* y, int w, int h) {
  int n = w * h;
  for (int i = blockIdx.x * TILE + threadIdx.x; i < n; i += gridDim.x * TILE) if (threadIdx.y + blockIdx.y == 0) y[i] += (int)x[i];
}
__global__ void product(const float* x, int* y, int w, int h) {
  int c = blockIdx.x * TILE + threadIdx.x; R;
  if (c >= w || r >= h) return;
  float s = 0;
  for (int k = 0; k < h; ++k) s += x[r * w] * x[k * w + c];
  y[r * w + c] += (int)s;
})", {"*", "instance<16>"}));
  for (const std::string name : {"macro", "constant", "instance<16>", "shift", "wide", "begin", "both", "twice", "place", "inner", "stride", "product"}) {
    for (const Extent block : {Extent{16, 16}, Extent{16, 1}, Extent{16, 3}, Extent{8, 4}, Extent{1, 8}, Extent{15, 2}, Extent{17, 2}, Extent{32, 4}, Extent{48, 1}}) {
      for (const auto& [w, h] : {std::pair{37, 21}, std::pair{64, 32}, std::pair{1, 40}, std::pair{100, 1}}) {
        for (const std::int64_t share : {std::int64_t{1}, std::int64_t{3}, std::int64_t{1} << 40}) {
          const auto x = numbers(w * h);
          std::vector<int> y(w * h + 1, 1), expected = y;
          const Extent grid{covering(w, 16) + 1, covering(h, block.y) + 1};
          launch_in_shares(object->kernel(name), grid, block, std::min<std::int64_t>(share, grid.x * grid.y), x.data(), y.data(), w, h);
          for (unsigned by = 0; by < grid.y * block.y; ++by) {
            for (unsigned bx = 0; bx < grid.x; ++bx) {
              for (unsigned tx = 0; tx < block.x; ++tx) {
                const int c = static_cast<int>(bx * 16 + tx), r = static_cast<int>(by), i = r * w + c;
                if (name == "stride") {
                  for (int k = c; by == 0 && k < w * h; k += static_cast<int>(grid.x * 16)) expected[k] += static_cast<int>(x[k]);
                  continue;
                }
                if (c >= w || r >= h) continue;
                float s = x[i];
                if (name == "inner") s = c > 0 && c < w - 1 && r > 0 && r < h - 1 ? x[i - 1] + x[i + 1] + x[i - w] + x[i + w] : 0;
                if (name == "product") {
                  s = 0;
                  for (int k = 0; k < h; ++k) s += x[r * w] * x[k * w + c];
                }
                const unsigned more = name == "both"                            ? bx * block.x + tx
                                      : name == "twice"                         ? bx * 8 + tx
                                      : name == "place"                         ? 100 * bx + tx
                                      : name == "inner" || name == "product" ? 0u
                                                                                : static_cast<unsigned>(c);
                expected[i] += static_cast<int>(s) + static_cast<int>(more);
              }
            }
          }
          ASSERT_EQ(y, expected) << name << ", blocks of " << block.x << " x " << block.y << ", " << w << " x " << h << ", shares of " << share;
        }
      }
    }
  }
}

TEST(CudaCRowsSizes, CountRoundWithSmallerBlocksThanTheTextSays) {
  // 2^22 + 1 blocks: their indices go past 2^31 and begin again at 2^32.
  const auto object = load(compile_cuda(R"(
__global__ void natural(unsigned* y, unsigned n) { unsigned i = blockIdx.x * 1024 + threadIdx.x; if (i < n) y[i] += blockIdx.x + 1; }
__global__ void with_sign(unsigned* y, unsigned n) { int i = (int)(blockIdx.x * 1024u + threadIdx.x); if (i < (int)n && i >= 0) y[i] += blockIdx.x + 1; }
__global__ void joinable(unsigned* y, unsigned n) { unsigned i = blockIdx.x * 1024 + threadIdx.x; if (i < n) y[i] += 1; }
)"));
  for (const auto& [name, expected] : {std::pair{"natural", (1u << 22) + 2u}, std::pair{"with_sign", (1u << 22) + 2u}, std::pair{"joinable", 2u}}) {
    std::vector<unsigned> y(4);
    launch(object->kernel(name), {(1u << 22) + 1}, {2}, y.data(), 3u);
    EXPECT_EQ(y, (std::vector<unsigned>{expected, expected, 0, 0})) << name;
  }
}

}  // namespace damo::cpu_backend::testing
