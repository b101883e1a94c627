// The handwritten digits of examples/data/digits.csv (see the README beside it).
// load_digits() reads them all; load_digits("file") reads another file of the same form. load_digit_halves() gives them as arrays of the
// default device, the first half to learn from, the second to be tested on: other people wrote the second.
// Throws damo::FileError, naming the file and line, for a file that is missing or malformed.
#pragma once
#include <cstdint>
#include <damo/array.hpp>
#include <string>
#include <vector>

namespace examples {

struct Digits {
  static constexpr int kPixels = 64;  ///< 8 x 8, row by row
  std::vector<float> images;          ///< count x 64, from 0 to 1
  std::vector<std::int64_t> labels;   ///< count, from 0 to 9
  int count() const { return static_cast<int>(labels.size()); }
};

Digits load_digits(const std::string& file = "");

struct DigitHalves {
  damo::Array train_images, train_labels;  ///< float32 (898, 64), int64 (898,)
  damo::Array test_images, test_labels;    ///< 899 of them
};
DigitHalves load_digit_halves();

/// Path of a file in examples/data, or in $DAMO_EXAMPLE_DATA if that is set.
std::string data_file(const std::string& name);

}  // namespace examples
