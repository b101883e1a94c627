// Steps of networks and of finance: prices by chance, decoding, attention's gradient, sampling of images.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>

#include "references.hpp"

namespace damo::corpus {
namespace {

const Reference kPricing("curand_pricing", [](Arrays& a) {
  const auto normal = [](double x) { return std::erfc(-x / std::sqrt(2.0)) / 2; };
  of(a, "price")[0] = 100 * normal(0.35) - 100 * std::exp(-0.05) * normal(0.15);
  for (int i = 0; i < 6; ++i) of(a, "counts")[i] = 8 * 256 * 24 / 6;
});

void top_p(Arrays& a) {
  for (int b = 0; b < 4; ++b) {
    Values p(256);
    std::vector<int> order(256);
    std::iota(order.begin(), order.end(), 0);
    for (int i = 0; i < 256; ++i) p[i] = std::exp(of(a, "logits")[b * 256 + i] / 0.8);
    std::sort(order.begin(), order.end(), [&](int i, int j) { return p[i] > p[j]; });
    const double total = std::accumulate(p.begin(), p.end(), 0.0);
    double kept = 0, sum = 0;
    for (int i = 0; i < 256 && kept < 0.7 * total; ++i) kept += p[order[i]];
    for (const int i : order) {
      sum += p[i];
      of(a, "chosen")[b] = i;
      if (sum > of(a, "draws")[b] * kept) break;
    }
  }
}
void beams(Arrays& a) {
  for (int b = 0; b < 2; ++b) {
    std::vector<int> order(800);
    std::iota(order.begin(), order.end(), 0);
    const auto score = [&](int i) { return of(a, "scores")[b * 4 + i / 200] + of(a, "log_probs")[b * 800 + i]; };
    std::stable_sort(order.begin(), order.end(), [&](int i, int j) { return score(i) > score(j); });
    for (int r = 0; r < 4; ++r) {
      of(a, "beam_scores")[b * 4 + r] = score(order[r]);
      of(a, "beam_tokens")[b * 4 + r] = order[r] % 200;
      of(a, "beam_parents")[b * 4 + r] = order[r] / 200;
    }
  }
}
const Reference kDecoding("decoding_steps", [](Arrays& a) {
  top_p(a);
  beams(a);
  for (int b = 0; b < 2; ++b) {  // in probabilities, of which a double holds the product of 30
    Values path(11), next(11);
    path[0] = 1;
    const auto label = [&](int s) { return s % 2 ? static_cast<int>(of(a, "labels")[b * 5 + s / 2]) : 0; };
    for (int t = 0; t < 30; ++t) {
      for (int s = 0; s < 11; ++s) {
        double sum = path[s];
        if (t == 0)
          sum = s < 2 ? 1 : 0;
        else if (s > 0)
          sum += path[s - 1];
        if (t > 0 && s > 2 && s % 2 && label(s) != label(s - 2)) sum += path[s - 2];
        next[s] = sum * std::exp(of(a, "frames")[b * 240 + t * 8 + label(s)]);
      }
      path = next;
    }
    of(a, "losses")[b] = -std::log(path[10] + path[9]);
  }
});

const Reference kFlash("attention_flash_backward", [](Arrays& a) {
  const Values &q = of(a, "q"), &k = of(a, "k"), &v = of(a, "v"), &go = of(a, "go");
  for (int row = 0; row < 128; ++row) {
    const int first = row / 64 * 64, count = row - first + 1;
    Values p(count), dp(count);
    double total = 0, mean = 0;
    for (int j = 0; j < count; ++j) {
      double dot = 0;
      for (int d = 0; d < 16; ++d) dot += q[row * 16 + d] * k[(first + j) * 16 + d];
      total += p[j] = std::exp(0.25 * dot);
    }
    for (int j = 0; j < count; ++j) {
      p[j] /= total;
      for (int d = 0; d < 16; ++d) {
        of(a, "o")[row * 16 + d] += p[j] * v[(first + j) * 16 + d];
        of(a, "dv")[(first + j) * 16 + d] += p[j] * go[row * 16 + d];
        dp[j] += go[row * 16 + d] * v[(first + j) * 16 + d];
      }
      mean += p[j] * dp[j];
    }
    for (int j = 0; j < count; ++j) {
      const double ds = 0.25 * p[j] * (dp[j] - mean);
      for (int d = 0; d < 16; ++d) {
        of(a, "dq")[row * 16 + d] += ds * k[(first + j) * 16 + d];
        of(a, "dk")[(first + j) * 16 + d] += ds * q[row * 16 + d];
      }
    }
  }
});

/// Of a 16 x 16 plane, by hats about the point.
double bilinear(const double* plane, double y, double x) {
  double sum = 0;
  for (int i = 0; i < 16; ++i) {
    for (int j = 0; j < 16; ++j)
      sum += plane[i * 16 + j] * std::max(0.0, 1 - std::abs(y - i)) * std::max(0.0, 1 - std::abs(x - j));
  }
  return sum;
}
void regions(Arrays& a) {
  for (int i = 0; i < 108; ++i) {
    const int px = i % 3, py = i / 3 % 3, channel = i / 9 % 4;
    const double* roi = &of(a, "rois")[i / 36 * 5];
    const double* plane = &of(a, "x")[((roi[0] >= 3.5) * 4 + channel) * 256];
    const double width = std::max(roi[3], 1.0) / 3, height = std::max(roi[4], 1.0) / 3;
    double sum = 0;
    for (int s = 0; s < 4; ++s) {
      const double y = roi[2] + (py + (s / 2 + 0.5) / 2) * height, x = roi[1] + (px + (s % 2 + 0.5) / 2) * width;
      sum += bilinear(plane, std::clamp(y, 0.0, 15.0), std::clamp(x, 0.0, 15.0));
    }
    of(a, "pooled")[i] = sum / 4;
  }
}
void samples(Arrays& a) {
  const auto fold = [](double g) {
    const double at = std::abs((g + 1) / 2 * 15);
    return at > 15 ? 30 - at : at;
  };
  for (int i = 0; i < 256; ++i) {
    for (int c = 0; c < 4; ++c)
      of(a, "sampled")[c * 256 + i] =
          bilinear(&of(a, "x")[c * 256], fold(of(a, "grid")[2 * i + 1]), fold(of(a, "grid")[2 * i]));
  }
}
void group_norms(Arrays& a) {
  const Values& x = of(a, "x");
  for (int g = 0; g < 4; ++g) {
    const double mean = std::accumulate(x.begin() + g * 512, x.begin() + g * 512 + 512, 0.0) / 512;
    double variance = 0;
    for (int j = 0; j < 512; ++j) variance += (x[g * 512 + j] - mean) * (x[g * 512 + j] - mean) / 512;
    for (int j = 0; j < 512; ++j)
      of(a, "normed")[g * 512 + j] =
          (x[g * 512 + j] - mean) / std::sqrt(variance + 1e-5) * of(a, "gamma")[g * 2 + j / 256];
  }
}
void bilateral(Arrays& a) {
  const auto at = [&](int y, int x) { return of(a, "x")[std::clamp(y, 0, 31) * 32 + std::clamp(x, 0, 31)]; };
  for (int i = 0; i < 1024; ++i) {
    const double here = at(i / 32, i % 32);
    double sum = 0, weights = 0;
    for (int dy = -4; dy <= 4; ++dy) {
      for (int dx = -4; dx <= 4; ++dx) {
        const double v = at(i / 32 + dy, i % 32 + dx), linear = v - here, squares = v * v - here * here;
        const double w = std::exp(-(dy * dy + dx * dx) / 8.0 - (2 * linear * linear + squares * squares) / 0.5);
        sum += w * v;
        weights += w;
      }
    }
    of(a, "smooth")[i] = sum / weights;
  }
}
const Reference kVision("vision_sampling", [](Arrays& a) {
  regions(a);
  samples(a);
  group_norms(a);
  bilateral(a);
  for (int i = 0; i < 32 * 128; ++i) {
    const auto word = static_cast<std::uint32_t>(of(a, "packed")[i / 8]);
    of(a, "dot4")[i / 128] +=
        (static_cast<int>(word >> i % 8 * 4 & 15) - 8) * of(a, "x")[i % 128] * of(a, "scales")[i / 32];
  }
  const auto byte = [&](int i) {
    return static_cast<std::int8_t>(static_cast<std::uint32_t>(of(a, "signed8")[i / 4]) >> i % 4 * 8);
  };
  for (int i = 0; i < 16 * 128; ++i) of(a, "dot8")[i / 128] += byte(i) * byte(i % 128);
});

}  // namespace
}  // namespace damo::corpus
