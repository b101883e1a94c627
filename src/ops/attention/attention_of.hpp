// What nn::attention is made of, for a World of values (both_worlds.hpp): its checks, and its formula in plain ops.
#pragma once
#include <cmath>
#include <optional>

#include <damo/error.hpp>
#include "ops/attention/attention.hpp"
#include "ops/both_worlds.hpp"

namespace damo {

template <class World>
struct AttentionOf {
  using Value = typename World::Value;

  /// Throws ShapeError for ranks and heads that do not fit together.
  static AttentionForm form(const Value& query, const Value& key, const Value& value, bool causal, std::optional<double> scale) {
    const Shape &q = World::dims(query), &k = World::dims(key), &v = World::dims(value);
    if (q.rank() < 3 || k.rank() != q.rank() || v.rank() != q.rank()) {
      throw ShapeError("attention: query, key and value have the axes (batch..., heads, n, features)", "expand_dims(x, -3) makes one head");
    }
    const std::int64_t heads = q[-3], groups = k[-3], features = q[-1];
    if (heads == kUnknown || groups == kUnknown || (features == kUnknown && !scale)) {
      throw ShapeError("attention: heads of the query and of the key, and features unless the scale is told, are known when the graph is built",
                       "declare them: specify_shape, or the input's type");
    }
    if (groups == 0 || v[-3] != groups || heads % groups != 0) {
      throw ShapeError("attention: heads of the query are a multiple of those of key and value, not " + std::to_string(heads) + " of " +
                           std::to_string(groups) + " and " + extent_text(v[-3]),
                       "take as many heads of key and value");
    }
    const auto differ = [](std::int64_t a, std::int64_t b) { return a != b && a != kUnknown && b != kUnknown; };
    if (differ(features, k[-1])) throw ShapeError("attention: the query has " + std::to_string(features) + " features, the key " + std::to_string(k[-1]), "give both as many");
    if (differ(k[-2], v[-2])) throw ShapeError("attention: there are " + std::to_string(k[-2]) + " keys and " + std::to_string(v[-2]) + " values", "give each key a value");
    return {.causal = causal, .scale = scale ? *scale : 1 / std::sqrt(static_cast<double>(features))};
  }

  static Value plain(const Value& query, const Value& key, const Value& value, const Value& mask, const AttentionForm& form) {
    const std::int64_t shared_by = World::dims(query)[-3] / World::dims(key)[-3];
    const Value keys = shared_by == 1 ? key : repeat(key, shared_by, -3), values = shared_by == 1 ? value : repeat(value, shared_by, -3);
    Value scores = mul(matmul(query, swap_axes(keys, -1, -2)), form.scale), seen;
    if (form.causal) seen = le(World::places(scores, -1), World::places(scores, -2));
    if (mask) seen = seen ? and_(seen, mask) : mask;
    // Not -inf, of which a row that sees nothing would be all: softmax would give NaN, and so would its gradient.
    if (seen) scores = where(seen, scores, scores.dtype() == float16 ? -6e4 : -1e30);
    Value weights = softmax(scores, -1);
    if (seen) weights = where(seen, weights, 0.0);
    return matmul(weights, values);
  }

 private:
  static std::string extent_text(std::int64_t extent) { return extent == kUnknown ? "?" : std::to_string(extent); }
};

}  // namespace damo
