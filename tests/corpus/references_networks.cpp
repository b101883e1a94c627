// Steps of networks and of finance: prices by chance, decoding, attention's gradient.
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

const Reference kFlashBackward("attention_flash_backward", [](Arrays& a) {
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

}  // namespace
}  // namespace damo::corpus
