// SearchsortedOp: where values would be put into a table in order. A kernel's step searches, so that the values need not lie in memory, nor the places, of 8 bytes each, if what reads them is in the kernel too; the
// table must (KernelOp::reads_table). Inputs: the table, of one axis, and the values, both of one dtype. The search is prelude/table.h's: no branch depends on an element, and turns are as many as the table's size has
// binary digits, so that its first elements are read by all threads together and the others from the first-level cache.
#pragma once
#include <string>

#include <damo/kernel_op.hpp>

namespace damo {

class SearchsortedOp final : public KernelOp {
 public:
  /// right: behind equals, else before them.
  explicit SearchsortedOp(bool right) : right_(right) {}
  std::string name() const override { return "searchsorted"; }
  Props props() const override { return {{"right", right_}}; }
  Apply make_node(Inputs inputs) const override {
    inputs.require_count(2);
    require_rank(inputs.at(0), 1);
    return {*this, {inputs.at(0), inputs.at(1)}, {{int64, inputs.at(1).dims()}}};
  }
  bool reads_table(int input) const override { return input == 0; }
  int cost() const override { return kCost; }
  void lower(KernelBuilder& kernel) const override {
    kernel.output(kernel.step(right_ ? "upper_bound(x0, x1)" : "lower_bound(x0, x1)", {kernel.input(0), kernel.input(1)}, int64, kCost, SourceLine()));
  }
  Gradients gradient(const Apply&, std::span<const Variable>) const override { return Gradients(2, Gradient::disconnected()); }

 private:
  static constexpr int kCost = 64;  // instructions: 8 for each digit of a table of 256. On a CPU, whose vectors cannot search, it is then a loop of its own (runtime/cpu/segments.hpp)

  bool right_;
};

}  // namespace damo
