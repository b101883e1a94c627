// Fourier transforms in random graphs. A printed program carries this file with it.
#pragma once
#include "family_parts.hpp"

namespace damo::testing {

/// The sum of real and imaginary part of each number; numbers: the axis, unless it is all of them. The second operand is the imaginary part, if there is one.
template <class T>
std::vector<T> fourier_node(const std::string& how, const std::vector<T>& in, const std::vector<int>& numbers) {
  const int axis = numbers[0];
  const T x = tamed(in[0]);
  if (how == "rfft") return {sum(rfft(x, axis), -1)};
  if (how == "rfftn") return {sum(rfftn(x), -1)};
  const T pairs = stack({x, tamed(in[1])}, x.rank());
  if (how == "irfft") return {irfft(pairs, {}, axis)};
  if (how == "irfftn") return {irfftn(pairs)};
  if (how.ends_with("n")) return {sum(how == "fftn" ? fftn(pairs) : ifftn(pairs), -1)};
  return {sum(how == "fft" ? fft(pairs, axis) : ifft(pairs, axis), -1)};
}

}  // namespace damo::testing
