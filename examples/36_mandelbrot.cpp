// Mandelbrot's set, one thread a pixel, written as mandelbrot.png. The check needs no other program: the largest parts
// of the set, a cardioid and a disc, have formulas, and its area is known to be near 1.5066.
#include <cmath>
#include <damo/cuda_c.hpp>
#include <iostream>
#include <vector>

#include "support/png_image.hpp"
using namespace damo;

constexpr const char* source = R"(
  __global__ void mandelbrot(int* steps, int width, int height, double left, double top, double step, int limit) {
    const int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    if (column >= width || row >= height) return;
    const double cx = left + column * step, cy = top - row * step;
    double x = 0, y = 0;
    int n = 0;
    while (n < limit && x * x + y * y <= 4) {
      const double next = x * x - y * y + cx;
      y = 2 * x * y + cy;
      x = next;
      ++n;
    }
    steps[row * width + column] = n;
  })";

int main() {
  const int width = 500, height = 400, limit = 256;
  const double left = -2.0, top = 1.2, step = 0.00601;
  std::vector<int> steps(width * height);
  const Kernel mandelbrot = Module(Device(), source).kernel("mandelbrot");
  mandelbrot({.grid = {(width + 15) / 16, (height + 15) / 16}, .block = {16, 16}}, Out(steps), width, height, left, top,
             step, limit);

  std::vector<float> grey(steps.size());
  bool right = true;
  int inside = 0;
  for (int i = 0; i < width * height; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const double x = left + i % width * step, y = top - i / width * step, q = (x - 0.25) * (x - 0.25) + y * y;
    const bool in_cardioid = q * (q + x - 0.25) < 0.25 * y * y - 1e-9,
               in_disc = (x + 1) * (x + 1) + y * y < 0.0625 - 1e-9;
    if (in_cardioid || in_disc) right &= steps[at] == limit;
    if (x * x + y * y > 4 + 1e-9) right &= steps[at] == 1;
    inside += steps[at] == limit;
    grey[at] = steps[at] == limit ? 0.0f : std::sqrt(static_cast<float>(steps[at]) / 64.0f);
  }
  examples::write_png("mandelbrot.png", examples::from_floats(grey, height, width));

  const double area = inside * step * step;
  std::cout << "area " << area << " after " << limit << " steps; the set's own is about 1.5066\n";
  right &= area > 1.5 && area < 1.55;  // from above: points close to the border take long to leave
  std::cout << (right ? "right: see mandelbrot.png\n" : "WRONG\n");
  return right ? 0 : 1;
}
