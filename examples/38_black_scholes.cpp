// Prices of European options after Black and Scholes, one thread an option: two outputs from four inputs, with a device
// function and CUDA's math. Checked against float64 and against put-call parity, which no formula of ours goes into.
#include <algorithm>
#include <cmath>
#include <damo/cuda_c.hpp>
#include <iostream>
#include <random>
#include <vector>
using namespace damo;

constexpr const char* source = R"(
  __device__ float normal_below(float x) { return 0.5f * erfcf(-x * 0.70710678f); }

  __global__ void black_scholes(const float* price, const float* strike, const float* years, float rate, float volatility,
                                float* call, float* put, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const float s = price[i], k = strike[i], t = years[i], spread = volatility * sqrtf(t);
    const float d1 = (logf(s / k) + (rate + 0.5f * volatility * volatility) * t) / spread, d2 = d1 - spread;
    const float discounted = k * expf(-rate * t);
    call[i] = s * normal_below(d1) - discounted * normal_below(d2);
    put[i] = discounted * normal_below(-d2) - s * normal_below(-d1);
  })";

int main() {
  const int n = 100'000;
  const float rate = 0.02f, volatility = 0.3f;
  std::mt19937 random(6);
  std::vector<float> price(n), strike(n), years(n), call(n), put(n);
  for (std::size_t i = 0; i < n; ++i) {
    price[i] = std::uniform_real_distribution<float>(5, 30)(random);
    strike[i] = std::uniform_real_distribution<float>(1, 100)(random);
    years[i] = std::uniform_real_distribution<float>(0.25f, 10)(random);
  }
  Module(Device(), source)
      .kernel("black_scholes")
      .launch_1d(n, In(price), In(strike), In(years), rate, volatility, Out(call), Out(put), n);

  double worst = 0, worst_parity = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const double s = price[i], k = strike[i], t = years[i], v = volatility, r = rate;
    const double d1 = (std::log(s / k) + (r + v * v / 2) * t) / (v * std::sqrt(t)), d2 = d1 - v * std::sqrt(t);
    const double exact =
        s * std::erfc(-d1 / std::sqrt(2)) / 2 - k * std::exp(-r * t) * std::erfc(-d2 / std::sqrt(2)) / 2;
    worst = std::max(worst, std::abs(call[i] - exact));
    worst_parity = std::max(worst_parity, std::abs(call[i] - put[i] - (s - k * std::exp(-r * t))));
  }
  std::cout << n << " options; the first: call " << call[0] << ", put " << put[0] << "\nat most " << worst
            << " from float64, parity within " << worst_parity << "\n";
  const bool right = worst < 5e-5 && worst_parity < 1e-4;
  std::cout << (right ? "right\n" : "WRONG\n");
  return right ? 0 : 1;
}
