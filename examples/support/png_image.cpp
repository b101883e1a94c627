#include "support/png_image.hpp"

#include <png.h>

#include <algorithm>
#include <stdexcept>

namespace examples {
namespace {

// libpng's simplified interface: no setjmp, conversions done by the library.
[[noreturn]] void fail(png_image& png, const std::string& what, const std::string& file) {
  const std::string reason = png.message;
  png_image_free(&png);
  throw std::runtime_error("png: cannot " + what + " " + file + ": " + reason);
}

png_uint_32 format_of(int channels) {
  if (channels != 1 && channels != 3) throw std::runtime_error("png: 1 or 3 channels, not " + std::to_string(channels));
  return channels == 1 ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB;
}

}  // namespace

Image read_png(const std::string& file, int channels) {
  png_image png{};
  png.version = PNG_IMAGE_VERSION;
  const png_uint_32 format = format_of(channels);
  if (!png_image_begin_read_from_file(&png, file.c_str())) fail(png, "read", file);
  png.format = format;
  Image image{static_cast<int>(png.height), static_cast<int>(png.width), channels, {}};
  image.pixels.resize(PNG_IMAGE_SIZE(png));
  const png_color black{};
  if (!png_image_finish_read(&png, &black, image.pixels.data(), 0, nullptr)) fail(png, "read", file);
  return image;
}

void write_png(const std::string& file, const Image& image) {
  png_image png{};
  png.version = PNG_IMAGE_VERSION;
  png.format = format_of(image.channels);
  png.height = static_cast<png_uint_32>(image.height);
  png.width = static_cast<png_uint_32>(image.width);
  if (image.pixels.size() != PNG_IMAGE_SIZE(png))
    throw std::runtime_error("png: " + file + ": " + std::to_string(image.pixels.size()) +
                             " bytes do not fill the picture");
  if (!png_image_write_to_file(&png, file.c_str(), 0, image.pixels.data(), 0, nullptr)) fail(png, "write", file);
}

std::vector<float> to_floats(const Image& image) {
  std::vector<float> values(image.pixels.size());
  std::transform(image.pixels.begin(), image.pixels.end(), values.begin(), [](std::uint8_t p) { return p / 255.0f; });
  return values;
}

Image from_floats(const std::vector<float>& values, int height, int width, int channels) {
  Image image{height, width, channels, std::vector<std::uint8_t>(values.size())};
  std::transform(values.begin(), values.end(), image.pixels.begin(),
                 [](float v) { return static_cast<std::uint8_t>(std::clamp(v, 0.0f, 1.0f) * 255.0f + 0.5f); });
  return image;
}

}  // namespace examples
