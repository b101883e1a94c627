// KernelOps as users write them, in random graphs. A printed program carries this file with it.
#pragma once
#include <type_traits>

#include "family_parts.hpp"

namespace damo::testing {

/// The gradient by an operand of what an op stretched it to.
inline Variable summed(Variable g, const Variable& operand) {
  while (g.rank() > operand.rank()) g = sum(g, 0);
  for (int axis = 0; axis < g.rank(); ++axis) {
    if (operand.dims()[axis] == 1 && g.dims()[axis] != 1) g = sum(g, axis, true);
  }
  return g;
}

/// |x| y + 1, in two steps; x and y broadcast.
struct BendOp final : KernelOp {
  std::string name() const override { return "bend"; }
  void lower(KernelBuilder& k) const override { k.output(k.step("x0 * x1 + T(1)", {k.step("x0 < T(0) ? -x0 : x0", {k.input(0)}), k.input(1)})); }
  Gradients gradient(const Apply& node, std::span<const Variable> g) const override {
    const Variable &x = node.input(0), &y = node.input(1);
    return {summed(g[0] * sign(x) * y, x), summed(g[0] * abs(x), y)};
  }
};

/// x with each element's number modulo 5 added.
struct NumberedOp final : KernelOp {
  std::string name() const override { return "numbered"; }
  bool counts_elements() const override { return true; }
  void lower(KernelBuilder& k) const override {
    const auto number = k.step("x0 % 5", {k.ordinal()}, int64);
    k.output(k.step("x0 + x1", {k.input(0), number}, k.input(0).dtype));
  }
};

/// Along an axis, which stays: the mean of squares, or the greatest less the least.
struct AlongOp final : KernelOp {
  AlongOp(int axis, bool spread) : axis_(axis), spread_(spread) {}
  std::string name() const override { return spread_ ? "spread" : "mean_of_squares"; }
  Props props() const override { return {{"axis", std::int64_t{axis_}}, {"spread", spread_}}; }
  std::optional<std::uint32_t> reduced_axes() const override { return 1u << axis_; }
  void lower(KernelBuilder& k) const override {
    if (!spread_) return k.output(k.join({.element = "x0 * x0", .neutral = "0", .reduce = "a + b", .post = "a / T(n)"}, {k.input(0)}));
    const auto most = k.join({.element = "x0", .neutral = "T(-1000)", .reduce = "a > b ? a : b"}, {k.input(0)});
    const auto least = k.join({.element = "x0", .neutral = "T(1000)", .reduce = "a < b ? a : b"}, {k.input(0)});
    k.output(k.step("x0 - x1", {most, least}));
  }
  int axis_;
  bool spread_;
};

/// Along an axis, which stays: the mean square around the mean, of counts, means and squares that are joined together.
struct VarianceOp final : KernelOp {
  explicit VarianceOp(int axis) : axis_(axis) {}
  std::string name() const override { return "variance"; }
  Props props() const override { return {{"axis", std::int64_t{axis_}}}; }
  std::optional<std::uint32_t> reduced_axes() const override { return 1u << axis_; }
  void lower(KernelBuilder& k) const override {
    const DType t = k.input(0).dtype;
    const auto joined = k.join({.members = {{"count", t, "1", "0", "count"}, {"mean", t, "x0", "0", "a.mean + apart * share"}, {"m2", t, "0", "0", "a.m2 + b.m2 + apart * apart * a.count * share"}},
                                .before = "const T count = a.count + b.count, share = b.count / (count > 0 ? count : 1), apart = b.mean - a.mean;"},
                               {k.input(0)});
    k.output(k.step("x0 / x1", {joined[2], joined[0]}));
  }
  int axis_;
};

/// Sums of squares up to each element, by one more than how many they are, which are joined with them.
struct RunningMeanOp final : KernelOp {
  RunningMeanOp(int axis, bool backward, bool exclusive) : axis_(axis), backward_(backward), exclusive_(exclusive) {}
  std::string name() const override { return "running_mean"; }
  Props props() const override { return {{"axis", std::int64_t{axis_}}, {"backward", backward_}, {"exclusive", exclusive_}}; }
  std::optional<std::uint32_t> reduced_axes() const override { return 1u << axis_; }
  Scans scans() const override { return backward_ ? Scans::kBackward : Scans::kForward; }
  void lower(KernelBuilder& k) const override {
    const auto joined = k.scan({.members = {{"count", int32, "1", "0", "a.count + b.count"}, {"total", k.input(0).dtype, "x0 * x0", "0", "a.total + b.total"}}, .exclusive = exclusive_}, {k.input(0)});
    k.output(k.step("x0 / T(x1 + 1)", {joined[1], joined[0]}, k.input(0).dtype));
  }
  int axis_;
  bool backward_, exclusive_;
};

/// Sums of squares up to each element, from either end of an axis, with or without its own.
struct RunningOp final : KernelOp {
  RunningOp(int axis, bool backward, bool exclusive) : axis_(axis), backward_(backward), exclusive_(exclusive) {}
  std::string name() const override { return "running"; }
  Props props() const override { return {{"axis", std::int64_t{axis_}}, {"backward", backward_}, {"exclusive", exclusive_}}; }
  std::optional<std::uint32_t> reduced_axes() const override { return 1u << axis_; }
  Scans scans() const override { return backward_ ? Scans::kBackward : Scans::kForward; }
  void lower(KernelBuilder& k) const override { k.output(k.scan({.element = "x0 * x0", .neutral = "0", .reduce = "a + b", .exclusive = exclusive_}, {k.input(0)})); }
  int axis_;
  bool backward_, exclusive_;
};

/// numbers: axis; from which end; whether without an element's own.
template <class T>
std::vector<T> users_node(const std::string& how, const std::vector<T>& in, const std::vector<int>& numbers) {
  if constexpr (std::is_same_v<T, Variable>) {
    const Variable x = tamed(in[0]);
    if (how == "bend") return {make_op<BendOp>()(x, in[1])};
    if (how == "numbered") return {make_op<NumberedOp>()(x)};
    if (how == "variance") return {make_op<VarianceOp>(numbers[0])(x)};
    if (how == "running_mean") return {make_op<RunningMeanOp>(numbers[0], numbers[1] != 0, numbers[2] != 0)(x)};
    if (how == "running") return {make_op<RunningOp>(numbers[0], numbers[1] != 0, numbers[2] != 0)(x)};
    return {make_op<AlongOp>(numbers[0], how == "spread")(x)};
  }
  return {};
}

}  // namespace damo::testing
