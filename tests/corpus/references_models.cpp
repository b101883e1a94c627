// Stencils, convolutions and the layers of language models.
#include <algorithm>
#include <cmath>
#include <functional>

#include "references.hpp"

namespace damo::corpus {
namespace {

const Reference kStencil1d("stencil_1d", [](Arrays& a) {
  for (int i = 3; i < 1027; ++i) {
    for (int k = -3; k <= 3; ++k) of(a, "out")[i] += of(a, "in")[i + k];
  }
});

Values heat_step(const Values& u, int nx, int ny) {
  Values v = u;
  for (int y = 1; y < ny - 1; ++y) {
    for (int x = 1; x < nx - 1; ++x) {
      const int i = y * nx + x;
      v[i] = u[i] + 0.1 * (u[i - 1] + u[i + 1] + u[i - nx] + u[i + nx] - 4 * u[i]);
    }
  }
  return v;
}
const Reference kHeat("stencil_2d_heat", [](Arrays& a) { of(a, "u") = heat_step(heat_step(of(a, "u"), 48, 32), 48, 32); });

const Reference kStencil3d("stencil_3d_halo", [](Arrays& a) {
  const int n = 16;
  const auto at = [&](int x, int y, int z) {
    return std::min({x, y, z}) < 0 || std::max({x, y, z}) >= n ? 0.0 : of(a, "in")[(z * n + y) * n + x];
  };
  for (int i = 0; i < n * n * n; ++i) {
    const int x = i % n, y = i / n % n, z = i / n / n;
    of(a, "out")[i] = at(x - 1, y, z) + at(x + 1, y, z) + at(x, y - 1, z) + at(x, y + 1, z) + at(x, y, z - 1) + at(x, y, z + 1) - 6 * at(x, y, z);
  }
});
const Reference kConvolution("convolution_constant", [](Arrays& a) {
  const double mask[] = {0.1, 0.2, 0.4, 0.2, 0.1};
  for (int i = 0; i < 1024; ++i) {
    for (int k = 0; k < 5; ++k) {
      const int at = i + k - 2;
      if (at >= 0 && at < 1024) of(a, "out")[i] += mask[k] * of(a, "in")[at];
    }
  }
});
const Reference kSeparable("convolution_separable", [](Arrays& a) {
  const double mask[] = {1 / 16.0, 4 / 16.0, 6 / 16.0, 4 / 16.0, 1 / 16.0};
  for (int y = 0; y < 30; ++y) {
    for (int x = 0; x < 40; ++x) {
      double sum = 0;
      for (int j = -2; j <= 2; ++j) {
        for (int i = -2; i <= 2; ++i) {
          sum += mask[j + 2] * mask[i + 2] * of(a, "image")[std::clamp(y + j, 0, 29) * 40 + std::clamp(x + i, 0, 39)];
        }
      }
      of(a, "result")[y * 40 + x] = sum;
    }
  }
});

const Reference kLayernorm("layernorm_forward", [](Arrays& a) {
  for (int row = 0; row < 20; ++row) {
    const double* x = &of(a, "inp")[row * 100];
    double mean = 0, variance = 0;
    for (int i = 0; i < 100; ++i) mean += x[i] / 100;
    for (int i = 0; i < 100; ++i) variance += (x[i] - mean) * (x[i] - mean) / 100;
    const double scale = 1 / std::sqrt(variance + 1e-5);
    of(a, "mean")[row] = mean, of(a, "rstd")[row] = scale;
    for (int i = 0; i < 100; ++i) of(a, "out")[row * 100 + i] = scale * (x[i] - mean) * of(a, "weight")[i] + of(a, "bias")[i];
  }
});
const Reference kLayernormBackward("layernorm_backward", [](Arrays& a) {
  const int n = 16, c = 64;
  for (int row = 0; row < n; ++row) {
    double first = 0, second = 0;
    const auto norm = [&](int i) { return (of(a, "inp")[row * c + i] - of(a, "mean")[row]) * of(a, "rstd")[row]; };
    const auto gradient = [&](int i) { return of(a, "weight")[i] * of(a, "dout")[row * c + i]; };
    for (int i = 0; i < c; ++i) first += gradient(i) / c, second += gradient(i) * norm(i) / c;
    for (int i = 0; i < c; ++i) {
      of(a, "dinp")[row * c + i] = (gradient(i) - first - norm(i) * second) * of(a, "rstd")[row];
      of(a, "dbias")[i] += of(a, "dout")[row * c + i];
      of(a, "dweight")[i] += norm(i) * of(a, "dout")[row * c + i];
    }
  }
});

void softmax_rows(const Values& x, Values& y, int rows, int columns) {
  for (int row = 0; row < rows; ++row) {
    double sum = 0;
    for (int i = 0; i < columns; ++i) sum += std::exp(x[row * columns + i]);
    for (int i = 0; i < columns; ++i) y[row * columns + i] = std::exp(x[row * columns + i]) / sum;
  }
}
const Reference kSoftmaxNaive("softmax_naive", [](Arrays& a) { softmax_rows(of(a, "inp"), of(a, "out"), 20, 30); });
const Reference kSoftmaxBlock("softmax_block", [](Arrays& a) { softmax_rows(of(a, "x"), of(a, "y"), 8, 300); });
const Reference kSoftmaxOnline("softmax_online", [](Arrays& a) { softmax_rows(of(a, "x"), of(a, "y"), 16, 100); });

double gelu(double x) { return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x))); }
const Reference kGelu("gelu_forward_backward", [](Arrays& a) {
  for (int i = 0; i < 1000; ++i) {
    const double x = of(a, "inp")[i], h = 1e-5;
    of(a, "out")[i] = gelu(x);
    of(a, "dinp")[i] = (gelu(x + h) - gelu(x - h)) / (2 * h) * of(a, "dout")[i];
  }
});

void attention(const Values& q, const Values& k, const Values& v, Values& out, int n, int d, double scale, bool causal) {
  for (int row = 0; row < n; ++row) {
    double sum = 0;
    std::fill_n(&out[row * d], d, 0.0);
    for (int j = 0; j < (causal ? row + 1 : n); ++j) {
      double score = 0;
      for (int i = 0; i < d; ++i) score += q[row * d + i] * k[j * d + i];
      const double weight = std::exp(score * scale);
      sum += weight;
      for (int i = 0; i < d; ++i) out[row * d + i] += weight * v[j * d + i];
    }
    for (int i = 0; i < d; ++i) out[row * d + i] /= sum;
  }
}
const Reference kAttention("attention_naive", [](Arrays& a) {
  attention(of(a, "q"), of(a, "k"), of(a, "v"), of(a, "out"), 32, 16, 0.25, true);
});
const Reference kFlash("attention_flash", [](Arrays& a) {
  attention(of(a, "Q"), of(a, "K"), of(a, "V"), of(a, "O"), 64, 16, 0.25, false);
});
const Reference kRmsnorm("rmsnorm", [](Arrays& a) {
  for (int row = 0; row < 5; ++row) {
    double sum = 0;
    for (int i = 0; i < 256; ++i) sum += std::pow(of(a, "x")[row * 256 + i], 2);
    for (int i = 0; i < 256; ++i) of(a, "o")[row * 256 + i] = of(a, "weight")[i] * of(a, "x")[row * 256 + i] / std::sqrt(sum / 256 + 1e-5);
  }
});
const Reference kRope("rope", [](Arrays& a) {
  for (int pos = 0; pos < 8; ++pos) {
    for (int i = 0; i < 64; i += 2) {
      double& x = of(a, "q")[pos * 64 + i];
      double& y = of(a, "q")[pos * 64 + i + 1];
      const double angle = pos * std::pow(10000.0, -i / 64.0), old = x;
      x = old * std::cos(angle) - y * std::sin(angle);
      y = old * std::sin(angle) + y * std::cos(angle);
    }
  }
});
const Reference kEncoder("encoder_forward_backward", [](Arrays& a) {
  for (int i = 0; i < 24 * 16; ++i) {
    const int token = static_cast<int>(of(a, "inp")[i / 16]), t = i / 16 % 12, c = i % 16;
    of(a, "out")[i] = of(a, "wte")[token * 16 + c] + of(a, "wpe")[t * 16 + c];
    of(a, "dwte")[token * 16 + c] += of(a, "dout")[i];
    of(a, "dwpe")[t * 16 + c] += of(a, "dout")[i];
  }
});
const Reference kAdamw("adamw", [](Arrays& a) {
  for (int i = 0; i < 1000; ++i) {
    const double g = of(a, "grads")[i];
    double& m = of(a, "m")[i];
    double& v = of(a, "v")[i];
    m = 0.9 * m + 0.1 * g;
    v = 0.999 * v + 0.001 * g * g;
    double& p = of(a, "params")[i];
    p -= 0.001 * (m / 0.271 / (std::sqrt(v / 0.002997001) + 1e-8) + 0.01 * p);
  }
});
const Reference kCrossentropy("crossentropy", [](Arrays& a) {
  for (int i = 0; i < 320; ++i) {
    const int row = i / 20, target = static_cast<int>(of(a, "targets")[row]);
    if (i % 20 == target) of(a, "losses")[row] = -std::log(of(a, "probs")[i]);
    of(a, "dlogits")[i] = (of(a, "probs")[i] - (i % 20 == target)) * of(a, "dlosses")[row];
  }
});
const Reference kResidual("residual_bias", [](Arrays& a) {
  for (int i = 0; i < 512; ++i) of(a, "out")[i] = of(a, "a")[i] + of(a, "b")[i] + of(a, "bias")[i % 64];
});
const Reference kMatvec("matvec_warp", [](Arrays& a) {
  for (int i = 0; i < 4096; ++i) of(a, "y")[i / 128] += of(a, "W")[i] * of(a, "x")[i % 128];
});
const Reference kBatchedDot("batched_dot", [](Arrays& a) {
  for (int i = 0; i < 960; ++i) of(a, "out")[i / 80] += of(a, "a")[i] * of(a, "b")[i];
});

}  // namespace
}  // namespace damo::corpus
