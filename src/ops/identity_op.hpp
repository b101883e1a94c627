// IdentityOp: its input, with a gradient of its own. Gradients are taken when a function is built: there it is only its input.
#pragma once
#include <damo/kernel_op.hpp>

namespace damo {

class IdentityOp : public KernelOp {
 public:
  bool takes_float8() const override { return true; }
  int cost() const override { return 0; }
  void lower(KernelBuilder& kernel) const override { kernel.output(kernel.input(0)); }
};

}  // namespace damo
