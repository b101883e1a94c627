// Fusion on real data: sharpening and filmic tone mapping of a batch of photographs, then standardising of handwritten
// digits, each built with and without fusion and run on the same values.
//
//   fused_vs_unfused [directory] [photographs]      default: . 64 (of 512 x 512 pixels, 64 MiB)
//
// Prints two tables and writes fusion.html and fusion.json (photographs), digits.json (digits). Exits with 1 if fused
// and unfused values are further apart than stated below.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <iostream>

#include <damo/damo.hpp>
#include "support/digits.hpp"
#include "support/png_image.hpp"

using namespace damo;

namespace {

constexpr double kUlps = 4;         // a fused kernel may contract x * y + z, which rounds once instead of twice
constexpr double kRelative = 1e-6;  // of the greatest value, where cancellation makes ulps meaningless

/// Mean of the 5 x 5 pixels around each, the border repeated.
std::vector<float> blurred(const std::vector<float>& pixels, int height, int width) {
  std::vector<float> result(pixels.size());
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      float sum = 0;
      for (int dy = -2; dy <= 2; ++dy) {
        for (int dx = -2; dx <= 2; ++dx) {
          const int row = std::clamp(y + dy, 0, height - 1), column = std::clamp(x + dx, 0, width - 1);
          sum += pixels[static_cast<std::size_t>(row * width + column)];
        }
      }
      result[static_cast<std::size_t>(y * width + x)] = sum / 25;
    }
  }
  return result;
}

std::vector<float> repeated(const std::vector<float>& values, int times) {
  std::vector<float> all;
  all.reserve(values.size() * static_cast<std::size_t>(times));
  for (int i = 0; i < times; ++i) all.insert(all.end(), values.begin(), values.end());
  return all;
}

/// Dark towards the corners: cos^4 of the angle, as a lens has it.
std::vector<float> vignette(int height, int width) {
  std::vector<float> shade;
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      const double dy = (y - height / 2.0) / height, dx = (x - width / 2.0) / width;
      shade.push_back(static_cast<float>(1 / std::pow(1 + 0.8 * (dx * dx + dy * dy), 2)));
    }
  }
  return shade;
}

Comparison compare_photographs(int count) {
  const examples::Image image = examples::read_png(examples::data_file("astronaut.png"));
  const std::vector<float> pixels = examples::to_floats(image);
  const std::int64_t n = count, h = image.height, w = image.width;
  std::vector<float> exposures;  // a bracket of exposures, so that no two pictures are equal
  for (int i = 0; i < count; ++i) exposures.push_back(0.6f + 1.2f * static_cast<float>(i) / static_cast<float>(count));

  const Variable photo = tensor3("photo"), blur = tensor3("blur");
  const Variable exposure = input({float32, {kUnknown, 1, 1}}, "exposure"), shade = matrix("shade");
  const Variable detail = 2.5 * (photo - blur);                 // unsharp masking ...
  const Variable sharp = photo + detail / (1.0 + abs(detail));  // ... that spares strong edges
  const Variable light = maximum(sharp, 0.0) * exposure * shade;
  const Variable toned =
      light * (2.51 * light + 0.03) / (light * (2.43 * light + 0.59) + 0.14);  // Narkowicz 2016, ACES
  const Variable result = minimum(sqrt(toned), 1.0);
  result.set_name("toned");

  return compare({photo, blur, exposure, shade}, {result},
                 {Array::from(repeated(pixels, count), {n, h, w}),
                  Array::from(repeated(blurred(pixels, image.height, image.width), count), {n, h, w}),
                  Array::from(exposures, {n, 1, 1}), Array::from(vignette(image.height, image.width), {h, w})},
                 {.name = "tone mapping of " + std::to_string(count) + " photographs"});
}

Comparison compare_digits() {
  const examples::Digits digits = examples::load_digits();
  const auto rows = static_cast<std::size_t>(digits.count()), columns = std::size_t{examples::Digits::kPixels};
  std::vector<float> means(columns, 0), variances(columns, 0);
  for (std::size_t i = 0; i < rows * columns; ++i) means[i % columns] += digits.images[i] / static_cast<float>(rows);
  for (std::size_t i = 0; i < rows * columns; ++i) {
    const float distance = digits.images[i] - means[i % columns];
    variances[i % columns] += distance * distance / static_cast<float>(rows);
  }
  const Variable x = matrix("x"), mean = vector("mean"), variance = vector("variance");
  const Variable standard = (x - mean) / sqrt(variance + 1e-3);
  const Variable squashed = tanh(0.5 * standard);  // outliers of pixels that are nearly always white
  standard.set_name("standard");
  squashed.set_name("squashed");
  const auto pixels = static_cast<std::int64_t>(columns);
  return compare({x, mean, variance}, {standard, squashed},
                 {Array::from(digits.images, {digits.count(), pixels}), Array::from(means), Array::from(variances)},
                 {.name = "standardising of 1,797 digits"}, 0.3);
}

}  // namespace

int main(int argc, char** argv) try {
  const std::filesystem::path directory = argc > 1 ? argv[1] : ".";
  const int count = argc > 2 ? std::atoi(argv[2]) : 64;
  if (count < 1) throw UserError("'" + std::string(argv[2]) + "' is no number of photographs", "give 1 or more");

  const Comparison photographs = compare_photographs(count);
  photographs.print().write_html(directory / "fusion.html").write_json(directory / "fusion.json");
  std::cout << "\n";
  const Comparison digits = compare_digits();
  digits.print().write_json(directory / "digits.json");
  std::cout << "\nwrote " << (directory / "fusion.html").string() << ", fusion.json, digits.json\n";

  const bool equal = photographs.is_within(kUlps, kRelative) && digits.is_within(kUlps, kRelative);
  if (!equal)
    std::cerr << "the values differ by more than " << kUlps << " ulp and " << kRelative << " of the greatest value\n";
  return equal ? 0 : 1;
} catch (const std::exception& error) {
  std::cerr << error.what() << "\n";
  return 1;
}
