// Joins of several values at once: Welford's mean and variance, which no sum of squares spoils, and the recurrence h = m h + c of a linear recurrent layer, whose steps are maps that are joined in any
// grouping, so that a device takes them side by side. Each op gives one value of its join; those that stand side by side in a kernel share it.
#include <cmath>
#include <damo/damo.hpp>
#include <damo/reduction_kernel.hpp>
#include <damo/scan_kernel.hpp>
#include <iostream>
using namespace damo;

/// Of rows: the mean and the variance. Two parts of a row with counts, means and sums of squares around these give those of both (Chan, Golub and LeVeque 1979).
struct MomentOp final : KernelOp {
  explicit MomentOp(bool variance) : variance_(variance) {}
  std::string name() const override { return variance_ ? "variance" : "mean"; }
  Props props() const override { return {{"variance", variance_}}; }
  std::optional<std::uint32_t> reduced_axes() const override { return 0b10; }
  void lower(KernelBuilder& k) const override {
    const auto joined = k.join({.members = {{"count", float32, "1", "0", "count"},
                                            {"mean", float32, "x0", "0", "a.mean + apart * share"},
                                            {"m2", float32, "0", "0", "a.m2 + b.m2 + apart * apart * a.count * share"}},
                                .before = "const T count = a.count + b.count, share = b.count / (count > 0 ? count : 1), apart = b.mean - a.mean;"},
                               {k.input(0)});
    k.output(variance_ ? k.step("x0 / x1", {joined[2], joined[0]}) : joined[1]);
  }
  bool variance_;
};
const auto mean_of_rows = make_op<MomentOp>(false), variance_of_rows = make_op<MomentOp>(true);

/// h[i] = m[i] h[i - 1] + c[i] along rows, from 0 on; exclusive: h[i - 1]. One step behind another is h -> b.m (a.m h + a.c) + b.c: no step commutes with another.
struct RecurrenceOp final : KernelOp {
  RecurrenceOp(bool backward, bool exclusive) : backward_(backward), exclusive_(exclusive) {}
  std::string name() const override { return "recurrence"; }
  Props props() const override { return {{"backward", backward_}, {"exclusive", exclusive_}}; }
  std::optional<std::uint32_t> reduced_axes() const override { return 0b10; }
  Scans scans() const override { return backward_ ? Scans::kBackward : Scans::kForward; }
  void lower(KernelBuilder& k) const override {
    const auto joined = k.scan({.members = {{"m", float32, "x0", "1", "a.m * b.m"}, {"c", float32, "x1", "0", "b.m * a.c + b.c"}}, .exclusive = exclusive_}, {k.input(0), k.input(1)});
    k.output(joined[1]);
  }
  /// What h[i] gives to those behind it comes back the other way: q[i] = g[i] + m[i + 1] q[i + 1]. Of one that is not exclusive.
  Gradients gradient(const Apply& node, std::span<const Variable> g) const override {
    const Variable &m = node.input(0), &c = node.input(1);
    const Variable q = g[0] + make_op<RecurrenceOp>(!backward_, true)(m, m * g[0]);
    return {q * make_op<RecurrenceOp>(backward_, true)(m, c), q};
  }
  bool backward_, exclusive_;
};
const auto recurrence = make_op<RecurrenceOp>(false, false);

int main() {
  const Variable x = matrix("x"), m = matrix("m");
  const Function normed = function({x}, {(x - mean_of_rows(x)) / sqrt(variance_of_rows(x)), mean_of_rows(x), variance_of_rows(x)});
  std::cout << normed.explain() << "\n";
  // 10,000 and something: the sum of squares would have lost the variance in float32.
  const auto [y, mean, variance] = normed.call<3>(Array::from(std::vector<float>{10001, 10002, 10003, 10004, 10000, 10000, 10000, 10008}, {2, 4}));
  std::cout << "means " << mean << "\nvariances " << variance << "\nnormed " << y << "\n";
  const bool right_moments = mean.to_doubles() == std::vector<double>{10002.5, 10002} && variance.to_doubles() == std::vector<double>{1.25, 12};

  const Function h = function({m, x}, {recurrence(m, x), grad(sum(recurrence(m, x)), m)});
  const Array halves = Array::from(std::vector<float>{0.5f, 0.5f, 0.5f, 0.5f}, {1, 4}), ones = Array::from(std::vector<float>{1, 1, 1, 1}, {1, 4});
  const auto [states, slopes] = h.call<2>(halves, ones);
  std::cout << "h " << states << "\nslopes by m " << slopes << "\n";
  const bool right_states = states.to_doubles() == std::vector<double>{1, 1.5, 1.75, 1.875} && slopes.to_doubles() == std::vector<double>{0, 1.75, 2.25, 1.75};

  // The same on arrays, without a graph: the two greatest, each a result.
  const ReductionKernel greatest({.arguments = "const float* x",
                                  .members = {{"first", float32, "x[i]", "-INFINITY", "fmaxf(a.first, b.first)"},
                                              {"second", float32, "-INFINITY", "-INFINITY", "fmaxf(fminf(a.first, b.first), fmaxf(a.second, b.second))"}}});
  const std::vector<Array> two = greatest.results(Array::from(std::vector<float>{3, 7, -1, 7, 5}));
  std::cout << "the two greatest " << two[0] << " " << two[1] << "\n";
  // And the recurrence, whose result of each member is an array: the products of m, and h.
  const InclusiveScanKernel states_of({.arguments = "const float* m, const float* c", .members = {{"m", float32, "m[i]", "1", "a.m * b.m"}, {"h", float32, "c[i]", "0", "b.m * a.h + b.h"}}});
  const Array same = states_of.results(halves, ones)[1];
  std::cout << "h again " << same << "\n";
  const bool right = right_moments && right_states && two[0].item().as_double() == 7 && two[1].item().as_double() == 7 && same.to_doubles() == states.to_doubles();
  std::cout << (right ? "all as expected\n" : "not as expected\n");
  return right ? 0 : 1;
}
