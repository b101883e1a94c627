// Reads and writes 8-bit PNG pictures with libpng. Colour, palette, 16-bit and transparent files are converted.
// An example that includes this header is left out of builds without libpng.
// Throws std::runtime_error with the file's name and libpng's reason.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace examples {

struct Image {
  int height = 0;
  int width = 0;
  int channels = 1;                  ///< 1 grey, 3 red green blue
  std::vector<std::uint8_t> pixels;  ///< height x width x channels
};

/// channels: 1 or 3; the file is converted to it.
Image read_png(const std::string& file, int channels = 1);
void write_png(const std::string& file, const Image& image);

/// Pixels from 0 to 1, in the same order, and back (clamped, rounded).
std::vector<float> to_floats(const Image& image);
Image from_floats(const std::vector<float>& values, int height, int width, int channels = 1);

}  // namespace examples
