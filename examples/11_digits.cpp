// A small pipeline on real data: 1,797 handwritten digits of 8 x 8 pixels (examples/data). Each image is compared with
// the mean image of each digit; the nearest one is its label. Comparing is an elementwise graph that broadcasts
// (images, 1, 64) against (1, 10, 64); its result is summed over pixels by a kernel of ours. explain() shows that the
// root is taken in kernels of its own, once for each pixel of the inputs, rather than once for each of the ten
// comparisons.
#include <algorithm>
#include <damo/damo.hpp>
#include <iostream>

#include "support/digits.hpp"
using namespace damo;

/// The first half teaches the means, on the host.
std::vector<float> mean_images(const examples::Digits& digits, int count) {
  std::vector<float> means(10 * 64, 0.0f), images(10, 0.0f);
  for (int i = 0; i < count; ++i) {
    const auto label = static_cast<std::size_t>(digits.labels[static_cast<std::size_t>(i)]);
    images[label] += 1;
    for (std::size_t p = 0; p < 64; ++p) means[label * 64 + p] += digits.images[static_cast<std::size_t>(i) * 64 + p];
  }
  for (std::size_t k = 0; k < means.size(); ++k) means[k] /= images[k / 64];
  return means;
}

// Sums over the last axis of (images, 10, 64): a kernel of ours, one thread a sum.
inline const RawKernel sum_pixels{{
    .name = "sum_pixels",
    .inputs = {"const float* x"},
    .outputs = {"float* sums"},
    .scalars = {"int size", "int x_dim2"},
    .body = R"(
      int i = blockIdx.x * blockDim.x + threadIdx.x;
      if (i >= size) return;
      float sum = 0.0f;
      for (int p = 0; p < x_dim2; ++p) sum += x[i * x_dim2 + p];
      sums[i] = sum;
    )",
    .shapes =
        [](std::span<const Shape> in) {
          return std::vector<Shape>{{in[0][0], in[0][1]}};
        },
}};

int main() {
  const examples::Digits digits = examples::load_digits();
  const int taught = digits.count() / 2, tested = digits.count() - taught;

  const Variable images = matrix("images"), means = matrix("means");
  const auto ink = [](const Variable& x) { return sqrt(clip(x, 0.0, 1.0)); };  // faint strokes count more
  const Variable difference = ink(expand_dims(images, 1)) - ink(expand_dims(means, 0));
  const Function distances = function({images, means}, {sum_pixels(difference * difference)});
  std::cout << distances.explain() << "\n";

  const Array all = Array::from(digits.images, {digits.count(), 64});
  const Array means_array = Array::from(mean_images(digits, taught), {10, 64});
  const Array result = distances(all.slice({{.start = taught}}), means_array);  // a view: the tested images, not copied
  const std::vector<float> values = result.to_vector<float>();
  int right_labels = 0;
  for (int i = 0; i < tested; ++i) {
    const auto first = values.begin() + i * 10;
    right_labels += std::min_element(first, first + 10) - first == digits.labels[static_cast<std::size_t>(taught + i)];
  }
  const double share = 100.0 * right_labels / tested;
  std::cout << right_labels << " of " << tested << " digits are nearest to their own mean: " << share << " %\n";
  const bool right = result.shape() == Shape{tested, 10} && share > 80 && share < 100;
  std::cout << (right ? "right\n" : "WRONG\n");
  return right ? 0 : 1;
}
