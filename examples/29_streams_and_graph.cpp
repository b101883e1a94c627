// Streams, and a sequence of launches as a graph. Work of one stream runs in order; streams of a GPU run beside each
// other and wait for each other where an event says so. A sequence that is captured once is replayed with one call.
#include <damo/cuda_c.hpp>
#include <iostream>
#include <vector>
using namespace damo;

int main() {
  const Device device;
  const Module module(device, R"(
    __global__ void fill(float* x, float value, int n) {
      const int i = blockIdx.x * blockDim.x + threadIdx.x;
      if (i < n) x[i] = value;
    }
    __global__ void add(float* x, const float* y, int n) {
      const int i = blockIdx.x * blockDim.x + threadIdx.x;
      if (i < n) x[i] += y[i];
    })");
  const Kernel fill = module.kernel("fill"), add = module.kernel("add");
  const int n = 1000;
  const Array x = Array::empty({n}, float32, device), y = Array::empty({n}, float32, device);

  // Two streams fill at the same time; the first waits for the second before it adds.
  const Stream first(device), second(device);
  const Event filled(device);
  int calls = 0;
  fill({.grid = {4}, .block = {256}, .stream = first}, x, 1.0f, n);
  fill({.grid = {4}, .block = {256}, .stream = second}, y, 2.0f, n);
  filled.record(second);
  first.wait(filled);
  add({.grid = {4}, .block = {256}, .stream = first}, x, y, n);
  first.add_callback([&] { ++calls; });
  first.synchronize();
  bool right = calls == 1 && x.to_vector<float>() == std::vector<float>(n, 3.0f);

  // Nothing runs while it is captured. On a GPU a replay is one call of the driver.
  const CapturedGraph step = capture(first, [&] {
    add({.grid = {4}, .block = {256}, .stream = first}, x, y, n);  // x += y
    add({.grid = {4}, .block = {256}, .stream = first}, y, x, n);  // y += x
  });
  right &= x.to_vector<float>()[0] == 3 && step.node_count() == 2;
  for (int i = 0; i < 10; ++i) step.launch(first);
  first.synchronize();

  float a = 3, b = 2;  // the same on the host: Fibonacci's numbers from 2, 3 on
  for (int i = 0; i < 10; ++i) a += b, b += a;
  std::cout << "after ten replays of " << step.node_count() << " launches: " << x.to_vector<float>()[0] << " and "
            << y.to_vector<float>()[0] << "\n";
  right &= x.to_vector<float>() == std::vector<float>(n, a) && y.to_vector<float>() == std::vector<float>(n, b);
  std::cout << (right ? "right\n" : "WRONG\n");
  return right ? 0 : 1;
}
