#include <damo/optim.hpp>

#include <cmath>
#include <numbers>
#include <span>

#include <damo/gradient.hpp>
#include <damo/ops/cast.hpp>
#include <damo/ops/math.hpp>
#include <damo/ops/reduce.hpp>
#include "graph/user_line.hpp"

namespace damo::optim {
namespace {

void require(bool holds, const char* who, const std::string& what, SourceLine where, const std::string& remedy = {}) {
  if (!holds) asked(who, [&] { throw OptionError(std::string(who) + ": " + what, remedy); }, std::span<const Variable>(), where);
}

/// sgd's and the others' rate: a number, or a Variable that counts as one.
void require_rate(const char* who, const Operand& rate) {
  if (rate.is_number() ? std::isfinite(rate.number().as_double()) : rate.variable().rank() == 0) return;
  if (rate.is_number()) throw OptionError(std::string(who) + ": the rate is " + to_string(rate.number()), "give a finite number, or a Variable of rank 0");
  throw ShapeError(std::string(who) + ": the rate is " + describe(rate.variable()) + ", not one number", "give it rank 0");
}
/// A step that a rate follows.
void require_step(const char* who, const Variable& step, SourceLine where) {
  if (step && step.rank() == 0) return;
  asked(who, [&] {
    if (!step) throw GraphError(std::string(who) + ": the step is an empty Variable", "assign it before it is used");
    throw ShapeError(std::string(who) + ": the step is " + describe(step) + ", not one number", "give it rank 0");
  }, std::span(&step, 1), where);
}

DType wide(DType dtype) { return is_half(dtype) ? float32 : dtype; }

/// A parameter, its gradient and the rate in the dtype in which the step is computed, and where the updates go.
class Step {
 public:
  Step(const Shared& parameter, const Variable& gradient, const Operand& rate, Updates& updates)
      : value(cast(parameter, wide(parameter.dtype()))), gradient(cast(gradient, value.dtype())), rate(rate.is_number() ? rate.as(value.dtype()) : cast(rate, value.dtype())),
        parameter_(parameter), zeros_(Array::zeros(parameter.array().shape(), value.dtype(), parameter.device())), updates_(updates) {}

  Shared state(const std::string& what) const { return shared(what + " of " + parameter_.name(), zeros_); }
  /// Sets a state, and gives its new value on.
  const Variable& keep(const Shared& state, const Variable& next) const {
    updates_.push_back({state, next});
    return next;
  }
  void finish(const Variable& next) const { updates_.push_back({parameter_, cast(next, parameter_.dtype())}); }

  const Variable value, gradient, rate;

 private:
  Shared parameter_;
  Array zeros_;
  Updates& updates_;
};

template <class Rule>
Updates for_each(const char* who, const CostOrGradients& from, const std::vector<Shared>& parameters, const Operand& rate, const Rule& rule) {
  const BuiltAt here(rate.where());
  asked(who, [&] { require_rate(who, rate); }, rate);
  const std::vector<Variable> gradients = from.by(parameters);
  Updates updates;
  for (std::size_t i = 0; i < parameters.size(); ++i) rule(Step(parameters[i], gradients[i], rate, updates));
  return updates;
}

/// 1 - beta^t: by expm1, for in float32 1 less a number close to 1 would keep few digits.
Variable bias_correction(double beta, const Variable& t) { return -expm1(t * std::log(beta)); }

Updates adam_with_decay(const char* who, const CostOrGradients& from, const std::vector<Shared>& parameters, const Operand& rate, double decay, const AdamOptions& options) {
  for (const double beta : {options.beta1, options.beta2}) require(beta >= 0 && beta < 1, who, "a beta is 0 or more and less than 1, this one is " + std::to_string(beta), rate.where());
  require(options.epsilon >= 0, who, "epsilon is 0 or more, this one is " + std::to_string(options.epsilon), rate.where());
  if (parameters.empty()) return {};
  const Shared count = shared(std::string(who) + "'s steps", Array::full({}, std::int64_t{0}, int64, parameters.front().device()));
  Updates updates = for_each(who, from, parameters, rate, [&](const Step& step) {
    const Variable t = cast(count + 1, step.value.dtype());
    const Shared mean = step.state("mean"), square = step.state("square");
    const Variable m = step.keep(mean, options.beta1 * mean + (1 - options.beta1) * step.gradient);
    const Variable v = step.keep(square, options.beta2 * square + (1 - options.beta2) * sqr(step.gradient));
    const Variable direction = m / bias_correction(options.beta1, t) / (sqrt(v / bias_correction(options.beta2, t)) + options.epsilon);
    step.finish(step.value - step.rate * (decay != 0 ? direction + decay * step.value : direction));
  });
  updates.push_back({count, count + 1});
  return updates;
}

}  // namespace

std::vector<Variable> CostOrGradients::by(const std::vector<Shared>& parameters) const {
  if (is_cost_) return grad(values_.front(), std::vector<Variable>(parameters.begin(), parameters.end()), Disconnected::kRaise, line_of_user({}));
  return asked("optim", [&] {
    if (values_.size() != parameters.size()) {
      throw GraphError("optim: " + std::to_string(values_.size()) + " gradients for " + std::to_string(parameters.size()) + " parameters", "give one a parameter, in their order");
    }
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      if (values_[i].dtype() == parameters[i].dtype() && values_[i].rank() == parameters[i].rank()) continue;
      throw GraphError("optim: the gradient of " + describe(parameters[i]) + " is " + describe(values_[i]), "a gradient has its parameter's dtype and shape");
    }
    return values_;
  }, std::span<const Variable>(), {});
}

Updates sgd(const CostOrGradients& from, const std::vector<Shared>& parameters, const Operand& rate, SgdOptions options) {
  require(options.momentum >= 0 && options.momentum < 1, "sgd", "momentum lies between 0 and 1, this one is " + std::to_string(options.momentum), rate.where());
  require(options.momentum > 0 || !options.nesterov, "sgd", "Nesterov's step looks ahead by its momentum, which is 0", rate.where(), "give .momentum = 0.9, or leave .nesterov out");
  return for_each("sgd", from, parameters, rate, [&](const Step& step) {
    const Variable down = step.rate * step.gradient;
    if (options.momentum == 0) return step.finish(step.value - down);
    const Shared velocity = step.state("velocity");
    const Variable next = step.keep(velocity, options.momentum * velocity - down);
    step.finish(options.nesterov ? step.value + options.momentum * next - down : step.value + next);
  });
}

Updates adagrad(const CostOrGradients& from, const std::vector<Shared>& parameters, const Operand& rate, double epsilon) {
  require(epsilon >= 0, "adagrad", "epsilon is 0 or more, this one is " + std::to_string(epsilon), rate.where());
  return for_each("adagrad", from, parameters, rate, [&](const Step& step) {
    const Shared sum = step.state("sum of squares");
    step.finish(step.value - step.rate * step.gradient / (sqrt(step.keep(sum, sum + sqr(step.gradient))) + epsilon));
  });
}

Updates rmsprop(const CostOrGradients& from, const std::vector<Shared>& parameters, const Operand& rate, double decay, double epsilon) {
  require(decay >= 0 && decay < 1, "rmsprop", "decay lies between 0 and 1, this one is " + std::to_string(decay), rate.where());
  require(epsilon >= 0, "rmsprop", "epsilon is 0 or more, this one is " + std::to_string(epsilon), rate.where());
  return for_each("rmsprop", from, parameters, rate, [&](const Step& step) {
    const Shared square = step.state("square");
    step.finish(step.value - step.rate * step.gradient / (sqrt(step.keep(square, decay * square + (1 - decay) * sqr(step.gradient))) + epsilon));
  });
}

Updates adam(const CostOrGradients& from, const std::vector<Shared>& parameters, const Operand& rate, AdamOptions options) {
  return adam_with_decay("adam", from, parameters, rate, 0, options);
}

Updates adamw(const CostOrGradients& from, const std::vector<Shared>& parameters, const Operand& rate, double decay, AdamOptions options) {
  return adam_with_decay("adamw", from, parameters, rate, decay, options);
}

Variable global_norm(const std::vector<Variable>& gradients, SourceLine where) {
  const BuiltAt here(where);
  if (gradients.empty()) asked("global_norm", [] { throw GraphError("global_norm: of no gradients", "give at least one"); }, gradients, where);
  Variable total;
  for (const Variable& gradient : gradients) {
    const Variable squares = sum(sqr(cast(gradient, wide(gradient.dtype()))));
    total = total ? total + squares : squares;
  }
  return sqrt(total);
}

std::vector<Variable> clip_by_global_norm(const std::vector<Variable>& gradients, double limit, SourceLine where) {
  const BuiltAt here(where);
  require(limit > 0, "clip_by_global_norm", "the limit is greater than 0, this one is " + std::to_string(limit), where);
  const Variable norm = asked("clip_by_global_norm", [&] { return global_norm(gradients, where); }, gradients, where), factor = limit / maximum(norm, limit);
  std::vector<Variable> clipped;
  for (const Variable& gradient : gradients) clipped.push_back(cast(gradient * factor, gradient.dtype()));
  return clipped;
}

Variable cosine(const Variable& step, double base, double steps, double least, SourceLine where) {
  const BuiltAt here(where);
  require_step("cosine", step, where);
  require(steps > 0, "cosine", "it takes more than 0 steps", where);
  return least + (base - least) * 0.5 * (1.0 + cos(minimum(cast(step, float32) / steps, 1.0) * std::numbers::pi));
}

Variable exponential(const Variable& step, double base, double decay, double every, SourceLine where) {
  const BuiltAt here(where);
  require_step("exponential", step, where);
  require(decay > 0 && every > 0, "exponential", "decay and every are greater than 0", where);
  return base * exp(cast(step, float32) * (std::log(decay) / every));
}

Variable warmup(const Variable& step, const Operand& rate, double steps) {
  const BuiltAt here(rate.where());
  require_step("warmup", step, rate.where());
  require(steps > 0, "warmup", "it takes more than 0 steps", rate.where());
  return rate * minimum((cast(step, float32) + 1.0) / steps, 1.0);
}

}  // namespace damo::optim
