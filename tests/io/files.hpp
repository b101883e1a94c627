// What tests of formats share: files that other programs wrote (files/make.py), files of given bytes, and arrays of each dtype.
#pragma once
#include <cmath>
#include <fstream>
#include <iterator>
#include <limits>
#include <string>
#include <vector>

#include <damo/array.hpp>

namespace damo::testing {

inline std::string others_file(const std::string& name) { return std::string(DAMO_SOURCE_DIR "/tests/io/files/") + name; }

inline std::string bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}
inline std::string write_bytes(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  return path;
}

/// (2, 3), with the values at which dtypes end.
inline Array extremes(DType dtype, Device device) {
  return visit(dtype, [&]<class T>(T) {
    if constexpr (std::is_same_v<T, bool>) {
      const bool values[] = {true, false, true, true, false, false};
      return Array::from(std::span<const bool>(values), {2, 3}, device);
    } else if constexpr (std::is_integral_v<T>) {
      return Array::from(std::vector<T>{0, 1, std::numeric_limits<T>::min(), std::numeric_limits<T>::max(), static_cast<T>(-2), 7}, {2, 3}, device);
    } else {
      const float inf = std::numeric_limits<float>::infinity();
      return Array::from(std::vector<T>{T(0.1f), T(-0.0f), T(inf), T(-inf), T(3e-8f), T(65504.0f)}, {2, 3}, device);
    }
  });
}

/// The elements' bits, in C order.
inline std::string bits(const Array& array) {
  std::string text(array.nbytes(), '\0');
  if (!text.empty()) array.to_host(text.data());
  return text;
}

}  // namespace damo::testing
