// What the functions of ops/signal.hpp and array_signal.hpp are made of, for a World of values (both_worlds.hpp).
#pragma once
#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <damo/axes.hpp>
#include <damo/error.hpp>
#include <damo/index.hpp>
#include <damo/ops/signal.hpp>
#include "graph/base/counted.hpp"
#include "ops/conv/window_form.hpp"

namespace damo {

/// Throws ShapeError unless both are vectors with elements, as far as dims tell.
inline void require_convolved(const Shape& x, const Shape& w) {
  for (const Shape* operand : {&x, &w}) {
    if (operand->rank() != 1) throw ShapeError("convolve: an operand has " + std::to_string(operand->rank()) + " axes, not 1", "flatten it");
    if ((*operand)[0] == 0) throw ShapeError("convolve: an operand has no elements", "give it some, or leave it out for empty arrays");
  }
}

/// Throws ShapeError unless theta has an affine map for each picture of x, as far as dims tell.
inline void require_transformed(const Shape& x, const Shape& theta) {
  const auto may_be = [](std::int64_t extent, std::int64_t wanted) { return extent == kUnknown || wanted == kUnknown || extent == wanted; };
  const bool fits = x.rank() == 4 && theta.rank() == 3 && may_be(theta[0], x[0]) && may_be(theta[1], 2) && may_be(theta[2], 3);
  if (!fits) throw ShapeError("spatial_transformer: x of shape " + to_string(x) + " and theta of shape " + to_string(theta) + " do not fit", "x is (n, channels, height, width), theta (n, 2, 3)");
  if (x[2] == 0 || x[3] == 0) throw ShapeError("spatial_transformer: pictures of shape " + to_string(x) + " have no elements", "leave them out");
}

template <class World>
struct SignalOf {
  using Value = typename World::Value;

  /// Along the axis.
  static Value part(const Value& x, int axis, Slice slice) {
    std::vector<AnyIndex<Value>> indices(static_cast<std::size_t>(axis), AnyIndex<Value>(Slice{}));
    indices.push_back(slice);
    return subtensor(x, indices);
  }

  static Value convolve(const Value& given, const Value& window, ConvolveMode mode) {
    require_convolved(World::dims(given), World::dims(window));
    const DType dtype = result_type(std::vector<Promotable>{{given.dtype()}, {window.dtype()}}), inner = dtype == bool_ ? int64 : dtype;
    Value x = World::converted(given, inner), w = World::converted(window, inner);
    const std::int64_t m = World::dims(x)[0], n = World::dims(w)[0];
    if (m != kUnknown && (n == kUnknown || m < n)) std::swap(x, w);
    const std::int64_t count = World::dims(w)[0];
    if (count == kUnknown && (mode != ConvolveMode::kFull || !is_floating(inner))) {
      throw ShapeError("convolve: no operand's extent is known", is_floating(inner) ? "declare one of them, or take ConvolveMode::kFull" : "declare one of them");
    }
    return World::converted(is_floating(inner) ? of_floats(x, w, mode, count) : of_integers(x, w, mode, count), dtype);
  }

  static Value cut(const Value& full, ConvolveMode mode, std::int64_t count) {
    const std::int64_t before = mode == ConvolveMode::kFull ? 0 : mode == ConvolveMode::kSame ? (count - 1) / 2 : count - 1;
    const std::int64_t behind = mode == ConvolveMode::kFull ? 0 : mode == ConvolveMode::kSame ? count / 2 : count - 1;
    return part(full, 0, behind > 0 ? Slice{before, -behind} : Slice{before, std::nullopt});
  }

  static Value of_floats(const Value& x, const Value& w, ConvolveMode mode, std::int64_t count) {
    const auto picture = [](const Value& v) { return expand_dims(expand_dims(v, 0), 0); };
    const auto line = [](const Value& v) { return squeeze(squeeze(v, 0), 0); };
    if (mode == ConvolveMode::kValid) return line(conv1d(picture(x), picture(flip(w, 0))));
    return cut(line(conv_transpose1d(picture(x), picture(w))), mode, count);
  }

  static Value of_integers(const Value& x, const Value& w, ConvolveMode mode, std::int64_t count) {
    const PadWidth around[] = {{count - 1, count - 1}};
    const Value padded = pad(x, around), begins = World::places(count > 1 ? part(padded, 0, Slice{0, 1 - count}) : padded, 0);
    return cut(dot(take(padded, add(expand_dims(begins, 1), World::steps(count, x)), 0), flip(w, 0)), mode, count);
  }

  /// Each element's neighbours lie a whole step away, the new elements a part of one, k / (2 ratio) with k = 1 - ratio, 3 - ratio, ..., ratio - 1.
  static Value stretched(const Value& given, int axis, std::int64_t ratio) {
    const DType dtype = is_half(given.dtype()) ? float32 : given.dtype();
    const Value x = World::converted(given, dtype);
    const Value before = concatenate({part(x, axis, {0, 1}), part(x, axis, {0, -1})}, axis), after = concatenate({part(x, axis, {1, std::nullopt}), part(x, axis, {-1, std::nullopt})}, axis);
    const auto apart = [&](const Value& v) { return expand_dims(v, axis + 1); };
    Value k = sub(mul(World::steps(ratio, x), 2), ratio - 1);
    for (int behind = axis + 1; behind < World::dims(x).rank(); ++behind) k = expand_dims(k, -1);
    const Value distance = abs(k);
    const auto share = [&](const Value& of) { return true_div(World::converted(of, dtype), 2.0 * static_cast<double>(ratio)); };
    Value y = add(mul(apart(x), share(sub(2 * ratio, distance))), mul(where(lt(k, 0), apart(before), apart(after)), share(distance)));
    if (ratio % 2 == 1) y = where(eq(k, 0), apart(x), y);  // the neighbour may be infinite
    return World::converted(flatten(y, axis, axis + 1), given.dtype());
  }

  static Value bilinear_upsampling(const Value& x, std::int64_t ratio) {
    if (World::dims(x).rank() != 4) throw ShapeError("bilinear_upsampling: x has " + counted_axes(World::dims(x).rank()) + ", not 4: " + describe(x), "give it (n, channels, height, width)");
    if (!is_floating(x.dtype())) throw TypeError("bilinear_upsampling takes floating dtypes, not " + std::string(name(x.dtype())), "cast(x, float32)");
    if (ratio < 1) throw OptionError("bilinear_upsampling: the ratio is " + std::to_string(ratio), "it is 1 or more");
    const auto known = [&](int axis) { return std::max<std::int64_t>(World::dims(x)[axis], 1); };
    (void)Shape{ratio, ratio, known(2), known(3)}.size();  // refused before anything is made, if there are no such shapes
    return ratio == 1 ? x : stretched(stretched(x, 2, ratio), 3, ratio);
  }

  /// x's windows along the axis: in its place that of the windows' places and behind it that of their elements.
  static Value windows(const Value& x, int axis, std::int64_t extent, std::int64_t step) {
    const Value begins = part(World::range(x, axis), 0, Slice{0, extent > 1 ? std::optional(1 - extent) : std::nullopt, step});
    // Of a window that is longer than x there is none, and its elements need no memory.
    const bool is_none = World::dims(x)[axis] != kUnknown && World::dims(x)[axis] < extent;
    const Value elements = is_none ? broadcast_to(World::numbers({0}, x), {extent}) : World::steps(extent, x);
    return take(x, add(expand_dims(begins, 1), elements), axis);
  }

  static Value images2neibs(const Value& x, const PerAxis& window, const PerAxis& step) {
    if (World::dims(x).rank() != 4) throw ShapeError("images2neibs: x has " + counted_axes(World::dims(x).rank()) + ", not 4: " + describe(x), "give it (n, channels, height, width)");
    const Extents3 extents = numbers_of("images2neibs", "window", window, 2, 1, 1), steps = numbers_of("images2neibs", "step", step.numbers().empty() ? window : step, 2, 1, 1);
    const Value rows = windows(windows(x, 2, extents[0], steps[0]), 4, extents[1], steps[1]);
    return flatten(flatten(dimshuffle(rows, {0, 1, 2, 4, 3, 5}), 4, 5), 0, 3);
  }

  /// Numbers from -1 to 1, equally far apart; 0 alone.
  static Value coordinates(std::int64_t count, const Value& x, DType dtype) {
    const Value numbers = sub(mul(World::steps(count, x), 2), count - 1);
    return true_div(World::converted(numbers, dtype), static_cast<double>(std::max<std::int64_t>(count - 1, 1)));
  }

  static Value spatial_transformer(const Value& x, const Value& theta, std::int64_t height, std::int64_t width) {
    require_transformed(World::dims(x), World::dims(theta));
    if (!is_floating(x.dtype()) || !is_floating(theta.dtype())) throw TypeError("spatial_transformer takes floating dtypes, not " + std::string(name((is_floating(x.dtype()) ? theta : x).dtype())), "cast(x, float32)");
    if (height < 1 || width < 1) throw OptionError("spatial_transformer: the result has " + std::to_string(height) + " x " + std::to_string(width) + " elements", "both extents are 1 or more");
    const DType dtype = x.dtype() == float64 || theta.dtype() == float64 ? float64 : float32;
    const Value of_places = World::converted(theta, dtype), columns = coordinates(width, x, dtype), rows = expand_dims(coordinates(height, x, dtype), 1);
    const auto last = [&](int axis) { return World::converted(sub(World::extent(x, axis), World::numbers({1}, x)), dtype); };
    // (n, height, width): where along an axis of x each element lies.
    const auto along = [&](int row, int axis) {
      const auto entry = [&](int column) {
        const std::vector<AnyIndex<Value>> indices = {Slice{}, row, column};
        return expand_dims(expand_dims(subtensor(of_places, indices), 1), 2);
      };
      return mul(add(add(add(mul(entry(0), columns), mul(entry(1), rows)), entry(2)), 1.0), mul(last(axis), 0.5));
    };
    const Value across = along(0, 3), down = along(1, 2), left = floor(across), top = floor(down), last_column = last(3), last_row = last(2);
    const Value of_n = expand_dims(expand_dims(expand_dims(World::range(x, 0), 1), 2), 3), of_channel = expand_dims(expand_dims(World::range(x, 1), 1), 2);
    const Value planes = mul(add(mul(of_n, World::extent(x, 1)), of_channel), mul(World::extent(x, 2), World::extent(x, 3)));
    Value sum;
    for (const double below : {0.0, 1.0}) {
      for (const double beside : {0.0, 1.0}) {
        const Value u = add(left, beside), v = add(top, below);
        const Value is_in_width = logical_and(ge(u, 0.0), le(u, last_column)), is_in_height = logical_and(ge(v, 0.0), le(v, last_row));
        const Value part_across = beside > 0 ? sub(across, left) : sub(1.0, sub(across, left)), part_down = below > 0 ? sub(down, top) : sub(1.0, sub(down, top));
        const Value place = add(mul(World::converted(clip(v, 0.0, last_row), int64), World::extent(x, 3)), World::converted(clip(u, 0.0, last_column), int64));
        const Value element = World::converted(take(x, add(planes, expand_dims(place, 1))), dtype);
        const Value share = where(expand_dims(logical_and(is_in_width, is_in_height), 1), mul(element, expand_dims(mul(part_across, part_down), 1)), 0.0);
        sum = below + beside == 0 ? share : add(sum, share);
      }
    }
    return World::converted(sum, x.dtype());
  }

  static Value separable_conv2d(const Value& x, const Value& depthwise, const Value& pointwise, ConvOptions options) {
    if (World::dims(x).rank() != 4 || World::dims(x)[1] == kUnknown) throw ShapeError("separable_conv2d: the channels of x are not known: " + describe(x), "declare them: input({float32, {kUnknown, 3, kUnknown, kUnknown}})");
    options.groups = World::dims(x)[1];
    return conv2d(conv2d(x, depthwise, options), pointwise);
  }
};

}  // namespace damo
