#include "support/pipeline.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <fstream>

namespace examples {

Arguments arguments_of(int count, char** arguments) {
  seconds();
  Arguments run;
  for (int i = 1; i < count; ++i) {
    const std::string word = arguments[i];
    if (word == "full") run.full = true;
    else if (word.starts_with("seed=")) run.seed = std::stoull(word.substr(5));
    else run.folder = word;
  }
  return run;
}

void save_pictures(const std::string& file, const std::vector<damo::Array>& rows) {
  std::ofstream svg(file);
  const std::int64_t count = rows.at(0).shape()[0], side = std::llround(std::sqrt(static_cast<double>(rows[0].shape()[1])));
  svg << "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 " << count * (side + 1) << " " << static_cast<std::int64_t>(rows.size()) * (side + 1)
      << "\" shape-rendering=\"crispEdges\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n";
  for (std::size_t row = 0; row < rows.size(); ++row) {
    const std::vector<float> pixels = rows[row].to_vector<float>();
    for (std::int64_t n = 0; n < count; ++n) {
      for (std::int64_t i = 0; i < side * side; ++i) {
        const int grey = 255 - static_cast<int>(std::lround(255 * std::clamp(pixels[static_cast<std::size_t>(n * side * side + i)], 0.0f, 1.0f)));
        char colour[8];
        std::snprintf(colour, sizeof colour, "#%02x%02x%02x", grey, grey, grey);
        if (grey < 255) svg << "<path fill=\"" << colour << "\" d=\"M" << n * (side + 1) + i % side << " " << static_cast<std::int64_t>(row) * (side + 1) + i / side << "h1v1h-1z\"/>\n";
      }
    }
  }
  svg << "</svg>\n";
}

double seconds() {
  static const auto begin = std::chrono::steady_clock::now();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace examples
