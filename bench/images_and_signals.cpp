// Compositions of images and signals: neighbours by shifted slices, arrays whose elements lie between each other, gates along channels, windows, frames and statistics of series.
#include <cmath>

#include "composition_list.hpp"
#include "formulas.hpp"

namespace damo::bench {
namespace {

using Inputs = CompositionList::Inputs;
using Outputs = CompositionList::Outputs;

/// x with the elements at row and column less than 2 of a window of 3 x 3 around each: of (n, height + 2, width + 2) so (n, height, width).
Variable neighbour(const Variable& x, std::int64_t row, std::int64_t column) {
  const std::int64_t height = x.dims()[1] - 2, width = x.dims()[2] - 2;
  return subtensor(x, {{}, {row, row + height}, {column, column + width}});
}

/// Of (n, time, channels): each element's weighted sum with the three before it, by (4, channels).
Variable causal_convolution(const Variable& x, const Variable& taps) {
  const Variable padded = pad(x, {{0, 0}, {3, 0}, {0, 0}});
  const std::int64_t time = x.dims()[1];
  Variable y = subtensor(padded, {{}, {0, time}}) * subtensor(taps, {0});
  for (std::int64_t tap = 1; tap < 4; ++tap) y = y + subtensor(padded, {{}, {tap, tap + time}}) * subtensor(taps, {tap});
  return y;
}

/// Twice as many elements along an axis, between each two neighbours two that stretch from one to the other.
Variable doubled(const Variable& x, int axis) {
  const std::int64_t length = x.dims()[axis];
  std::vector<Index> first(static_cast<std::size_t>(axis)), body = first, shifted = first, last = first;
  first.emplace_back(Index{0, 1});
  body.emplace_back(Index{0, length - 1});
  shifted.emplace_back(Index{1, length});
  last.emplace_back(Index{length - 1, length});
  const Variable before = concatenate({subtensor(x, first), subtensor(x, body)}, axis), after = concatenate({subtensor(x, shifted), subtensor(x, last)}, axis);
  std::vector<std::int64_t> extents;
  for (int i = 0; i < x.dims().rank(); ++i) extents.push_back(i == axis ? 2 * length : x.dims()[i]);
  return reshape(stack({0.25 * before + 0.75 * x, 0.75 * x + 0.25 * after}, axis + 1), Shape(extents));
}

void add_images(CompositionList& list) {
  const std::int64_t images = list.scaled(128);
  const auto gated = [](const Variable& x) {
    const auto parts = split(x, {128, 128}, 1);
    return parts[0] * sigmoid(parts[1]);
  };
  list.add("glu_channels", {{images, 256, 64, 64}}, [=](Inputs v) -> Outputs { return {gated(v[0])}; });
  list.add("glu_channels_grad", {{images, 256, 64, 64}, {images, 128, 64, 64}}, [=](Inputs v) -> Outputs { return gradients(gated(v[0]), v[1], {v[0]}); });
  list.add("squeeze_excite", {{images, 256, 64, 64}, {256, 1, 1}, {256, 1, 1}}, [](Inputs v) -> Outputs { return {v[0] * sigmoid(mean(v[0], {2, 3}, keepdims) * v[1] + v[2])}; });
  list.add("group_norm_silu_shift", {{images, 256, 64, 64}, {images, 256, 1, 1}, {256, 1, 1}, {256, 1, 1}}, [](Inputs v) -> Outputs {
    const Variable x = v[0] + v[1], groups = standardized(reshape(x, {x.dims()[0], 32, 8 * 64 * 64}), 2);
    return {silu(reshape(groups, x.dims()) * v[2] + v[3])};
  });
  const auto channel_norm = [](Inputs v) { return standardized(v[0], 1) * v[1] + v[2]; };
  list.add("channel_layernorm", {{images, 256, 64, 64}, {256, 1, 1}, {256, 1, 1}}, [=](Inputs v) -> Outputs { return {channel_norm(v)}; });
  list.add("channel_layernorm_grad", {{images, 256, 64, 64}, {256, 1, 1}, {256, 1, 1}, {images, 256, 64, 64}}, [=](Inputs v) -> Outputs { return gradients(channel_norm(v), v[3], {v[0], v[1], v[2]}); });
  const std::int64_t pictures = list.scaled(512);
  list.add("sobel", {{pictures, 514, 514}}, [](Inputs v) -> Outputs {
    const auto at = [&](std::int64_t row, std::int64_t column) { return neighbour(v[0], row, column); };
    const Variable across = at(0, 2) + 2.0 * at(1, 2) + at(2, 2) - at(0, 0) - 2.0 * at(1, 0) - at(2, 0), down = at(2, 0) + 2.0 * at(2, 1) + at(2, 2) - at(0, 0) - 2.0 * at(0, 1) - at(0, 2);
    return {sqrt(sqr(across) + sqr(down) + 1e-12)};
  });
  list.add("mean_pool_3x3_by_2", {{pictures, 513, 513}}, [](Inputs v) -> Outputs {
    Variable all;
    for (std::int64_t row = 0; row < 3; ++row) {
      for (std::int64_t column = 0; column < 3; ++column) {
        const Variable one = subtensor(v[0], {{}, {row, row + 511, 2}, {column, column + 511, 2}});
        all = row + column == 0 ? one : all + one;
      }
    }
    return {all / 9.0};
  });
  list.add("upsample_bilinear", {{list.scaled(128), 512, 512}}, [](Inputs v) -> Outputs { return {doubled(doubled(v[0], 1), 2)}; });
  list.add("pixel_shuffle", {{images, 256, 64, 64}, {64, 1, 1}}, [](Inputs v) -> Outputs {
    const std::int64_t n = v[0].dims()[0];
    return {reshape(dimshuffle(reshape(v[0], {n, 64, 2, 2, 64, 64}), {0, 1, 4, 2, 5, 3}), {n, 64, 128, 128}) + v[1]};
  });
  list.add("space_to_depth", {{list.scaled(512), 256, 256, 4}, {16}}, [](Inputs v) -> Outputs {
    const std::int64_t n = v[0].dims()[0];
    return {reshape(dimshuffle(reshape(v[0], {n, 128, 2, 128, 2, 4}), {0, 1, 3, 2, 4, 5}), {n, 128, 128, 16}) * v[1]};
  });
  list.add("haar", {{pictures, 512, 512}}, [](Inputs v) -> Outputs {
    const auto at = [&](std::int64_t row, std::int64_t column) { return subtensor(v[0], {{}, {row, {}, 2}, {column, {}, 2}}); };
    const Variable a = at(0, 0), b = at(0, 1), c = at(1, 0), d = at(1, 1);
    return {0.5 * (a + b + c + d), 0.5 * (a - b + c - d), 0.5 * (a + b - c - d), 0.5 * (a - b - c + d)};
  });
  list.add("total_variation_grad", {{pictures, 512, 512}}, [](Inputs v) -> Outputs {
    const auto part = [&](Index row, Index column) { return subtensor(v[0], {{}, row, column}); };
    const Variable loss = mean(abs(part({1, 512}, {}) - part({0, 511}, {}))) + mean(abs(part({}, {1, 512}) - part({}, {0, 511})));
    return {loss, grad(loss, v[0])};
  });
  list.add("grey", {{list.scaled(512), 512 * 512, 3}, {3}}, [](Inputs v) -> Outputs { return {sum(v[0] * v[1], 2)}; });
  list.add("blend", {{list.scaled(256), 512 * 512, 4}, {list.scaled(256), 512 * 512, 3}}, [](Inputs v) -> Outputs {
    const Variable share = subtensor(v[0], {ellipsis, {3, 4}});
    return {subtensor(v[0], {ellipsis, {0, 3}}) * share + v[1] * (1.0 - share)};
  });
  list.add(
      "integral_image", {{pictures, 512, 512}}, [](Inputs v) -> Outputs { return {cumsum(cumsum(v[0], 1), 2)}; }, 2 * pictures * 512 * 512);
  list.add("window_partition", {{list.scaled(256), 64, 64, 128}, {8 * 8, 128}}, [](Inputs v) -> Outputs {
    const std::int64_t n = v[0].dims()[0];
    return {reshape(dimshuffle(reshape(v[0], {n, 8, 8, 8, 8, 128}), {0, 1, 3, 2, 4, 5}), {n * 64, 64, 128}) + v[1]};
  });
}

void add_signals(CompositionList& list) {
  const std::int64_t n = list.scaled(32);
  list.add("causal_convolution", {{n, 2048, 2048}, {4, 2048}}, [](Inputs v) -> Outputs { return {silu(causal_convolution(v[0], v[1]))}; });
  list.add("causal_convolution_grad", {{n, 2048, 2048}, {4, 2048}, {n, 2048, 2048}}, [](Inputs v) -> Outputs { return gradients(silu(causal_convolution(v[0], v[1])), v[2], {v[0], v[1]}); });
  list.add("interleave", {{list.scaled(16384), 4096}, {list.scaled(16384), 4096}}, [](Inputs v) -> Outputs { return {reshape(stack({v[0] * 0.5, v[1]}, 2), {v[0].dims()[0], 8192})}; });
  list.add("complex_multiply", {{list.scaled(1 << 25), 2}, {list.scaled(1 << 25), 2}}, [](Inputs v) -> Outputs {
    const auto part = [](const Variable& x, std::int64_t which) { return subtensor(x, {{}, which}); };
    const Variable a = part(v[0], 0), b = part(v[0], 1), c = part(v[1], 0), d = part(v[1], 1);
    return {stack({a * c - b * d, a * d + b * c}, 1)};
  });
  list.add("log_power_mean", {{list.scaled(256), 512, 512, 2}}, [](Inputs v) -> Outputs {
    const Variable power = log(sum(sqr(v[0]), 3) + 1e-6);
    return {power - mean(power, 1, keepdims)};
  });
  list.add("frames", {{list.scaled(256), 1 << 18}, {512}}, [](Inputs v) -> Outputs {
    const std::int64_t series = v[0].dims()[0], frames = (1 << 9) - 1, hop = 512;
    const Variable hops = reshape(v[0], {series, frames + 1, hop});
    return {concatenate({subtensor(hops, {{}, {0, frames}}) * v[1], subtensor(hops, {{}, {1, frames + 1}}) * subtensor(v[1], {{{}, {}, -1}})}, 2)};
  });
  list.add("rolling_moments", {{list.scaled(16384), 8192}}, [](Inputs v) -> Outputs {
    const auto rolling = [](const Variable& x) {
      const Variable sums = cumsum(x, 1);
      return (subtensor(sums, {{}, {20, {}}}) - subtensor(sums, {{}, {0, -20}})) / 20.0;
    };
    const Variable wide = astype(v[0], float32), average = rolling(wide);
    return {average, sqrt(maximum(rolling(sqr(wide)) - sqr(average), 0.0))};
  });
  list.add("log_returns_volatility", {{list.scaled(8192) + 1, 16384}}, [](Inputs v) -> Outputs {
    const Variable prices = log(v[0] + 1.0), returns = subtensor(prices, {{1, {}}}) - subtensor(prices, {{0, -1}});
    return {mean(returns, 0) / (stddev(returns, 0) + 1e-6)};
  });
  list.add("running_range", {{list.scaled(16384), 8192}}, [](Inputs v) -> Outputs { return {cummax(v[0], 1) - cummin(v[0], 1)}; });
  const auto smoothed = [](Inputs v) {
    return scan({.sequences = {v[0]}, .initial = {v[1]}}, [](const Variable& x, const Variable& state) { return 0.9 * state + 0.1 * x; });
  };
  list.add("smoothed_series", {{128, list.scaled(1 << 20)}, {list.scaled(1 << 20)}}, [=](Inputs v) -> Outputs { return {smoothed(v)[0]}; });
}

}  // namespace

void add_images_and_signals(CompositionList& list) {
  add_images(list);
  add_signals(list);
}

}  // namespace damo::bench
