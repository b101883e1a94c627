#include "ops/size_op.hpp"

#include <functional>
#include <string>
#include <utility>

#include <damo/thunk.hpp>
#include "ops/rewrites/folding.hpp"
#include "runtime/backend.hpp"

namespace damo {
namespace {

std::uint64_t bits_of_number(const Scalar& number) {
  std::uint64_t bits = 0;
  number.store(&bits);
  return bits;
}

bool are_equal(const SizeOp::Step& a, const SizeOp::Step& b) {
  if (a.result != b.result || a.axes != b.axes || a.factor != b.factor || a.compute != b.compute || a.terms.size() != b.terms.size() || !a.op != !b.op) return false;
  if (a.op && !a.op->equals(*b.op)) return false;
  for (std::size_t i = 0; i < a.terms.size(); ++i) {
    const SizeOp::Term &x = a.terms[i], &y = b.terms[i];
    if (x.step != y.step || x.number.dtype() != y.number.dtype() || bits_of_number(x.number) != bits_of_number(y.number)) return false;
  }
  return true;
}

}  // namespace

/// number="true_div(1, shape[0])".
Props SizeOp::props() const {
  std::vector<std::string> texts;
  for (const Step& step : steps_) {
    std::string text = step.op ? step.op->name() + "(" : step.factor == 1 && !step.axes.empty() ? ""
                                                                                                : std::to_string(step.factor);
    for (std::int64_t axis : step.axes) text += (text.empty() ? "shape[" : " * shape[") + std::to_string(axis) + "]";
    for (const Term& term : step.terms) text += (text.ends_with('(') ? "" : ", ") + (term.step < 0 ? to_string(term.number) : texts[static_cast<std::size_t>(term.step)]);
    texts.push_back(step.op ? text + ")" : text);
  }
  return {{"number", texts.back()}};
}

Apply SizeOp::make_node(Inputs inputs) const {
  inputs.require_count(1);
  return {*this, {inputs.at(0)}, {{steps_.back().result, Shape::filled(rank_, 1)}}};
}

Scalar SizeOp::value(const Shape& x) const {
  std::vector<Scalar> made, in;
  for (const Step& step : steps_) {
    if (!step.op) {
      std::int64_t size = step.factor;
      for (std::int64_t axis : step.axes) size *= x[static_cast<int>(axis)];
      made.push_back(Scalar(size).cast(step.result));
      continue;
    }
    in.clear();
    for (const Term& term : step.terms) in.push_back(term.step < 0 ? term.number : made[static_cast<std::size_t>(term.step)]);
    made.push_back((*evaluation_of(*step.op))(step.compute, in).cast(step.result));
  }
  return made.back();
}

std::uint64_t SizeOp::bits(const Shape& x) const { return bits_of_number(value(x)); }

Thunk SizeOp::make_thunk(const Apply& node, ThunkContext& context) const {
  context.promise_repeatable();
  context.promise_contained();
  const Cell &x = context.storage(node.input(0)), &number = context.storage(node.output());
  return [this, self = shared_from_this(), &x, &number, stream = context.stream(), device = context.device()] {
    const std::uint64_t element = bits(x.shape());
    device.backend().fill(number.array().data(), &element, itemsize(number.dtype()), 1, stream.handle());
  };
}

bool SizeOp::equals(const Op& other) const {
  const auto* that = dynamic_cast<const SizeOp*>(&other);
  if (!that || that->rank_ != rank_ || that->steps_.size() != steps_.size()) return false;
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    if (!are_equal(steps_[i], that->steps_[i])) return false;
  }
  return true;
}

std::size_t SizeOp::hash() const {
  std::size_t hash = steps_.size() * 31 + static_cast<std::size_t>(rank_);
  const auto mix = [&](std::size_t word) { hash = hash * 1000003 + word; };
  for (const Step& step : steps_) {
    mix(static_cast<std::size_t>(step.result));
    mix(static_cast<std::size_t>(step.factor));
    for (std::int64_t axis : step.axes) mix(static_cast<std::size_t>(axis));
    if (step.op) mix(step.op->hash());
    for (const Term& term : step.terms) mix(static_cast<std::size_t>(term.step < 0 ? bits_of_number(term.number) : static_cast<std::uint64_t>(term.step)));
  }
  return hash;
}

}  // namespace damo
