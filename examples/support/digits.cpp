#include "support/digits.hpp"

#include <cstdlib>
#include <damo/io/csv.hpp>

namespace examples {

std::string data_file(const std::string& name) {
  const char* folder = std::getenv("DAMO_EXAMPLE_DATA");
  return std::string(folder ? folder : DAMO_EXAMPLE_DATA) + "/" + name;
}

Digits load_digits(const std::string& file) {
  const std::string path = file.empty() ? data_file("digits.csv") : file;
  const damo::Array table = damo::csv::load(path, {.dtype = damo::int64});
  if (table.shape()[1] != Digits::kPixels + 1) throw damo::FileError("digits: " + path + ": lines have 64 pixels and a digit");
  const std::vector<std::int64_t> numbers = table.to_vector<std::int64_t>();
  Digits digits;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (i % (Digits::kPixels + 1) < Digits::kPixels) {
      digits.images.push_back(static_cast<float>(numbers[i]) / 16.0f);
      continue;
    }
    if (numbers[i] < 0 || numbers[i] > 9) throw damo::FileError("digits: " + path + ": row " + std::to_string(digits.count() + 1) + ": " + std::to_string(numbers[i]) + " is no digit");
    digits.labels.push_back(numbers[i]);
  }
  return digits;
}

DigitHalves load_digit_halves() {
  const Digits digits = load_digits();
  const std::int64_t count = digits.count(), half = count / 2;
  const damo::Array images = damo::Array::from(digits.images, {count, Digits::kPixels}), labels = damo::Array::from(digits.labels);
  return {images.slice({{0, half}}), labels.slice({{0, half}}), images.slice({{half}}), labels.slice({{half}})};
}

}  // namespace examples
