// Discrete Fourier transforms. Arrays have the same names in array_fft.hpp, of which this page is the manual too.
//
//   Variable spectrum = rfft(signal);                          // (b, n) -> (b, n / 2 + 1, 2)
//   Variable power = sum(sqr(spectrum), -1);
//   Variable smooth = irfft(spectrum * expand_dims(window, -1), n);
//
// A complex number is a pair on a last axis of extent 2, real and imaginary part, as in Theano: so ops treat both alike, and a product of complex numbers is to be
// written out. Axes count those of x without that one; they may be negative. Elements: X_k is the sum over j of x_j exp(-2 pi i j k / n), with + for inverse transforms;
// norm says what divides which, as in NumPy. Computed in float32 or float64, by cuFFT on a GPU (DAMO_CUFFT_PATH), opened at the first use, and by Damo's own
// mixed-radix method on the CPU; float16 and bfloat16 in float32, integers and bools in float64. The error's norm is below about epsilon log2(n) of the result's, whatever
// the extent's factors. Cost: n log n; extents with a prime factor above 13 about five times more on the CPU. An axis that is not the last is moved there,
// which is a copy. ShapeError: axes that do not exist, a transformed axis without elements, pairs that are none. All have gradients, of any order. See tests/fourier/fft_test.cpp.
#pragma once
#include <cstdint>
#include <optional>

#include <damo/axes.hpp>
#include <damo/fft_norm.hpp>
#include <damo/variable.hpp>

namespace damo {

/// Of real x, the first half of its spectrum along the axis, whose other half is its mirror image's conjugate: extent n becomes n / 2 + 1 pairs.
Variable rfft(const Operand& x, int axis = -1, FftNorm norm = FftNorm::kBackward);
/// The reverse: real numbers, extent of them along the axis, whose half spectrum is x; 2 (pairs - 1) unless told. ShapeError where x has not extent / 2 + 1 pairs. What
/// stands as imaginary part of the first pair, and of an even extent's last one, is not read.
Variable irfft(const Operand& x, std::optional<std::int64_t> extent = {}, int axis = -1, FftNorm norm = FftNorm::kBackward);
/// Of complex x, its shape.
Variable fft(const Operand& x, int axis = -1, FftNorm norm = FftNorm::kBackward);
Variable ifft(const Operand& x, int axis = -1, FftNorm norm = FftNorm::kBackward);

/// Along several axes, all unless told. That of them which comes last in x, not in the list, has half of its spectrum.
Variable rfftn(const Operand& x, const Axes& axes = {}, FftNorm norm = FftNorm::kBackward);
/// extent: of that axis.
Variable irfftn(const Operand& x, std::optional<std::int64_t> extent = {}, const Axes& axes = {}, FftNorm norm = FftNorm::kBackward);
Variable fftn(const Operand& x, const Axes& axes = {}, FftNorm norm = FftNorm::kBackward);
Variable ifftn(const Operand& x, const Axes& axes = {}, FftNorm norm = FftNorm::kBackward);

}  // namespace damo
