// Specs of kernels that reduce, written by hand, each of which shows another thing that a spec can say, or made at random; and the
// spaces that they go over.
#pragma once
#include <limits>
#include <ostream>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <damo/shape.hpp>
#include "runtime/kernel/body.hpp"
#include "runtime/kernel/spec.hpp"

namespace damo {

/// A space, and which of its axes are reduced.
struct Given {
  Shape shape;
  std::uint32_t mask;
  bool turned = false;  ///< arrays lie in memory with their axes in reverse order
  bool moved = false;   ///< arrays begin an element behind where vectors do
  bool repeated = false;  ///< inputs have one element in memory for all that are reduced together
  bool infinite = false;  ///< rows along the last axis have infinities and NaN, each in another way
};
inline void PrintTo(const Given& given, std::ostream* out) {
  *out << to_string(given.shape) << " mask " << given.mask << (given.turned ? " turned" : "") << (given.moved ? " moved" : "") << (given.repeated ? " repeated" : "") << (given.infinite ? " infinite" : "");
}

/// Element `at` of a row of so many in its infinite form: -inf alone; one NaN; one +inf; -inf in the first half, the last three quarters, and all places but one; -inf and +inf; NaN in a row of -inf.
inline float infinite_value(std::int64_t row, std::int64_t at, std::int64_t length, float value) {
  constexpr float infinity = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  const bool chosen = at == length / 3;
  switch (row % 9) {
    case 0: return -infinity;
    case 1: return chosen ? nan : value;
    case 2: return chosen ? infinity : value;
    case 3: return at < length / 2 ? -infinity : value;
    case 4: return at >= length / 4 ? -infinity : value;
    case 5: return chosen ? value : -infinity;
    case 6: return chosen ? infinity : -infinity;
    case 7: return chosen ? nan : -infinity;
    default: return value;
  }
}

/// Of what there is one of a row.
inline Shape row_shape(const Given& given) {
  Shape shape = given.shape;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (given.mask >> axis & 1u) shape[axis] = 1;
  }
  return shape;
}

/// Of what there is one for each place of a row.
inline Shape column_shape(const Given& given) {
  Shape shape = given.shape;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (!(given.mask >> axis & 1u)) shape[axis] = 1;
  }
  return shape;
}

inline Step map(std::string code, std::vector<int> inputs, int cost = 1) {
  Step step;
  step.name = "map";
  step.code = std::move(code);
  step.inputs = std::move(inputs);
  step.cost = cost;
  return step;
}

inline Step join(std::string neutral, std::string reduce, int input, std::string post = "") {
  Step step = map("x0", {input});
  step.name = "join";
  step.join = Join{.neutral = std::move(neutral), .reduce = std::move(reduce), .post = std::move(post)};
  return step;
}

inline Step sum_of(int input) { return join("0", "a + b", input); }
inline Step max_of(int input) { return join("-T(1) / T(0)", "maximum(a, b)", input); }

/// Of the count, the mean and the sum of squares around it, which are joined together, the mean or the mean square: those of one value have one accumulator.
inline Step moment_of(int input, bool second) {
  Step step = map("Joined{1, x0, 0}", {input});
  step.name = second ? "variance" : "mean";
  step.join = Join{.bytes = 12,
                   .members = {{"float", "count"}, {"float", "mean"}, {"float", "m2"}},
                   .neutral = "Joined{0, 0, 0}",
                   .before = "const T count = a.count + b.count, share = b.count / (count > 0 ? count : 1), apart = b.mean - a.mean;",
                   .reduce = "Joined{count, a.mean + apart * share, a.m2 + b.m2 + apart * apart * a.count * share}",
                   .post = second ? "a.m2 / T(n)" : "a.mean"};
  return step;
}

/// Of what the rows have at one place.
inline Step across(Step step) {
  step.join->across = true;
  if (step.join->members.empty()) step.join->bytes = static_cast<int>(itemsize(step.compute));
  return step;
}

inline KernelSpec spec_of(std::string name, std::vector<Step> steps, std::vector<int> stores, int inputs = 1) {
  KernelSpec spec;
  spec.name = std::move(name);
  spec.inputs = std::vector<DType>(static_cast<std::size_t>(inputs), float32);
  spec.steps = std::move(steps);
  spec.stores = std::move(stores);
  for (int store : spec.stores) spec.outputs.push_back(spec.steps[static_cast<std::size_t>(store - inputs)].result);
  return spec;
}

/// x - max, exp, / sum: three passes.
inline KernelSpec softmax() {
  return spec_of("softmax", {max_of(0), map("exp(x0 - x1)", {0, 1}, 15), sum_of(2), map("x0 / x1", {2, 3}, 4)}, {4});
}

/// The softmax, its logarithm, and the logarithm of the sum of exponentials, in steps as the ops give them.
inline KernelSpec log_softmax() {
  const Step greatest = join(literal(Scalar(-std::numeric_limits<float>::infinity())), "maximum(a, b)", 0);
  return spec_of("log_softmax", {greatest, map("x0 - x1", {0, 1}), map("exp(x0)", {2}, 15), sum_of(3), map("x0 / x1", {3, 4}, 4), map("log(x0)", {4}, 15), map("x0 - x1", {2, 6}), map("x0 + x1", {1, 6})}, {5, 7, 8});
}

/// The first of these alone, and the other two.
inline KernelSpec softmax_in_steps() { return spec_of("softmax_in_steps", {log_softmax().steps[0], log_softmax().steps[1], log_softmax().steps[2], log_softmax().steps[3], log_softmax().steps[4]}, {5}); }
inline KernelSpec log_softmax_alone() {
  KernelSpec spec = log_softmax();
  spec.name = "log_softmax_alone";
  spec.stores = {7, 8};
  spec.outputs = {float32, float32};
  return spec;
}

/// sum(2 x) and sum(x^2), joined at once; the mean and the mean square are values of a row.
/// Of two arrays: a softmax and what comes to it.
inline KernelSpec softmax_gradient() { return spec_of("softmax_gradient", {map("x0 * x1", {0, 1}), sum_of(2), map("x0 * (x1 - x2)", {0, 1, 3})}, {4}, 2); }
inline KernelSpec moments() {
  return spec_of("moments", {map("x0 * T(2)", {0}), sum_of(1), map("x0 * x0", {0}), join("0", "a + b", 3, "a / T(n)")}, {2, 4});
}

/// The mean and the variance of a row.
inline KernelSpec spread() { return spec_of("spread", {moment_of(0, false), moment_of(0, true)}, {1, 2}); }
/// Elements less their mean by their deviation, from one accumulator a row; and the mean of rows and the variance of columns.
inline KernelSpec normed() { return spec_of("normed", {moment_of(0, true), moment_of(0, false), map("(x0 - x1) * rsqrt(x2 + T(0.01))", {0, 2, 1})}, {3}); }
inline KernelSpec spread_of_both() { return spec_of("spread_of_both", {moment_of(0, false), across(moment_of(0, true)), across(moment_of(0, false))}, {1, 2, 3}); }

/// x - mean(x), times a weight along the row, plus one value a row: inputs x, weight, bias.
inline KernelSpec center() {
  KernelSpec spec = spec_of("center", {join("0", "a + b", 0, "a / T(n)"), map("x0 + x1", {3, 2}), map("(x0 - x1) * x2", {0, 4, 1})}, {5, 4}, 3);
  spec.rows = {false, false, true};
  return spec;
}

/// As the gradient of a norm: of x and g the sum of (x - mean(x)) g along the row and across rows, the greatest g across rows, and an element
/// that needs the row's sum.
inline KernelSpec norm_gradient() {
  return spec_of("norm_gradient", {join("0", "a + b", 0, "a / T(n)"), map("(x0 - x1) * x2", {0, 2, 1}), sum_of(3), across(sum_of(3)), across(max_of(1)), map("x0 - x1 * T(0.01)", {3, 4})},
                 {7, 4, 5, 6}, 2);
}

/// The gradients of a layer norm and of an RMS norm by x and by what multiplies each row, of layer norm also by what is added to it: inputs x, g and the
/// weight, of which all rows have the same elements.
inline KernelSpec layer_norm_gradients() {
  return spec_of("layer_norm_gradients",
                 {join("0", "a + b", 0, "a / T(n)"), map("x0 - x1", {0, 3}), map("x0 * x1", {1, 2}), map("x0 * x0", {4}), join("0", "a + b", 6, "a / T(n)"), map("rsqrt(x0 + T(0.01))", {7}),
                  map("x0 * x1 * x2", {5, 4, 8}), join("0", "a + b", 9, "a / T(n)"), join("0", "a + b", 5, "a / T(n)"), map("(x0 - x1 - x2 * x3 * x4) * x4", {5, 11, 4, 10, 8}),
                  map("x0 * x1 * x2", {1, 4, 8}), across(sum_of(13)), across(sum_of(1))},
                 {12, 14, 15}, 3);
}
/// The same without the gradient by what is added, so that no pass before the second reads g, and added to a fourth input, which the last pass alone reads.
inline KernelSpec layer_norm_gradients_added() {
  KernelSpec spec = layer_norm_gradients();
  spec.name = "layer_norm_gradients_added";
  spec.inputs.push_back(float32);
  spec.steps.pop_back();
  for (Step& step : spec.steps) {
    for (int& input : step.inputs) input += input > 2 ? 1 : 0;
  }
  spec.steps.push_back(map("x0 + x1", {13, 3}));
  spec.stores = {16, 15};
  spec.outputs = {float32, float32};
  return spec;
}
inline KernelSpec rms_norm_gradients() {
  return spec_of("rms_norm_gradients",
                 {map("x0 * x0", {0}), join("0", "a + b", 3, "a / T(n)"), map("x0 * x1", {1, 2}), map("x0 * x1", {5, 0}), join("0", "a + b", 6, "a / T(n)"), map("rsqrt(x0 + T(0.01))", {4}),
                  map("(x0 - x1 * x2 * x3 * x3) * x3", {5, 0, 7, 8}), map("x0 * x1 * x2", {1, 0, 8}), across(sum_of(10))},
                 {9, 11}, 3);
}

/// The sums of rows and of columns, which one pass gives.
inline KernelSpec sums_of_both() { return spec_of("sums_of_both", {sum_of(0), across(sum_of(0))}, {1, 2}); }

/// The same, those of columns in float64: a vector of float32 elements then takes twice the bytes of an access where a block holds its sums.
inline KernelSpec sums_of_both_in_float64() {
  Step columns = sum_of(0);
  columns.compute = float64;
  return spec_of("sums_of_both_in_float64", {sum_of(0), across(std::move(columns))}, {1, 2});
}

inline Step place_in_row() {
  Step place;
  place.is_place = true;
  place.compute = place.result = int64;
  return place;
}

/// Each element's place times one value a row, and no join: inputs x, of which nothing is read, and the value.
inline KernelSpec places() {
  KernelSpec spec = spec_of("places", {place_in_row(), map("x0 * x1", {2, 1})}, {3}, 2);
  spec.rows = {false, true};
  return spec;
}

/// The place of the greatest element, the first of equals.
inline KernelSpec argmax() {
  Step best = map("Joined{float(x0), i64(x1)}", {0, 1});
  best.compute = float64;
  best.result = int64;
  best.join = Join{.bytes = 16,
                   .members = {{"float", "value"}, {"i64", "at"}},
                   .neutral = "Joined{0, -1}",
                   .before = "if (a.at < 0 || b.at < 0) return a.at < 0 ? b : a;",
                   .reduce = "b.value > a.value || (b.value == a.value && b.at < a.at) ? b : a",
                   .post = "a.at"};
  return spec_of("argmax", {place_in_row(), best}, {2});
}

/// Two joins across rows of whatever the spec has, and stores of them.
inline void add_across(KernelSpec& spec, std::mt19937& random) {
  for (int i = 0; i < 2; ++i) {
    int value = 0;
    do value = static_cast<int>(random() % (static_cast<std::size_t>(spec.first_step()) + spec.steps.size()));
    while (spec.is_across(value));
    spec.steps.push_back(across(random() % 3 == 0 ? moment_of(value, i == 1) : sum_of(value)));
    spec.stores.push_back(spec.first_step() + static_cast<int>(spec.steps.size()) - 1);
    spec.outputs.push_back(float32);
  }
}

/// Of 4 arrays, the third of which all rows share, elementwise steps and means of rows of whatever came before, two joins across rows, and stores of the last element's value and of these. Values stay
/// within those of the inputs, so that roundings do.
inline KernelSpec random_gradients(std::mt19937& random) {
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  static const char* const codes[] = {"(x0 + x1) * T(0.5)", "(x0 - x1) * T(0.5)", "x0 * x1 * T(0.5)", "maximum(x0, x1)"};
  std::vector<Step> steps;
  std::vector<int> elements = {0, 1, 2, 3}, all = elements;
  const auto any = [&](const std::vector<int>& values) { return values[values.size() - 1 - static_cast<std::size_t>(below(std::min(static_cast<int>(values.size()), 5)))]; };
  for (int i = 0; i < 9; ++i) {
    const int value = 4 + i;
    if (i % 3 == 1) {
      if (below(2) == 0) steps.push_back(join("0", "a + b", any(elements), "a / T(n)"));
      else steps.push_back(moment_of(i > 3 && below(2) == 0 ? steps[1].inputs[0] : any(elements), below(2) == 0));
    } else {
      steps.push_back(map(codes[below(4)], {any(elements), any(all)}));
      elements.push_back(value);
    }
    all.push_back(value);
  }
  const int last = elements.back();
  const int summed = any(elements);
  const bool moments = below(2) == 0;
  steps.push_back(across(moments ? moment_of(summed, true) : sum_of(summed)));
  steps.push_back(across(moments && below(2) == 0 ? moment_of(summed, false) : max_of(any(elements))));
  return spec_of("random_gradients", std::move(steps), {last, 13, 14}, 4);
}

/// Of 3 arrays (the last along rows), a number and a constant: a join of the first, then steps and joins of whatever came before,
/// and stores of some of them.
inline KernelSpec random_spec(std::mt19937& random, int steps) {
  const auto below = [&](std::size_t n) { return static_cast<int>(random() % n); };
  KernelSpec spec;
  spec.name = "random";
  spec.inputs = {float32, float16, float32};
  spec.rows = {false, false, true};
  spec.numbers = {Scalar(2.5f)};
  spec.constants = {Scalar(7.0f)};
  for (int i = 0; i < steps; ++i) {
    const auto near = [&] { return std::max(0, spec.first_step() + i - 1 - below(6)); };
    if (i == 0 || below(4) == 0) {
      if (const int joined = i == 0 ? 0 : near(); below(2) == 0) spec.steps.push_back(sum_of(joined));
      else spec.steps.push_back(moment_of(joined, below(2) == 0));
    } else {
      spec.steps.push_back(map("f" + std::to_string(i) + "(x0, x1)", {near(), below(2) == 0 ? near() : below(2)}, 1 + below(12)));
    }
    if (below(5) == 0) spec.steps.back().result = float16;
  }
  for (int i = 0; i < steps; ++i) {
    if (i + 1 < steps && below(4) != 0) continue;
    spec.stores.push_back(spec.first_step() + i);
    spec.outputs.push_back(spec.steps[static_cast<std::size_t>(i)].result);
  }
  return spec;
}

}  // namespace damo
