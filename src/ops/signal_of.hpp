// What the functions of ops/signal.hpp and array_signal.hpp are made of, for a World of values (both_worlds.hpp).
#pragma once
#include <string>
#include <utility>
#include <vector>

#include <damo/axes.hpp>
#include <damo/error.hpp>
#include <damo/index.hpp>
#include <damo/ops/signal.hpp>

namespace damo {

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
    for (const Value* x : {&given, &window}) {
      if (World::dims(*x).rank() != 1) throw ShapeError("convolve: an operand has " + std::to_string(World::dims(*x).rank()) + " axes, not 1", "flatten it");
      if (World::dims(*x)[0] == 0) throw ShapeError("convolve: an operand has no elements");
    }
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
    std::vector<std::int64_t> steps(static_cast<std::size_t>(count));
    for (std::size_t i = 0; i < steps.size(); ++i) steps[i] = static_cast<std::int64_t>(i);
    const Value padded = pad(x, around), begins = World::places(count > 1 ? part(padded, 0, Slice{0, 1 - count}) : padded, 0);
    return cut(dot(take(padded, add(expand_dims(begins, 1), World::numbers(steps, x)), 0), flip(w, 0)), mode, count);
  }

  /// Each element's neighbours lie a whole step away, the new elements a part of one.
  static Value stretched(const Value& x, int axis, std::int64_t ratio) {
    const Value before = concatenate({part(x, axis, {0, 1}), part(x, axis, {0, -1})}, axis), after = concatenate({part(x, axis, {1, std::nullopt}), part(x, axis, {-1, std::nullopt})}, axis);
    std::vector<Value> phases;
    for (std::int64_t p = 0; p < ratio; ++p) {
      const double away = (static_cast<double>(p) + 0.5) / static_cast<double>(ratio) - 0.5;
      phases.push_back(away == 0 ? x : add(mul(x, 1 - std::fabs(away)), mul(away < 0 ? before : after, std::fabs(away))));
    }
    return flatten(stack(phases, axis + 1), axis, axis + 1);
  }

  static Value bilinear_upsampling(const Value& x, std::int64_t ratio) {
    if (World::dims(x).rank() != 4) throw ShapeError("bilinear_upsampling: x has " + std::to_string(World::dims(x).rank()) + " axes, not 4: " + describe(x), "give it (n, channels, height, width)");
    if (!is_floating(x.dtype())) throw TypeError("bilinear_upsampling takes floating dtypes, not " + std::string(name(x.dtype())), "cast(x, float32)");
    if (ratio < 1) throw OptionError("bilinear_upsampling: the ratio is " + std::to_string(ratio), "it is 1 or more");
    return ratio == 1 ? x : stretched(stretched(x, 2, ratio), 3, ratio);
  }

  static Value separable_conv2d(const Value& x, const Value& depthwise, const Value& pointwise, ConvOptions options) {
    if (World::dims(x).rank() != 4 || World::dims(x)[1] == kUnknown) throw ShapeError("separable_conv2d: the channels of x are not known: " + describe(x), "declare them: input({float32, {kUnknown, 3, kUnknown, kUnknown}})");
    options.groups = World::dims(x)[1];
    return conv2d(conv2d(x, depthwise, options), pointwise);
  }
};

}  // namespace damo
