#include "handwritten_loop.hpp"

#include <algorithm>
#include <cmath>

namespace damo::bench {

void double_by_hand(const float* __restrict x, float* __restrict y, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) y[i] = x[i] * 2.0f;
}

void double_image_by_hand(const float* __restrict x, float* __restrict y, std::int64_t width, std::int64_t height) {
  for (std::int64_t r = 0; r < height; ++r) {
    for (std::int64_t c = 0; c < width; ++c) y[r * width + c] = x[r * width + c] * 2.0f;
  }
}

void smooth_by_hand(const float* __restrict x, float* __restrict y, std::int64_t width, std::int64_t height) {
  for (std::int64_t r = 1; r < height - 1; ++r) {
    for (std::int64_t c = 1; c < width - 1; ++c) {
      const float* at = x + r * width + c;
      y[r * width + c] = 0.25f * (at[-1] + at[1] + at[-width] + at[width]);
    }
  }
}

void sum_by_hand(const float* __restrict x, float* __restrict y, std::int64_t n, std::int64_t threads) {
  for (std::int64_t t = 0; t < threads; ++t) y[t] = 0;
  for (std::int64_t begin = 0; begin < n; begin += threads) {
    const std::int64_t count = n - begin < threads ? n - begin : threads;
    for (std::int64_t t = 0; t < count; ++t) y[t] += x[begin + t];
  }
}

void sum_labels_by_hand(const float* __restrict x, float* __restrict y, std::int64_t n) {
  for (std::int64_t begin = 0; begin < n; begin += 32) {
    std::uint32_t labels[32];
    float sums[32];
    int group[32], groups = 0;
    for (int i = 0; i < 32; ++i) {
      const std::uint32_t label = static_cast<std::uint32_t>(begin + i) * 2654435761u >> 29;
      int at = 0;
      while (at < groups && labels[at] != label) ++at;
      if (at == groups) labels[groups] = label, sums[groups++] = 0;
      sums[at] += x[begin + i];
      group[i] = at;
    }
    for (int i = 0; i < 32; ++i) y[begin + i] = sums[group[i]];
  }
}

void softmax_by_hand(const float* __restrict x, float* __restrict y, std::int64_t rows, std::int64_t columns) {
  for (; rows > 0; --rows, x += columns, y += columns) {
    float most = x[0], sum = 0;
    for (std::int64_t c = 1; c < columns; ++c) most = std::max(most, x[c]);
    for (std::int64_t c = 0; c < columns; ++c) sum += y[c] = std::exp(x[c] - most);
    for (std::int64_t c = 0; c < columns; ++c) y[c] /= sum;
  }
}

void multiply_by_hand(const float* __restrict a, const float* __restrict b, float* __restrict c, std::int64_t n) {
  for (std::int64_t y = 0; y < n; ++y) {
    for (std::int64_t x = 0; x < n; ++x) c[y * n + x] = 0;
    for (std::int64_t k = 0; k < n; ++k) {
      for (std::int64_t x = 0; x < n; ++x) c[y * n + x] += a[y * n + k] * b[k * n + x];
    }
  }
}

}  // namespace damo::bench
