// Time by events: an event is a point in a stream's work, and two of them are some milliseconds apart. A launch returns
// before its kernel has run, so a host clock around it would not see the kernel; around event.synchronize() it sees
// that and more. On the CPU the same calls mean the same.
#include <chrono>
#include <damo/cuda_c.hpp>
#include <iostream>
using namespace damo;

int main() {
  const Device device;
  const Stream stream = Stream::default_of(device);
  const Module module(device, R"(
    __global__ void saxpy(float a, const float* x, float* y, int n) {
      for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) y[i] += a * x[i];
    })");
  const Kernel saxpy = module.kernel("saxpy");

  const int n = 1 << 20, repeats = 20;
  const Array x = Array::ones({n}, float32, device), y = Array::zeros({n}, float32, device);
  const auto run = [&] { saxpy({.grid = {1024}, .block = {256}}, 0.5f, x, y, n); };
  run();  // the first call finds memory cold
  stream.synchronize();

  const Event begin(device), end(device);
  const auto clock = std::chrono::steady_clock::now();
  begin.record(stream);
  for (int i = 0; i < repeats; ++i) run();
  end.record(stream);
  end.synchronize();
  const std::chrono::duration<double, std::milli> host = std::chrono::steady_clock::now() - clock;

  const double milliseconds = end.milliseconds_since(begin);
  const double bytes = 3.0 * sizeof(float) * n * repeats;  // reads x and y, writes y
  std::cout << milliseconds / repeats << " ms a launch by events, " << host.count() / repeats
            << " ms by the host's clock, " << bytes / milliseconds / 1e6 << " GB/s on " << device.name() << "\n";

  bool right = milliseconds > 0 && milliseconds <= host.count() + 0.1;  // events lie within what the host saw
  for (float value : y.to_vector<float>()) right &= value == 0.5f * (repeats + 1);
  try {
    Event(device).milliseconds_since(begin);
    right = false;
  } catch (const DeviceError& error) {
    std::cout << "an event that was never recorded: " << error.what() << "\n";
  }
  std::cout << (right ? "right\n" : "WRONG\n");
  return right ? 0 : 1;
}
