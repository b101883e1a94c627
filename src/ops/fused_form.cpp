#include "ops/fused_form.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include "ops/lower.hpp"

namespace damo {

std::shared_ptr<const KernelSpec> FusedForm::spec(const FunctionGraph& inner) {
  std::call_once(lowered_, [&] {
    KernelSpec spec = lower(inner);
    spec.values = values_;
    spec.guarded = guarded_;
    spec_ = std::make_shared<const KernelSpec>(std::move(spec));
  });
  return spec_;
}

std::vector<Shape> FusedForm::shapes(std::span<const Shape> inputs, const std::function<std::vector<Shape>()>& infer) {
  const std::lock_guard lock(mutex_);
  if (last_outputs_.empty() || !std::equal(inputs.begin(), inputs.end(), last_inputs_.begin(), last_inputs_.end())) {
    std::vector<Shape> outputs = infer(), from(inputs.begin(), inputs.end());
    last_inputs_.swap(from);
    last_outputs_.swap(outputs);
  }
  return last_outputs_;
}

std::vector<Scalar> FusedForm::numbers(const FunctionGraph& inner) const {
  std::vector<Scalar> numbers;
  numbers.reserve(arguments_.size());
  for (const Use& use : arguments_) numbers.push_back(inner.number(inner.inputs(use.node)[static_cast<std::size_t>(use.position)]));
  return numbers;
}

int FusedForms::number_of(const OpPtr& op) {
  const auto [known, is_new] = known_ops_.try_emplace(op.get());
  if (!is_new) return known->second;
  const int next = static_cast<int>(ops_.size()), same = op_index_.find_or_add(op->hash(), next, [&](int other) { return ops_[static_cast<std::size_t>(other)]->equals(*op); });
  ops_.push_back(op);  // held, so that its address stays its own
  return known->second = same < 0 ? next : same;
}

void FusedForms::add_type(const TensorType& type) {
  words_.push_back(static_cast<std::int64_t>(type.dtype) << 8 | type.rank());
  words_.insert(words_.end(), type.dims.begin(), type.dims.end());
}

std::shared_ptr<FusedForm> FusedForms::of(const FunctionGraph& inner, std::vector<bool> values) {
  enum Kind : std::int64_t { kValue, kArgument, kLiteral };
  words_.clear();
  std::vector<Use> arguments = number_arguments(inner);
  std::vector<std::int64_t> ops(static_cast<std::size_t>(inner.op_limit()));
  for (std::size_t i = 0; i < ops.size(); ++i) ops[i] = number_of(inner.op_ptr(static_cast<OpId>(i)));
  words_.insert(words_.end(), {static_cast<std::int64_t>(inner.inputs().size()), static_cast<std::int64_t>(values.size()), inner.node_limit()});
  for (ValueId input : inner.inputs()) add_type(inner.type(input));
  words_.insert(words_.end(), values.begin(), values.end());
  std::size_t next = 0;
  std::unordered_map<ValueId, std::int64_t> literals;  // a text says which of its readers have one in common
  for (int i = 0; i < inner.node_limit(); ++i) {
    const auto node = static_cast<NodeId>(i);
    words_.push_back(ops[static_cast<std::size_t>(inner.op_id(node))]);
    add_type(inner.type(inner.outputs(node)[0]));
    const auto inputs = inner.inputs(node);
    for (std::size_t at = 0; at < inputs.size(); ++at) {
      const auto dtype = static_cast<std::int64_t>(inner.type(inputs[at]).dtype);
      if (next < arguments.size() && arguments[next].node == node && arguments[next].position == static_cast<int>(at)) {
        ++next;
        words_.push_back(kArgument | dtype << 2);
      } else if (inner.is_literal(inputs[at])) {
        const auto number = literals.try_emplace(inputs[at], static_cast<std::int64_t>(literals.size())).first->second;
        words_.push_back(kLiteral | dtype << 2 | number << 8);
        words_.push_back(static_cast<std::int64_t>(inner.number_bits(inputs[at])));
      } else {
        const NodeId owner = inner.owner(inputs[at]);  // inputs are numbered first
        words_.push_back(kValue | (owner == NodeId::kNone ? static_cast<std::int64_t>(inputs[at]) << 3 : static_cast<std::int64_t>(owner) << 3 | 4));
      }
    }
  }
  for (ValueId output : inner.outputs()) words_.push_back(static_cast<std::int64_t>(inner.owner(output)));
  const std::string_view bytes(reinterpret_cast<const char*>(words_.data()), words_.size() * sizeof(std::int64_t));
  const int number = form_index_.find_or_add(std::hash<std::string_view>()(bytes), static_cast<int>(forms_.size()), [&](int other) { return forms_[static_cast<std::size_t>(other)].words == words_; });
  if (number >= 0) return forms_[static_cast<std::size_t>(number)].form;
  forms_.push_back({words_, std::make_shared<FusedForm>(std::move(arguments), std::move(values))});
  return forms_.back().form;
}

}  // namespace damo
