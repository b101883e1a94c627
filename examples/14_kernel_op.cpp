// An op that describes its kernel: a reduction that no library has, the logarithm of the mean of exponentials ("soft maximum") along
// rows. In the middle of a graph it becomes a part of one kernel, which reads each element once.
#include <damo/damo.hpp>
#include <iostream>
using namespace damo;

/// log(mean(exp(x))) along the last of two axes, which stays with extent 1. Each row's running value is what is joined.
struct SoftMaximum final : KernelOp {
  std::string name() const override { return "soft_maximum"; }
  std::optional<std::uint32_t> reduced_axes() const override { return 0b10; }
  void lower(KernelBuilder& k) const override {
    const auto x = k.input(0);
    const auto most = k.join({.element = "x0", .neutral = "T(-1) / T(0)", .reduce = "a > b ? a : b"}, {x});
    const auto mean = k.join({.element = "exp(x0 - x1)", .neutral = "0", .reduce = "a + b", .post = "a / T(n)"}, {x, most});
    k.output(k.step("x0 + log(x1)", {most, mean}));
  }
  /// The softmax of each row, times g.
  Gradients gradient(const Apply& node, std::span<const Variable> g) const override {
    const Variable e = exp(node.input(0) - max(node.input(0), 1, keepdims));
    return g[0] * (e / sum(e, 1, keepdims));
  }
};
inline const auto soft_maximum = make_op<SoftMaximum>();

int main() {
  const Variable x = matrix("x");
  const Function f = function({x}, {x - soft_maximum(3.0 * x) / 3.0});
  std::cout << f.explain() << "\n";

  const Array rows = Array::from(std::vector<float>{0, 1, 2, 3, 5, 5, 5, 5, -1, 0, 0, 9}, {3, 4});
  std::cout << Array(f(rows)) << "\n";

  const Function slope = function({x}, {grad(sum(soft_maximum(x)), {x})[0]});
  std::cout << "slopes, which add up to 1 in each row:\n" << Array(slope(rows)) << "\n";
}
