// Rows and columns that forms of specs which go through them once less are tried on, and specs run over them.
#pragma once
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <damo/array.hpp>
#include "runtime/kernel/body.hpp"
#include "runtime/kernel/reducing_specs.hpp"
#include "runtime/kernel/spec_kernel.hpp"
#include "support/devices.hpp"

namespace damo {

using Values = std::vector<double>;

inline Step less(int element, int center) { return map("x0 - x1", {element, center}); }
/// The spec computed so, but for its conditions.
inline KernelSpec of_dtype(DType dtype, KernelSpec spec) {
  for (Step& step : spec.steps) {
    if (step.result != bool_) step.result = dtype;
    step.compute = dtype;
    if (step.join && step.join->reduce == "maximum(a, b)" && dtype == float64) step.join->neutral = literal(Scalar(-std::numeric_limits<double>::infinity()));
  }
  for (DType& input : spec.inputs) input = dtype;
  for (DType& output : spec.outputs) output = dtype;
  return spec;
}

class JoinedRows : public testing::OnEachDevice {
 protected:
  using Fill = std::function<double(std::int64_t row, std::int64_t at, std::int64_t length)>;

  /// Rows of so many elements; of columns they lie turned.
  Array rows(const Fill& fill, std::int64_t count, std::int64_t length, bool columns, DType dtype = float32) const {
    Values values(static_cast<std::size_t>(count * length));
    for (std::int64_t row = 0; row < count; ++row) {
      for (std::int64_t at = 0; at < length; ++at) values[static_cast<std::size_t>(columns ? at * count + row : row * length + at)] = fill(row, at, length);
    }
    const Array array = Array::from(values, columns ? Shape{length, count} : Shape{count, length}, device());
    return dtype == float64 ? array : in_float32(array);
  }
  static Array in_float32(const Array& array) {
    std::vector<float> values;
    for (double value : array.to_doubles()) values.push_back(static_cast<float>(value));
    return Array::from(values, array.shape(), array.device());
  }
  void run(KernelSpec spec, const Shape& space, std::uint32_t mask, const std::vector<Array>& arrays) const {
    SpecKernel kernel(std::move(spec), device().backend());
    BoundKernel bound(kernel);
    std::vector<ArrayLayout> layouts;
    for (const Array& array : arrays) layouts.push_back({&array.shape(), &array.strides()});
    bound.bind(space, layouts, false, mask);
    for (std::size_t i = 0; i < arrays.size(); ++i) bound.set_pointer(static_cast<int>(i), arrays[i].data());
    bound.launch(nullptr);
  }
  struct Given {
    std::int64_t count, length;
    bool columns;
  };
  /// Rows that warps and blocks have, chunks of equal and unequal lengths, columns of some and of many.
  static std::vector<Given> spaces() {
    std::vector<Given> all;
    for (const auto& [count, length] : {std::pair<std::int64_t, std::int64_t>{3, 1}, {5, 2}, {4, 33}, {7, 1000}, {2, 5003}, {3, 70001}, {1, 300007}, {40, 4096}, {300, 129}}) {
      for (bool columns : {false, true}) all.push_back({count, length, columns});
    }
    return all;
  }
};

/// The sum of twelve numbers from a hash of the place, which is about normal, of deviation 1.
inline double normal(std::int64_t row, std::int64_t at) {
  std::uint64_t state = static_cast<std::uint64_t>(row) * 0x9e3779b97f4a7c15u + static_cast<std::uint64_t>(at) * 0xbf58476d1ce4e5b9u;
  double sum = -6;
  for (int i = 0; i < 4; ++i) {
    state = (state ^ state >> 29) * 0x94d049bb133111ebu + 1;
    for (int part = 0; part < 3; ++part) sum += static_cast<double>(state >> (1 + 21 * part) & 0x1fffff) / 0x1p21;
  }
  return sum;
}

}  // namespace damo
