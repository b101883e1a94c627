// Specs of prefix joins, each of which shows another thing that one can say, with what they give of a row in double precision; and spaces that
// tell the ways apart in which rows are shared out.
#pragma once
#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <damo/array.hpp>
#include "runtime/kernel/layout.hpp"
#include "runtime/kernel/reducing_specs.hpp"

namespace damo {

inline Step prefix(Step step, Prefix prefix, bool backward = false) {
  step.join->prefix = prefix;
  step.join->backward = backward;
  return step;
}

/// Prefixes of a softmax: prefix joins of what follows from joins of rows.
inline KernelSpec softmax_scan() {
  KernelSpec spec = softmax();
  spec.name = "softmax_scan";
  spec.steps.push_back(prefix(sum_of(4), Prefix::kInclusive));
  spec.stores = {5};
  return spec;
}

/// An element of a result, and by how much float32 may miss it.
struct Expected {
  double value, error;
};

struct ScanCase {
  KernelSpec spec;
  std::vector<bool> is_row;  ///< of every parameter
  /// From the elements of the inputs along a row (one, of a row's value) those of the outputs.
  std::function<std::vector<std::vector<Expected>>(const std::vector<std::vector<double>>&)> reference;
};

/// cumsum(x * y) * z + r, and x + 1: an elementwise value beside it, one value a row.
inline ScanCase weighted_sums() {
  KernelSpec spec = spec_of("weighted", {map("x0 * x1", {0, 1}), prefix(sum_of(4), Prefix::kInclusive), map("x0 * x1 + x2", {5, 2, 3}), map("x0 + T(1)", {0})}, {6, 7}, 4);
  spec.rows = {false, false, false, true};
  return {spec, {false, false, false, true, false, false}, [](const auto& in) {
            std::vector<std::vector<Expected>> out(2);
            double sum = 0, size = 0;
            for (std::size_t i = 0; i < in[0].size(); ++i) {
              sum += in[0][i] * in[1][i], size += std::abs(in[0][i] * in[1][i]);
              out[0].push_back({sum * in[2][i] + in[3][0], 1e-5 * (size * std::abs(in[2][i]) + 1)});
              out[1].push_back({in[0][i] + 1, 1e-6});
            }
            return out;
          }};
}

/// The sum of what stands behind each element.
inline ScanCase sums_behind() {
  return {spec_of("behind", {prefix(sum_of(0), Prefix::kExclusive, true)}, {1}), {false, false}, [](const auto& in) {
            std::vector<std::vector<Expected>> out(1, std::vector<Expected>(in[0].size()));
            double sum = 0, size = 0;
            for (std::size_t i = in[0].size(); i-- > 0;) {
              out[0][i] = {sum, 1e-5 * size};
              sum += in[0][i], size += std::abs(in[0][i]);
            }
            return out;
          }};
}

/// Sums and greatest values at once, and each element's place.
inline ScanCase sums_and_greatest() {
  return {spec_of("both", {prefix(sum_of(0), Prefix::kInclusive), prefix(max_of(0), Prefix::kInclusive), place_in_row(), map("exp(x0 - x1) + x2", {0, 2, 3}, 20)}, {1, 4}), {false, false, false}, [](const auto& in) {
            std::vector<std::vector<Expected>> out(2);
            double sum = 0, size = 0, greatest = -1e30;
            for (std::size_t i = 0; i < in[0].size(); ++i) {
              sum += in[0][i], size += std::abs(in[0][i]), greatest = std::max(greatest, in[0][i]);
              out[0].push_back({sum, 1e-5 * size});
              const double expected = std::exp(in[0][i] - greatest) + static_cast<double>(i);
              out[1].push_back({expected, 1e-6 * expected});
            }
            return out;
          }};
}

/// y = m y + c, before each element, with places from the last one: an operation that is not commutative, on a struct.
inline ScanCase recurrence(bool backward) {
  Step step = map("Joined{x0, x1}", {0, 1});
  step.join = Join{.bytes = 8, .members = {{"float", "m"}, {"float", "c"}}, .neutral = "Joined{1, 0}", .reduce = "Joined{a.m * b.m, b.m * a.c + b.c}", .post = "a.c"};
  const auto exclusive = prefix(step, Prefix::kExclusive, backward);
  Step half = map("x0 * T(0.25)", {0});
  KernelSpec spec = spec_of("recurrence", {half, exclusive, place_in_row(), map("x0 + x1", {3, 4})}, {5}, 2);
  spec.steps[1].inputs = {2, 1};
  return {spec, {false, false, false}, [backward](const auto& in) {
            std::vector<std::vector<Expected>> out(1, std::vector<Expected>(in[0].size()));
            double y = 0, size = 0;
            for (std::size_t n = 0; n < in[0].size(); ++n) {
              const std::size_t i = backward ? in[0].size() - 1 - n : n;
              out[0][i] = {y + static_cast<double>(i), 1e-5 * (size + 1) + 1e-7 * static_cast<double>(i)};
              y = 0.25 * in[0][i] * y + in[1][i];
              size = 0.25 * std::abs(in[0][i]) * size + std::abs(in[1][i]);
            }
            return out;
          }};
}

/// cumsum(x), and 2 r beside it: a value of a row that is made of nothing but values of rows.
inline ScanCase sums_beside_rows() {
  KernelSpec spec = spec_of("beside", {prefix(sum_of(0), Prefix::kInclusive), map("x0 * T(2)", {1})}, {2, 3}, 2);
  spec.rows = {false, true};
  return {spec, {false, true, false, true}, [](const auto& in) {
            std::vector<std::vector<Expected>> out(2);
            double sum = 0, size = 0;
            for (const double x : in[0]) {
              sum += x, size += std::abs(x);
              out[0].push_back({sum, 1e-5 * size});
            }
            out[1].push_back({2 * in[1][0], 1e-6});
            return out;
          }};
}

inline std::vector<ScanCase> scan_cases() { return {weighted_sums(), sums_beside_rows(), sums_behind(), sums_and_greatest(), recurrence(false), recurrence(true)}; }

/// One axis of each is scanned. The first ones tell apart all ways in which a GPU shares rows out.
inline std::vector<Given> scan_spaces(bool first_ones) {
  std::vector<Given> all = {{{3, 20001}, 2, false, true}, {{2000, 40}, 1},  {{1, 140000}, 2}, {{300, 33}, 2},         {{5, 1024}, 2},  {{5, 1001}, 2, false, true}, {{5000, 9}, 1}, {{3, 300, 64}, 2},
                            {{7, 31}, 2, true},           {{40, 7, 9}, 1}, {{2, 8192}, 2},   {{64, 300}, 1, false, false, true}, {{1, 1}, 2}, {{9, 515}, 2, false, false, true}};
  if (first_ones) return all;
  for (const Shape& shape : {Shape{3, 1}, Shape{1, 3}, Shape{7, 31}, Shape{300, 33}, Shape{70, 1024}, Shape{2, 20001}}) {
    for (std::uint32_t mask : {1u, 2u}) {
      for (bool turned : {false, true}) all.push_back({shape, mask, turned});
    }
  }
  for (std::uint32_t mask : {1u, 2u, 4u}) {
    for (bool turned : {false, true}) all.push_back({{40, 7, 9}, mask, turned}), all.push_back({{3, 100, 64}, mask, turned});
  }
  all.push_back({{64, 300}, 1, false, true}), all.push_back({{600, 1}, 1}), all.push_back({{40000, 3}, 1});
  return all;
}

/// Inputs and outputs of a case in a space, as it lies; noise between -2 and 2.
class ScanArrays {
 public:
  ScanArrays(const ScanCase& one, const Given& given, Device device) : one_(one), given_(given) {
    std::mt19937 random(1);
    for (int i = 0; i < one.spec.parameter_count(); ++i) {
      const bool is_row = one.is_row[static_cast<std::size_t>(i)], repeats = given.repeated && !one.spec.is_output(i);
      Shape shape = is_row || repeats ? row_shape(given) : given.shape;
      if (given.turned) std::reverse(shape.begin(), shape.end());
      std::vector<float> values(static_cast<std::size_t>(shape.size()) + 1);
      for (float& value : values) value = static_cast<float>(random() % 1000) / 250.0f - 2;
      Array array = Array::from(values, {shape.size() + 1}, device);
      const std::int64_t first = given.moved ? 1 : 0;
      array = array.slice({Slice{first, first + shape.size()}}).reshape(shape);
      if (repeats && !is_row) array = array.broadcast_to(given.shape);
      all.push_back(given.turned ? array.transpose() : array);
    }
    for (const Array& array : all) layouts.push_back({&array.shape(), &array.strides()});
  }
  ScanArrays(const ScanArrays&) = delete;

  /// "" or the first element that is not what the case's reference gives.
  std::string difference() const {
    std::vector<std::vector<double>> values;
    for (const Array& array : all) values.push_back(array.to_doubles());
    std::map<std::int64_t, std::vector<std::size_t>> rows;
    const Strides strides = contiguous_strides(row_shape(given_));
    for (std::int64_t i = 0; i < given_.shape.size(); ++i) {
      std::int64_t rest = i, row = 0;
      for (int axis = given_.shape.rank() - 1; axis >= 0; --axis) {
        if (!(given_.mask >> axis & 1u)) row += rest % given_.shape[axis] * strides[axis];
        rest /= given_.shape[axis];
      }
      rows[row].push_back(static_cast<std::size_t>(i));
    }
    for (const auto& [row, elements] : rows) {
      std::vector<std::vector<double>> in;
      const std::size_t inputs = static_cast<std::size_t>(one_.spec.input_count());
      for (std::size_t i = 0; i < inputs; ++i) {
        in.emplace_back();
        if (one_.is_row[i]) in.back().push_back(values[i][static_cast<std::size_t>(row)]);
        else for (std::size_t element : elements) in.back().push_back(values[i][element]);
      }
      const auto expected = one_.reference(in);
      for (std::size_t output = 0; output < expected.size(); ++output) {
        const bool is_row = one_.is_row[inputs + output];
        for (std::size_t k = 0; k < (is_row ? 1 : elements.size()); ++k) {
          const double found = values[inputs + output][is_row ? static_cast<std::size_t>(row) : elements[k]];
          if (std::abs(found - expected[output][k].value) <= expected[output][k].error) continue;
          return "output " + std::to_string(output) + " row " + std::to_string(row) + " element " + std::to_string(k) + ": " + std::to_string(found) + ", not " + std::to_string(expected[output][k].value);
        }
      }
    }
    return "";
  }

  std::vector<Array> all;
  std::vector<ArrayLayout> layouts;

 private:
  const ScanCase& one_;
  const Given& given_;
};

}  // namespace damo
