// Order statistics, counts and what is different, of Arrays, at once: see ops/statistics.hpp for what they mean. See tests/function/statistics_test.cpp.
#pragma once
#include <cstdint>
#include <optional>

#include <damo/array.hpp>
#include <damo/axes.hpp>

namespace damo {

Array ptp(const Array& x, const Axes& axes = {}, bool keepdims = false);
Array median(const Array& x, std::optional<int> axis = {}, bool keepdims = false);
Array quantile(const Array& x, double q, std::optional<int> axis = {}, bool keepdims = false);
Array bincount(const Array& x, std::int64_t min_length = 0);
Array bincount(const Array& x, const Array& weights, std::int64_t min_length = 0);

struct UniqueArrays {
  Array values, positions, inverse, counts;
};
UniqueArrays unique(const Array& x);

struct ConfusionMatrixArrays {
  Array matrix, labels;
};
ConfusionMatrixArrays confusion_matrix(const Array& actual, const Array& predicted);

}  // namespace damo
