// k-means on the handwritten digits: ten centres, and in each round every image goes to its nearest centre and every
// centre to the mean of its images. One kernel assigns and adds up with atomics, one divides; the host only looks
// whether anything still changes.
#include <algorithm>
#include <damo/array_math.hpp>
#include <damo/cuda_c.hpp>
#include <iostream>
#include <vector>

#include "support/digits.hpp"
using namespace damo;

constexpr int clusters = 10, pixels = examples::Digits::kPixels;

constexpr const char* source = R"(
  __global__ void label_images(const float* images, const float* centres, int* labels, float* sums, int* counts, int* changes, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const float* image = images + i * PIXELS;
    int nearest = 0;
    float least = INFINITY;
    for (int k = 0; k < CLUSTERS; ++k) {
      float distance = 0;
      for (int p = 0; p < PIXELS; ++p) {
        const float difference = image[p] - centres[k * PIXELS + p];
        distance += difference * difference;
      }
      if (distance < least) least = distance, nearest = k;
    }
    if (labels[i] != nearest) atomicAdd(changes, 1);
    labels[i] = nearest;
    atomicAdd(&counts[nearest], 1);
    for (int p = 0; p < PIXELS; ++p) atomicAdd(&sums[nearest * PIXELS + p], image[p]);
  }

  __global__ void move_centres(float* centres, float* sums, int* counts) {  // a block a centre, a thread a pixel
    const int k = blockIdx.x, p = threadIdx.x, count = counts[k];
    if (count > 0) centres[k * PIXELS + p] = sums[k * PIXELS + p] / count;
    sums[k * PIXELS + p] = 0;
    __syncthreads();  // everyone has read the count
    if (p == 0) counts[k] = 0;
  })";

double squared_distance(const float* a, const float* b) {
  double sum = 0;
  for (int p = 0; p < pixels; ++p) sum += (static_cast<double>(a[p]) - b[p]) * (static_cast<double>(a[p]) - b[p]);
  return sum;
}

int main() {
  const Device device;
  const Module module(device, source,
                      {.defines = {{"PIXELS", std::to_string(pixels)}, {"CLUSTERS", std::to_string(clusters)}}});
  const Kernel label_images = module.kernel("label_images"), move_centres = module.kernel("move_centres");
  const examples::Digits digits = examples::load_digits();
  const int n = digits.count();

  const Array images = Array::from(digits.images, {n, pixels}, device);
  const Array centres = images.slice({{0, clusters}}).copy();  // the first ten images
  const Array labels = Array::full({n}, -1, int32, device), changes = Array::zeros({1}, int32, device);
  const Array sums = Array::zeros({clusters, pixels}, float32, device),
              counts = Array::zeros({clusters}, int32, device);
  int rounds = 0, changed = n;
  for (; changed > 0 && rounds < 100; ++rounds) {
    label_images.launch_1d(n, images, centres, labels, sums, counts, changes, n);
    changed = changes.to_vector<int>()[0];
    assign(changes, 0);
    if (changed > 0) move_centres({.grid = {clusters}, .block = {pixels}}, centres, sums, counts);
  }

  // Each image is at its nearest centre, and most images of a cluster show the same digit.
  const std::vector<float> means = centres.to_vector<float>();
  const std::vector<int> label = labels.to_vector<int>();
  std::vector<std::vector<int>> shown(clusters, std::vector<int>(10, 0));
  bool right = changed == 0;
  for (std::size_t i = 0; i < label.size(); ++i) {
    const float* image = &digits.images[i * pixels];
    const double own = squared_distance(image, &means[static_cast<std::size_t>(label[i]) * pixels]);
    for (std::size_t k = 0; k < clusters; ++k) right &= own <= squared_distance(image, &means[k * pixels]) + 1e-4;
    ++shown[static_cast<std::size_t>(label[i])][static_cast<std::size_t>(digits.labels[i])];
  }
  int agreeing = 0;
  for (const std::vector<int>& cluster : shown) agreeing += *std::max_element(cluster.begin(), cluster.end());
  std::cout << rounds << " rounds; " << 100.0 * agreeing / n << " % of the images show their cluster's digit\n";
  right &= agreeing > 0.7 * n;
  std::cout << (right ? "right\n" : "WRONG\n");
  return right ? 0 : 1;
}
