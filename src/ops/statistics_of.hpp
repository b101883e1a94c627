// What the functions of ops/statistics.hpp and array_statistics.hpp are made of, for a World of values (both_worlds.hpp).
#pragma once
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include <damo/axes.hpp>
#include <damo/error.hpp>
#include "graph/base/computed_dtype.hpp"

namespace damo {

/// Throws ShapeError for vectors of which one is longer, as far as dims tell.
inline void require_as_many_labels(const Shape& actual, const Shape& predicted) {
  if (actual.rank() != 1 || predicted.rank() != 1 || actual[0] == predicted[0] || actual[0] == kUnknown || predicted[0] == kUnknown) return;
  throw ShapeError("confusion_matrix: " + std::to_string(actual[0]) + " actual labels, " + std::to_string(predicted[0]) + " predicted ones", "give each sample both");
}

template <class World>
struct StatisticsOf {
  using Value = typename World::Value;

  /// What median and quantile choose from: in order along one axis, with NaN last.
  struct Ordered {
    Ordered(const char* name, const Value& x, std::optional<int> asked) : rank(World::dims(x).rank()), is_whole(!asked) {
      require_computed(name, x.dtype());
      const Value line = asked ? x : flattened(x);
      axis = asked ? normalize_axis(name, *asked, rank) : 0;
      if (World::dims(line)[axis] == 0) throw ShapeError(std::string(name) + ": axis " + std::to_string(axis) + " of x has no elements", "there is nothing to choose from");
      const DType dtype = line.dtype();
      result = is_floating(dtype) ? dtype : float64;
      values = sort(World::converted(line, is_half(dtype) ? float32 : result), axis);
      count = World::extent(line, axis);
      last = take(values, sub(count, 1), axis);
    }
    Value at(const Value& places) const { return take(values, places, axis); }
    Value finished(const Value& chosen, bool keep) const {
      const Value checked = World::converted(where(isnan(last), last, chosen), result);
      if (is_whole) return dimshuffle(reshape_to_number(checked), std::vector<int>(keep ? static_cast<std::size_t>(rank) : 0, kNewAxis));
      return keep ? checked : squeeze(checked, axis);
    }
    static Value reshape_to_number(const Value& one) { return squeeze(one, 0); }

    int rank, axis = 0;
    bool is_whole;
    DType result{};
    Value values, count, last;
  };

  static Value flattened(const Value& x) { return World::dims(x).rank() == 1 ? x : World::dims(x).rank() == 0 ? expand_dims(x, 0) : flatten(x); }

  static Value median(const Value& x, std::optional<int> axis, bool keep) {
    const Ordered ordered("median", x, axis);
    const Value low = ordered.at(int_div(sub(ordered.count, 1), 2)), high = ordered.at(int_div(ordered.count, 2));
    return ordered.finished(where(eq(low, high), low, mul(add(low, high), 0.5)), keep);  // of two infinities there is no sum's half
  }

  static Value quantile(const Value& x, double q, std::optional<int> axis, bool keep) {
    if (!(q >= 0 && q <= 1)) throw OptionError("quantile: q is " + std::to_string(q), "a part is from 0 to 1");
    const Ordered ordered("quantile", x, axis);
    const Value place = mul(World::converted(sub(ordered.count, 1), float64), q), below = floor(place);
    const Value low_place = World::converted(below, int64), part = World::converted(sub(place, below), ordered.values.dtype());
    const Value low = ordered.at(low_place), high = ordered.at(minimum(add(low_place, 1), sub(ordered.count, 1))), step = sub(high, low);
    const Value between = where(lt(part, 0.5), add(low, mul(step, part)), sub(high, mul(step, sub(1.0, part))));
    return ordered.finished(where(eq(low, high), low, between), keep);
  }

  struct Different {
    Value values, positions, inverse, counts;
  };
  static Different unique(const Value& x) {
    const Value line = flattened(x), order = argsort(line, 0), values = take(line, order, 0), before = roll(values, 1, 0);
    const Value is_same = logical_or(eq(values, before), logical_and(isnan(values), isnan(before)));
    const Value begins = logical_or(eq(World::places(values, 0), 0), logical_not(is_same));
    const Value group = sub(cumsum(World::converted(begins, int64), 0), 1), positions = subtensor(order, begins);
    return {subtensor(values, begins), positions, take(group, argsort(order, 0), 0), inc_subtensor(zeros_like(positions), {group}, 1)};
  }

  static std::pair<Value, Value> confusion_matrix(const Value& actual, const Value& predicted) {
    for (const Value* labels : {&actual, &predicted}) {
      if (World::dims(*labels).rank() != 1) throw ShapeError("confusion_matrix: labels have " + std::to_string(World::dims(*labels).rank()) + " axes, not 1", "flatten them");
      if (is_floating(labels->dtype())) throw TypeError("confusion_matrix: labels are integers or bools, not " + std::string(name(labels->dtype())), "cast them");
    }
    require_as_many_labels(World::dims(actual), World::dims(predicted));
    const Value both = concatenate({actual, predicted}), labels = unique(both).values;
    const auto marks = [&](const Value& x) { return World::converted(eq(expand_dims(x, 1), labels), int64); };
    return {dot(transposed(marks(actual)), marks(predicted)), labels};
  }
  static Value transposed(const Value& x) { return swap_axes(x, 0, 1); }
};

}  // namespace damo
