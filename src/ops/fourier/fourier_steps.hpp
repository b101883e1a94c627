// FourierSteps: transforms over any axes, made of transforms over the last ones (fourier_form.hpp), for Variables and for Arrays.
//
// Ops: Value, an x; rank(v), dtype_of(v), cast(v, dtype), view(v, pattern) as dimshuffle, apply(user, form, v), divided(v, counted, axes, root): v by how many elements of
// counted lie along the axes of that mask, or by its square root.
#pragma once
#include <algorithm>
#include <bit>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <damo/axes.hpp>
#include <damo/error.hpp>
#include <damo/fft_norm.hpp>
#include "ops/fourier/fourier_form.hpp"

namespace damo {

template <class Ops>
class FourierSteps {
 public:
  using Value = typename Ops::Value;
  FourierSteps(const Ops& ops, std::string user, FftNorm norm) : ops_(ops), user_(std::move(user)), norm_(norm) {}

  Value complex(const Value& given, const Axes& axes, bool inverse) const {
    const Value x = wide(given);
    const std::uint32_t mask = mask_of(axes, ops_.rank(x) - 1, kPairs);
    return narrow(scaled(turned(x, mask, inverse), x, mask, inverse), given);
  }
  Value from_real(const Value& given, const Axes& axes) const {
    const Value x = wide(given);
    const std::uint32_t mask = mask_of(axes, ops_.rank(x)), group = last_of(mask, FourierTransform::kMostAxes);
    Value y = last_axes(x, group, ops_.rank(x), {.kind = FourierKind::kRealToComplex, .rank = std::popcount(group)});
    y = turned(y, mask & ~group, false);
    return narrow(scaled(y, x, mask, false), given);
  }
  Value to_real(const Value& given, std::optional<std::int64_t> extent, const Axes& axes) const {
    if (extent && *extent < 1) throw ShapeError(user_ + ": an extent of " + std::to_string(*extent), "a transform has 1 element or more");
    const Value x = wide(given);
    const std::uint32_t mask = mask_of(axes, ops_.rank(x) - 1, kPairs), last = last_of(mask, 1);
    const Value y = last_axes(turned(x, mask & ~last, true), last, ops_.rank(x) - 1, {.kind = FourierKind::kComplexToReal, .extent = extent.value_or(-1)});
    return narrow(scaled(y, y, mask, true), given);
  }

 private:
  static constexpr const char* kPairs = "x beside its pairs";
  /// Of axes that are there, at least one.
  std::uint32_t mask_of(const Axes& axes, int rank, const char* owner = "x") const {
    if (rank < 1) throw ShapeError(user_ + ": x has no axis to transform", "complex numbers have one more, of extent 2");
    const std::uint32_t mask = axes.mask(rank, user_, owner);
    if (mask == 0) throw ShapeError(user_ + ": no axis is named", "name one, or none at all for all of them");
    return mask;
  }
  static std::uint32_t last_of(std::uint32_t mask, int count) {
    std::uint32_t last = 0;
    for (; count > 0 && mask != 0; --count) {
      const std::uint32_t highest = std::bit_floor(mask);
      last |= highest, mask &= ~highest;
    }
    return last;
  }
  Value wide(const Value& x) const {
    const DType dtype = ops_.dtype_of(x);
    return is_half(dtype) ? ops_.cast(x, float32) : is_floating(dtype) ? x : ops_.cast(x, float64);
  }
  Value narrow(const Value& y, const Value& x) const { return is_half(ops_.dtype_of(x)) ? ops_.cast(y, ops_.dtype_of(x)) : y; }

  /// Complex, not scaled, a few axes at a time.
  Value turned(Value x, std::uint32_t mask, bool inverse) const {
    while (mask != 0) {
      const std::uint32_t group = last_of(mask, FourierTransform::kMostAxes);
      x = last_axes(x, group, ops_.rank(x) - 1, {.inverse = inverse, .rank = std::popcount(group)});
      mask &= ~group;
    }
    return x;
  }
  /// The form applied to the axes of a mask among the first `rank`, which are moved behind the others of these, and back.
  Value last_axes(const Value& x, std::uint32_t mask, int rank, const FourierForm& form) const {
    std::vector<int> there;
    for (int axis = 0; axis < rank; ++axis) {
      if (!(mask >> axis & 1u)) there.push_back(axis);
    }
    for (int axis = 0; axis < rank; ++axis) {
      if (mask >> axis & 1u) there.push_back(axis);
    }
    std::vector<int> back(there.size());
    for (std::size_t i = 0; i < there.size(); ++i) back[static_cast<std::size_t>(there[i])] = static_cast<int>(i);
    if (std::is_sorted(there.begin(), there.end())) return ops_.apply(user_, form, x);
    if (ops_.rank(x) > rank) there.push_back(rank);
    const Value y = ops_.apply(user_, form, ops_.view(x, there));
    if (ops_.rank(y) > rank) back.push_back(rank);
    return ops_.view(y, back);
  }
  Value scaled(const Value& y, const Value& counted, std::uint32_t mask, bool inverse) const {
    if (norm_ == (inverse ? FftNorm::kForward : FftNorm::kBackward)) return y;
    return ops_.divided(y, counted, mask, norm_ == FftNorm::kOrtho);
  }

  const Ops& ops_;
  std::string user_;
  FftNorm norm_;
};

}  // namespace damo
