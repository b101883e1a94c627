// Specs of kernels that reduce, written by hand: each shows another thing that a spec can say.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "runtime/kernel/spec.hpp"

namespace damo {

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

/// sum(2 x) and sum(x^2), joined at once; the mean and the mean square are values of a row.
inline KernelSpec moments() {
  return spec_of("moments", {map("x0 * T(2)", {0}), sum_of(1), map("x0 * x0", {0}), join("0", "a + b", 3, "a / T(n)")}, {2, 4});
}

/// x - mean(x), times a weight along the row, plus one value a row: inputs x, weight, bias.
inline KernelSpec center() {
  KernelSpec spec = spec_of("center", {join("0", "a + b", 0, "a / T(n)"), map("x0 + x1", {3, 2}), map("(x0 - x1) * x2", {0, 4, 1})}, {5, 4}, 3);
  spec.rows = {false, false, true};
  return spec;
}

/// The place of the greatest element, the first of equals.
inline KernelSpec argmax() {
  Step place;
  place.is_place = true;
  place.compute = place.result = int64;
  Step best = map("Best{float(x0), i64(x1)}", {0, 1});
  best.compute = float64;
  best.result = int64;
  best.join = Join{.accumulator = "Best",
                   .bytes = 16,
                   .preamble = "struct Best { float value; i64 at; };\n"
                               "DAMO_FUNCTION Best better(Best a, Best b) {\n"
                               "  if (a.at < 0 || b.at < 0) return a.at < 0 ? b : a;\n"
                               "  return b.value > a.value || (b.value == a.value && b.at < a.at) ? b : a;\n}\n",
                   .neutral = "Best{0, -1}",
                   .reduce = "better(a, b)",
                   .post = "a.at"};
  return spec_of("argmax", {place, best}, {2});
}

}  // namespace damo
