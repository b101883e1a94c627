// Rows and columns, and random specs, that forms of specs which go through them once less are tried on, and specs run over them.
#pragma once
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <damo/array.hpp>
#include "runtime/kernel/body.hpp"
#include "runtime/kernel/passes.hpp"
#include "runtime/kernel/reducing_specs.hpp"
#include "runtime/kernel/spec_kernel.hpp"
#include "runtime/kernel/step_forms.hpp"
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

/// Steps made at random, of two arrays: a chain of elementwise ones, to which a test adds what it is about.
class RandomSteps {
 public:
  explicit RandomSteps(std::mt19937& random) : random_(random) {}

  int below(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }
  int any_element() { return any(elements_); }
  int add(Step step, bool is_element) {
    steps_.push_back(std::move(step));
    const int value = 1 + static_cast<int>(steps_.size());
    all_.push_back(value);
    if (is_element) elements_.push_back(value);
    return value;
  }
  /// Up to two elementwise steps of whatever is there.
  void add_some() {
    static const char* const codes[] = {"(x0 + x1) * T(0.5)", "(x0 - x1) * T(0.5)", "x0 * x1 * T(0.5)", "maximum(x0, x1)"};
    for (int i = below(3); i > 0; --i) {
      const char* const code = codes[below(4)];
      const int first = any(elements_), second = any(all_);
      add(map(code, {first, second}), true);
    }
  }
  Step& last() { return steps_.back(); }
  /// Stores the last value, the last element and two others.
  KernelSpec spec(const std::string& name) {
    std::vector<int> stores = {all_.back(), elements_.back()};
    for (int i = 0; i < 2; ++i) stores.push_back(all_[2 + static_cast<std::size_t>(below(static_cast<int>(all_.size()) - 2))]);
    return spec_of(name, std::move(steps_), std::move(stores), 2);
  }

 private:
  int any(const std::vector<int>& values) { return values[static_cast<std::size_t>(below(static_cast<int>(values.size())))]; }

  std::mt19937& random_;
  std::vector<Step> steps_;
  std::vector<int> elements_ = {0, 1}, all_ = {0, 1};
};

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
  /// Runs a spec of two arrays and its form on random numbers about center: all outputs are within the roundings of the two.
  void expect_alike(const KernelSpec& spec, const KernelSpec& form, unsigned seed, double center, double deviation) const {
    EXPECT_LT(count_passes(form), count_passes(spec));
    static const std::vector<Given> spaces = {{6, 700, false}, {2, 9001, false}, {70, 600, true}, {3, 5000, true}};
    const auto& [count, length, columns] = spaces[seed % spaces.size()];
    const auto fill_from = [&](std::int64_t first) {
      return [=](std::int64_t row, std::int64_t at, std::int64_t) { return center + deviation * normal(first + row, at + static_cast<std::int64_t>(seed)); };
    };
    const Array x = rows(fill_from(0), count, length, columns), y = rows(fill_from(99), count, length, columns);
    Shape kept = x.shape();
    kept[columns ? 0 : 1] = 1;
    const Passes passes(spec, [](int, const Passes&) { return false; });
    std::vector<Array> plain = {x, y}, joined = {x, y};
    for (int store : spec.stores) {
      for (auto* arrays : {&plain, &joined}) arrays->push_back(Array::empty(passes.is_element(store) ? x.shape() : kept, float32, device()));
    }
    run(spec, x.shape(), columns ? 1u : 2u, plain);
    run(form, x.shape(), columns ? 1u : 2u, joined);
    for (std::size_t i = 2; i < plain.size(); ++i) {
      const Values a = plain[i].to_doubles(), b = joined[i].to_doubles();
      for (std::size_t k = 0; k < a.size(); ++k) ASSERT_NEAR(a[k], b[k], 2e-5 * (1 + std::abs(a[k]))) << "output " << i - 2 << " element " << k;
    }
  }
  /// Rows that warps and blocks have, chunks of equal and unequal lengths, columns of some and of many.
  static std::vector<Given> spaces() {
    std::vector<Given> all;
    for (const auto& [count, length] : {std::pair<std::int64_t, std::int64_t>{3, 1}, {5, 2}, {4, 33}, {7, 1000}, {2, 5003}, {3, 70001}, {1, 300007}, {40, 4096}, {300, 129}}) {
      for (bool columns : {false, true}) all.push_back({count, length, columns});
    }
    return all;
  }
};

}  // namespace damo
