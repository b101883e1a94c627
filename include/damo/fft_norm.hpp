// Which of a Fourier transform and its inverse is divided by what, for Variables (ops/fft.hpp) and Arrays (array_fft.hpp).
#pragma once
#include <cstdint>

namespace damo {

/// N: the product of the transformed extents. As in NumPy.
enum class FftNorm : std::uint8_t {
  kBackward,  ///< the inverse by N
  kOrtho,     ///< both by the square root of N
  kForward    ///< the transform by N
};

}  // namespace damo
