// Discrete Fourier transforms of Arrays, at once: what ops/fft.hpp has for Variables, of which that page is the manual too. See tests/fourier/fft_test.cpp.
#pragma once
#include <cstdint>
#include <optional>

#include <damo/array.hpp>
#include <damo/axes.hpp>
#include <damo/fft_norm.hpp>

namespace damo {

Array rfft(const Array& x, int axis = -1, FftNorm norm = FftNorm::kBackward);
Array irfft(const Array& x, std::optional<std::int64_t> extent = {}, int axis = -1, FftNorm norm = FftNorm::kBackward);
Array fft(const Array& x, int axis = -1, FftNorm norm = FftNorm::kBackward);
Array ifft(const Array& x, int axis = -1, FftNorm norm = FftNorm::kBackward);
Array rfftn(const Array& x, const Axes& axes = {}, FftNorm norm = FftNorm::kBackward);
Array irfftn(const Array& x, std::optional<std::int64_t> extent = {}, const Axes& axes = {}, FftNorm norm = FftNorm::kBackward);
Array fftn(const Array& x, const Axes& axes = {}, FftNorm norm = FftNorm::kBackward);
Array ifftn(const Array& x, const Axes& axes = {}, FftNorm norm = FftNorm::kBackward);

}  // namespace damo
