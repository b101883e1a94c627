#include "support/pipeline.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>

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

std::optional<damo::idx::Set> load_fashion(const Arguments& run) {
  const std::string folder = run.folder.empty() ? "/usr/share/datasets/fashion-mnist" : run.folder;
  if (std::filesystem::is_directory(folder)) return damo::idx::load_set(folder);
  std::cout << "Skipped\nneeds Fashion-MNIST: " << folder << " is not there; apt-get install dataset-fashion-mnist, or give a folder\n";
  return std::nullopt;
}

void save_pictures(const std::string& file, const std::vector<damo::Array>& rows) {
  std::ofstream svg(file);
  const std::int64_t count = rows.at(0).shape()[0], side = std::llround(std::sqrt(static_cast<double>(rows[0].shape()[1])));
  svg << "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 " << count * (side + 1) << " " << static_cast<std::int64_t>(rows.size()) * (side + 1)
      << "\" shape-rendering=\"crispEdges\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n";
  std::map<int, std::string> squares;  // by grey, from white's 0 to black's 15
  for (std::size_t row = 0; row < rows.size(); ++row) {
    const std::vector<float> pixels = rows[row].to_vector<float>();
    for (std::size_t i = 0; i < pixels.size(); ++i) {
      const std::int64_t n = static_cast<std::int64_t>(i) / (side * side), place = static_cast<std::int64_t>(i) % (side * side);
      const int grey = static_cast<int>(std::lround(15 * std::clamp(pixels[i], 0.0f, 1.0f)));
      if (grey > 0) squares[grey] += "M" + std::to_string(n * (side + 1) + place % side) + " " + std::to_string(static_cast<std::int64_t>(row) * (side + 1) + place / side) + "h1v1h-1z";
    }
  }
  for (const auto& [grey, path] : squares) svg << "<path fill=\"#" << std::string(3, "0123456789abcdef"[15 - grey]) << "\" d=\"" << path << "\"/>\n";
  svg << "</svg>\n";
}

double seconds() {
  static const auto begin = std::chrono::steady_clock::now();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace examples
