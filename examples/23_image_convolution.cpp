// A kernel whose text is made at run time: the picture's width and the radius of the convolution are written into it,
// so that the compiler knows them and unrolls the loops. Each thread takes pixel after pixel, a grid apart (a
// grid-stride loop), so the caller is free in choosing grid and block. Beyond the border the picture is zero. Blurs the
// photograph of examples/data, takes the time with events and writes blurred.png.
#include <algorithm>
#include <cmath>
#include <damo/cuda_c.hpp>
#include <iostream>
#include <map>
#include <vector>

#include "support/digits.hpp"
#include "support/png_image.hpp"
using namespace damo;

constexpr const char* text = R"(
  __global__ void convolve(const float* picture, const float* weights, float* result) {
    for (int p = blockIdx.x * blockDim.x + threadIdx.x; p < $WIDTH * $WIDTH; p += gridDim.x * blockDim.x) {
      const int row = p / $WIDTH, column = p % $WIDTH;
      float sum = 0;
      for (int i = 0; i < $SIDE; ++i)
        for (int j = 0; j < $SIDE; ++j) {
          const int y = row + i - $RADIUS, x = column + j - $RADIUS;
          if (y >= 0 && y < $WIDTH && x >= 0 && x < $WIDTH) sum += weights[i * $SIDE + j] * picture[y * $WIDTH + x];
        }
      result[p] = sum;
    }
  })";

std::string substitute(std::string result, const std::map<std::string, int>& values) {
  for (const auto& [name, value] : values)
    for (std::size_t at; (at = result.find("$" + name)) != std::string::npos;)
      result.replace(at, name.size() + 1, std::to_string(value));
  return result;
}

int main() {
  const examples::Image photograph = examples::read_png(examples::data_file("astronaut.png"));
  const std::vector<float> picture = examples::to_floats(photograph);
  const int width = photograph.width, radius = 3, side = 2 * radius + 1;
  std::vector<float> weights, blurred(picture.size());
  for (int i = 0; i < side * side; ++i)
    weights.push_back(
        std::exp(-0.2f * static_cast<float>(std::pow(i / side - radius, 2) + std::pow(i % side - radius, 2))));
  float total = 0;
  for (float weight : weights) total += weight;
  for (float& weight : weights) weight /= total;

  const Device device;
  const Stream stream = Stream::default_of(device);
  const Module module(device, substitute(text, {{"WIDTH", width}, {"RADIUS", radius}, {"SIDE", side}}));
  const Array in = Array::from(picture, device), weights_in = Array::from(weights, device);
  const Array out = Array::empty(in.shape(), float32, device);
  const Event begin(device), end(device);
  begin.record(stream);
  module.kernel("convolve")({.grid = {64}, .block = {256}}, in, weights_in, out);
  end.record(stream);
  end.synchronize();
  const double milliseconds = end.milliseconds_since(begin);
  out.to_host(blurred.data());
  examples::write_png("blurred.png", examples::from_floats(blurred, width, width));

  double worst = 0;  // against the same sum in double precision
  for (int row = 0; row < width; ++row)
    for (int column = 0; column < width; ++column) {
      double sum = 0;
      for (int y = std::max(row - radius, 0); y <= std::min(row + radius, width - 1); ++y)
        for (int x = std::max(column - radius, 0); x <= std::min(column + radius, width - 1); ++x)
          sum +=
              static_cast<double>(weights[static_cast<std::size_t>((y - row + radius) * side + x - column + radius)]) *
              picture[static_cast<std::size_t>(y * width + x)];
      worst = std::max(worst, std::abs(sum - blurred[static_cast<std::size_t>(row * width + column)]));
    }
  std::cout << width << " x " << width << " pixels, " << side << " x " << side << " weights: " << milliseconds
            << " ms on " << device.name() << ", at most " << worst << " from float64\n";
  const bool right = worst < 1e-6 && milliseconds > 0;
  std::cout << (right ? "right: see blurred.png\n" : "WRONG\n");
  return right ? 0 : 1;
}
