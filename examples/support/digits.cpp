#include "support/digits.hpp"

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace examples {

std::string data_file(const std::string& name) {
  const char* folder = std::getenv("DAMO_EXAMPLE_DATA");
  return std::string(folder ? folder : DAMO_EXAMPLE_DATA) + "/" + name;
}

Digits load_digits(const std::string& file) {
  const std::string path = file.empty() ? data_file("digits.csv") : file;
  std::ifstream in(path);
  if (!in) throw std::runtime_error("digits: cannot open " + path);
  Digits digits;
  for (std::string line; std::getline(in, line);) {
    std::istringstream numbers(line);
    int value = 0, read = 0;
    for (char comma = ','; comma == ',' && numbers >> value && read < Digits::kPixels; ++read, numbers >> comma)
      digits.images.push_back(static_cast<float>(value) / 16.0f);
    if (read != Digits::kPixels || !numbers || value < 0 || value > 9)
      throw std::runtime_error("digits: " + path + ":" + std::to_string(digits.count() + 1) +
                               ": not 64 pixels and a digit");
    digits.labels.push_back(value);
  }
  return digits;
}

}  // namespace examples
