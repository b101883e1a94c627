// Optimizers: from a cost and its parameters to updates, which function() takes. Each state that an optimizer keeps is a shared variable.
//
//   Function train = function({x, y}, {cost}, {.updates = optim::adam(cost, {w, b}, 1e-3)});
//
//   auto g = optim::clip_by_global_norm(grad(cost, {w, b}), 1.0);          // gradients in the cost's place
//   Shared step = shared("step", Array::scalar(std::int64_t{0}));          // a rate that changes
//   auto updates = optim::adamw(g, {w, b}, optim::warmup(step, optim::cosine(step, 1e-3, 10000), 100));
//   updates.push_back({step, step + 1});
//
// p: a parameter, g: its gradient, r: the rate, a number or a Variable of rank 0. float16 and bfloat16 parameters are stepped, and their state is
// kept, in float32. All parameters' steps fuse; like ones are one launch. GraphError for gradients that are not one a parameter, or of other
// types; OptionError for numbers that an optimizer cannot have. Errors tell the line of the call. See tests/train/optim_test.cpp, which holds each against its formula.
#pragma once
#include <vector>

#include <damo/shared.hpp>

namespace damo::optim {

using Updates = std::vector<Assignment>;

/// What steps are computed from.
class CostOrGradients {
 public:
  CostOrGradients(const Variable& cost) : values_{cost}, is_cost_(true) {}
  CostOrGradients(std::vector<Variable> gradients) : values_(std::move(gradients)) {}
  /// One a parameter, in their order.
  std::vector<Variable> by(const std::vector<Shared>& parameters) const;

 private:
  std::vector<Variable> values_;
  bool is_cost_ = false;
};

struct SgdOptions {
  double momentum = 0;
  bool nesterov = false;
};
/// p - r g. With momentum m (Sutskever et al. 2013): v' = m v - r g, p' = p + v'; Nesterov's looks ahead: p' = p + m v' - r g.
Updates sgd(const CostOrGradients& from, const std::vector<Shared>& parameters, const Operand& rate, SgdOptions options = {});

/// s' = s + g^2, p' = p - r g / (sqrt(s') + epsilon). Duchi, Hazan, Singer 2011.
Updates adagrad(const CostOrGradients& from, const std::vector<Shared>& parameters, const Operand& rate, double epsilon = 1e-10);

/// s' = decay s + (1 - decay) g^2, p' = p - r g / (sqrt(s') + epsilon). Tieleman, Hinton 2012.
Updates rmsprop(const CostOrGradients& from, const std::vector<Shared>& parameters, const Operand& rate, double decay = 0.9, double epsilon = 1e-8);

struct AdamOptions {
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;
};
/// m' = b1 m + (1 - b1) g, v' = b2 v + (1 - b2) g^2, p' = p - r (m' / (1 - b1^t)) / (sqrt(v' / (1 - b2^t)) + epsilon), t = 1, 2, ... Kingma, Ba 2015.
Updates adam(const CostOrGradients& from, const std::vector<Shared>& parameters, const Operand& rate, AdamOptions options = {});
/// Adam's step with weights that shrink by themselves: p' = p - r (Adam's + decay p). Loshchilov, Hutter 2019.
Updates adamw(const CostOrGradients& from, const std::vector<Shared>& parameters, const Operand& rate, double decay = 0.01, AdamOptions options = {});

/// sqrt of the sum of all squares, in float32 (float64 if a gradient is): rank 0. GraphError for none.
Variable global_norm(const std::vector<Variable>& gradients, SourceLine where = {__builtin_FILE(), __builtin_LINE()});
/// All gradients shrunk alike where their norm is greater than limit: g limit / max(norm, limit). A NaN or infinity in one makes all NaN or 0.
std::vector<Variable> clip_by_global_norm(const std::vector<Variable>& gradients, double limit, SourceLine where = {__builtin_FILE(), __builtin_LINE()});

// Rates by step, an integer of rank 0 that counts from 0: Variables of float32.
/// base (1 + cos(pi step / steps)) / 2 from base down to least, where it stays. Loshchilov, Hutter 2017.
Variable cosine(const Variable& step, double base, double steps, double least = 0, SourceLine where = {__builtin_FILE(), __builtin_LINE()});
/// base decay^(step / every).
Variable exponential(const Variable& step, double base, double decay, double every = 1, SourceLine where = {__builtin_FILE(), __builtin_LINE()});
/// rate times (step + 1) / steps, until that is 1.
Variable warmup(const Variable& step, const Operand& rate, double steps);

}  // namespace damo::optim
