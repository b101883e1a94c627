#include "function/compute_roof.hpp"

#include <algorithm>
#include <chrono>
#include <mutex>
#include <vector>

#include <damo/array.hpp>
#include <damo/function.hpp>
#include <damo/ops/math.hpp>
#include "runtime/backend.hpp"

namespace damo {
namespace {

constexpr int kChains = 4, kSteps = 64;  // chains side by side, so that no instruction waits for the one before it
constexpr int kInstructions = kChains * kSteps * 2;  // of an element

double measured(Device device) {
  const Variable x = input({float32, {kUnknown}}, "x");
  Variable sum;
  for (int chain = 0; chain < kChains; ++chain) {
    Variable y = x * (1.0 + 0.25 * chain);
    for (int step = 0; step < kSteps; ++step) y = y * y + x;  // of 0.1 it stays near 0.11
    sum = sum ? sum + y : y;
  }
  Options options;
  options.device = device;
  options.name = "compute_roof";
  const Function f = function({x}, {sum}, options);
  const std::int64_t elements = device.kind() == DeviceKind::kCuda ? std::int64_t{1} << 24 : std::int64_t{1} << 19;
  const Array values = Array::full({elements}, 0.1, float32, device);
  double best = 0;
  for (int repeat = 0; repeat < 8; ++repeat) {  // the first one compiles
    device.synchronize();
    const auto begin = std::chrono::steady_clock::now();
    const Array result = f(values);
    device.synchronize();
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    best = std::max(best, static_cast<double>(elements) * kInstructions / seconds);
  }
  return best;
}

/// Kept with the device until it is reset.
struct ComputeRoof final : Companion {
  explicit ComputeRoof(Backend&) {}
  std::once_flag once;
  double instructions_per_second = 0;
};

}  // namespace

double compute_roof(Device device) {
  if (device.kind() == DeviceKind::kNull) return 0;
  const auto roof = device.backend().companion<ComputeRoof>();
  std::call_once(roof->once, [&] { roof->instructions_per_second = measured(device); });
  return roof->instructions_per_second;
}

}  // namespace damo
